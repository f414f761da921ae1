"""The studies: tiny ones from the command line to the page, and the committed records against the table."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from chebact.lab import LabError
from chebact.lab.cli import run_command
from chebact.lab.functions import target
from chebact.lab.spec import as_plain
from chebact.lab.store import read_record, records_under
from chebact.lab.studies import run as run_module
from chebact.lab.studies import training
from chebact.lab.studies.lines import equal_parameters, equal_steps, learned_lines, reference_lines
from chebact.lab.studies.markdown import document_blocks
from chebact.lab.studies.paragraphs import PARAGRAPHS, growth_of, paragraph_of
from chebact.lab.studies.pictures import DRAWINGS
from chebact.lab.studies.plan import Panel, Study, specs_of_study, vary
from chebact.lab.studies.rows import readings_of
from chebact.lab.studies.scores import score_seeds
from chebact.lab.studies.spec import PUBLISHED, RECOMMENDED, StudyRequest
from chebact.lab.studies.table import STUDIES
from chebact.lab.studies.tails_figure import mean_outside
from chebact.networks import ResidualMLP

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "results" / "studies"


def shorten(line):
    return replace(line, settings=replace(line.settings, epochs=2, points=40, width=4, blocks=1))


LINES = tuple(map(shorten, (*learned_lines(), *reference_lines(level=True)[:1])))
BATCH = Study(
    "batch",
    "The batch size",
    "How many points should a step see?",
    (Panel(vary("batch_size", "points per batch", 8, 32, scale="log"), LINES),),
)
TINY = {
    "batch": BATCH,
    "ends": Study(
        "ends",
        "Ends",
        "What do tails do?",
        (Panel(vary("tails", "tails", "extrapolate", "regression", "none", scale="words"), LINES),),
        keep="tails",
        drawing="tails",
    ),
    "curves": Study(
        "curves",
        "Curves",
        "Which shapes?",
        (Panel(vary("degree", ""), tuple(replace(line, level=True) for line in LINES[:2])),),
        keep="shapes",
        drawing="shapes",
    ),
}


@pytest.fixture
def tiny(monkeypatch):
    for name in list(STUDIES):
        monkeypatch.delitem(STUDIES, name)
    for name, row in TINY.items():
        monkeypatch.setitem(STUDIES, name, row)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "studies"
    with pytest.MonkeyPatch.context() as patch:
        for name, row in TINY.items():
            patch.setitem(STUDIES, name, row)
        words = ["--functions", "step", "pendulum", "--seeds", "3", "--workers", "1", "--results", str(folder)]
        assert run_command(["run", "study", *TINY, *words]) == 0
    return folder


def test_a_row_of_the_table_is_run_and_every_point_is_a_record(results):
    found = {str(path.relative_to(results)) for path in results.rglob("*.json")}
    assert {name for name in found if name.startswith("batch")} == {
        *(f"batch/cl-{recipe}-{size}.json" for recipe in ("published", "recommended") for size in (8, 32)),
        "batch/relu-published.json",
    }
    record = read_record(results / "batch" / "cl-recommended-8.json").typed
    assert record.spec.settings == replace(LINES[1].settings, batch_size=8)
    assert [each.function for each in record.results.functions] == ["step", "pendulum"]
    assert all(len(each.rmse) == 3 and None not in each.rmse for each in record.results.functions)
    assert record.trainings == 6
    assert record.results.trainer == "fused"


def test_a_row_of_the_table_is_shown_in_tables_documents_pictures_and_on_the_page(results, tiny, tmp_path, capsys):
    document = tmp_path / "studies.md"
    document.write_text("<!-- begin: studies -->\n<!-- end: studies -->\n")
    pictures, page, rows = tmp_path / "pictures", tmp_path / "page", tmp_path / "rows.json"
    words = ["--update", str(document), "--pictures", str(pictures), "--output", str(page), "--json", str(rows)]
    assert run_command(["report", "studies", "--results", str(results), *words]) == 0
    out, text = capsys.readouterr().out, document.read_text()
    for row in TINY.values():
        assert f"### {row.title}\n{row.question}\n" in text
        assert f"images/study-{row.name}-dark.svg" in text
        assert row.title in out
    assert "The batch size: test RMSE over points per batch" in text
    assert sorted(path.name for path in pictures.iterdir()) == sorted(
        f"study-{name}-{scheme}.svg" for name in TINY for scheme in ("light", "dark")
    )
    html = (page / "index.html").read_text()
    assert all(f'id="study-{name}"' in html for name in TINY)
    assert {row["study"] for row in json.loads(rows.read_text())} == set(TINY)


def test_what_is_there_is_not_trained_again_and_what_is_missing_is(results, tiny, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "studies"
    words = ["batch", "--functions", "step", "pendulum", "--seeds", "3", "--workers", "1", "--results", str(folder)]
    (folder / "batch").mkdir(parents=True)
    for path in (results / "batch").glob("*.json"):
        (folder / "batch" / path.name).write_bytes(path.read_bytes())
    lost = folder / "batch" / "cl-published-8.json"
    before = read_record(lost)
    lost.unlink()
    trained = []
    once = training.study_results
    monkeypatch.setattr(run_module, "study_results", lambda specs: trained.append(specs) or once(specs))
    assert run_command(["run", "study", *words]) == 0
    assert [[spec.value for spec in group] for group in trained] == [["8"]]
    assert read_record(lost).checksum == before.checksum  # to the bit
    assert run_command(["run", "study", *words]) == 0
    assert len(trained) == 1
    assert "chebact report studies" in capsys.readouterr().err


def test_points_of_two_studies_that_are_one_training_are_trained_once():
    groups = run_module.groups_of((), StudyRequest())
    shared = next(group for group in groups if group[0].settings == PUBLISHED and group[0].keep == "errors")
    assert {spec.study for spec in shared} == set(STUDIES) - {"tails", "shapes"}
    assert len({(spec.settings, spec.keep) for group in groups for spec in group}) == len(groups)
    assert sum(map(len, groups)) == len({spec.path(Path()) for group in groups for spec in group})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "study", "degre"], "study must be one of degree, "),
        (["report", "studies", "degre"], "study must be one of degree, "),
        (["report", "studies", "degree", "--update", "a.md"], "--update must be of all studies"),
        (["run", "study", "degree", "--functions", "sinus"], "function must be one of pendulum, "),
        (["run", "study", "degree", "--seeds", "0"], "seeds must be an integer from 1 to 10000, got 0"),
        (["run", "study", "degree", "--functions"], "functions must be one at least, got none"),
    ],
)
def test_bad_input_is_answered_in_one_sentence_before_any_work(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_command([*words, "--results", str(tmp_path)] if words[0] == "report" else words) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_records_of_no_study_and_of_other_settings_are_refused(results, tiny, tmp_path, monkeypatch, capsys):
    records = [record.typed for record in records_under(results / "batch")]
    monkeypatch.delitem(STUDIES, "batch")
    with pytest.raises(LabError, match="a record must be of a point of a study, got 'batch cl-published 32'; move it"):
        readings_of(records)
    monkeypatch.setitem(STUDIES, "batch", BATCH)
    with pytest.raises(LabError, match="two records are of one point"):
        readings_of([*records, records[0]])
    words = ["batch", "--functions", "step", "--seeds", "3", "--workers", "1", "--results", str(results)]
    assert run_command(["run", "study", *words]) == 2
    assert "is of another spec (functions is" in capsys.readouterr().err


def test_a_study_with_missing_points_says_so(results, tiny):
    records = [record.typed for record in records_under(results / "batch")][1:]
    (reading,) = readings_of(records)
    assert paragraph_of(reading).endswith("1 of 5 points are missing.")


def test_diverged_seeds_are_counted_and_never_dropped():
    score = score_seeds([[0.1, 0.2, None], [0.1, 0.1, 0.1]])
    assert score.error == pytest.approx(math.sqrt(0.2 * 0.1))  # the median of 0.1, 0.2 and one worse than both
    assert (score.low, score.high) == (pytest.approx(0.1), pytest.approx(math.sqrt(0.02)))
    assert (score.diverged, score.trainings) == (1, 6)
    assert score_seeds([[0.1, None, None]]).error is None


def test_fewer_points_are_the_first_of_more_and_noise_is_the_same_at_every_level():
    replicas = [("gravity", 0), ("step", 1)]
    few, many = (training.draw_data(replace(PUBLISHED, points=count), replicas) for count in (50, 200))
    loud = training.draw_data(replace(PUBLISHED, points=200, noise=0.1), replicas)
    assert torch.equal(few.x, many.x[:, :50])
    assert torch.equal(few.y, many.y[:, :50])
    truth = target("gravity", many.x[0, :, :4], "released")
    torch.testing.assert_close((many.y[0] - truth) * 10, loud.y[0] - truth, atol=1e-5, rtol=0)
    assert (many.y[0] - truth).std() == pytest.approx(0.01, rel=0.2)
    assert torch.equal(many.test_y[0], target("gravity", many.test_x[0, :, :4], "released"))
    assert not torch.equal(
        training.draw_data(PUBLISHED, [("step", 0)]).x, training.draw_data(PUBLISHED, [("step", 1)]).x
    )


@pytest.mark.parametrize("study", STUDIES)
def test_every_setting_of_the_table_can_be_built_and_has_as_many_parameters_as_it_says(study):
    for spec in specs_of_study(STUDIES[study], StudyRequest(seeds=1)):
        network = training.make_network(spec.settings, [("sigmoid", 0)])
        assert isinstance(network, ResidualMLP)
        assert sum(parameter.numel() for parameter in network.parameters()) == spec.settings.parameters(features=5)


def test_equal_parameters_are_equal_within_three_percent_and_equal_steps_are_steps():
    usual = PUBLISHED.parameters()
    for degree in range(1, 13):
        assert abs(equal_parameters(replace(PUBLISHED, degree=degree)).parameters() / usual - 1) < 0.03
    for points in (50, 100, 200, 1000, 5000, 20_000):
        assert abs(equal_steps(RECOMMENDED, points).steps / RECOMMENDED.steps - 1) < 0.03


def committed():
    return [record.typed for record in records_under(RESULTS)] if RESULTS.is_dir() else []


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the records are not at hand")
class TestCommitted:
    def test_the_records_are_those_of_the_table_and_none_is_missing(self):
        asked = {
            spec.path(RESULTS): as_plain(spec) for group in run_module.groups_of((), StudyRequest()) for spec in group
        }
        assert set(asked) == set(RESULTS.rglob("*.json"))
        assert [path for path, spec in asked.items() if read_record(path).spec != spec] == []

    def test_one_training_has_one_result_in_all_studies(self):
        found = {}
        for record in committed():
            errors = [each.rmse for each in record.results.functions]
            found.setdefault(record.spec.settings, []).append(errors)
        assert sum(len(each) > 1 for each in found.values()) > 5
        assert [errors for errors in found.values() if any(each != errors[0] for each in errors)] == []

    def test_words_of_the_paragraphs_that_no_number_chooses_are_true(self):
        reading = {each.study.name: each for each in readings_of(committed())}
        lines, noise = ("published", "recommended"), ("0.01", "0.04", "0.1")
        for recipe in lines:  # a wrong interval costs more than the activation gains
            at_four, at_one = (reading["interval"].error(f"cl-{recipe}", a) for a in (4.0, 1.0))
            assert at_four > reading["interval"].error(f"relu-{recipe}") > at_one
        for recipe in lines:  # the best weight grows with the noise
            for panel in ("decay", "curvature"):
                best = [float(reading["regularisation"].best(f"{recipe}-{level}", panel).value) for level in noise]
                assert best == sorted(best)
                assert best[0] < best[-1]
        for panel in ("decay", "curvature"):  # both slow the degradation
            assert growth_of(reading["regularisation"], panel) < growth_of(reading["regularisation"], "decay", 1e-6)
        factors = [
            reading["regularisation"].error(f"recommended-{level}", 1e-5, "curvature")
            / reading["regularisation"].error(f"recommended-{level}", 1e-7, "curvature")
            for level in noise
        ]
        assert min(factors[:2]) > 1 > factors[2]  # the penalty pays only where there is much noise
        tails = reading["tails"]
        for (
            recipe
        ) in lines:  # extrapolated tails have the least error in range, few inputs are outside, and they matter
            row = tails.row(f"cl-{recipe}", "extrapolate")
            assert row.error == tails.best(f"cl-{recipe}").error
            assert row.clamped > 5 * row.error
            assert all(max(pair) < 0.15 for pair in mean_outside(tails, f"cl-{recipe}", "extrapolate"))
        assert all(row.beyond > row.error for row in tails.rows if row.error)

    def test_the_page_is_made_from_the_records(self):
        text = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
        block = re.search(r"<!-- begin: studies -->\n(.*?)<!-- end: studies -->", text, re.DOTALL)[1]
        assert block == document_blocks(readings_of(committed()))["studies"].rstrip("\n") + "\n"
        assert set(PARAGRAPHS) <= set(STUDIES)
        assert {row.drawing for row in STUDIES.values()} <= set(DRAWINGS)
        for name in STUDIES:
            assert all(
                (ROOT / "docs" / "images" / f"study-{name}-{scheme}.svg").is_file() for scheme in ("light", "dark")
            )
