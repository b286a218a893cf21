"""The atlas of small domains: its least errors and certificates, made and verified.

`python tools/atlas.py write` computes book/_static/atlas.json anew; `verify` reads it with verify_limit.py alone.
"""

import importlib.util
import json
import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

from ldp_lib import limit
from ldp_lib.limit import _given_population
from ldp_lib.limit._rational import below, enclose
from ldp_lib.limit.certificates import Limit
from ldp_lib.limit.pair_tables import least_pair_error

STATIC = Path(__file__).parents[1] / "book/_static"
RECORDS, DIGITS, MISSED, NEAR = 16, 10**12, 40, 4e-7
BUDGETS = [i / 4 for i in range(1, 21)]


def domains(most=RECORDS, least=2):
    """Yield all domains with at most so many records, sizes in order."""
    for size in range(least, most + 1):
        yield (size,)
        for rest in domains(most // size, size):
            yield (size, *rest)


def prefix_error(k, epsilon):
    """Return the least error of an ordered attribute's cumulative shares, by all sets of values.

    The convex program begins with all intervals; the sets that its dual variables fail are added, until none is.
    """
    e = enclose(epsilon)
    t, rows, f = float(e[1] - 1), _given_population.target_rows((k,), "prefixes"), np.full(k, 1 / k)
    member = np.arange(1, 2**k - 1)[:, None] >> np.arange(k) & 1
    runs = np.abs(np.diff(np.pad(member, ((0, 0), (1, 1))), axis=1)).sum(axis=1)
    used = np.flatnonzero(runs == 2)
    while True:
        every = 1 + t * member[used]
        q, inverse = _given_population.newton(every, rows, f, _given_population.balanced(every))
        h = np.rint(inverse @ rows.T * DIGITS / np.abs(inverse).max()).T
        h[:, -1] -= h.sum(axis=1)  # each direction sums to 0
        dual = _given_population.dual_variables((every @ h.T) / DIGITS, every, f)
        told, whole = ((t * (member @ (h.T / DIGITS))) ** 2).sum(axis=1), 1 + t * member @ f
        over = told / whole / (dual.sum() + t * (member @ dual))  # at most 1 if the dual variables cover the set
        missed = np.argsort(-over, kind="stable")[:MISSED]
        missed = np.setdiff1d(missed[over[missed] > 1 + NEAR], used)
        if not missed.size:
            break
        mirrored = (member[missed, ::-1] << np.arange(k)).sum(axis=1) - 1
        used = np.unique(np.concatenate([used, missed, mirrored]))
    dual = np.rint(dual * max(over.max(), 1) * (1 + 1e-9) * DIGITS)
    dual = [Fraction(int(x), DIGITS) for x in dual]
    directions = tuple(tuple(Fraction(int(x), DIGITS) for x in row) for row in h)
    gained = sum(x for row, own in zip(rows, directions, strict=True) for a, x in zip(row, own, strict=True) if a)
    certificate = limit.TableCertificate(
        k=(k,), e=e, frequencies=(Fraction(1, k),) * k, dual=tuple(dual), directions=directions,
        error=gained**2 / sum(dual), target="prefixes",
    )  # fmt: skip
    often = q * (every @ f)
    kept = [i for i in np.argsort(-often, kind="stable") if often[i] > 1e-7]
    return Limit(
        k=(k,), epsilon=epsilon, error=below(certificate.error), attained=float(((rows @ inverse) * rows).sum()),
        sets=tuple(tuple((int(v),) for v in np.flatnonzero(member[used[i]])) for i in kept),
        weights=tuple((often[kept] / often[kept].sum()).tolist()), certificate=certificate,
        population=certificate.frequencies, target="prefixes",
    )  # fmt: skip


def members(found, chosen):
    """Return a set's records."""
    if chosen[0] == "records":
        return [x for i, x in enumerate(np.ndindex(*found.k)) if chosen[1] >> i & 1]
    return chosen if isinstance(chosen[0], tuple) else list(np.ndindex(*chosen))


def asked(found, chosen):
    """Return the attributes that a set is about."""
    records = {tuple(x) for x in members(found, chosen)}
    moved = [
        any((*x[:j], (x[j] + 1) % size, *x[j + 1 :]) not in records for x in records) for j, size in enumerate(found.k)
    ]
    return sum(moved)


def row(one):
    """Return a limit as a row of the atlas."""
    used = [chosen for chosen, weight in zip(one.sets, one.weights, strict=True) if weight > 1e-3]
    about = max(asked(one, chosen) for chosen in used)
    numbers = {"error": one.error, "attained": one.attained, "attributes": about}
    sizes = {"sizes": sorted({len(members(one, chosen)) for chosen in used})}
    certificate = {"certificate": json.loads(one.to_json())}
    return {"domain": one.k, "epsilon": one.epsilon, "target": one.target, **numbers, **sizes, **certificate}


def rows(chosen=("shares", "pairs", "prefixes")):
    """Yield the atlas row by row."""
    for k in sorted(domains(), key=lambda k: (math.prod(k), k)):
        for epsilon in BUDGETS:
            if "shares" in chosen:
                yield row(limit.least_error(k, epsilon))
            if "pairs" in chosen and len(k) > 1:
                yield row(least_pair_error(k, epsilon))
            if "prefixes" in chosen and len(k) == 1:
                yield row(prefix_error(k[0], epsilon))


def verifier():
    """Return the stand-alone file as a module."""
    spec = importlib.util.spec_from_file_location("verify_limit", STATIC / "verify_limit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def verify(row, file):
    """Raise unless a row's certificate proves its error, and allows what attains it, for its own question."""
    certificate, (low, high) = row["certificate"], enclose(row["epsilon"])
    file.verify(json.dumps(certificate))
    assert certificate["k"] == list(row["domain"])
    assert certificate["target"] == row["target"]
    assert Fraction(certificate["e"][0]) <= low < high <= Fraction(certificate["e"][1])
    assert set(certificate.get("frequencies", [])) <= {str(Fraction(1, math.prod(row["domain"])))}
    assert Fraction(row["error"]) <= Fraction(certificate["error"]) <= Fraction(row["attained"])
    assert 1 <= row["attained"] / row["error"] < 1 + 1e-6


def load():
    """Return the atlas."""
    return json.loads((STATIC / "atlas.json").read_text(encoding="utf-8"))


def tables(every, budgets=(0.5, 1.0, 2.0, 4.0)):
    """Return the page's tables: folded: one a target, least errors at some ε and what attains them at the third."""
    words = {"shares": "All frequencies", "pairs": "All pair tables", "prefixes": "Cumulative shares"}
    often = {target: sum(one["target"] == target for one in every) for target in words}
    parts = ", ".join(f"{often[target]} for {title[0].lower()}{title[1:]}" for target, title in words.items())
    text = [f"There are {len(every):,} certificates: {parts}.", ""]
    for target, title in words.items():
        found = {(tuple(one["domain"]), one["epsilon"]): one for one in every if one["target"] == target}
        text += [
            f":::{{dropdown}} {title}",
            "",
            "| domain | " + " | ".join(f"ε = {b:g}" for b in budgets) + " | sets |",
        ]
        text += ["| --- " * (len(budgets) + 2) + "|"]
        for k in dict.fromkeys(k for k, _ in found):
            numbers = " | ".join(f"{found[k, b]['error']:.4g}" for b in budgets)
            last = found[k, budgets[2]]
            about = f"{last['attributes']} attribute{'s' * (last['attributes'] > 1)}"
            sizes = ", ".join(map(str, last["sizes"]))
            text.append(f"| {' × '.join(map(str, k))} | {numbers} | {about}; {sizes} of {math.prod(k)} |")
        text += ["", ":::", ""]
    return "\n".join(text)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        lines = [json.dumps(one, separators=(",", ":")) for one in rows()]
        (STATIC / "atlas.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    file, every = verifier(), load()
    for one in every:
        verify(one, file)
    print(f"{len(every)} certificates verified")
