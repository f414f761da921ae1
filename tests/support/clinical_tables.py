"""Tables of the form of DementiaBank with random numbers: nobody was recorded."""

import numpy as np

from chebact.lab.clinical.features import PAPER_FEATURES


def write_dementiabank(path, *, rows=415, subjects="s", seed=3):
    """A table like the released code reads: the paper's 66 features, patients, and 8 recordings of other diagnoses."""
    random, lines = np.random.default_rng(seed), [",".join(["original_subject_id", "diagnoses", *PAPER_FEATURES])]
    for row in range(rows):
        diagnosis = "ad" if row < rows * 178 // 415 else "hc" if row < rows - 8 else "mci"
        cells = [f"{v:.4f}" for v in random.standard_normal(66) + (diagnosis == "ad")]
        lines.append(",".join([f"{subjects}{row}", f'"[{{""name"": ""{diagnosis}""}}]"', *cells]))
    path.write_text("\n".join(lines))
    return path
