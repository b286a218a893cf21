"""Real data: small count tables that ship with the library, and checked raw files for those who ask.

`load_*` reads what ships; ``ldp_lib/data/README.md`` gives source, citation and licence of each table. `fetch_*` gives
the path of a raw file: from the folder named by the environment variable ``LDP_LIB_DATA``, else downloaded once from
the UCI Machine Learning Repository by pooch (``pip install ldp-lib[data]``). Either way its checksum must match.
"""

import csv
import hashlib
import io
import json
import os
from importlib.resources import files
from pathlib import Path

import numpy as np

from ldp_lib.population import Population

DATA = files("ldp_lib") / "data"
CORR_RR = ("adult", "mushroom", "clave")
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
# Path in the data folder: URL below UCI, kind of checksum, checksum. Copies of Clave differ in their line ends, so its
# checksum is that of the parsed digits.
RAW = {path: tuple(row) for path, row in json.loads((DATA / "raw.json").read_text(encoding="utf-8")).items()}


def load_adult():
    """Return Adult's training part: 32,561 people, eight categorical attributes, 7,783 distinct records.

    The attributes are workclass, education, marital-status, occupation, relationship, race, sex, income. A value's
    code is its place in the sorted labels; "?" (missing) is a value like any other.
    """
    about = json.loads((DATA / "adult.json").read_text(encoding="utf-8"))
    _, records, counts = _read_table("adult.csv")
    if counts.sum() != about["n"]:
        raise ValueError(f"adult.csv must add up to {about['n']} users; got {counts.sum()}")
    labels = tuple(map(tuple, about["labels"].values()))
    k = tuple(map(len, labels))
    return Population(records=records, counts=counts, k=k, names=tuple(about["labels"]), labels=labels)


def load_nursery():
    """Return Nursery's eight inputs: each of the 12,960 combinations of their values, held by one user each."""
    labels = json.loads((DATA / "nursery.json").read_text(encoding="utf-8"))
    values = tuple(map(tuple, labels.values()))
    every_one = np.ones(tuple(map(len, values)), dtype=np.int64)
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
    names, records, counts = _read_table("students.csv")
    if counts.sum() != 710:
        raise ValueError(f"students.csv must add up to 710 students; got {counts.sum()}")
    labels = (("no", "yes"),) * len(names)
    return Population(records=records, counts=counts, k=(2,) * len(names), names=names, labels=labels)


def load_minarets():
    """Return the 1,621 answers on a ban of minarets by design and condition, a DataFrame. Chapter `noncompliance`.

    Columns: design ("direct" or "randomized"), condition (0; the lie detector's 1 or 2), answer (as coded in the
    source), count.
    """
    return read_frame("minarets.csv", 6)


def fetch_adult():
    """Return the path of UCI's adult.data: 32,561 rows of 15 fields separated by ", "; no header, missing is "?"."""
    return _fetch("adult/adult.data")


def fetch_mushroom():
    """Return the path of UCI's agaricus-lepiota.data: 8,124 rows of 23 fields; no header, the class comes first."""
    return _fetch("mushroom/agaricus-lepiota.data")


def fetch_nursery():
    """Return the path of UCI's nursery.data: 12,960 rows of 9 fields; no header, the class comes last."""
    return _fetch("nursery/nursery.data")


def fetch_clave():
    """Return the path of UCI's Clave vectors: 10,800 rows, 16 onset bits and 4 output bits.

    Some lines go on after the bits: take the first 20 fields.
    """
    return _fetch("clave/ClaveVectors_Firm-Teacher_Model.txt")


def content_sha256(rows):
    """Return the sha256 of a parsed table: its fields joined by ",", one newline after each row."""
    return hashlib.sha256("".join(",".join(row) + "\n" for row in rows).encode()).hexdigest()


def read_frame(name, rows, **options):
    """Return a shipped table as a DataFrame, or raise ValueError if it does not have so many whole rows."""
    import pandas as pd

    text = (DATA / name).read_text(encoding="utf-8")
    frame = pd.read_csv(io.StringIO(text), **options)
    if len(frame) != rows or not text.endswith("\n"):
        raise ValueError(f"{name} must have {rows} whole rows; it is damaged: got {len(frame)}")
    return frame


def _read_table(file):
    """Return the attributes' names, the records and their counts from a shipped table."""
    with (DATA / file).open(encoding="utf-8") as lines:
        names = tuple(next(lines).strip().split(",")[:-1])
        table = np.loadtxt(lines, delimiter=",", dtype=np.int64, ndmin=2)
    return names, table[:, :-1], table[:, -1]


def _require_name(name, allowed):
    if name not in allowed:
        raise ValueError(f"name must be one of {', '.join(allowed)}; got {name!r}")


def _fetch(path):
    """Return the checked local path of a raw file, or raise an error that says where to get it."""
    url, kind, wanted = RAW[path]
    source = f"{path} ({kind} {wanted}) comes from {UCI}{url}"
    folder = os.environ.get("LDP_LIB_DATA")
    if folder:
        file = Path(folder, path)
        if not file.is_file():
            raise FileNotFoundError(f"LDP_LIB_DATA must name a folder that holds {path}; got {folder}. {source}")
    else:
        file = _download(path, UCI + url, f"sha256:{wanted}" if kind == "sha256" else None, source)
    found = _checksum(file, kind)
    if found != wanted:
        raise ValueError(f"{file} must have {kind} {wanted}; got {found}. {source}")
    return file


def _checksum(file, kind):
    if kind == "sha256":
        return hashlib.sha256(file.read_bytes()).hexdigest()
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return content_sha256(line.split()[:20] for line in lines if line.strip())


def _download(path, url, known_hash, source):
    remedy = f"{source}: download it, or set LDP_LIB_DATA to a folder that holds it"
    try:
        import pooch
    except ImportError as error:
        raise ImportError(f"pooch is needed to download {path}: pip install ldp-lib[data]. {remedy}") from error
    try:
        return Path(pooch.retrieve(url, known_hash, fname=Path(path).name, path=pooch.os_cache("ldp_lib")))
    except (OSError, ValueError) as error:
        raise ConnectionError(f"{path} could not be downloaded: {error}. {remedy}") from error
