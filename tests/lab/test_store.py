"""Records on disk: whole or not there, never another spec's, and every fault named in one sentence."""

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace

import pytest
import torch

from chebact.lab import LabError
from chebact.lab.spec import as_plain, canonical, differences, key, stream
from chebact.lab.stats import summarize
from chebact.lab.store import Record, read_record, records_under, write_record

RECORD = Record("trial", {"seeds": 2, "noise": 0.01}, {"rmse": [0.1, None]}, {"threads": 1}, {"seconds": 3.5})


@dataclass(frozen=True)
class Spec:
    seeds: int = 3
    noise: float = 0.01
    names: tuple[str, ...] = ("a",)


def one_sentence(error):
    return "\n" not in str(error.value) and len(str(error.value)) < 300


def test_a_record_comes_back_as_it_went(tmp_path):
    path = tmp_path / "deep" / "er" / "one.json"
    write_record(path, RECORD)
    assert read_record(path) == RECORD
    assert [file.name for file in path.parent.iterdir()] == ["one.json"]
    assert list(records_under(tmp_path)) == [RECORD]


def test_only_the_run_part_may_differ_between_two_runs():
    later = replace(RECORD, run={"seconds": 9.0})
    ours, theirs = (json.loads(record.text()) for record in (RECORD, later))
    assert {name for name in ours if ours[name] != theirs[name]} == {"run"}


def test_the_same_spec_is_kept_and_another_refused(tmp_path):
    path = tmp_path / "one.json"
    write_record(path, RECORD)
    before = path.read_bytes()
    write_record(path, replace(RECORD, run={"seconds": 9.0}))
    assert path.read_bytes() == before
    with pytest.raises(LabError, match="another spec") as error:
        write_record(path, replace(RECORD, spec={"seeds": 10, "noise": 0.01}))
    assert "seeds is 2 there and 10 here" in str(error.value)
    assert one_sentence(error)
    assert path.read_bytes() == before


@pytest.mark.parametrize("length", [0, 1, 40, -3])
def test_a_half_written_record_is_named(tmp_path, length):
    path = tmp_path / "half.json"
    path.write_text(RECORD.text()[:length])
    with pytest.raises(LabError, match=r"half\.json is not a complete record") as error:
        read_record(path)
    assert one_sentence(error)


@pytest.mark.parametrize(("old", "new"), [("0.1,", "0.09,"), ('"seeds": 2', '"seeds": 3'), ('"trial"', '"other"')])
def test_an_edited_record_is_named(tmp_path, old, new):
    path = tmp_path / "edited.json"
    path.write_text(RECORD.text().replace(old, new))
    with pytest.raises(LabError, match=r"edited\.json was changed") as error:
        read_record(path)
    assert one_sentence(error)


def test_a_record_edited_to_hold_what_is_no_json_is_named(tmp_path):
    path = tmp_path / "edited.json"
    path.write_text(RECORD.text().replace("null", "NaN"))
    with pytest.raises(LabError, match=r"edited\.json") as error:
        read_record(path)
    assert one_sentence(error)


@pytest.mark.parametrize("text", ["[]", "null", '{"format": 1}', "\ufeff{}", '{"format": 9}'])
def test_what_is_no_record_is_named(tmp_path, text):
    path = tmp_path / "strange.json"
    path.write_text(text)
    with pytest.raises(LabError, match=r"strange\.json"):
        read_record(path)


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write_record(tmp_path / "before.json", RECORD)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LabError, match="No space left on device") as error:
            write_record(tmp_path / "new.json", RECORD)
    assert one_sentence(error)
    assert [file.name for file in tmp_path.iterdir()] == ["before.json"]
    assert read_record(tmp_path / "before.json") == RECORD


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LabError, match="there is no results folder"):
        list(records_under(tmp_path / "nowhere"))


WRITER = """
import sys
from pathlib import Path
from chebact.lab.store import Record, write_record
number = 0
while True:
    record = Record("kill", {"number": number}, {"long": ["x" * 10] * 20000}, {}, {})
    write_record(Path(sys.argv[1]) / f"{number}.json", record)
    number += 1
    print(number, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
@pytest.mark.fork
def test_a_writer_killed_at_any_moment_leaves_whole_records(tmp_path):
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
        for _ in range(5):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
    found = list(records_under(tmp_path))
    assert len(found) >= 5
    assert all(record.experiment == "kill" for record in found)


def test_a_key_names_the_spec_alone():
    assert key(Spec()) == key(Spec(3, 0.01, ("a",)))
    assert len({key(Spec()), key(Spec(seeds=4)), key(Spec(noise=0.04)), key(Spec(names=("b",)))}) == 4
    assert as_plain(Spec()) == {"seeds": 3, "noise": 0.01, "names": ["a"]}
    assert differences({"a": 1}, {"a": 1}) == ""
    with pytest.raises(ValueError):
        canonical({"noise": float("nan")})


def test_streams_depend_on_their_words_alone():
    first = torch.rand(4, generator=stream("start", "relu", 0.01, 3))
    torch.rand(7)
    assert torch.equal(torch.rand(4, generator=stream("start", "relu", 0.01, 3)), first)
    assert not torch.equal(torch.rand(4, generator=stream("start", "relu", 0.01, 4)), first)
    assert stream("a", "bc").initial_seed() != stream("ab", "c").initial_seed()


def test_the_published_deviations_divide_by_n_minus_one():
    published = {  # test accuracies of the paper's image runs, and the mean and deviation that its table prints
        (99.74, 99.66, 99.68): (99.69, 0.04),
        (99.66, 99.69, 99.64): (99.66, 0.03),
        (93.34, 93.50, 93.52): (93.45, 0.10),
    }
    for values, (mean, std) in published.items():
        summary = summarize(values)
        assert (round(summary.mean, 2), round(summary.std, 2)) == (mean, std)


def test_summaries_of_few():
    assert summarize([]).mean is None
    assert summarize([None, None]).nan == 2
    assert (summarize([1.5]).mean, summarize([1.5]).std) == (1.5, None)
