"""The page on hardening shows what its commands have counted."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COUNTS = json.loads((ROOT / "book" / "hardening.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "book" / "hardening.md").read_text(encoding="utf-8")
ROWS = {
    "mechanisms audited, all passed": "mechanisms_audited",
    "faults planted, all caught": "faults_caught",
    "of other libraries audited": "peers_audited",
}


def shown(words):
    """The number in the row of the table that has these words."""
    (row,) = (line for line in PAGE.splitlines() if line.startswith("| ") and words in line)
    return int(re.search(r"\| ([\d,]+) \| `make", row)[1].replace(",", ""))


def test_the_page_shows_the_counts():
    assert {key: shown(words) for words, key in ROWS.items()} == {key: COUNTS[key] for key in ROWS.values()}
    assert all(name in PAGE for name in COUNTS["peers_over"])


def test_every_count_has_a_command():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = set(re.findall(r"`make (\w+)`", PAGE))
    assert {"proofs", "audit", "fuzz", "mutants", "faults"} <= commands
    assert all(re.search(rf"^(?:\w+ )*{command}(?: \w+)*:", makefile, re.MULTILINE) for command in commands)


def test_all_faults_are_caught_and_the_goals_are_met():
    assert COUNTS["faults_caught"] == COUNTS["faults_planted"]
