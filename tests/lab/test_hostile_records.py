"""Records with a right checksum and strange content: every reader refuses them in one sentence that names the file.

The hostile records are the committed ones, changed at every place: each field gets every wrong kind of value, or is
taken away. A change that `read_record` lets through must be harmless: the page of all experiments is made from those.
"""

import copy
import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest

from chebact.lab import LabError
from chebact.lab.bench.files import machine_path, sha256_of
from chebact.lab.cli import run_command
from chebact.lab.clinical import rows as clinical_rows
from chebact.lab.images import rows as image_rows
from chebact.lab.page.results import read_results
from chebact.lab.page.sheet import as_json
from chebact.lab.play.shapes import shapes_in_record
from chebact.lab.spec import canonical
from chebact.lab.store import read_record
from chebact.lab.synthetic import rows as synthetic_rows

RESULTS = Path(__file__).resolve().parents[2] / "results"
MODELS = {
    "synthetic": RESULTS / "synthetic" / "paper" / "0.01" / "cl-extrapolate-pendulum.json",
    "clinical": RESULTS / "clinical" / "generated" / "average" / "cl-extrapolate-32.json",
    "choice": RESULTS / "clinical" / "generated" / "choice" / "cohort.json",
    "images": RESULTS / "images" / "cifar10" / "cl-extrapolate-5-epochs.json",
}
SCRIPT = "</script><img src=x onerror=alert(1)>\"'"
WRONG = [None, True, -1, 1.5, 10**400, 1e308, -1e308, "", SCRIPT, "NaN", [], {}, [[]], [{}], {"a": []}, "x" * 20_000]
GONE = object()
SUBJECTS = {"synthetic": synthetic_rows, "clinical": clinical_rows, "images": image_rows}


def places(value, path=()):
    """Every place in a value: the names, and the first and last entry of every list."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*path, name)
            yield from places(inner, (*path, name))
    elif isinstance(value, list) and value:
        for index in {0, len(value) - 1}:
            yield (*path, index)
            yield from places(value[index], (*path, index))


def changed(parts, place, value):
    """The parts with another value in a place, or without it."""
    copied = copy.deepcopy(parts)
    inner = copied
    for key in place[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return copied


def write(path, parts):
    """A record file of these parts, whose checksum is right."""
    covered = [parts.get(name) for name in ("experiment", "spec", "results")]
    checksum = hashlib.sha256(canonical(covered).encode()).hexdigest()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # many file systems wait for the disk where a file is written over
    path.write_text(json.dumps({"format": 1, "checksum": checksum, **parts}))
    return path


def refused(path):
    with pytest.raises(LabError) as error:
        read_record(path)
    sentence = str(error.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    assert len(sentence) < 500
    return sentence


@pytest.fixture(params=MODELS)
def parts(request):
    """The parts of a committed record, made short so that every place can be tried."""
    parts = asdict(read_record(MODELS[request.param]))
    results = parts["results"]
    if "captures" in results:
        results["captures"] = {
            when: [{**unit, "shape": unit["shape"][:2], "counts": unit["counts"][:2]} for unit in units[:1]]
            for when, units in results["captures"].items()
        }
    if parts["experiment"] in ("clinical", "synthetic"):
        results["seeds"], parts["spec"]["seeds"] = results["seeds"][:2], 2
    results |= {"slice": results["slice"][:2]} if "slice" in results else {}
    return parts


def reason(path):
    """Why a record is refused, or None."""
    try:
        read_record(path)
    except LabError as error:
        return str(error)


def test_no_change_at_any_place_is_a_traceback(parts, tmp_path):
    path, refusals, shown = tmp_path / "one.json", 0, 0
    for place in dict.fromkeys(places(parts)):
        for value in (*WRONG, GONE):
            write(path, changed(parts, place, value))
            said = reason(path)
            if said is None:
                shown += show(path)
            else:
                assert str(path) in said
                assert len(said) < 500
                refusals += 1
    assert refusals > 200
    assert shown > 10


def show(path):
    """What was let through becomes rows and shapes, or is refused in a sentence by those who show it; 1."""
    record = read_record(path)
    if record.experiment in SUBJECTS:
        rows = SUBJECTS[record.experiment].rows_of([record.typed])
        assert json.loads(as_json([row.exported() if hasattr(row, "exported") else row.values for row in rows]))
    with suppress(LabError):
        assert json.dumps([shapes.as_json() for shapes in shapes_in_record(path)], allow_nan=False)
    return 1


@pytest.mark.parametrize("subject", ["synthetic", "clinical", "images"])
def test_the_page_of_what_is_let_through_is_made(subject, tmp_path):
    """One change per field that the form leaves open, all in one record, as the page meets it."""
    parts = asdict(read_record(MODELS[subject]))
    for place in list(dict.fromkeys(places(parts))):
        try:
            own = changed(parts, place, SCRIPT)
            read_record(write(tmp_path / "try" / "one.json", own))
        except (LabError, KeyError, IndexError, TypeError):
            continue
        parts = own
    parts["spec"].setdefault("model", [])  # a name that the form of this experiment does not know
    for number, results in enumerate(({"captures": 3}, {"activations": [3]}, {})):
        path = tmp_path / "results" / f"other-{number}.json"
        write(path, {"experiment": "other", "spec": {"model": {}}, "results": results, "environment": {}, "run": {}})
        with pytest.raises(LabError, match="keeps no learned activations"):
            shapes_in_record(path)
    write(tmp_path / "results" / "one.json", parts)
    assert run_command(["report", "--results", str(tmp_path / "results"), "--output", str(tmp_path / "page")]) == 0
    text = (tmp_path / "page" / "index.html").read_text()
    assert "<img src=x" not in text


REST = b'"environment": {}, "run": {}}'
TEXTS = {
    "deep lists": b"[" * 200_000 + b"]" * 200_000,
    "deep objects": b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    "a list": b"[1, 2]",
    "no UTF-8": b"\xff\xfe\x00{",
    "NaN": b'{"format": 1, "experiment": "x", "spec": NaN, "results": {}, "checksum": "", ' + REST,
    "beyond numbers": b'{"format": 1, "experiment": "x", "spec": {}, "results": 1e999, "checksum": "", ' + REST,
    "a long number": b'{"format": ' + b"1" * 5000 + b"}",
    "another format": b'{"format": "' + b"x" * 100_000 + b'"}',
    "a format that is an object": b'{"format": {}}',
    "nothing": b"",
}


@pytest.mark.parametrize("content", TEXTS.values(), ids=TEXTS)
def test_what_is_no_record_is_one_sentence_to_every_reader(content, tmp_path, capsys):
    path = tmp_path / "results" / "one.json"
    path.parent.mkdir()
    path.write_bytes(content)
    refused(path)
    readers = [["play", "--no-open", "--record", str(path), "--output", str(tmp_path / "p.html")]]
    readers += [
        ["report", *words, "--results", str(path.parent)] for words in ([], ["synthetic"], ["clinical"], ["images"])
    ]
    for words in readers:
        assert run_command(words) == 2
        (sentence,) = capsys.readouterr().err.splitlines()
        assert sentence.startswith("chebact: ")
        assert "one.json" in sentence


@pytest.mark.parametrize("name", ["environment", "run"])
@pytest.mark.parametrize("value", ["NaN", "1e999", "[[1]]", '"x"', "null", '{"versions": 3, "seconds": "x"}'])
def test_the_parts_beyond_the_checksum_are_looked_at_too(name, value, tmp_path):
    parts = json.loads(MODELS["images"].read_text())
    text = ",".join(f"{json.dumps(key)}: {value if key == name else json.dumps(part)}" for key, part in parts.items())
    path = tmp_path / "one.json"
    path.write_text("{" + text + "}")
    refused(path)


def test_what_is_no_file_is_one_sentence(tmp_path):
    (tmp_path / "folder.json").mkdir()
    refused(tmp_path / "folder.json")
    for name, target in (("device.json", "/dev/zero"), ("gone.json", "/nonexistent"), ("loop.json", "loop.json")):
        (tmp_path / name).symlink_to(target)
        refused(tmp_path / name)
    os.mkfifo(tmp_path / "pipe.json")
    refused(tmp_path / "pipe.json")
    with pytest.raises(LabError):
        read_results(tmp_path)


def test_a_file_larger_than_any_record_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("chebact.lab.store.LARGEST", 1000)
    path = tmp_path / "one.json"
    path.write_bytes(b" " * 2000)
    assert "larger than any record" in refused(path)


def test_every_committed_record_has_its_form():
    assert len(read_results(RESULTS).records) > 300


ROWS = RESULTS / "bench" / "ops.json"


@pytest.mark.parametrize("value", [None, "x", -1, [], {}, 10**400, True])
def test_strange_rows_of_a_benchmark_are_one_sentence(value, tmp_path, capsys):
    rows, machine = json.loads(ROWS.read_text()), json.loads(machine_path(ROWS).read_text())
    path = tmp_path / "ops.json"
    for name in rows[0]:
        if (value is None and name == "degree") or (isinstance(value, str) and isinstance(rows[0][name], str)):
            continue
        text = json.dumps([{**rows[0], name: value}, *rows[1:]])
        path.write_text(text)
        machine_path(path).write_text(json.dumps({**machine, "rows_sha256": sha256_of(text)}))
        assert run_command(["bench", "page", str(path)]) == 2, name
    path.write_bytes(ROWS.read_bytes())
    for name in machine:
        if name in ("load", "commit") or (isinstance(value, str) and isinstance(machine[name], str)):
            continue
        machine_path(path).write_text(json.dumps({**machine, name: value}))
        code = run_command(["bench", "page", str(path)])
        assert code == 2 or (name == "versions" and value == {}), name
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[" * 100_000, b"3", b"[3]", b"[]", b"{}"])
def test_a_file_that_is_no_benchmark_is_one_sentence(content, tmp_path, capsys):
    for name in ("ops.json", "ops.machine.json"):
        (tmp_path / name).write_bytes(content)
    assert run_command(["bench", "page", str(tmp_path / "ops.json")]) == 2
    assert capsys.readouterr().err.startswith("chebact: ")
