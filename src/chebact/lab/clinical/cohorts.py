"""Two generated cohorts of the shape of DementiaBank and FamousPeople: no person was recorded.

Both are drawn from one model, so that features chosen on the second are useful on the first. A subject has a value in
each of six hidden traits; patients differ in the mean of four and in the spread of two. A recording of a subject
shows the traits with a random drift. 66 features each show a mixture of the traits under noise, a third of them
as they are, a third through an exponential (as durations are), a third through a softplus (as counts are). The other
414 show only an offset per subject and noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chebact.lab.clinical.table import Recordings

__all__ = ["FEATURES", "SIGNAL", "generated_choice_cohort", "generated_cohort"]

FEATURES, SIGNAL = 480, 66
SHIFTED, SPREAD = 4, 2  # traits whose mean differs, traits whose spread differs
SHIFT, WIDER = 1.05, 1.8
DRIFT = 0.5  # deviation of a recording's traits around its subject's
SHOWN = 0.6  # part of a signal feature's variance that the traits make
HABIT = 0.1  # part of the rest that is constant per subject
MODEL_SEED, COHORT_SEED, CHOICE_SEED = 20190629, 407, 543

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Model:
    """How traits become features: loadings (trait, signal feature) and the order of the columns."""

    loadings: Floats
    order: Integers


def generated_cohort() -> Recordings:
    """Of DementiaBank's shape: 407 recordings, 178 of patients, one to five per subject, 480 features.

    >>> cohort = generated_cohort()
    >>> cohort.size, cohort.positive, cohort.generated
    ((407, 480), 178, True)
    """
    random = np.random.default_rng(COHORT_SEED)
    patients, healthy = one_to_five(178, random), one_to_five(229, random)
    return draw_cohort("generated", patients, healthy, random)


def generated_choice_cohort() -> Recordings:
    """Of FamousPeople's shape: 543 recordings of 32 subjects; the features are chosen on it.

    >>> generated_choice_cohort().size
    (543, 480)
    """
    random = np.random.default_rng(CHOICE_SEED)
    patients, healthy = np.full(16, 17), np.full(16, 17) - np.eye(1, 16, dtype=np.int64)[0]
    return draw_cohort("generated-choice", patients, healthy, random)


def one_to_five(recordings: int, random: np.random.Generator) -> Integers:
    """Recordings per subject, one to five each, with the sum `recordings`."""
    counts: list[int] = []
    while (left := recordings - sum(counts)) > 0:
        counts.append(min(left, int(random.integers(1, 6))))
    return np.array(counts)


def make_model() -> Model:
    """The same for both cohorts."""
    random = np.random.default_rng(MODEL_SEED)
    shape = (SHIFTED + SPREAD, SIGNAL)
    loadings = np.abs(random.standard_normal(shape)) * (random.random(shape) < 0.5)
    loadings[np.arange(SIGNAL) % len(loadings), np.arange(SIGNAL)] = 1.5  # each shows one trait above all
    loadings *= random.choice([-1, 1], SIGNAL)  # and rises or falls with the disease
    return Model(loadings / np.linalg.norm(loadings, axis=0), random.permutation(FEATURES))


def draw_cohort(name: str, patients: Integers, healthy: Integers, random: np.random.Generator) -> Recordings:
    """A cohort of subjects with these numbers of recordings, in random order."""
    shared = make_model()
    counts, ill = np.concatenate([patients, healthy]), np.arange(len(patients) + len(healthy)) < len(patients)
    mixed = random.permutation(len(counts))
    counts, ill = counts[mixed], ill[mixed]
    who = np.repeat(np.arange(len(counts)), counts)
    signal = signal_features(draw_traits(ill, random)[who], shared, who, random)
    noise = subject_noise(who, FEATURES - SIGNAL, random)
    names = [f"signal_{i:02d}" for i in range(1, SIGNAL + 1)] + [f"noise_{i:03d}" for i in range(1, noise.shape[1] + 1)]
    x = np.concatenate([signal, noise], axis=1)[:, shared.order]
    subjects = tuple(f"subject-{subject + 1:03d}" for subject in who)
    features = tuple(names[column] for column in shared.order)
    return Recordings(name, x, ill[who].astype(np.int64), subjects, features, generated=True)


def draw_traits(ill: NDArray[np.bool_], random: np.random.Generator) -> Floats:
    """The hidden traits (subject, trait)."""
    drawn = random.standard_normal((len(ill), SHIFTED + SPREAD))
    drawn[:, :SHIFTED] += np.where(ill, SHIFT, 0)[:, None] - SHIFT / 2
    drawn[:, SHIFTED:] *= np.where(ill, WIDER, 1)[:, None]
    return drawn


def signal_features(own: Floats, shared: Model, who: Integers, random: np.random.Generator) -> Floats:
    """The signal features (recording, feature) of traits (recording, trait)."""
    drifted = own + DRIFT * random.standard_normal(own.shape)
    plain = np.sqrt(SHOWN) * drifted @ shared.loadings + np.sqrt(1 - SHOWN) * subject_noise(who, SIGNAL, random)
    third = np.arange(SIGNAL) % 3
    found: Floats = np.where(third == 0, plain, np.where(third == 1, np.exp(plain / 2), np.logaddexp(0, 2 * plain)))
    return found


def subject_noise(who: Integers, features: int, random: np.random.Generator) -> Floats:
    """Noise of unit variance, a part of which is the same in all recordings of a subject: (recording, feature)."""
    own = random.standard_normal((int(who.max()) + 1, features))
    noise: Floats = np.sqrt(HABIT) * own[who] + np.sqrt(1 - HABIT) * random.standard_normal((len(who), features))
    return noise
