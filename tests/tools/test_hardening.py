"""The page on quality shows what the commands of hardening have counted."""

import json
import re
import sys
from pathlib import Path

import pytest
from scipy.stats import binom

ROOT = Path(__file__).resolve().parents[2]
COUNTS = json.loads((ROOT / "book" / "hardening.json").read_text(encoding="utf-8"))
sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(ROOT / "benchmarks"))
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import measured  # noqa: E402
import mutants  # noqa: E402
import report  # noqa: E402

TEXT = (ROOT / "book" / "quality.md").read_text(encoding="utf-8")
PAGE = re.sub(r"```\{measured\} (\w+)\n```", lambda found: measured.markdown(found[1]), TEXT)
ROWS = {
    "classes of mechanisms whose budget is proved": "classes",
    "parameters drawn for these proofs": "parameters_proved",
    "channels enumerated": "channels_enumerated",
    "mechanisms audited, all passed": "mechanisms_audited",
    "faults planted, all caught": "faults_caught",
    "of other libraries audited": "peers_audited",
    "inputs tried": "inputs_tried",
    "changes of one place in the code tried": "mutants_tried",
    "noticed by a test": "mutants_killed",
    "change nothing that is returned": "mutants_same",
    "how a search goes": "mutants_effort",
    "interruptions and damages survived": "faults_survived",
    "environments installed into": "environments_installed",
}


def shown(words):
    """The number in the row of the table that has these words."""
    (row,) = (line for line in PAGE.splitlines() if line.startswith("| ") and words in line)
    return int(re.search(r"\| ([\d,]+) \| `make", row)[1].replace(",", ""))


def test_the_page_shows_the_counts():
    assert re.findall(r"\{measured\} (\w+)", TEXT) == ["counts", "mutants", "coverage", "benchmarks"]
    assert {key: shown(words) for words, key in ROWS.items()} == {key: COUNTS[key] for key in ROWS.values()}
    assert all(name in PAGE for name in COUNTS["peers_over"])


def test_every_count_has_a_command():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = set(re.findall(r"`make (\w+)`", PAGE))
    assert {"proofs", "audit", "fuzz", "mutants", "faults", "installs"} <= commands
    assert all(re.search(rf"^(?:\w+ )*{command}(?: \w+)*:", makefile, re.MULTILINE) for command in commands)


def test_all_faults_are_caught_and_the_goals_are_met():
    assert COUNTS["faults_caught"] == COUNTS["faults_planted"]
    assert COUNTS["inputs_tried"] >= 100_000
    assert COUNTS["environments_installed"] >= 4


def test_the_page_of_changes_is_made_from_what_was_found():
    found = json.loads(mutants.FOUND.read_text(encoding="utf-8"))
    assert measured.markdown("mutants") == mutants.written(found)
    assert f" {len(mutants.files())} files" in mutants.written(found)  # it has grown since
    assert found["tried"] - found["killed"] == len(found["survivors"])
    assert [each for each in found["survivors"] if len(each["reason"]) < 10] == []
    counts = {key: found[key] for key in ("tried", "killed")} | mutants.kinds_of(found)
    assert sum(mutants.kinds_of(found).values()) == len(found["survivors"])
    assert {key: COUNTS[f"mutants_{key}"] for key in counts} == counts
    # The bound by its definition: were the share as small, so many killed would have a chance of 5 %.
    matter = found["killed"] + counts["gap"]
    share = mutants.at_least(found["killed"], matter)
    assert binom.sf(found["killed"] - 1, matter, share) == pytest.approx(0.05)
    assert found["killed"] >= 0.95 * matter


def test_the_rows_on_speed_are_those_of_the_report():
    text = report.FULL.read_text(encoding="utf-8")
    assert measured.markdown("benchmarks") == report.chosen(text)
    assert "| 111 |" in report.chosen(text)
    assert report.chosen(text.replace("| 111 |", "| 112 |")) != report.chosen(text)
