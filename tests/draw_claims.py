"""Draw claims at random and show the check behind each, for a reader with fresh eyes.

Run ``python tests/draw_claims.py --count 100 --seed 1`` and ask of each: does the evidence test the claim, is it weak
(one instance of something general), or vacuous (it restates itself)? The same seed gives the same claims.
"""

import argparse
import ast
import functools
import json
import random
from pathlib import Path

from ldp_lib.book.claims import ledger

ROOT = Path(__file__).resolve().parents[1]


def draw(ids, count, seed):
    """Return `count` of the ids, at random; the order and the choice depend on the ids and the seed alone."""
    ids = sorted(ids)
    return random.Random(seed).sample(ids, min(count, len(ids)))


@functools.cache
def sources(place):
    """Return the cells of a notebook, or the test functions of a module, where a claim is checked."""
    if place.startswith("tests/"):
        text = (ROOT / f"{place}.py").read_text(encoding="utf-8")
        return [ast.get_source_segment(text, node) for node in ast.parse(text).body if hasattr(node, "body")]
    cells = json.loads((ROOT / "notebooks" / f"{place}.ipynb").read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def check_of(claim, before=1):
    """Return the source of the cell or function that checks a claim, with the cells just before it."""
    parts = sources(claim.chapter)
    where = next(i for i, part in enumerate(parts) if f'claim("{claim.id}")' in part)
    first = where if claim.chapter.startswith("tests/") else max(0, where - before)
    return "\n\n".join(parts[first : where + 1])


def main():
    """Print the drawn claims with their checks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--paper", default="", help="only claims whose id starts so, such as jrr")
    options = parser.parse_args()
    settled = {id: c for id, c in ledger().items() if c.verdict != "open" and id.startswith(options.paper)}
    for number, id in enumerate(draw(settled, options.count, options.seed), 1):
        claim = settled[id]
        print(f"{number:3}. {id} · {claim.source} · {claim.verdict} · {claim.chapter}")
        print(f"\n{claim.statement}\n{claim.note}\n")
        print(check_of(claim), end="\n\n" + 100 * "-" + "\n")


if __name__ == "__main__":
    main()
