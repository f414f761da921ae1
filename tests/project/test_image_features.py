"""The trial on intermediate features: what the features are, and a table that says what the record says."""

import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from scipy import stats
from support.benchmarks import load_benchmark

from chebact.lab.images.augment import as_input
from chebact.lab.images.sets import IMAGE_DATASETS, load_images
from chebact.lab.images.spec import ImageSpec
from chebact.lab.spec import as_plain
from chebact.lab.store import read_record

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def trial(monkeypatch):
    return load_benchmark("image_features", monkeypatch)


def test_the_last_layer_turns_the_last_features_into_the_outputs_of_the_network(trial):
    row, images = IMAGE_DATASETS["digits"], load_images("digits", "test").head(20)
    network = ImageSpec("digits", "cl-extrapolate").network(0)
    found = trial.features_of(network, images, row, batch=8)
    assert {name: value.shape[1] for name, value in found.items()} == {
        "pixels": 64, "stage 1": 32, "stage 2": 64, "stage 3": 128,
    }  # fmt: skip
    with torch.no_grad():
        outputs = network.eval()(as_input(images.images, row.mean, row.deviation))
        torch.testing.assert_close(network.last(found["stage 3"]), outputs)
    torch.testing.assert_close(found["pixels"], images.images.flatten(1) / 255)


def test_both_parts_are_standardized_by_the_training_part(trial):
    train, test = torch.tensor([[1.0, 5.0], [3.0, 5.0]]), torch.tensor([[4.0, 6.0]])
    own, other = trial.standardize(train, test)
    root = 0.5**0.5
    torch.testing.assert_close(own, torch.tensor([[-root, 0.0], [root, 0.0]]))
    torch.testing.assert_close(other, torch.tensor([[2 * root, 0.0]]))


def test_a_small_trial_from_training_to_table(trial, tmp_path):
    backbone = ImageSpec("digits", "relu", epochs=1, seeds=1, subset=1437)
    spec = replace(trial.SPEC, backbone=backbone, inputs=("pixels", "stage 2"), seeds=2, epochs=8)
    results = trial.measure(spec, tmp_path, None)
    assert [(cell["inputs"], cell["activation"]) for cell in results["cells"]] == [
        (name, activation) for name in spec.inputs for activation in ("relu", "tanh", "cl-extrapolate")
    ]
    assert all(0.8 < share < 1 for cell in results["cells"][:3] for share in cell["accuracy"])  # of ten classes
    text = trial.describe(trial.Record("image-features", as_plain(spec), results, {}, {}))
    assert text.count("\n| pixels | 64 |") == text.count("\n| stage 2 | 64 |") == 1


def test_the_page_says_what_the_record_says(trial):
    record = read_record(trial.RECORD)
    assert record.spec == as_plain(trial.SPEC)
    page = (ROOT / "docs" / "vision.md").read_text(encoding="utf-8")
    block = page.split("<!-- begin: image-features -->\n")[1].split("<!-- end: image-features -->")[0]
    assert block == trial.describe(record)
    relu, _, learned = ([100 * value for value in cell["accuracy"]] for cell in record.results["cells"][-3:])
    assert f"{statistics.mean(learned):.2f} ± {statistics.stdev(learned):.2f} | " in block.splitlines()[-1]
    p = stats.ttest_ind(learned, relu, equal_var=False).pvalue
    assert f" | {p:.2g} | " in block.splitlines()[-1]
