"""The table that delays are measured on: twenty fields of one tabular model, and its references.

Nineteen standard normal numbers, the last two of them with correlation 0.8, and a category of
eight values. The signals are those that the package makes of such a table: each field, its flags,
and the joint columns.
"""

from __future__ import annotations

import numpy as np

from driftline.metadata.extract.row import Category, Number
from driftline.metadata.extract.tabular import Tabular
from driftline.metadata.fitting import fit_reference
from driftline.metadata.reference import Reference
from driftline.metadata.sample import RowSample
from driftline.metadata.signals import Floats

NUMBERS = 19
CODES = 8
CORRELATION = 0.8
SHARES = 1.0 / np.arange(1, CODES + 1)
SHARES /= SHARES.sum()
TRAINED = 4_000


def clean(random: np.random.Generator, n: int) -> Floats:
    """Rows as in training, ``[n, 20]``."""
    rows = np.empty((n, NUMBERS + 1))
    rows[:, :NUMBERS] = random.standard_normal((n, NUMBERS))
    rows[:, NUMBERS - 1] *= np.sqrt(1 - CORRELATION**2)
    rows[:, NUMBERS - 1] += CORRELATION * rows[:, NUMBERS - 2]
    rows[:, NUMBERS] = np.searchsorted(np.cumsum(SHARES)[:-1], random.random(n))
    return rows


def extractor(random: np.random.Generator) -> Tabular:
    """The fitted extractor of the table, fitted on rows of its own."""
    fields = tuple(Number(f"x{index}") for index in range(NUMBERS))
    words = tuple(f"v{index}" for index in range(CODES))
    return Tabular((*fields, Category("code", words))).fit(clean(random, TRAINED))


def reference_of(table: Tabular, rows: Floats) -> Reference:
    """The reference that the package makes of `rows`."""
    sample = RowSample(len(table.columns()))
    sample.add(table.extract(rows))
    return fit_reference({"input": sample}, {"input": table.columns()}, source="held_out")
