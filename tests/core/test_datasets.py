"""The shipped tables are the raw data, and raw data is checked or refused."""

import csv
import os
import re
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import build_data as build
import numpy as np
import pytest

from ldp_lib import datasets
from ldp_lib.book import raw as raw_files

BESIDE = Path(__file__).parents[3] / "shared" / "data"
RAW_FOLDER = Path(os.environ.get("LDP_LIB_DATA") or BESIDE)
BINARY = ("ecommerce_clothing", "amazon_beauty", "ipums_2010", "kosarak")
FETCH = {
    "adult/adult.data": lambda: raw_files.fetch("adult"),
    "mushroom/agaricus-lepiota.data": lambda: raw_files.fetch("mushroom"),
    "nursery/nursery.data": lambda: raw_files.fetch("nursery"),
    "clave/ClaveVectors_Firm-Teacher_Model.txt": lambda: raw_files.fetch("clave"),
}
# sha256 of the lines of adult.data's eight columns in sorted order
ADULT_SORTED_SHA256 = "1b544f128c8a92237bb60d226c2cb3fde0357c20951e090a96ef1693c5ba0fc6"
# sha256 of the raw rows of the other tables: Nursery's eight inputs in order, Corr-RR's three files in sorted order
NURSERY_SHA256 = "a6b65f3fec994b227747220d46303d19ee98dbb219f7995d6fdba3d5ee5f1027"
CORR_RR_SHA256 = {
    "adult": "46d4f09d74873f30d1eb6d64d8ac891368ed90e2b85dc7c9c9b304f367449100",
    "mushroom": "90a7b0f85f4116f29024c033741281ded3afba3ef27568ebfb0365003d23b3c8",
    "clave": "0e024dd6f10f0b1a13a8ea30b67b5ac89b58ac000718e58b586e61599c749558",
}
ADULT_COLUMNS = (1, 3, 5, 6, 7, 8, 9, 14)

needs_raw = pytest.mark.skipif(
    "LDP_LIB_DATA" not in os.environ and not BESIDE.is_dir(),
    reason="raw files: set LDP_LIB_DATA to a folder that holds adult/adult.data and the others",
)


@pytest.fixture
def raw(monkeypatch):
    monkeypatch.setenv("LDP_LIB_DATA", str(RAW_FOLDER))
    return RAW_FOLDER


def read_rows(path):
    with path.open(newline="") as file:
        return [tuple(field.strip() for field in row) for row in csv.reader(file) if row]


def labelled_rows(population):
    """One row of labels a user, in the order of the records."""
    columns = [np.array(labels)[column] for labels, column in zip(population.labels, population.records.T, strict=True)]
    return list(map(tuple, np.repeat(np.column_stack(columns), population.counts, axis=0).tolist()))


def test_adult_has_the_published_size_domain_and_marginals():
    adult = datasets.load_adult()
    assert (adult.n, adult.d, len(adult.records)) == (32561, 8, 7783)
    assert adult.k == (9, 16, 7, 15, 6, 5, 2, 2)
    assert adult.names == (
        *("workclass", "education", "marital-status", "occupation"),
        *("relationship", "race", "sex", "income"),
    )
    assert adult.select("income").counts.tolist() == [24720, 7841]
    for name, missing in (("workclass", 1836), ("occupation", 1843)):
        one = adult.select(name)
        assert one.counts[one.labels[0].index("?")] == missing


def test_adult_expands_to_the_raw_rows_by_checksum():
    assert raw_files._content_sha256(sorted(labelled_rows(datasets.load_adult()))) == ADULT_SORTED_SHA256


def corr_rr_rows(name):
    """The records of a Corr-RR table, one a user, as its raw file writes them."""
    population = datasets.load_corr_rr(name)
    return [tuple(map(str, row)) for row in np.repeat(population.records, population.counts, axis=0).tolist()]


def test_the_other_tables_expand_to_their_raw_rows_by_checksum():
    assert raw_files._content_sha256(labelled_rows(datasets.load_nursery())) == NURSERY_SHA256
    for name in datasets.CORR_RR:
        assert raw_files._content_sha256(sorted(corr_rr_rows(name))) == CORR_RR_SHA256[name]


@needs_raw
def test_the_checksums_are_those_of_the_raw_rows(raw):
    assert raw_files._content_sha256([row[:8] for row in read_rows(raw_files.fetch("nursery"))]) == NURSERY_SHA256
    for name in datasets.CORR_RR:
        _, *rows = read_rows(RAW_FOLDER / "corr_rr" / f"{name}.csv")
        assert raw_files._content_sha256(sorted(rows)) == CORR_RR_SHA256[name]


@needs_raw
def test_adult_expands_to_the_raw_rows(raw):
    rows = [tuple(row[j] for j in ADULT_COLUMNS) for row in read_rows(raw_files.fetch("adult"))]
    assert raw_files._content_sha256(rows) == build.ADULT_SHA256
    assert raw_files._content_sha256(sorted(rows)) == ADULT_SORTED_SHA256
    assert Counter(labelled_rows(datasets.load_adult())) == Counter(rows)


@needs_raw
def test_building_adult_again_gives_the_shipped_files(raw, tmp_path):
    # census.csv: a row number, no fnlwgt, no native-country, other names for the last columns
    rows = [row[:2] + row[3:13] + row[14:] for row in read_rows(raw_files.fetch("adult"))]
    header = ["", "age", "workclass", "education", "education-num", "marital-status", "occupation", "relationship"]
    header += ["ethnicity", "gender", "capital-gain", "capital-loss", "hours-per-week", "loan"]
    lines = [",".join(header), *(", ".join([str(i), *row]) for i, row in enumerate(rows))]
    census = tmp_path / "census.csv"
    census.write_text("\n".join(lines) + "\n")
    build.build_adult(census, tmp_path)
    for name in ("adult.csv", "adult.json"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (datasets.DATA / name).read_text(encoding="utf-8")
    census.write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(ValueError, match=rf"census\.csv must have sha256 {build.ADULT_SHA256}; got [0-9a-f]{{64}}"):
        build.build_adult(census, tmp_path)


def test_a_table_that_does_not_add_up_is_refused(tmp_path, monkeypatch):
    for name in ("adult.csv", "adult.json"):
        (tmp_path / name).write_text((datasets.DATA / name).read_text(encoding="utf-8"))
    with (tmp_path / "adult.csv").open("a") as file:
        file.write("8,15,6,14,5,4,1,1,3\n")
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    with pytest.raises(ValueError, match=r"adult\.csv must add up to 32561 users; got 32564"):
        datasets.load_adult()


def test_nursery_is_the_full_factorial():
    nursery = datasets.load_nursery()
    assert (nursery.n, nursery.k) == (12960, (3, 5, 4, 4, 3, 2, 3, 3))
    assert nursery.names == ("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health")
    assert nursery.records.tolist() == list(map(list, product(*map(range, nursery.k))))
    assert (nursery.counts == 1).all()


@needs_raw
def test_nursery_equals_the_raw_file_row_by_row(raw):
    assert labelled_rows(datasets.load_nursery()) == [row[:8] for row in read_rows(raw_files.fetch("nursery"))]


@pytest.mark.parametrize(
    ("name", "n", "n1"),
    [
        ("ecommerce_clothing", 23486, 19314),
        ("amazon_beauty", 10000, 762),
        ("ipums_2010", 10000, 9528),
        ("kosarak", 20000, 659),
    ],
)
def test_binary_populations_have_the_published_counts(name, n, n1):
    population = datasets.load_binary(name)
    assert (population.d, population.k, population.n) == (1, (2,), n)
    assert population.counts.tolist() == [n - n1, n1]


@needs_raw
def test_binary_table_equals_the_raw_file():
    assert (datasets.DATA / "binary_marginals.csv").read_text(encoding="utf-8") == (
        RAW_FOLDER / "binary_marginals.csv"
    ).read_text(encoding="utf-8")


@needs_raw
def test_clothing_counts_equal_its_raw_records():
    _, *rows = read_rows(RAW_FOLDER / "womens_clothing" / "recommended_ind.csv")
    recommended = Counter(row[0] for row in rows)
    assert datasets.load_binary("ecommerce_clothing").counts.tolist() == [recommended["0"], recommended["1"]]


@pytest.mark.parametrize(
    ("name", "k", "n"), [("adult", (2, 2, 2), 10000), ("mushroom", (5, 5), 8000), ("clave", (2, 2), 10000)]
)
def test_corr_rr_tables_have_the_published_size(name, k, n):
    population = datasets.load_corr_rr(name)
    assert (population.k, population.n) == (k, n)
    assert population.names == ("X1", "X2", "X3")[: len(k)]


@needs_raw
@pytest.mark.parametrize("name", datasets.CORR_RR)
def test_corr_rr_tables_equal_the_raw_files(name, tmp_path):
    _, *rows = read_rows(RAW_FOLDER / "corr_rr" / f"{name}.csv")
    counts = Counter(tuple(map(int, row)) for row in rows)
    population = datasets.load_corr_rr(name)
    assert dict(zip(map(tuple, population.records.tolist()), population.counts.tolist(), strict=True)) == counts
    build.build_corr_rr(RAW_FOLDER / "corr_rr", tmp_path)
    shipped = f"corr_rr_{name}.csv"
    assert (tmp_path / shipped).read_text(encoding="utf-8") == (datasets.DATA / shipped).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("load", "allowed"), [(datasets.load_binary, BINARY), (datasets.load_corr_rr, datasets.CORR_RR)]
)
@pytest.mark.parametrize("name", ["Adult", "", None, ["adult"]])
def test_an_unknown_name_is_refused_with_the_allowed_ones(load, allowed, name):
    message = f"name must be one of {', '.join(allowed)}; got {name!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        load(name)


def test_the_real_surveys_have_the_published_sizes():
    students, answers = datasets.load_students(), datasets.load_minarets()
    assert (students.n, students.k, len(students.records)) == (710, (2,) * 6, 53)
    assert students.names == ("copied", "fought", "bullied", "bullying", "drug", "sex")
    assert answers.groupby(["design", "condition"])["count"].sum().tolist() == [365, 564, 692]


@needs_raw
@pytest.mark.parametrize(
    ("shipped", "raw_name"), [("students", "students_unrelated_question"), ("minarets", "minarets_lie_detector")]
)
def test_the_real_surveys_are_the_counts_of_their_sources(shipped, raw_name):
    raw_file = RAW_FOLDER / "surveys" / f"{raw_name}.csv"
    if not raw_file.is_file():
        pytest.skip(f"no {raw_name}.csv in the folder of raw data")
    assert (datasets.DATA / f"{shipped}.csv").read_bytes() == raw_file.read_bytes()


def test_students_that_do_not_add_up_are_refused(tmp_path, monkeypatch):
    text = (datasets.DATA / "students.csv").read_text(encoding="utf-8")
    (tmp_path / "students.csv").write_text(text + "1,1,1,1,1,1,2\n", encoding="utf-8")
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    with pytest.raises(ValueError, match=r"students\.csv must add up to 710 students; got 712"):
        datasets.load_students()


def test_each_raw_file_has_its_fetch_function():
    assert set(FETCH) == set(raw_files.RAW)


@needs_raw
@pytest.mark.parametrize("path", list(FETCH))
def test_fetch_finds_a_checked_file_in_the_data_folder(path, raw):
    assert FETCH[path]() == raw / path


@pytest.mark.parametrize("path", list(FETCH))
def test_a_missing_file_is_an_error_that_says_where_to_get_it(path, tmp_path, monkeypatch):
    monkeypatch.setenv("LDP_LIB_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError) as error:
        FETCH[path]()
    assert_says_where(error, path, str(tmp_path))


@pytest.mark.parametrize("path", list(FETCH))
def test_a_file_with_another_checksum_is_refused(path, tmp_path, monkeypatch):
    monkeypatch.setenv("LDP_LIB_DATA", str(tmp_path))
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_bytes(b"1 0 1\n")
    with pytest.raises(ValueError, match=r"must have (content )?sha256 [0-9a-f]{64}; got [0-9a-f]{64}") as error:
        FETCH[path]()
    assert_says_where(error, path, str(tmp_path / path))


def assert_says_where(error, path, *words):
    url, kind, checksum = raw_files.RAW[path]
    for word in (path, kind, checksum, raw_files.UCI + url, *words):
        assert word in str(error.value)


@needs_raw
def test_clave_is_known_by_its_digits_whatever_its_line_ends(tmp_path, monkeypatch):
    path = "clave/ClaveVectors_Firm-Teacher_Model.txt"
    data = (RAW_FOLDER / path).read_bytes()
    (tmp_path / "clave").mkdir()
    copy = tmp_path / path
    copy.write_bytes(data.replace(b"\n", b"\r\n"))
    monkeypatch.setenv("LDP_LIB_DATA", str(tmp_path))
    assert raw_files.fetch("clave") == copy
    copy.write_bytes((b"0" if data[:1] == b"1" else b"1") + data[1:])
    with pytest.raises(ValueError, match="content sha256"):
        raw_files.fetch("clave")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """No data folder; pooch's downloads come from a folder here, through a stand-in that keeps pooch's contract."""
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("LDP_LIB_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    served = tmp_path / "served"
    served.mkdir()

    def download(url, output_file, pooch):
        assert url.startswith(raw_files.UCI)
        Path(output_file).write_bytes((served / Path(url).name).read_bytes())

    monkeypatch.setattr(pooch.core, "choose_downloader", lambda url, progressbar: download)
    return served


@needs_raw
@pytest.mark.parametrize("path", list(FETCH))
def test_without_a_data_folder_the_file_is_downloaded_once_and_checked(path, server):
    source = server / Path(path).name
    source.write_bytes((RAW_FOLDER / path).read_bytes())
    file = FETCH[path]()
    assert file.read_bytes() == source.read_bytes()
    source.unlink()
    assert FETCH[path]() == file


@pytest.mark.parametrize("path", list(FETCH))
def test_a_download_with_another_checksum_is_refused(path, server):
    (server / Path(path).name).write_bytes(b"1 0 1\n")
    with pytest.raises((ConnectionError, ValueError)) as error:
        FETCH[path]()
    assert_says_where(error, path)


@pytest.mark.parametrize("path", list(FETCH))
def test_without_a_data_folder_or_network_the_error_says_what_to_do(path, server):
    with pytest.raises(ConnectionError) as error:
        FETCH[path]()
    assert_says_where(error, path, "could not be downloaded", "LDP_LIB_DATA")


def test_without_pooch_the_error_names_the_extra(monkeypatch):
    monkeypatch.delenv("LDP_LIB_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError) as error:
        raw_files.fetch("adult")
    assert_says_where(error, "adult/adult.data", "pip install ldp-lib[data]", "LDP_LIB_DATA")


def test_a_table_that_was_cut_short_is_refused(tmp_path, monkeypatch):
    text = (datasets.DATA / "minarets.csv").read_text(encoding="utf-8")
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    for cut in (text[:-1], text[:-2], text[: text.rindex("\n", 0, -1) + 1]):
        (tmp_path / "minarets.csv").write_text(cut, encoding="utf-8")
        with pytest.raises(ValueError, match=r"minarets\.csv must have 6 whole rows"):
            datasets.load_minarets()
    (tmp_path / "minarets.csv").write_text(text, encoding="utf-8")
    assert len(datasets.load_minarets()) == 6
