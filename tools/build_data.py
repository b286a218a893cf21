"""Build the shipped count tables from their sources, checksums verified.

python tools/build_data.py adult path/to/census.csv   (or the xai 0.3.0 wheel that holds it)
python tools/build_data.py corr_rr path/to/folder     (with the artifact's adult.csv, mushroom.csv and clave.csv)
python tools/build_data.py corr_rr_figures path/to/folder  (with the numbers read from its published figures)
python tools/build_data.py jrr_figures path/to/folder      (with the numbers of the JRR paper's published runs)
"""

import csv
import hashlib
import io
import json
import sys
import zipfile
from collections import Counter
from itertools import product
from pathlib import Path

from ldp_lib.book.raw import _content_sha256

HERE = Path(__file__).resolve().parents[1] / "ldp_lib" / "data"
CENSUS = "xai/data/census.csv"
# UCI's attribute: the census file's column
ADULT_COLUMNS = {
    "workclass": "workclass",
    "education": "education",
    "marital-status": "marital-status",
    "occupation": "occupation",
    "relationship": "relationship",
    "race": "ethnicity",
    "sex": "gender",
    "income": "loan",
}
ADULT_SHA256 = "34ca4000c1280ac4086cd6eef1c158905306a3925167351d3c3245f12f96f67b"
CORR_RR = {
    "adult": ((2, 2, 2), "0d8dfce0cbf8eae8351d48506709a2e3e8d92600a3b1da97f1f9bda7d6bc20c8"),
    "mushroom": ((5, 5), "c99d56707e094f11b65367c351b83f346d44fb78f318cdcc232d22b46976c174"),
    "clave": ((2, 2), "1be4840e7ff230f351fda2a558764f0e66a4b0e506a7022a8b76b77159f8949f"),
}

# What was read from the published figures; of each file the sha256.
FIGURES = {
    "figures": "251d0b75eefa0884c1b5c23511a0b3f193a777f7a432af0f7820ad787aedaf15",
    "figure_settings": "cadc34255295fe88083b259a3981fe699fca82fb67e969d4dab76887f310850f",
    "figure2": "4ab1045557b8eccde8fd885b06b659a83eb524f7547af4362a7285b4d2d8781e",
    "figure12": "81de3fdd7d46d5b7855ed1c045ce58370c9f02e49d7c5dd5f488b45310c0e5fc",
}


JRR_FIGURES = {
    "figures": "5ae38e0da065358bcaed097be879a902196b65e26ad427d9c342967fe478984c",
    "estimates": "573ce419df376a08046baab3e073a33e06a1c00eab71ddb52c5f69bea7e0a304",
}
# Where the published rows give a name: users, and users with value 1.
JRR_REAL = {"Kosarak": (20000, 659), "Amazon": (10000, 762), "E-commerce": (23486, 19314), "Census": (10000, 9528)}


def build_adult(source, folder=HERE):
    """Write adult.csv (integer codes and count) and adult.json (labels) from census.csv or the wheel that holds it."""
    source = Path(source)
    if source.suffix == ".whl":
        text = zipfile.ZipFile(source).read(CENSUS).decode()
    else:
        text = source.read_text(encoding="utf-8")
    table = csv.DictReader(io.StringIO(text, newline=""))
    rows = [tuple(row[column].strip() for column in ADULT_COLUMNS.values()) for row in table]
    require_sha256(source, _content_sha256(rows), ADULT_SHA256)
    labels = [sorted(set(column)) for column in zip(*rows, strict=True)]
    codes = [{label: code for code, label in enumerate(values)} for values in labels]
    counts = Counter(tuple(code[value] for code, value in zip(codes, row, strict=True)) for row in rows)
    write(folder, "adult.csv", ADULT_COLUMNS, sorted(counts.items()))
    lines = [f'  "{name}": {json.dumps(values)}' for name, values in zip(ADULT_COLUMNS, labels, strict=True)]
    about = f'{{\n "n": {len(rows)},\n "labels": {{\n' + ",\n".join(lines) + "\n }\n}\n"
    Path(folder, "adult.json").write_text(about, encoding="utf-8", newline="\n")


def build_corr_rr(source, folder=HERE):
    """Write corr_rr_<name>.csv, the whole contingency table with its empty cells, for each of the three files."""
    for name, (k, sha256) in CORR_RR.items():
        data = Path(source, f"{name}.csv").read_bytes()
        require_sha256(Path(source, f"{name}.csv"), hashlib.sha256(data).hexdigest(), sha256)
        header, *rows = csv.reader(data.decode().splitlines())
        counts = Counter(tuple(map(int, row)) for row in rows)
        write(folder, f"corr_rr_{name}.csv", header, [(cell, counts[cell]) for cell in product(*map(range, k))])


def build_corr_rr_figures(source, folder=HERE):
    """Write the published figures' values, one row a point with its setting as run, the bars, and the curves."""
    read = {name: Path(source, f"corr_rr_{name}.csv").read_bytes() for name in FIGURES}
    for name, sha256 in FIGURES.items():
        require_sha256(Path(source, f"corr_rr_{name}.csv"), hashlib.sha256(read[name]).hexdigest(), sha256)
    tables = {name: list(csv.DictReader(io.StringIO(data.decode()))) for name, data in read.items()}
    settings = {row["panel"]: row for row in tables["figure_settings"]}
    values = {}
    for row in tables["figures"]:
        values.setdefault((row["panel"], row["x"]), {})[row["mechanism"]] = row["mse"]
    names = ["SPL", "RS+FD", "RS+RFD", "Corr-RR"]
    lines = ["panel,x,data,d,epsilon,rho,stated_rho,first,runs,parents," + ",".join(names)]
    for (panel, x), found in values.items():
        lines.append(",".join([panel, x, *point_setting(settings[panel], x), *(found[name] for name in names)]))
    Path(folder, "corr_rr_figures.csv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    for name, columns in (
        ("figure2", ["curve_f_s", "f_j", "p_y"]),
        ("figure12", ["data_set", "attribute", "value", "count_implied", "rows_implied"]),
    ):
        lines = [",".join(columns), *(",".join(row[column] for column in columns) for row in tables[name])]
        Path(folder, f"corr_rr_{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def build_jrr_figures(source, folder=HERE):
    """Write the values behind the JRR paper's figures, each with its setting, and all stored means and variances."""
    read = {name: Path(source, f"jrr_{name}.csv").read_bytes() for name in JRR_FIGURES}
    for name, sha256 in JRR_FIGURES.items():
        require_sha256(Path(source, f"jrr_{name}.csv"), hashlib.sha256(read[name]).hexdigest(), sha256)
    tables = {name: list(csv.DictReader(io.StringIO(data.decode()))) for name, data in read.items()}
    columns = ["n", "n1", "epsilon", "mechanism", "p", "rho", "runs", "mean_estimate_n1", "variance_estimate_n1"]
    rows = [[jrr_group(row["figure"]), *(row[column] for column in columns)] for row in tables["estimates"]]
    write_rows(folder, "jrr_estimates.csv", ["figure", *columns[:7], "mean", "variance"], rows)
    rows = []
    for row in tables["figures"]:
        if row["drawn"] == "1" or row["quantity"] == "are_percentile":
            kept = [row[column] for column in ("panel", "series", "mechanism", "x", "quantity", "value")]
            n, share, epsilon = jrr_setting(row)
            rows.append([*kept[:3], f"{n:.0f}", f"{share:g}", f"{epsilon:g}", *kept[3:]])
    names = ["panel", "series", "mechanism", "n", "share", "epsilon", "x", "quantity", "value"]
    write_rows(folder, "jrr_figures.csv", names, rows)


def jrr_group(figure):
    """Return the figure's number, 1 for Figures 1 and 2; the insets of Figure 6 are called 6i."""
    return {"1 and 2": "1", "6 inset": "6i"}.get(figure, figure)


def jrr_setting(row):
    """Return n, the share of users with value 1 and epsilon of one published value of the JRR paper's figures."""
    number, letter, x = row["panel"][0], "abc"["abcdef".index(row["panel"][1]) % 3], float(row["x"])
    users = {"a": 10_000, "b": 40_000, "c": 80_000}[letter]
    budget = {"a": 0.01, "b": 0.1, "c": 1.0}[letter]
    if number in "12":
        n, n1 = JRR_REAL[row["series"]]
        return n, n1 / n, x if number == "1" else budget
    if number == "6":
        return users, x, 0.1
    share = float(row["series"].removeprefix("n1/n="))
    return (users, share, x) if number == "3" else (x, share, budget)


def point_setting(row, x):
    """Return data, d, epsilon, rho as run, rho as stated, share in Phase I, runs and parents of one point, as text."""
    at = {"d": row["d"], "epsilon": row["epsilon"], "rho": row["rho"]}
    at = {name: x if value == "x" else value for name, value in at.items()}
    stated, panel = at["rho"], row["panel"]
    if panel in ("4a", "4b", "4c", "9c"):
        at["rho"] = "0.9"  # what the values fit: see the README beside the source
        stated = "0.9" if panel == "9c" else stated
    name = {"star (SynA)": "SynA", "progressive (SynB)": "SynB"}.get(row["generator"], row["generator"])
    parents = ""
    if name == "SynA":
        parents = " ".join(["0"] * (int(at["d"]) - 1))
    elif name == "SynB":
        text = row["parents_of_X2_to_Xd"]
        if "=" in text:
            varying = "rho" if "rho=" in text else "d"
            text = next(part.split(": ")[1] for part in text.split("; ") if part.startswith(f"{varying}={x}:"))
        text = "1-1-3" if "script" in text else text  # of panels 4a to 4c the tree is unknown
        parents = " ".join(str(int(parent) - 1) for parent in text.split("-"))
    else:
        at["rho"] = stated = ""
    first = str(int(x) / 100) if row["phase1_share"] == "x/100" else row["phase1_share"]
    return [
        name,
        at["d"],
        at["epsilon"],
        at["rho"],
        stated,
        first,
        str(int(float(row["runs_that_fit_figure"]))),
        parents,
    ]


def require_sha256(path, found, expected):
    """Raise ValueError unless the two checksums are equal."""
    if found != expected:
        raise ValueError(f"{path} must have sha256 {expected}; got {found}")


def write(folder, name, header, counts):
    """Write one line a record: its codes, then its count."""
    lines = [",".join([*header, "count"]), *(",".join(map(str, [*record, count])) for record, count in counts)]
    Path(folder, name).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def write_rows(folder, name, header, rows):
    """Write a header and rows of text."""
    text = "\n".join(",".join(row) for row in [header, *rows])
    Path(folder, name).write_text(text + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    builders = {
        "adult": build_adult,
        "corr_rr": build_corr_rr,
        "corr_rr_figures": build_corr_rr_figures,
        "jrr_figures": build_jrr_figures,
    }
    if len(sys.argv) != 3 or sys.argv[1] not in builders:
        sys.exit(__doc__)
    builders[sys.argv[1]](sys.argv[2])
