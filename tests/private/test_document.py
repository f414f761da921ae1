"""The exported file: against numpy.polynomial, against OpenFHE's formula, and back."""

import json

import numpy
import pytest
import torch
from numpy.polynomial import chebyshev, polynomial
from support.polynomial_networks import residual, rows, two_hidden

from chebact import Cubic
from chebact.private import export, load


def exported(model, folder):
    made = export(model, folder / "model.json")
    return made, json.loads((folder / "model.json").read_text())


def openfhe_series(x, coefficients, a, b):
    """EvalChebyshevSeries of OpenFHE in the clear: c_0 / 2 + sum_k c_k T_k(2 (x - a) / (b - a) - 1), by recursion."""
    t = 2 * (x - a) / (b - a) - 1
    total, before, last = coefficients[0] / 2 + coefficients[1] * t, numpy.ones_like(t), t
    for each in coefficients[2:]:
        before, last = last, 2 * t * last - before
        total = total + each * last
    return total


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 9])
def test_the_coefficients_are_those_of_the_activation_in_all_three_forms(degree, tmp_path):
    model = two_hidden(degree, interval=(-2.0, 3.0))
    layer = exported(model, tmp_path)[1]["layers"][1]
    x = torch.linspace(-2, 3, 41, dtype=torch.float64)
    expected = model[1](x[:, None].expand(-1, 8)).detach().numpy()
    a, b = layer["interval"]
    t = (2 * x.numpy() - a - b) / (b - a)
    assert (layer["kind"], layer["degree"], (a, b)) == ("activation", degree, (-2.0, 3.0))
    for channel in range(8):
        found = {name: numpy.array(layer[name][channel]) for name in ("chebyshev_numpy", "chebyshev_openfhe", "powers")}
        assert chebyshev.chebval(t, found["chebyshev_numpy"]) == pytest.approx(expected[:, channel], abs=1e-12)
        openfhe = openfhe_series(x.numpy(), found["chebyshev_openfhe"], a, b)
        assert openfhe == pytest.approx(expected[:, channel], abs=1e-12)
        assert polynomial.polyval(x.numpy(), found["powers"]) == pytest.approx(expected[:, channel], abs=1e-10)
        assert found["chebyshev_openfhe"][0] == 2 * found["chebyshev_numpy"][0]


def test_the_layers_alone_are_the_network(tmp_path):
    model = residual(3, "mean")
    x = rows()
    vectors = [x.numpy()]
    for layer in exported(model, tmp_path)[1]["layers"]:
        first = vectors[layer["inputs"][0]]
        if layer["kind"] == "linear":
            vectors.append(first @ numpy.array(layer["weight"]).T + layer["bias"])
        elif layer["kind"] == "activation":
            vectors.append(chebyshev.chebval(first, numpy.array(layer["chebyshev_numpy"]).T, tensor=False))
        else:
            vectors.append(first + vectors[layer["inputs"][1]] if layer["kind"] == "add" else layer["factor"] * first)
    assert vectors[-1] == pytest.approx(model(x).detach().numpy(), abs=1e-12)


def test_a_file_is_read_back_bit_by_bit(tmp_path):
    made, document = exported(residual(2), tmp_path)
    again = load(tmp_path / "model.json")
    assert (again.evaluate(rows()) == made.evaluate(rows())).all()
    assert str(again) == str(made)
    assert document["levels"] == made.levels
    assert document["agreement"]["parameters"]["ring"] == made.parameters.ring
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


def test_the_cube_is_exported_too(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), Cubic())
    (series,) = exported(model, tmp_path)[1]["layers"][1]["chebyshev_numpy"]
    assert chebyshev.chebval(numpy.array([0.5, 2.0]), series) == pytest.approx([0.125, 8.0])


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "other"}', '{"format": "chebact-private-1", "stages": []}']
)
def test_another_file_is_refused(text, tmp_path):
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(ValueError, match=r"path must be a file of chebact\.private\.export"):
        load(tmp_path / "model.json")


DAMAGE = {
    "no stages": lambda document: document["stages"].clear(),
    "no outputs": lambda document: document["stages"].pop(),
    "a later vector": lambda document: document["stages"][0]["weights"].update({"9": [[1.0] * 8] * 8}),
    "a matrix of another size": lambda document: document["stages"][1]["weights"]["2"].pop(),
    "a ragged matrix": lambda document: document["stages"][1]["weights"]["2"][0].pop(),
    "a bias that is none": lambda document: document["stages"][0].update(bias="none"),
    "NaN": lambda document: document["stages"][0]["bias"].__setitem__(0, float("nan")),
    "no weights": lambda document: document["stages"][0].update(weights={}),
    "weights as a list": lambda document: document["stages"][0].update(weights=[]),
    "too few numbers": lambda document: document["stages"][0].update(numbers=[[1.0] * 8]),
    "a form that is none": lambda document: document["stages"][0].update(form="exp"),
    "inputs that are no integer": lambda document: document["agreement"].update(inputs=4.5),
    "inputs of another number": lambda document: document["agreement"].update(inputs=4),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused(damage, tmp_path):
    document = exported(two_hidden(5), tmp_path)[1]
    DAMAGE[damage](document)
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"path must be a file of chebact\.private\.export"):
        load(tmp_path / "model.json")


def test_openfhe_itself_agrees(tmp_path):
    openfhe = pytest.importorskip("openfhe", reason="openfhe is not installed; its wheels are for other Pythons")
    layer = exported(two_hidden(3), tmp_path)[1]["layers"][1]
    options = openfhe.CCParamsCKKSRNS()
    options.SetMultiplicativeDepth(6)
    options.SetScalingModSize(50)
    context = openfhe.GenCryptoContext(options)
    for feature in ("PKE", "KEYSWITCH", "LEVELEDSHE", "ADVANCEDSHE"):
        context.Enable(getattr(openfhe.PKESchemeFeature, feature))
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    x = [-0.9, -0.2, 0.4, 0.8]
    sealed = context.Encrypt(keys.publicKey, context.MakeCKKSPackedPlaintext(x))
    found = context.Decrypt(context.EvalChebyshevSeries(sealed, layer["chebyshev_openfhe"][0], -1, 1), keys.secretKey)
    found.SetLength(4)
    assert found.GetRealPackedValue() == pytest.approx(
        chebyshev.chebval(numpy.array(x), layer["chebyshev_numpy"][0]), abs=1e-6
    )
