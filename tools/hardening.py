"""Count what is proved, audited, tried, killed and survived; `make proofs audit fuzz mutants faults installs` call it.

Each count goes into book/hardening.json, which book/quality.md shows. A test holds the two together.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
STORE = ROOT / "book" / "hardening.json"
FAULTS = ["tests/tools/test_faults.py", "tests/tools/test_builds.py"]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks"), str(ROOT / "tools")]


def record(**counts):
    """Put counts into the file, and print them."""
    known = json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}
    known.update(counts)
    STORE.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
    print(counts)


def proofs(count=30):
    """Prove the budget of every class at random parameters, and go through the branches of all listed mechanisms."""
    import test_realised as realised

    from ldp_lib import MECHANISMS

    code = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests/core/test_realised.py", "tests/core/test_sampling.py"], cwd=ROOT
    )
    if code.returncode:
        sys.exit("A proof failed.")
    rng, proved, refused = np.random.default_rng(1), 0, 0
    for cls in MECHANISMS:
        for _ in range(count):
            epsilon = math.exp(rng.uniform(math.log(1e-6), math.log(50)))
            size = min(round(2 ** rng.uniform(1, 16)), realised.SLOW.get(cls.__name__, 2**16))
            mechanism = realised.built(cls, realised.served(cls, size, int(rng.integers(2, 4))), epsilon)
            if mechanism is None:
                refused += 1
                continue
            if not 0 < mechanism.realised_epsilon() <= mechanism.epsilon:
                sys.exit(f"{mechanism!r} spends more than epsilon.")
            proved += 1
    listed = realised.ALONE + realised.TOGETHER + realised.PHASES
    record(parameters_proved=proved, channels_enumerated=len(listed), classes=len(MECHANISMS))


def audits(runs=40_000):
    """Audit every listed mechanism, the planted faults and the other libraries."""
    import audit as peers
    import test_audit as own

    from ldp_lib import audit

    passed = 0
    for number, mechanism in enumerate(m for m in own.MECHANISMS if not isinstance(m, own.PHASES)):
        found = audit(mechanism, *own.ends(mechanism.k), rng=np.random.default_rng(number), runs=runs)
        if not found.passed:
            sys.exit(f"{mechanism!r} is seen to spend {found.bound}.")
        passed += 1
    for number, mechanism in enumerate(m for m in own.MECHANISMS if isinstance(m, own.PHASES)):
        surveys = [np.zeros((12, len(mechanism.k)), int) for _ in range(2)]
        surveys[1][0] = own.ends(mechanism.k)[1]
        rng = np.random.default_rng(number)
        if not audit(mechanism, *surveys, rng=rng, runs=runs // 40, view=own.first_rows).passed:
            sys.exit(f"{mechanism!r} is seen to spend more than it says.")
        passed += 1
    caught = 0
    for fault, _, x, x2, least, more in own.FAULTS:
        found = audit(fault, x, x2, rng=np.random.default_rng(4), runs=least, **more)
        caught += not found.passed
    theirs = [(library, mechanism, found) for library, mechanism, found in peers.audits()]
    for library, mechanism, found in theirs:
        print(f"{library} {mechanism}: at least {found.bound:.3f} of {found.epsilon}: {found.passed}")
    over = [f"{library} {mechanism}" for library, mechanism, found in theirs if not found.passed]
    record(
        mechanisms_audited=passed,
        faults_planted=len(own.FAULTS),
        faults_caught=caught,
        peers_audited=len(theirs),
        peers_over=over,
    )


def inputs(count=120_000):
    """Fuzz."""
    import fuzz

    tried, failures = fuzz.fuzz(count, seed=1)
    for label, wrong in sorted(failures.items()):
        print(f"{label}: {wrong}")
    if failures:
        sys.exit(f"{len(failures)} inputs are answered wrongly.")
    record(inputs_tried=sum(tried.values()), inputs_refused=tried["refused"])


def mutants():
    """Take over what tools/mutants.py has counted."""
    import mutants as counted

    found = json.loads(counted.FOUND.read_text(encoding="utf-8"))
    kinds = {f"mutants_{kind}": count for kind, count in counted.kinds_of(found).items()}
    record(mutants=found["mutants"], mutants_tried=found["tried"], mutants_killed=found["killed"], **kinds)


def faults():
    """Run the tests of faults and count those that pass; none may be left out."""
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "tests/tools/test_faults.py",
            "tests/tools/test_builds.py",
            "-rA",
            "--tb=short",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "FAULTS": "all"},
    )
    print(run.stdout)
    if run.returncode or "SKIPPED" in run.stdout:
        sys.exit("A fault is not survived, or was not tried.")
    record(faults_survived=run.stdout.count("\nPASSED "))


def installs():
    """Install the archives where nothing else is, and count the environments."""
    import installs as archives

    record(environments_installed=archives.tried())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    choices = {
        "proofs": proofs,
        "audit": audits,
        "fuzz": inputs,
        "mutants": mutants,
        "faults": faults,
        "installs": installs,
    }
    parser.add_argument("what", choices=choices)
    choices[parser.parse_args().what]()
