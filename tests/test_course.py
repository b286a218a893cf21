"""The example of a course that checks its own notebooks: it passes, and it fails where it should."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ldp_lib.book.claims import claims_in

ROOT = Path(__file__).resolve().parents[1]
COURSE = ROOT / "book" / "course"


def test_the_workflow_has_ten_lines_and_its_last_command_passes(tmp_path):
    text = (COURSE / "check.yml").read_text()
    assert len(text.splitlines()) == 10
    steps = yaml.safe_load(text)["jobs"]["notebooks"]["steps"]
    folder = shutil.copytree(COURSE, tmp_path / "course")
    command = [sys.executable, "-m", *steps[-1]["run"].replace("*.ipynb", "week1.ipynb").split()]
    command += ["-q", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    assert "4 passed" in run.stdout


def test_a_claim_fails_with_false_evidence_or_another_verdict():
    claim = claims_in(COURSE / "ledger")
    with pytest.raises(AssertionError, match="evidence 2 of 2"):
        claim("week1/truth").conditional(True, False)
    with pytest.raises(AssertionError, match="the ledger says conditional"):
        claim("week1/truth").holds(True)
    with pytest.raises(ValueError, match="nearest: week1/truth"):
        claim("week1/truths")


def test_a_ledger_of_ones_own_must_be_there_and_keep_the_format(tmp_path):
    with pytest.raises(FileNotFoundError, match="no claims ledger"):
        claims_in(tmp_path)
    (tmp_path / "own.yml").write_text((COURSE / "ledger" / "week1.yml").read_text().replace("holds", "true"))
    with pytest.raises(ValueError, match="verdict"):
        claims_in(tmp_path)
