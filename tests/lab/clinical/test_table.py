"""Tables of recordings: what is read, what is left out, and every error by its row and column."""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from chebact.lab.clinical.cells import number_of
from chebact.lab.clinical.cohorts import SIGNAL, generated_choice_cohort, generated_cohort
from chebact.lab.clinical.duplicates import find_shared_rows
from chebact.lab.clinical.features import PAPER_FEATURES
from chebact.lab.clinical.table import PRESETS, Columns, DataError, preset, read_recordings

COLUMNS = Columns("who", "ill", "yes")
GOOD = "who,ill,pause,rate\nann,yes,0.5,3\nann,yes,0.7,1e1\nbob,no,-.1,4\n"


@pytest.fixture
def read(tmp_path):
    def reader(text, columns=COLUMNS, **changes):
        path = tmp_path / "table.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_recordings(path, replace(columns, **changes))

    return reader


def test_a_plain_table(read):
    table = read(GOOD)
    assert table.name == "table"
    np.testing.assert_array_equal(table.x, [[0.5, 3], [0.7, 10], [-0.1, 4]])
    assert table.y.tolist() == [1, 1, 0]
    assert table.subjects == ("ann", "ann", "bob")
    assert (table.features, table.left_out, table.generated) == (("pause", "rate"), (), False)


def test_a_byte_order_mark_blank_lines_quotes_and_spaces_do_no_harm(read):
    table = read(b'\xef\xbb\xbfwho,ill,"pause, long"\r\nann, yes ,"1"\r\n\r\nbob,no, 2 \r\n')
    assert table.features == ("pause, long",)
    assert table.x[:, 0].tolist() == [1, 2]


def test_columns_with_missing_values_are_left_out_as_in_the_paper(read):
    table = read("who,ill,a,b,c\nann,yes,1,NaN,2\nbob,no,3,4,\n")
    assert table.features == ("a",)
    assert table.left_out == ("2 columns with missing values: 'b', 'c'",)


def test_labels_in_json_and_other_diagnoses(read):
    rows = [("s1", ["ad"]), ("s2", ["hc"]), ("s3", ["mci"]), ("s4", []), ("s5", ["other", "ad"])]
    lines = ["original_subject_id,diagnoses,TTR"]
    for place, (subject, names) in enumerate(rows):
        cell = json.dumps([{"name": name} for name in names]).replace('"', '""')
        lines.append(f'{subject},"{cell}",{place}')
    table = read("\n".join(lines), PRESETS["famouspeople"])
    assert table.y.tolist() == [1, 0, 1]
    assert table.subjects == ("s1", "s2", "s5")
    assert table.left_out == ("2 recordings of other diagnoses",)


def test_the_paper_s_features():
    assert len(PAPER_FEATURES) == len(set(PAPER_FEATURES)) == 66
    assert PAPER_FEATURES[0] == "long_pause_count_normalized"
    assert PAPER_FEATURES[33] == "graph_lsc"
    assert PAPER_FEATURES[-1] == "info_units_count"
    assert {"Lu_DC/T", "NP_->_DT_NN", "VP_->_VBG_S", "TTR"} <= set(PAPER_FEATURES)
    assert preset("dementiabank").features == PAPER_FEATURES


def test_the_dementiabank_preset_takes_its_66_of_many(read):
    names = ["extra", *PAPER_FEATURES, "transcript"]
    random = np.random.default_rng(0)
    lines = [",".join(["original_subject_id", "diagnoses", *names])]
    for row, diagnosis in enumerate(["ad", "hc", "ad", "hc"]):
        cells = [f"{value:.5f}" for value in random.standard_normal(67)]
        lines.append(",".join([f"s{row}", f'"[{{""name"": ""{diagnosis}""}}]"', *cells, "some words"]))
    table = read("\n".join(lines), PRESETS["dementiabank"])
    assert table.features == PAPER_FEATURES
    assert table.y.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("text", "changes", "words"),
    [
        ("who,ill,a\nann,yes,1\nbob,no,x7\n", {}, ["row 3", "'a'", "'x7'", "`drop`"]),
        ("who,ill,a\nann,yes,inf\nbob,no,1\n", {}, ["row 2", "'a'", "'inf'", "finite"]),
        ("who,ill,a\nann,yes,1_0\nbob,no,1\n", {}, ["row 2", "'1_0'"]),
        ("who,ill,a\nann,yes,1e999\nbob,no,1\n", {}, ["row 2", "'1e999'", "finite"]),
        ("who,ill,a\nann,yes,1\nbob,no,-3.5e38\n", {}, ["row 3", "'a'", "-3.5e+38", "single precision"]),
        ("who,ill,a b\nann,yes,1e-200\nbob,no,3e-200\n", {}, ["'a b'", "1e-150", "`drop` 'a b'"]),
        ("who,ill,a\nann,yes,1\nNA,no,2\n", {}, ["row 3", "'who'", "subject is missing", "'NA'"]),
        ("who,ill,a\nann,yes,1\nbob,none,2\n", {}, ["row 3", "'ill'", "label is missing", "'none'", "`negative`"]),
        ("who,ill,a\nann,yes,1\nbob,?,2\n", {"negative": ("no",)}, ["row 3", "'ill'", "label is missing"]),
        ("who,ill,a\nann,yes,1\nbob,no,2\n", {"negative": ("no", "yes")}, ["'yes'", "both positive and negative"]),
        ("who,ill,a\nann,yes,1\nbob,no,2\n", {"subject": "ill"}, ["'ill'", "both the subject and the label"]),
        ("who,ill,a,a b\nann,yes,1,1\nbob,no,2,2\n", {}, ["'a' and 'a b'", "`drop` 'a b'"]),
        ("who,ill,a\nann,yes,1\nbob,no\n", {}, ["row 3", "3 cells", "got 2"]),
        ("who,ill,a\nann,yes,1\n\n,no,2\n", {}, ["row 4", "'who'", "subject is missing"]),
        ("who,ill,a\nann,yes,1\nbob,,2\n", {}, ["row 3", "'ill'", "label is missing"]),
        ("who,ill,a,a\nann,yes,1,2\n", {}, ["'a'", "more than once"]),
        ("who,ill,a,b\nann,yes,1,1\nbob,no,2,2\n", {}, ["'a' and 'b'", "same numbers", "`drop` b"]),
        ("who,ill,a\nann,yes,1\nann,no,2\n", {}, ["'ann'", "row 2", "row 3", "`two_labels`"]),
        ("who,ill,a\nann,yes,1\nbob,no,2\ncy,maybe,3\n", {}, ["'maybe', 'no'", "`negative`"]),
        ("who,ill,a\nann,no,1\nbob,maybe,2\n", {"negative": ("no",)}, ["no row", "'yes'"]),
        ("who,ill,a\nann,yes,1\n", {}, ["beside 'yes'", "none"]),
        ("who,ill,a\nann,yes,1\nbob,no,2\n", {"subject": "id"}, ["'id'", "'who', 'ill', 'a'"]),
        ("who,ill,a\nann,yes,1\nbob,no,2\n", {"features": ("a", "z")}, ["'z'"]),
        ("who,ill,a\nann,yes,1\nbob,no,2\n", {"features": ("ill",)}, ["'ill'", "cannot be a feature"]),
        ("who,ill,a\nann,yes,1\nbob,no,2\n", {"drop": ("b",)}, ["'b'"]),
        ("who,ill,a\nann,yes,\nbob,no,2\n", {}, ["no column without missing values"]),
        ("who,ill,a\n", {}, ["one recording or more"]),
        ("", {}, ["one recording or more"]),
        (b"who,ill,a\nann,yes,\xff\n", {}, ["UTF-8"]),
        ('who,ill,a\nann,"[{""nome"": ""ad""}]",1\nbob,no,2\n', {}, ["row 2", "'ill'", "JSON"]),
        ('who,ill,a\nann,"[{""name"": ""yes""}, {""name"": ""no""}]",1\n', {"negative": ("no",)}, ["row 2", "both"]),
        ("who,ill,a\nann,yes,1\nbob,no,2\n", {"two_labels": "perhaps"}, ["refuse, keep, drop", "perhaps"]),
    ],
)
def test_what_is_wrong_is_named(read, text, changes, words):
    with pytest.raises(DataError) as caught:
        read(text, **changes)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*nothing\.csv: No such file"):
        read_recordings(tmp_path / "nothing.csv", COLUMNS)


def test_subjects_with_two_labels_may_be_kept_or_dropped(read):
    text = "who,ill,a\nann,yes,1\nann,no,2\nbob,no,3\ncy,yes,4\n"
    assert read(text, two_labels="keep").y.tolist() == [1, 0, 0, 1]
    dropped = read(text, two_labels="drop")
    assert dropped.subjects == ("bob", "cy")
    assert dropped.left_out == ("1 subject with both labels",)


def test_constant_columns_are_read_even_if_they_are_alike(read):
    assert read("who,ill,a,b,c\nann,yes,1,1,7\nbob,no,1,1,8\n").features == ("a", "b", "c")


def test_the_digest_follows_what_is_learned_from(read):
    one = read(GOOD)
    assert one.digest == read(GOOD + "\n").digest
    for other in (GOOD.replace("0.7", "0.8"), GOOD.replace("bob", "cy"), GOOD.replace("rate", "speed")):
        assert read(other).digest != one.digest
    assert one.with_features(["rate"]).digest != one.digest
    with pytest.raises(DataError, match="'pitch'"):
        one.with_features(["rate", "pitch"])


def test_unknown_preset():
    with pytest.raises(DataError, match=r"preset must be one of dementiabank.*alzheimer"):
        preset("alzheimer")


def test_the_generated_cohort_has_dementiabanks_shape():
    table = generated_cohort()
    assert table.size == (407, 480)
    assert table.positive == 178
    assert table.generated
    counts = {subject: table.subjects.count(subject) for subject in table.subjects}
    assert set(counts.values()) == {1, 2, 3, 4, 5}
    labels = {(subject, label) for subject, label in zip(table.subjects, table.y.tolist(), strict=True)}
    assert len(labels) == len(counts)
    assert table.digest == generated_cohort().digest


def test_the_second_generated_cohort_has_famouspeoples_shape():
    table = generated_choice_cohort()
    assert table.size == (543, 480)
    assert len(set(table.subjects)) == 32
    assert table.features == generated_cohort().features
    assert not set(table.x[:, 0]) & set(generated_cohort().x[:, 0])


def test_66_features_carry_signal_and_the_others_none():
    """One number a subject, so that the tests are of independent draws; Welch's for means, Levene's for spreads."""
    table = generated_cohort()
    subjects = sorted(set(table.subjects))
    rows = [table.subjects.index(subject) for subject in subjects]
    x, y = table.x[rows], table.y[rows]
    means = stats.ttest_ind(x[y == 1], x[y == 0], equal_var=False).pvalue
    spreads = stats.levene(x[y == 1], x[y == 0]).pvalue
    p = np.minimum(means, spreads)
    signal = np.array([name.startswith("signal") for name in table.features])
    assert signal.sum() == SIGNAL == 66
    assert np.median(p[signal]) < 1e-3
    assert (p[signal] < 0.05).mean() > 0.8
    assert 0.05 < (means[~signal] < 0.1).mean() < 0.15
    assert stats.kstest(means[~signal], "uniform").pvalue > 0.001


def test_columns_without_a_name_are_left_out(read, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"who": ["a", "b", "c"], "ill": ["no", "no", "yes"], "pause": [0.1, 0.2, 0.3]})
    once = read(frame.to_csv())
    assert once.features == ("pause",)
    assert once.left_out == ("1 column without a name: number 1",)
    (tmp_path / "once.csv").write_text(frame.to_csv())
    twice = read(pandas.read_csv(tmp_path / "once.csv").to_csv())
    assert twice.features == ("pause",)
    assert twice.left_out == ("2 columns without a name: number 1, 2",)
    assert once.digest == read(frame.to_csv(index=False)).digest


def test_words_for_nothing_may_be_labels_where_they_are_asked_for(read):
    text = "who,ill,a\nann,yes,1\nbob,none,2\n"
    assert read(text, negative=("none",)).y.tolist() == [1, 0]
    assert read(text, positive="none").y.tolist() == [0, 1]


def test_numbers_of_all_sizes_that_can_be_scaled(read):
    """As they are: p-values near zero beside ordinary numbers, and the largest of single precision."""
    table = read("who,ill,a,b\nann,yes,1e-300,3.4028234e38\nbob,no,0.5,1\n")
    np.testing.assert_array_equal(table.x, [[1e-300, 3.4028234e38], [0.5, 1]])


def test_long_cells_are_read_in_no_time():
    for cell in ("1" * 200_000 + "x", "." + "1" * 200_000 + "x"):
        start = time.perf_counter()
        with pytest.raises(DataError, match="row 2"):
            number_of(Path("a.csv"), 2, "a", cell)
        assert time.perf_counter() - start < 2
    for text in ("1", "1.", ".5", "-1.5e-3", "+2E5", "007"):
        assert number_of(Path("a.csv"), 2, "a", text) == float(text)
    for text in (".", "1..2", "1e", "e5", "1.5.2", "--1"):
        with pytest.raises(DataError):
            number_of(Path("a.csv"), 2, "a", text)


def test_equal_recordings_of_two_subjects_are_told(read):
    assert read(GOOD).remarks == ()
    assert read(GOOD.replace("0.7,1e1", "0.5,3")).remarks == ()  # of one subject
    (remark,) = read(GOOD + "cy,no,0.5,3\n").remarks
    assert remark.startswith("2 recordings with all numbers of another subject's ('ann' and 'cy'")


def drawn(seed, values, recordings=60):
    random = np.random.default_rng(seed)
    return random.integers(0, values, (recordings, 2)).astype(float), [str(each // 2) for each in range(recordings)]


def test_recordings_in_common_and_what_chance_gives():
    for seed in range(20):  # two honest cohorts of features with few values
        shared = find_shared_rows(*drawn(seed, 6), *drawn(100 + seed, 6))
        assert shared.count > 0
        assert shared.chance
    assert find_shared_rows(*drawn(0, 10**6), *drawn(1, 10**6)).count == 0
    for values in (6, 30, 10**6):  # a cohort and itself, in another order
        x, subjects = drawn(0, values)
        assert not find_shared_rows(x, subjects, x[::-1], subjects[::-1]).chance
    (x, subjects), (y, others) = drawn(0, 40), drawn(1, 40)  # half of the second taken from the first
    y[:30] = x[:30]
    assert not find_shared_rows(x, subjects, y, others).chance
