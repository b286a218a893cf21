"""The report of the benchmarks, book/benchmarks.txt, and the rows of it that the page on quality shows."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FULL = ROOT / "book" / "benchmarks.txt"


def chosen(text):
    """Return what the page on quality shows of the report: versions, and the rows that compare with other libraries."""
    (versions,) = re.findall(r"^Python .*, NumPy .*$", text, re.MULTILINE)
    rows = re.findall(
        r"^\| (.*(?:faster than|faster by|n = 1e9 over|Parquet file).*) \| (?:met|missed) \|$", text, re.MULTILINE
    )
    head = "| what | median | least | greatest | target |\n| --- | ---: | ---: | ---: | ---: |\n"
    below = text.rpartition("Below target: ")[2].partition(".")[0]
    table = head + "".join(f"| {row} |\n" for row in rows)
    return f"{versions}\n\n{table}\nMedians below target, of all rows: {below}."
