"""Audit other libraries: which of their mechanisms is seen to spend more than epsilon; `make audit` calls it."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from run import peer_python

from ldp_lib import audit

HERE = Path(__file__).parent
EPSILON, RUNS = 1.0, 40_000
LIBRARIES = {"multi-freq-ldpy": ("GRR", "OUE", "OLH", "SPL", "RSFD"), "pure-ldp": ("GRR", "OUE", "OLH")}


@dataclass
class Peer:
    """A mechanism of another library, whose reports come from a process of their own."""

    library: str
    mechanism: str
    worker: subprocess.Popen
    epsilon: float = EPSILON

    @property
    def k(self):
        """Two attributes for the mechanisms that need several, else one."""
        return (2, 2) if self.mechanism in ("SPL", "RSFD") else 4

    def perturb(self, x, *, rng):
        """Return the reports of users who all hold the same."""
        ends = ([0, 0], [1, 1]) if isinstance(self.k, tuple) else (0, 1)
        own = ends.index(x[0].tolist())
        request = {"library": self.library, "mechanism": self.mechanism, "x": ends[own], "x2": ends[1 - own]}
        k = list(self.k) if isinstance(self.k, tuple) else self.k
        self.worker.stdin.write(json.dumps({**request, "runs": len(x), "k": k, "epsilon": self.epsilon}) + "\n")
        self.worker.stdin.flush()
        y = np.array(json.loads(self.worker.stdout.readline()))
        if own and self.mechanism in ("OUE", "OLH"):  # what concerns x first, then x2
            y[:, -2:] = y[:, -2:][:, ::-1]
        return y


def audits(runs=RUNS):
    """Yield library, mechanism and what the audit of it found."""
    with subprocess.Popen(
        [peer_python(), HERE / "peer.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        for library, mechanisms in LIBRARIES.items():
            for mechanism in mechanisms:
                peer = Peer(library, mechanism, worker)
                ends = ((0, 0), (1, 1)) if isinstance(peer.k, tuple) else (0, 1)
                yield library, mechanism, audit(peer, *ends, rng=np.random.default_rng(1), runs=runs)


if __name__ == "__main__":
    for library, mechanism, found in audits():
        verdict = "passes" if found.passed else "SPENDS MORE"
        print(f"{library} {mechanism}: epsilon {found.epsilon}, at least {found.bound:.3f}: {verdict}", flush=True)
