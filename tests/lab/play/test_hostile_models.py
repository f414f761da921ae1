"""`chebact play --model` with tensors that are no plain numbers in memory, and with models that were tampered with."""

import os
import zipfile

import pytest
import torch
from torch import nn

import chebact
from chebact.lab import LabError
from chebact.lab.cli import run_command
from chebact.lab.play.saved_models import MAX_NUMBERS, shapes_in_model

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of quantized, nested and sparse tensors

PLAIN = torch.tensor([[0.5, 0.25, -0.125, 1.0], [0.1, 0.2, 0.3, 0.4]])
STRANGE = {
    "sparse (COO)": lambda: PLAIN.to_sparse(),
    "sparse (CSR)": lambda: PLAIN.to_sparse_csr(),
    "sparse (BSR)": lambda: PLAIN.to_sparse_bsr((1, 2)),
    "meta": lambda: torch.empty(2, 4, device="meta"),
    "quantized": lambda: torch.quantize_per_tensor(PLAIN, 0.1, 0, torch.qint8),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)]),
    "nested (jagged)": lambda: torch.nested.nested_tensor([torch.ones(2, 4)], layout=torch.jagged),
    "complex": lambda: PLAIN.to(torch.complex64),
    "integers": lambda: PLAIN.int(),
    "float8": lambda: PLAIN.to(torch.float8_e4m3fn),
    "not a number": lambda: torch.full((2, 4), float("nan")),
    "infinite": lambda: torch.full((2, 4), float("inf")),
    "empty": lambda: torch.empty(0, 4),
    "no channels": lambda: torch.empty(3, 0, 4),
    "one number": lambda: torch.tensor(1.0),
    "one axis": lambda: torch.ones(4),
    "four axes": lambda: torch.ones(1, 1, 1, 4),
    "degree 0": lambda: torch.ones(2, 1),
    "huge degree": lambda: torch.zeros(1).expand(2**20, 2**20),
}


def refused(path, capsys):
    assert run_command(["play", "--model", str(path), "--output", str(path.with_suffix(".html")), "--no-open"]) == 2
    said = capsys.readouterr()
    (sentence,) = said.err.splitlines()
    assert sentence.startswith("chebact: ")
    assert path.name in sentence
    assert not path.with_suffix(".html").exists()
    return sentence


def saved(path, content):
    try:
        torch.save(content, path)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        pytest.skip(f"torch does not save it: {error}")
    return path


@pytest.mark.parametrize("make", STRANGE.values(), ids=STRANGE)
def test_a_strange_tensor_is_one_sentence(make, tmp_path, capsys):
    refused(saved(tmp_path / "model.pt", {"a.values": make()}), capsys)


@pytest.mark.parametrize("make", STRANGE.values(), ids=STRANGE)
def test_beside_a_strange_tensor_the_plain_one_is_shown_as_it_is(make, tmp_path):
    path = saved(tmp_path / "model.pt", {"strange.values": make(), "plain.values": PLAIN})
    (shapes,) = shapes_in_model(path)
    assert shapes.name == "plain"
    assert shapes.rows == PLAIN.double().tolist()


@pytest.mark.parametrize("shape", [(2**40, 4), (2**20, 2**20, 4), (3, 2**40, 4), (2**40, 3, 4)])
def test_a_small_file_that_claims_a_huge_tensor_shows_its_first_rows(shape, tmp_path):
    claimed = torch.arange(4.0).expand(shape)
    (shapes,) = shapes_in_model(saved(tmp_path / "model.pt", {"a.values": claimed}))
    assert 0 < len(shapes.rows) * 4 <= MAX_NUMBERS
    assert set(map(tuple, shapes.rows)) == {(0.0, 1.0, 2.0, 3.0)}
    assert f"of {claimed.numel() // 4}" in shapes.name


def test_the_first_rows_of_replicas_are_the_tensors_own(tmp_path):
    values = torch.randn(300, 200, 8, generator=torch.Generator().manual_seed(0))
    (shapes,) = shapes_in_model(saved(tmp_path / "model.pt", {"a.values": values}))
    assert shapes.rows == values.double().flatten(0, 1)[: len(shapes.rows)].tolist()
    assert len(shapes.rows) == MAX_NUMBERS // 8


def tampered(**changes):
    model = nn.Sequential(chebact.ChebyshevLagrange(4, init="gelu"))
    for name, value in changes.items():
        model[0].__dict__[name] = value
    return model


def itself():
    content = {"a": 1}
    content["again"] = content
    return content


TAMPERED = {
    "no basis": lambda: tampered(basis=3),
    "no parameters": lambda: tampered(_parameters={}),
    "parameters that are a list": lambda: tampered(_parameters=[]),
    "values that are text": lambda: tampered(_parameters={"values": "x"}),
    "no modules": lambda: tampered(_modules=None),
    "sparse values": lambda: tampered(_parameters={"values": PLAIN.to_sparse()}),
    "a dictionary within itself": itself,
    "a list": lambda: [1, 2, {"a.values": PLAIN}],
    "a tensor": lambda: PLAIN,
    "a number": lambda: 3,
    "nothing": lambda: None,
}


@pytest.mark.parametrize("make", TAMPERED.values(), ids=TAMPERED)
def test_a_model_that_was_tampered_with_is_one_sentence(make, tmp_path, capsys):
    refused(saved(tmp_path / "model.pt", make()), capsys)


def test_a_dictionary_of_any_depth_is_one_sentence(tmp_path, capsys):
    content = {"values": 1}
    for _ in range(400):
        content = {"a": content}
    refused(saved(tmp_path / "model.pt", content), capsys)


def test_compressed_parts_are_refused_before_they_are_unpacked(tmp_path, capsys):
    torch.save({"a.values": torch.zeros(2, 4)}, tmp_path / "plain.pt")
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(tmp_path / "plain.pt") as plain, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in plain.namelist():
            packed.writestr(name, bytes(10**7) if name.endswith("data/0") else plain.read(name))
    assert path.stat().st_size < 10**5
    assert "compressed" in refused(path, capsys)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04junk", b"PK\x05\x06" + bytes(18), b"\x80\x02.", b"\x80\x02}.", b"x" * 99]
)
def test_a_file_of_any_content_is_one_sentence(content, tmp_path, capsys):
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    refused(path, capsys)


def test_what_is_no_file_is_one_sentence(tmp_path, capsys):
    (tmp_path / "folder.pt").mkdir()
    refused(tmp_path / "folder.pt", capsys)
    refused(tmp_path / "nowhere.pt", capsys)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.pt")  # opening it would wait for a writer for ever
        refused(tmp_path / "pipe.pt", capsys)


def test_no_payload_of_a_model_runs(tmp_path, capsys):
    class Payload:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    for content in (
        {"a.values": PLAIN, "x": Payload()},
        Payload(),
        nn.Sequential(nn.Linear(1, 1)).add_module("a", None),
    ):
        refused(saved(tmp_path / "model.pt", content), capsys)
    assert not (tmp_path / "ran").exists()
    with pytest.raises(LabError):
        shapes_in_model(tmp_path / "model.pt")
