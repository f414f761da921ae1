"""A generated cohort is the same cohort on every processor: the last bits of its numbers are no part of what it is."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from chebact.lab.clinical.cohorts import generated_choice_cohort, generated_cohort
from chebact.lab.store import read_record

RECORDS = Path(__file__).resolve().parents[3] / "results" / "clinical" / "generated"
LAST_BITS = 2.0**-48  # some units in the last place: processors differ by one or two
COHORTS = [generated_cohort, generated_choice_cohort]


def chosen_table():
    """The generated cohort with the features that the committed records were trained on."""
    return generated_cohort().with_features(read_record(RECORDS / "choice" / "cohort.json").results["features"])


@pytest.mark.parametrize("make", [*COHORTS, chosen_table])
def test_other_last_bits_are_the_same_cohort(make):
    table, random = make(), np.random.default_rng(0)
    for _ in range(3):
        other = replace(table, x=table.x * (1 + LAST_BITS * random.uniform(-1, 1, table.x.shape)))
        assert not np.array_equal(other.x, table.x)
        assert other.digest == table.digest


@pytest.mark.parametrize("make", [*COHORTS, chosen_table])
def test_other_numbers_labels_or_names_are_another_cohort(make):
    table = make()
    x, y = table.x.copy(), table.y.copy()
    x[3, 5] += 0.002
    y[0] = 1 - y[0]
    turned = table.with_features(table.features[::-1])
    others = [replace(table, x=x), replace(table, y=y), turned, replace(table, subjects=table.subjects[::-1])]
    assert len({table.digest, *(other.digest for other in others)}) == 5


@pytest.mark.parametrize("make", COHORTS)
def test_no_number_is_near_the_border_between_two_roundings(make):
    thousandths = 1000 * make().x
    distance = np.abs(thousandths - np.floor(thousandths) - 0.5) / 1000
    assert distance.min() > 1e-10  # last bits move a number of this size by 1e-14


def test_a_table_of_measured_numbers_is_known_by_all_its_bits():
    table = replace(generated_cohort(), generated=False)
    x = table.x.copy()
    x[0, 0] = np.nextafter(x[0, 0], 9)
    assert replace(table, x=x).digest != table.digest


def test_the_committed_records_are_of_the_cohorts_generated_here():
    own = {"generated": chosen_table().digest, "generated-choice": generated_choice_cohort().digest}
    specs = [read_record(path).spec for path in sorted(RECORDS.rglob("*.json"))]
    assert len(specs) >= 12
    assert {spec["digest"] for spec in specs if spec["data"] == "generated"} == {own["generated"]}
    assert {spec["digest"] for spec in specs if spec["data"] == "generated-choice"} == {own["generated-choice"]}


CHILD = """
from chebact.lab.clinical.cohorts import generated_choice_cohort
table = generated_choice_cohort()
print(table.digest, table.x.sum().hex())
"""


@pytest.mark.parametrize(
    "processor",
    [{"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512F AVX512_SKX"}, {"OPENBLAS_CORETYPE": "Sandybridge"}],
    ids=["no AVX-512", "no fused products"],
)
def test_numpy_without_some_instructions_gives_the_same_cohort(processor):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD], env={**os.environ, **processor}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == generated_choice_cohort().digest
