"""States, starts and lazy widths of the modules: what a state holds, and what is refused or asked for."""

import math
import warnings

import numpy
import pytest
import torch
from torch import nn

import chebact
from chebact import ChebyshevLagrange, WeightedChebyshev


def filled(module):
    with torch.no_grad():
        for index, p in enumerate(module.parameters()):
            p.copy_(torch.randn(p.shape, generator=torch.Generator().manual_seed(index)))
    return module


def saved(**choices):
    return filled(ChebyshevLagrange(4, **choices)).state_dict()


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"interval": (-3.0, 3.0)}, {}, r"interval \(-3, 3\) in the state and \(-1, 1\) in the module"),
        ({}, {"interval": (-1.0, 1.5)}, "interval"),
        ({"tails": "none"}, {}, "tails 'none' in the state and 'extrapolate' in the module"),
        ({"tails": "regression"}, {"tails": "regression", "regression_nodes": 3}, "regression nodes"),
    ],
)
def test_a_state_of_another_function_is_refused(before, after, words, lazy):
    module = ChebyshevLagrange(None if lazy else 4, **after)
    with pytest.raises(RuntimeError, match=words):
        module.load_state_dict(saved(**before))


def test_the_message_names_the_way_to_load_once_for_all_activations():
    state = saved(interval=(0.1, 1 / 3 + 1))
    model = nn.Sequential(ChebyshevLagrange(4), ChebyshevLagrange(4))
    both = {f"{index}.{name}": tensor for index in (0, 1) for name, tensor in state.items()}
    with pytest.raises(RuntimeError, match=r"interval='fit'") as caught:
        model.load_state_dict(both)
    assert str(caught.value).count("chebact.load_state_(model, state)") == 1
    assert str(caught.value).count("got interval (0.1, 1.333) in the state and (-1, 1) in the module") == 2
    assert chebact.load_state_(model, both)[1].basis.interval == (0.1, 1 / 3 + 1)


def test_a_new_process_loads_what_surgery_fitted_by_load_state_and_plain_tensors(tmp_path):
    """The outputs of the model that was saved are the truth; the file is read with weights_only=True."""

    def build(seed):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 1))

    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(7)) * 30 + 100
    first = chebact.replace_activations(build(0), x, interval="fit").model
    torch.save(first.state_dict(), tmp_path / "state.pt")
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    for options in ({}, {"example": x[:4], "interval": "fit"}):
        second = chebact.replace_activations(build(1), **{"example": x, **options}).model
        with pytest.raises(RuntimeError, match=r"load_state_\(model, state\)"):
            second.load_state_dict(state)
        assert chebact.load_state_(second, state) is second
        assert torch.equal(second(x), first(x))


def test_load_state_takes_the_tails_and_leaves_a_model_that_does_not_fit_as_it_was():
    choices = {"tails": "regression", "regression_nodes": 3, "interval": (0.0, 6.0)}
    module, x = ChebyshevLagrange(4), torch.linspace(-9, 9, 40).reshape(10, 4)
    chebact.load_state_(module, saved(**choices))
    assert torch.equal(module(x), filled(ChebyshevLagrange(4, **choices))(x))
    lazy = chebact.load_state_(ChebyshevLagrange(), saved(**choices))
    assert torch.equal(lazy(x), module(x))
    wrong = ChebyshevLagrange(4, degree=5)
    with pytest.raises(RuntimeError, match="heights must be of degree 5, got degree 3 in the state; build the model"):
        chebact.load_state_(wrong, saved(**choices))
    assert (wrong.basis.interval, wrong.tails) == ((-1.0, 1.0), "extrapolate")
    with pytest.raises(ValueError, match="state must be an extra state of ChebyshevLagrange"):
        chebact.load_state_(module, {**saved(), "_extra_state": torch.zeros(2)})
    with pytest.raises(TypeError, match=r"state must be a state dict, as torch\.load"):
        chebact.load_state_(module, "state.pt")


@pytest.mark.parametrize("kind", [ChebyshevLagrange, WeightedChebyshev])
def test_torch_s_errors_of_folded_and_unfolded_states_name_fold_once(kind):
    def build():
        return nn.Sequential(kind(4), nn.Linear(4, 4), kind(4))

    with pytest.raises(RuntimeError, match="Unexpected key") as caught, warnings.catch_warnings(action="error"):
        build().load_state_dict(chebact.fold_(build()).state_dict())
    assert str(caught.value).count("load it into chebact.fold_(model)") == 1
    with pytest.raises(RuntimeError, match="Missing key") as caught:
        chebact.fold_(build()).load_state_dict(build().state_dict())
    assert str(caught.value).count("load it before you call chebact.fold_") == 1


@pytest.mark.parametrize(
    "change", [lambda t: t, lambda t: t.half(), lambda t: t.bfloat16(), lambda t: (t + t * 1.0) / 2]
)
def test_a_state_of_the_same_function_loads_in_other_types_and_averaged(change):
    choices = {"interval": (-0.1, 2.7), "tails": "regression", "regression_nodes": 3}
    state = {name: change(tensor) for name, tensor in saved(**choices).items()}
    ChebyshevLagrange(4, **choices).load_state_dict(state)


def test_an_older_state_without_interval_and_tails_loads_with_a_warning():
    state = {"heights": saved()["heights"]}
    module = ChebyshevLagrange(4)
    with pytest.warns(UserWarning, match=r"must hold interval and tails.*\(-1.0, 1.0\) and 'extrapolate'"):
        assert module.load_state_dict(state, strict=True) == ([], [])
    assert torch.equal(module.heights, state["heights"])


def test_the_state_is_tensors_alone_and_no_buffer():
    module = ChebyshevLagrange(4)
    assert all(type(value) in (torch.Tensor, nn.Parameter) for value in module.state_dict().values())
    assert not list(module.buffers())
    with torch.device("meta"):
        assert module.state_dict()["_extra_state"].device.type == "cpu"


@pytest.mark.parametrize("kind", [list, torch.tensor, numpy.array, tuple])
def test_heights_may_be_given_as_numbers(kind):
    rows = [1.0, 0.5, -0.25, 2.0]
    module = ChebyshevLagrange(3, init=kind(rows))
    assert module.heights.tolist() == [rows] * 3
    assert "init=[1.0, 0.5, -0.25, 2.0]" in repr(module)
    each = [rows, [0.0] * 4, rows[::-1]]
    module = ChebyshevLagrange(3, init=kind(each), dtype=torch.float64)
    assert module.heights.tolist() == each
    module.fit_("gelu").reset_parameters()
    assert module.heights.tolist() == each
    assert ChebyshevLagrange(6, groups=3, replicas=2, init=kind(each)).heights.tolist() == [each] * 2
    assert ChebyshevLagrange(1).fit_(kind(rows)).heights.tolist() == [rows]


def test_heights_in_a_list_are_taken_to_the_last_bit():
    """Python's own floats are the truth; 0.1 is none that float32 holds."""
    heights = [0.1, -0.3, 1 / 3, 2.0]
    assert ChebyshevLagrange(1, init=heights, dtype=torch.float64).heights.tolist() == [heights]
    assert ChebyshevLagrange(1, init=[heights], dtype=torch.float64).heights.tolist() == [heights]


def test_heights_given_are_copied():
    rows = torch.zeros(4)
    module = ChebyshevLagrange(3, init=rows)
    rows.fill_(5.0)
    module.reset_parameters()
    assert not bool(module.heights.any())


@pytest.mark.parametrize("bad", [[1.0, 2.0], [[1.0] * 4] * 2, [["a"]], [], [math.nan] * 4, 3.0, None])
def test_heights_that_do_not_fit_get_a_sentence(bad):
    with pytest.raises((TypeError, ValueError), match="init must"):
        ChebyshevLagrange(3, init=bad)


@pytest.mark.parametrize("kind", [ChebyshevLagrange, WeightedChebyshev])
def test_a_lazy_module_asks_which_of_three_axes_holds_the_channels(kind):
    tokens = torch.zeros(2, 5, 8)
    for module, x in ((kind(), tokens), (kind(groups=4), tokens), (kind(replicas=2), torch.zeros(2, 3, 5, 8))):
        with pytest.raises(ValueError, match=r"channel_dim must be set.*channel_dim=-1.*groups=1"):
            module(x)
        assert not module.is_materialized
    assert kind(channel_dim=1)(tokens).shape == tokens.shape
    given = kind(channel_dim=-1)
    given(tokens)
    assert given.learned.shape == (8, 4)
    assert kind(groups=1)(tokens).shape == tokens.shape
    for shape, channels in (((2, 8), 8), ((2, 8, 5, 5), 8), ((2, 8, 3, 5, 5), 8), ((8,), 8)):
        module = kind()
        module(torch.zeros(shape))
        assert module.channels == channels


def test_the_shape_error_names_the_axis_that_was_meant():
    with pytest.raises(ValueError, match=r"axis 2 has 8: did you mean channel_dim=-1\?"):
        ChebyshevLagrange(8)(torch.zeros(4, 10, 8))
    with pytest.raises(ValueError, match=r"axis 1 has 8: did you mean channel_dim=0\?"):
        ChebyshevLagrange(8, replicas=3)(torch.zeros(3, 8, 5))
    with pytest.raises(ValueError, match=r"got 5 in shape \(4, 5\)$"):
        ChebyshevLagrange(8)(torch.zeros(4, 5))


def test_load_state_that_fails_leaves_every_weight_and_interval():
    model = nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4, interval=(-3.0, 3.0)), nn.Linear(4, 1))
    before, x = {name: torch.as_tensor(value).clone() for name, value in model.named_parameters()}, torch.randn(5, 2)
    wanted = model(x)
    other = nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4, init="relu"), nn.Linear(4, 3))
    with pytest.raises(RuntimeError, match="size mismatch"):
        chebact.load_state_(model, other.state_dict())
    assert all(torch.equal(value, before[name]) for name, value in model.named_parameters())
    assert torch.equal(model(x), wanted)
    with pytest.raises(ValueError, match=r"model must have a ChebyshevLagrange, got none; use model.load_state_dict"):
        chebact.load_state_(nn.Linear(2, 2), {})


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("kind", [ChebyshevLagrange, WeightedChebyshev])
def test_a_state_of_another_degree_says_which_degree_to_build(kind, lazy):
    model = nn.Sequential(nn.Linear(2, 4), kind(None if lazy else 4))
    state = nn.Sequential(nn.Linear(2, 4), kind(4, degree=5)).state_dict()
    name = model[1].parameter_name
    words = rf"{name} of 1 must be of degree 3, got degree 5 in the state; build the model with degree=5"
    loaders = [model.load_state_dict] + ([lambda given: chebact.load_state_(model, given)] if name == "heights" else [])
    for load in loaders:
        with pytest.raises(RuntimeError, match=words) as caught:
            load(state)
        assert "size mismatch" not in str(caught.value)


def test_intervals_have_four_digits_in_messages_or_all_if_these_are_equal():
    for interval, words in (
        ((-1 / 3, 2.23423), r"\(-0.3333, 2.234\) in"),
        ((-1.0, 1.00001), r"\(-1.0, 1.00001\) in"),
    ):
        with pytest.raises(RuntimeError, match=words) as caught:
            ChebyshevLagrange(4).load_state_dict(saved(interval=interval))
        lines = str(caught.value).splitlines()
        assert "use chebact.load_state_(model, state)" in lines[1]
        assert "in the state and" in lines[2]


def wrapped(state, prefix):
    return {f"{prefix}{name}": value for name, value in state.items()}


def test_load_state_says_what_to_pass_of_a_wrapped_model_and_of_a_checkpoint():
    def build():
        return filled(nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4)))

    model, state = build(), build().state_dict()
    for prefix, wrapper in (("module.", "DDP or DataParallel"), ("_orig_mod.", "torch.compile")):
        words = rf"state must be the state of the model itself, got names that start with '{prefix}', as {wrapper}"
        with pytest.raises(ValueError, match=words) as caught:
            chebact.load_state_(model, wrapped(state, prefix))
        code = str(caught.value).partition("; pass ")[2]
        chebact.load_state_(model, eval(code, {"state": wrapped(state, prefix)}))
    for key in ("model", "state_dict"):
        with pytest.raises(ValueError, match=rf"got a dict that has it at '{key}'; pass state\['{key}'\]"):
            chebact.load_state_(model, {"epoch": 3, key: state})
    inside = nn.ModuleDict({"module": build()})
    assert chebact.load_state_(inside, inside.state_dict()) is inside
