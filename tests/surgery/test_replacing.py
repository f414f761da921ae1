"""replace_activations on models of every form: what it finds and keeps, and that the code it writes is the same."""

import copy
import inspect
import io
import pickle

import pytest
import torch
from support.other_models import MODELS, Bottleneck, Choosing, ResidualNet, drawn, encoder
from torch import nn
from torch.nn import functional as F

import chebact
from chebact.learned import LearnedActivation

NET = nn.Sequential(nn.Linear(4, 3), nn.ReLU())


def made(name):
    torch.manual_seed(0)
    build, inputs, count = MODELS[name]
    return build(), inputs, count


def exact(site_kind):
    """A factory that puts torch's own function back: then nothing may change."""
    return lambda channels: {"silu": nn.SiLU, "gelu": nn.GELU, "relu": nn.ReLU}[site_kind]()


def learned_in(model):
    return [part for part in model.modules() if isinstance(part, LearnedActivation)]


@pytest.mark.parametrize("with_example", [False, True], ids=["by neighbours", "by example"])
@pytest.mark.parametrize("name", MODELS)
def test_every_activation_is_found_and_every_height_gets_a_gradient(name, with_example):
    model, inputs, count = made(name)
    done = chebact.replace_activations(model, inputs if with_example else None)
    assert len(done.report.replaced) == count
    assert done.report.left == ()
    assert len(learned_in(done.model)) == count
    done.model(*inputs).square().mean().backward()
    for activation in learned_in(done.model):
        assert activation.heights.grad is not None
        assert activation.heights.grad.abs().sum() > 0


@pytest.mark.parametrize("with_example", [False, True], ids=["by neighbours", "by example"])
@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize(
    "name", ["residual net", "bottleneck", "U-Net with checkpointing", "one module at two places", "lists of modules"]
)
def test_rewritten_code_with_torch_s_own_function_gives_the_same_bits(name, training, with_example):
    model, inputs, _ = made(name)
    kind = {"U-Net with checkpointing": "silu", "one module at two places": "gelu", "lists of modules": "gelu"}.get(
        name, "relu"
    )
    done = chebact.replace_activations(model, inputs if with_example else None, with_=exact(kind))
    results = []
    for each in (model, done.model):
        each.train(training)
        torch.manual_seed(1)
        results.append(each(*(x.clone() for x in inputs)))
    assert torch.equal(*results)


def test_functions_that_write_into_their_input_are_followed_by_what_was_written():
    model, (x,), _ = made("in place")
    identity = chebact.replace_activations(model, with_=lambda channels: nn.Identity()).model
    y = model.first(x)
    wanted = y + model.second(y)
    torch.testing.assert_close(identity(x), wanted)


def tensors_of(model):
    return {each.data_ptr() for each in (*model.parameters(), *model.buffers())}


@pytest.mark.parametrize("name", MODELS)
def test_the_model_given_stays_as_it_was_and_shares_nothing_with_the_new_one(name):
    model, inputs, _ = made(name)
    kept, text = {key: value.clone() for key, value in model.state_dict().items()}, str(model)
    done = chebact.replace_activations(model, inputs)
    assert str(model) == text
    assert all(torch.equal(value, kept[key]) for key, value in model.state_dict().items())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in done.model.modules())
    assert kept.keys() <= done.model.state_dict().keys()
    assert all(torch.equal(done.model.state_dict()[key], value) for key, value in kept.items())
    assert not tensors_of(done.model) & tensors_of(model)
    with torch.no_grad():
        for p in done.model.parameters():
            p.add_(1.0)
    assert all(torch.equal(value, kept[key]) for key, value in model.state_dict().items())


@pytest.mark.parametrize("name", MODELS)
def test_in_place_the_model_itself_is_changed_and_keeps_its_weights(name):
    model, inputs, count = made(name)
    before = dict(model.named_parameters())
    wanted = chebact.replace_activations(model, inputs).model
    done = chebact.replace_activations(model, inputs, inplace=True)
    assert done.model is model
    assert len(learned_in(model)) == count
    assert all(dict(model.named_parameters())[key] is value for key, value in before.items())
    torch.testing.assert_close(model.eval()(*inputs), wanted.eval()(*inputs), rtol=0, atol=0)


def test_in_place_nothing_is_changed_where_an_error_is_raised():
    model, (x,), _ = made("residual net")
    text, kinds = str(model), [type(part) for part in model.modules()]
    for options in ({"where": "none"}, {"with_": lambda channels: 3}, {"with_": lambda channels: nn.Linear(1, 1)}):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            chebact.replace_activations(model, x, inplace=True, **options)
        assert (str(model), [type(part) for part in model.modules()]) == (text, kinds)


@pytest.mark.parametrize("name", MODELS)
def test_the_state_goes_round_and_the_model_is_copied_and_pickled(name):
    model, inputs, _ = made(name)
    one, two = (chebact.replace_activations(model, inputs).model.eval() for _ in range(2))
    with torch.no_grad():
        for p in one.parameters():
            p.add_(0.01)
    buffer = io.BytesIO()
    torch.save(one.state_dict(), buffer)
    two.load_state_dict(torch.load(io.BytesIO(buffer.getvalue()), weights_only=True))
    for other in (two, copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        torch.testing.assert_close(other(*inputs), one(*inputs), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["residual net", "U-Net with checkpointing", "transformer, ReLU by function"])
def test_torch_compile_computes_what_eager_does(name):
    model, inputs, _ = made(name)
    operated = chebact.replace_activations(model, inputs).model.eval()
    torch._dynamo.reset()
    fast = torch.compile(operated, backend="aot_eager")
    got, wanted = fast(*inputs), operated(*inputs)
    torch._dynamo.reset()
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


def test_the_fast_path_of_torch_s_transformer_does_not_go_past_the_learned_activation():
    model = chebact.replace_activations(encoder()).model.eval()
    x = drawn(2, 7, 16)
    mask = torch.tensor([[False] * 7, [False] * 4 + [True] * 3])
    for activation in learned_in(model):
        activation.fit_("zeros")
    with torch.no_grad():
        fast = model(x, src_key_padding_mask=mask)
    slow = model(x, src_key_padding_mask=mask)
    torch.testing.assert_close(fast[0], slow[0])
    torch.testing.assert_close(fast[1, :4], slow[1, :4])


def test_a_module_that_is_called_three_times_becomes_three():
    done = chebact.replace_activations(Bottleneck())
    widths = {row.name: row.channels for row in done.report.replaced}
    assert widths == {"relu": 4, "relu_2": 4, "relu_3": 16}


def test_an_argument_that_the_example_did_not_have_is_taken():
    model, x = Bottleneck(), drawn(2, 16, 6, 6)
    same = chebact.replace_activations(model, x, with_=lambda channels: nn.ReLU()).model
    for scale in (None, torch.ones(1) * 3):
        torch.testing.assert_close(same(x.clone(), scale), model(x.clone(), scale), rtol=0, atol=0)


class Signature(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 4)

    def forward(self, x, *rest, shift=None, scale=None, factor, **options):
        y = F.relu(self.line(x)) * factor * (1 if scale is None else scale)
        return y if shift is None else y + shift


def test_arguments_by_name_alone_and_the_rest_are_taken():
    x, more = drawn(3, 4), {"scale": torch.ones(1) * 2, "factor": torch.ones(1) * 3}
    model = Signature()
    same = chebact.replace_activations(model, {"x": x, **more}, with_=lambda channels: nn.ReLU()).model
    for other in ({}, {"shift": torch.ones(1)}):
        torch.testing.assert_close(same(x, **more, **other), model(x, **more, **other))


def test_what_the_example_does_not_reach_is_left_with_its_line():
    x = drawn(3, 4)
    model = Choosing()
    with torch.no_grad():
        model.linear.weight.fill_(-1.0)
        model.linear.bias.zero_()
    done = chebact.replace_activations(model, x.abs())
    assert [row.name for row in done.report.replaced] == ["act"]
    ((name, kind, reason),) = done.report.left
    assert (name, kind) == ("relu()", "ReLU")
    assert reason.startswith("the example does not reach F.relu(y - 1) in other_models.py:")
    assert f"left: relu() (ReLU): {reason}" in str(done)
    both = chebact.replace_activations(Choosing()).report
    assert [row.name for row in both.replaced] == ["act", "relu"]


def test_without_an_example_what_the_code_does_not_tell_is_reported_too():
    model = nn.Sequential(Computed(), nn.Linear(4, 4), nn.ReLU())
    report = chebact.replace_activations(model).report
    assert [row.name for row in report.replaced] == ["2", "0.act"]
    ((name, _, reason),) = report.left
    assert name == "0.forward"
    assert reason.startswith("getattr(F, self.kind) in test_replacing.py:")
    space = {"nn": nn, "F": F}
    exec("class Written(nn.Linear):\n    def forward(self, x):\n        return F.relu(super().forward(x))", space)
    model = nn.Sequential(space["Written"](4, 4), nn.Linear(4, 4), nn.ReLU())
    for example in (None, drawn(3, 4)):
        report = chebact.replace_activations(model, example).report
        assert [row.name for row in report.replaced] == ["2"]
        assert [row.kind for row in report.left] == ["ReLU"]
        assert "has no source, or another than what runs" in report.left[0].reason


class Branches(nn.Module):
    """One activation for tensors of several widths, in a forward that writes into the list that it is given."""

    def __init__(self):
        super().__init__()
        self.first, self.act, self.last = nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 6)

    def forward(self, parts):
        parts[0] = self.first(parts[0])
        return [self.act(parts[0]), self.act(self.last(parts[0]))]


class Listing(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.act = Branches(), nn.ReLU()

    def forward(self, x):
        return self.act(self.inner([x])[1])


class Walking(Branches):
    """The same, where no line of code tells the calls apart: the number of steps is that of the input."""

    def forward(self, parts):
        out = []
        for k in range(len(parts[0])):
            h = self.act(self.first(parts[0][k : k + 1]) if k else self.last(self.first(parts[0][:1])))
            out.append(h)
        return out


def test_one_activation_of_several_widths_becomes_one_per_line_or_is_left_with_the_reason():
    done = chebact.replace_activations(Listing(), drawn(3, 4))
    assert [(row.name, row.channels) for row in done.report.replaced] == [
        ("inner.act", 4),
        ("inner.act_2", 6),
        ("act", 6),
    ]
    model = Listing()
    model.inner = Walking()
    report = chebact.replace_activations(model, drawn(3, 4)).report
    assert [row.name for row in report.replaced] == ["act"]
    ((name, _, reason),) = report.left
    assert name == "inner.act"
    assert reason.startswith("one module is called with different channels: 4 at axis 1, 6 at axis 1")


class BloomGelu(nn.Module):
    """Known by the name of its class, as those of other libraries are."""

    def forward(self, x):
        return F.gelu(x, approximate="tanh")


def test_classes_of_other_libraries_are_known_by_name_and_start_as_they_were():
    done = chebact.replace_activations(nn.Sequential(nn.Linear(4, 3), BloomGelu()), drawn(3, 4))
    assert done.report.replaced[0].kind == "GELU"
    places = chebact.nodes(3).float()
    torch.testing.assert_close(done.model[1].heights[0], F.gelu(places, approximate="tanh"), rtol=1e-6, atol=1e-7)


KINDS_SAME = [nn.ReLU(), nn.LeakyReLU(0.3), nn.ELU(0.7), nn.GELU(approximate="tanh"), nn.SiLU(), nn.Mish(), nn.PReLU(3)]


@pytest.mark.parametrize("kind", KINDS_SAME, ids=lambda kind: type(kind).__name__)
def test_init_same_has_torch_s_values_at_the_nodes_and_the_report_has_the_difference(kind):
    if isinstance(kind, nn.PReLU):
        kind.weight.data.copy_(torch.tensor([0.1, 0.5, 0.9]))
    model = nn.Sequential(nn.Linear(4, 3), kind)
    done = chebact.replace_activations(model, drawn(50, 4), degree=6, interval=(-2.0, 2.0))
    places = chebact.nodes(6, interval=(-2.0, 2.0)).float()
    torch.testing.assert_close(done.model[1].heights.T, kind(places.unsqueeze(1).repeat(1, 3)))
    x = torch.linspace(-1, 1, 2001).unsqueeze(1).repeat(1, 3)
    wanted = (done.model[1](x) - kind(x)).abs().max().item()
    assert done.report.replaced[0].difference == pytest.approx(wanted, abs=1e-6)
    y = model[0](drawn(50, 4))
    wanted = (done.model[1](y) - kind(y)).abs().max().item()
    assert done.report.replaced[0].difference_on_example == pytest.approx(wanted, rel=1e-2)
    assert done.report.output_difference == pytest.approx(wanted, abs=1e-6)


def test_a_fitted_interval_holds_ninety_percent_of_the_example_s_inputs():
    model, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 3), nn.ReLU()), drawn(500, 4) * 3
    done = chebact.replace_activations(model, x, interval="fit", kinds=(nn.Tanh, nn.ReLU))
    for row, inputs in zip(done.report.replaced, (model[:1](x), model[:3](x)), strict=True):
        left, right = row.interval
        inside = ((inputs >= left) & (inputs <= right)).double().mean().item()
        assert inside == pytest.approx(0.9, abs=0.01), row.name


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 4), nn.Linear(4, 8)

    def forward(self, x):
        y = self.one(x)
        return torch.sigmoid(self.two(F.relu(y))) * F.relu(self.two(y))


def test_functions_of_other_kinds_beside_it_do_not_hide_the_inputs_of_an_activation():
    done = chebact.replace_activations(Gate(), drawn(50, 8), interval="fit")
    assert [row.channels for row in done.report.replaced] == [4, 8]
    assert all(row.interval != (-1.0, 1.0) and row.difference_on_example for row in done.report.replaced)


def test_a_second_surgery_goes_on_where_the_first_one_stopped():
    x = drawn(5, 8)
    first = chebact.replace_activations(Gate(), x, where="relu").model
    for example in (x, None):
        done = chebact.replace_activations(first, example, where="relu_2")
        assert len(learned_in(done.model)) == 2


def test_a_fitted_interval_is_that_of_all_channels_not_of_every_kth():
    model = nn.Sequential(nn.Linear(4, 64), nn.ReLU())
    with torch.no_grad():
        model[0].weight.zero_()
        model[0].bias.copy_(torch.arange(64.0))
    (row,) = chebact.replace_activations(model, torch.zeros(4096, 4), interval="fit").report.replaced
    assert row.interval == pytest.approx((3.15, 59.85), abs=1.5)


def test_calls_of_a_block_that_is_used_twice_are_counted():
    block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    (row,) = chebact.replace_activations(nn.Sequential(block, block), drawn(3, 4)).report.replaced
    assert row.calls == 2


def test_empty_batches_and_lazy_linear_layers_are_taken():
    assert chebact.replace_activations(NET, torch.zeros(0, 4)).report.output_difference is None
    lazy = chebact.replace_activations(nn.Sequential(nn.LazyLinear(3), nn.ReLU())).model
    assert lazy(drawn(2, 5)).shape == (2, 3)


def test_where_chooses_by_name_by_order_and_by_a_function():
    model, x = ResidualNet(), drawn(2, 3, 8, 8)
    assert names(model, x, "layer2.*") == ["layer2.relu", "layer2.relu_2"]
    assert names(model, x, ["relu", "layer1.relu"]) == ["relu", "layer1.relu"]
    assert names(model, x, slice(-2, None)) == ["layer2.relu", "layer2.relu_2"]
    assert names(model, x, lambda row: row.channels == 16) == ["layer2.relu", "layer2.relu_2"]
    some = chebact.replace_activations(model, x, where="layer1.relu_2", with_=lambda channels: nn.ReLU()).model
    torch.testing.assert_close(some.eval()(x), model.eval()(x))


def names(model, x, where):
    return [row.name for row in chebact.replace_activations(model, x, where=where, dry_run=True).report.replaced]


def test_a_dry_run_only_reports():
    model = ResidualNet()
    done = chebact.replace_activations(model, drawn(2, 3, 8, 8), dry_run=True)
    assert done.model is model
    assert len(done.report.replaced) == 5
    assert learned_in(model) == []


def test_functional_false_leaves_functions_alone():
    done = chebact.replace_activations(Choosing(), drawn(3, 4), functional=False)
    assert [row.name for row in done.report.replaced] == ["act"]
    assert done.report.left == ()


def test_the_report_is_a_table_and_html_for_notebooks():
    done = chebact.replace_activations(Computed(), drawn(3, 4))
    lines = str(done).splitlines()
    assert lines[0].split()[:3] == ["name", "was", "channels"]
    assert lines[1].split()[:4] == ["act", "ReLU", "4", "1"]
    assert lines[-1].startswith("1 replaced, 1 left; the output on the example differs by up to ")
    html = done._repr_html_()
    assert html.startswith("<div")
    assert html.count("<table>") == 1
    assert [cell.partition("<")[0] for cell in html.split('white-space:nowrap">')][8:11] == ["act", "ReLU", "4"]
    assert "<li>relu() (ReLU): what calls it is computed; test_replacing.py:" in html


class Computed(nn.Module):
    """The function is found by its name in a call."""

    def __init__(self):
        super().__init__()
        self.line, self.act, self.kind = nn.Linear(4, 4), nn.ReLU(), "relu"

    def forward(self, x):
        return getattr(F, self.kind)(self.act(self.line(x)) - 1)


def test_a_call_that_cannot_be_told_is_left_with_its_line_and_what_to_write_there():
    report = chebact.replace_activations(Computed(), drawn(3, 4)).report
    ((name, _, reason),) = report.left
    line = inspect.getsourcelines(Computed.forward)[1] + 1
    assert name == "relu()"
    assert f"test_replacing.py:{line}: write self.relu = nn.ReLU() in __init__ and self.relu(" in reason


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.act = nn.Linear(4, 4), nn.ReLU()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return self.act(F.relu(self.line(x)))


def test_buffers_stay_as_they_were_and_a_forward_that_writes_into_them_goes_on():
    model = Counting()
    done = chebact.replace_activations(model, drawn(3, 4))
    assert (model.calls, done.model.calls) == (0, 0)
    assert [row.name for row in done.report.replaced] == ["relu", "act"]
    done.model(drawn(3, 4))
    assert (model.calls, done.model.calls) == (0, 1)


def test_an_activation_in_place_on_the_input_does_not_write_into_the_example():
    model, x = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 2)), drawn(3, 4)
    done = chebact.replace_activations(model, x)
    torch.testing.assert_close(x, drawn(3, 4))
    wanted = (done.model(x) - model(x.clone())).abs().max().item()
    assert done.report.output_difference == pytest.approx(wanted, abs=1e-6)


def test_models_on_the_meta_device_are_taken():
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    done = chebact.replace_activations(model)
    assert done.model[1].heights.is_meta
    assert done.report.replaced[0].difference is None


def test_a_type_and_a_mode_are_those_of_the_model():
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).double().eval()
    operated = chebact.replace_activations(model).model
    assert operated[1].heights.dtype == torch.float64
    assert not operated[1].training


def test_named_forms_and_factories_take_the_place():
    x = drawn(6, 4)
    by_name = chebact.replace_activations(NET, with_="cl-regression", degree=4, init="tanh").model[1]
    assert (by_name.tails, by_name.degree) == ("regression", 4)
    own = chebact.replace_activations(
        NET, x, with_=lambda channels, **options: chebact.ChebyshevLagrange(channels, groups=1)
    )
    assert own.model[1].heights.shape == (1, 4)
