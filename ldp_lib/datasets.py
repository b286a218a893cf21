"""Real data: small count tables that ship with the library.

``ldp_lib/data/README.md`` gives source, citation and licence of each. The raw files are had by `book.raw.fetch`.
"""

import csv
import io
import json
from importlib.resources import files

import numpy as np

from ldp_lib.population import Population

DATA = files("ldp_lib") / "data"
CORR_RR = ("adult", "mushroom", "clave")


def load_adult():
    """Return Adult's training part: 32,561 people, eight categorical attributes, 7,783 distinct records.

    The attributes are workclass, education, marital-status, occupation, relationship, race, sex, income. A value's
    code is its place in the sorted labels; "?" (missing) is a value like any other.
    """
    about = json.loads((DATA / "adult.json").read_text(encoding="utf-8"))
    _, records, counts = _read_table("adult.csv", about["n"], "users")
    labels = tuple(map(tuple, about["labels"].values()))
    k = tuple(map(len, labels))
    return Population(records=records, counts=counts, k=k, names=tuple(about["labels"]), labels=labels)


def load_nursery():
    """Return Nursery's eight inputs: each of the 12,960 combinations of their values, held by one user each."""
    labels = json.loads((DATA / "nursery.json").read_text(encoding="utf-8"))
    values = tuple(map(tuple, labels.values()))
    every_one = np.ones(tuple(map(len, values)), np.int64)
    return Population.from_counts(every_one, names=tuple(labels), labels=values)


def load_binary(name):
    """Return a binary population of the Joint Randomized Response paper (PETS 2025): n users, n1 of them with value 1.

    Parameters
    ----------
    name : str
        "ecommerce_clothing", "amazon_beauty", "ipums_2010" or "kosarak".
    """
    with (DATA / "binary_marginals.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["dataset"]: row for row in csv.DictReader(file)}
    _require_name(name, tuple(rows))
    n, n1 = int(rows[name]["n"]), int(rows[name]["n1"])
    return Population.from_counts([n - n1, n1], names=(rows[name]["n1_means"],), labels=(("no", "yes"),))


def load_corr_rr(name):
    """Return the data that the Corr-RR paper (PETS 2026) ran on, as its contingency table.

    Parameters
    ----------
    name : str
        "adult" (2 x 2 x 2), "mushroom" (5 x 5) or "clave" (2 x 2). Attributes are named X1, X2, ... as in the source.
    """
    _require_name(name, CORR_RR)
    names, records, counts = _read_table(f"corr_rr_{name}.csv")
    return Population.from_counts(counts.reshape(records.max(axis=0) + 1), names=names)


def load_students():
    """Return the reports of 710 students to six sensitive questions by the unrelated-question design, as a Population.

    What a record holds is reports, not truths. With probability 1/2 a card asks the sensitive question, else an
    innocuous one. A simple random sample without replacement from 10,777. Chapter `real_survey`.
    """
    names, records, counts = _read_table("students.csv", 710, "students")
    labels = (("no", "yes"),) * len(names)
    return Population(records=records, counts=counts, k=(2,) * len(names), names=names, labels=labels)


def load_minarets():
    """Return the 1,621 answers on a ban of minarets by design and condition, a DataFrame. Chapter `noncompliance`.

    Columns: design ("direct" or "randomized"), condition (0; the lie detector's 1 or 2), answer (as coded in the
    source), count.
    """
    return read_frame("minarets.csv", 6)


def read_frame(name, rows, **options):
    """Return a shipped table as a DataFrame, or raise ValueError if it does not have so many whole rows."""
    import pandas as pd

    text = (DATA / name).read_text(encoding="utf-8")
    frame = pd.read_csv(io.StringIO(text), **options)
    if len(frame) != rows or not text.endswith("\n"):
        raise ValueError(f"{name} must have {rows} whole rows; it is damaged: got {len(frame)}")
    return frame


def _read_table(file, n=None, people=None):
    """Return the attributes' names, the records and their counts from a shipped table, which add up to n if given."""
    with (DATA / file).open(encoding="utf-8") as lines:
        names = tuple(next(lines).strip().split(",")[:-1])
        *columns, counts = np.loadtxt(lines, delimiter=",", dtype=np.int64, ndmin=2, unpack=True)
    if n is not None and counts.sum() != n:
        raise ValueError(f"{file} must add up to {n} {people}; got {counts.sum()}")
    return names, np.column_stack(columns), counts


def _require_name(name, allowed):
    if name not in allowed:
        raise ValueError(f"name must be one of {', '.join(allowed)}; got {name!r}")
