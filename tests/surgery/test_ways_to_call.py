"""The ways in which people call an activation: each is replaced, or the report has it; none is lost in silence."""

import functools
import pickle

import pytest
import torch
from support.other_models import drawn
from torch import nn
from torch.nn import functional as F
from torch.nn.functional import relu as rectify

import chebact

X = drawn(5, 6)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)
        self.functions, self.by_name = [F.relu, torch.relu], {"relu": F.relu}


def doubled(forward):
    @functools.wraps(forward)
    def twice(*args, **kwargs):
        return forward(*args, **kwargs) * 2

    return twice


class Decorated(Base):
    @doubled
    def forward(self, x):
        return F.relu(self.a(x))


class Property(Base):
    @property
    def act(self):
        return F.relu

    def forward(self, x):
        return self.act(self.a(x))


class Static(Base):
    @staticmethod
    def act(x):
        return F.relu(x)

    def forward(self, x):
        return self.act(self.a(x)) + self.act(self.b(x))


class OfClass(Base):
    @classmethod
    def act(cls, x):
        return F.relu(x)

    def forward(self, x):
        return self.act(self.a(x))


class Lambda(Base):
    def forward(self, x):
        act = lambda y: F.relu(self.b(y))  # noqa: E731
        return act(self.a(x))


class Mapped(Base):
    def forward(self, x):
        return sum(map(F.relu, [self.a(x), self.b(x)]))


class Local(Base):
    def forward(self, x):
        act = F.relu
        return act(self.a(x))


class ByKeyword(Base):
    def forward(self, x):
        return F.relu(input=self.a(x), inplace=False)


class Private(Base):
    def __act(self, x):
        return F.relu(x)

    def forward(self, x):
        return self.__act(self.a(x))


class Imported(Base):
    def forward(self, x):
        return rectify(self.a(x)) + rectify(self.b(x))


class First(Base):
    def forward(self, x):
        return F.relu(self.a(x))


class Second(First):
    def forward(self, x):
        return F.relu(self.b(super().forward(x)))


class Third(Second):
    def forward(self, x, *, scale=2, **rest):
        return F.relu(self.a(super().forward(x))) * scale


class Explicit(First):
    def forward(self, x):
        return First.forward(self, x) + F.relu(self.b(x))


class Walrus(Base):
    def forward(self, x):
        return y if (y := F.relu(self.a(x))).sum() > -1 else x


class Comprehension(Base):
    def forward(self, x):
        return torch.stack([F.relu(layer(x)) for layer in (self.a, self.b)]).sum(0)


class InDict(Base):
    def forward(self, x):
        return self.by_name["relu"](self.a(x))


class InList(Base):
    def forward(self, x):
        for act, layer in zip(self.functions, (self.a, self.b), strict=True):
            x = act(layer(x))
        return x


class Chosen(Base):
    def forward(self, x):
        return (F.relu if x.shape[0] > 2 else F.gelu)(self.a(x))


class Default(Base):
    def forward(self, x, act=F.relu):
        return act(self.a(x))


class Assigned(Base):
    def forward(self, x):
        self.act = F.relu
        return self.act(self.a(x))


class Chained(Base):
    def forward(self, x):
        return (
            self.a(x)
            .relu()
            .mul(2)
        )  # fmt: skip


class Inner(Base):
    def forward(self, x):
        def act(y):
            return F.relu(self.b(y))

        return act(self.a(x)) + act(x)


class Called(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = First()

    def forward(self, x):
        return self.part(x) + self.part.forward(x * 2)


WAYS = {
    each.__name__: each
    for each in (
        *(
            Decorated,
            Property,
            Static,
            OfClass,
            Lambda,
            Mapped,
            Local,
            ByKeyword,
            Private,
            Imported,
            First,
            Second,
            Third,
        ),
        *(Explicit, Walrus, Comprehension, InDict, InList, Chosen, Default, Assigned, Chained, Inner, Called),
    )
}
BY_EXAMPLE = set(WAYS) - {"OfClass", "Mapped", "InList", "Chosen", "Assigned", "Inner"}
BY_CODE = BY_EXAMPLE - {"Property", "Lambda", "Private", "Comprehension", "Default"}


class Counting(torch.overrides.TorchFunctionMode):
    """Counts the calls of the old function."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.count += func in (F.relu, torch.relu, torch.Tensor.relu)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("with_example", [False, True], ids=["by its code", "by example"])
@pytest.mark.parametrize("name", WAYS)
def test_a_way_to_call_an_activation_is_replaced_or_reported(name, with_example):
    torch.manual_seed(0)
    model, example = WAYS[name](), X if with_example else None
    if name not in (BY_EXAMPLE if with_example else BY_CODE):
        with pytest.raises(ValueError, match=r"model must (have an activation that can be replaced|run with changed)"):
            chebact.replace_activations(model, example)
        return
    done = chebact.replace_activations(model, example, with_=lambda channels: nn.ReLU())
    assert done.report.left == () or (name == "Local" and not with_example)  # it is a value too
    assert torch.equal(done.model(X), model(X))
    learned = chebact.replace_activations(model, example).model
    with Counting() as counting:
        y = learned(X)
    assert counting.count == 0
    assert torch.equal(pickle.loads(pickle.dumps(learned))(X), y)
