"""The claims ledger: what the papers state, the verdict on each statement, and the check that the verdict is earned."""

import difflib
import html
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

import yaml

from ldp_lib.check import exact

FOLDER = Path(__file__).with_name("ledger")
REQUIRED = ("id", "source", "kind", "statement", "verdict")
OPTIONAL = ("correction", "note", "slip", "chapter")
FORMULAS = ("equation", "theorem", "lemma", "proposition", "corollary")
KINDS = (*FORMULAS, "definition", "sentence", "algorithm", "figure", "table", "extension")
# Each verdict with the sign that its badge shows, in the order of the ledger's tables.
VERDICTS = {
    "open": "·",
    "holds": "✓",
    "conditional": "±",
    "misprint": "≠",
    "refuted": "✗",
    "reproduced": "✓",
    "not-reproduced": "✗",
    "not-checkable": "–",
}
# What a verdict wants that speaks against the claim, said where its evidence is false.
AGAINST = {
    "refuted": "It must be evidence against the claim, true where the claim fails, as in refuted(exact != printed). ",
    "not-reproduced": "It must be evidence against the numbers, as in not_reproduced(found != printed). ",
}


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """One claim of a paper as the ledger has it, with one method per verdict that checks evidence for it.

    Every method returns a ``_Badge``. Evidence is one or more booleans (``bool``, ``numpy.bool_`` or SymPy's ``true``
    and ``false``); anything else is a TypeError. False evidence, or another verdict in the ledger, is an
    AssertionError.
    """

    id: str
    source: str
    kind: str
    statement: str
    verdict: str
    correction: str = ""
    note: str = ""
    slip: str = ""
    chapter: str = ""

    @property
    def paper(self):
        """The paper's short name, the first part of the id."""
        return self.id.split("/")[0]

    @property
    def anchor(self):
        """The id in HTML, of the badge in its chapter and of the row on the claims page."""
        return "claim-" + re.sub(r"[^a-z0-9]+", "-", self.id.lower())

    def holds(self, *evidence):
        """Check that the claim is true as printed, for the sampling convention that its source uses."""
        return self._settle("holds", evidence)

    def conditional(self, holds_under_the_condition, fails_without_it):
        """Check that the claim is true under a condition that its source leaves out, and that it fails without."""
        return self._settle("conditional", (holds_under_the_condition, fails_without_it))

    def misprint(self, *evidence):
        """Check that the printed text has a slip which the source itself, or its context, sets right."""
        return self._settle("misprint", evidence)

    def refuted(self, *evidence):
        """Check that the claim is false: evidence *against* it, such as a witness at which the formula fails."""
        return self._settle("refuted", evidence)

    def reproduced(self, *evidence):
        """Check that printed numbers or a figure come out again."""
        return self._settle("reproduced", evidence)

    def not_reproduced(self, *evidence):
        """Check that printed numbers or a figure do not come out: evidence *against* them."""
        return self._settle("not-reproduced", evidence)

    def not_checkable(self, reason):
        """State why the claim cannot be checked; the reason is the ledger's note, word for word."""
        if not isinstance(reason, str):
            raise TypeError(f"{self.id}: reason must be a string, not {type(reason).__name__}")
        badge = self._settle("not-checkable", (True,))
        if reason.split() != self.note.split():
            raise AssertionError(f"{self.id}: the reason given is {reason!r}, the ledger's note is {self.note!r}")
        return badge

    def _settle(self, verdict, evidence):
        if not evidence:
            raise TypeError(f"{self.id}: {verdict} needs at least one piece of evidence, got none")
        for i, item in enumerate(evidence, 1):
            if type(item).__name__ not in exact.BOOLEANS:
                kind = f"{type(item).__module__}.{type(item).__name__}"
                raise TypeError(
                    f"{self.id}: evidence {i} of {len(evidence)} must be a boolean (bool, numpy.bool_ or SymPy's true "
                    f"and false), got {item!r} of type {kind}"
                )
        if self.verdict != verdict:
            raise AssertionError(f"{self.id}: checked as {verdict}, but the ledger says {self.verdict}")
        for i, item in enumerate(evidence, 1):
            if not item:
                words = (
                    f"{self.id} ({self.source}): evidence {i} of {len(evidence)} for {verdict} is false. "
                    f"{AGAINST.get(verdict, '')}The claim: {self.statement}"
                )
                return exact._fail(words, i - 1)
        return _Badge(self)


@dataclass(frozen=True)
class _Badge:
    """One line that says which claim was checked, and with which verdict."""

    claim: _Claim

    def __repr__(self):
        c = self.claim
        return f"{VERDICTS[c.verdict]} {c.id} · {c.source} · {c.verdict}"

    def _repr_html_(self):
        c = self.claim
        return (
            f'<div class="claim-badge claim-{c.verdict}" id="{c.anchor}">{VERDICTS[c.verdict]} <code>{c.id}</code> · '
            f"{html.escape(c.source)} · <strong>{c.verdict}</strong></div>"
        )


def read_ledger(folder):
    """Return the claims of all ``*.yml`` files in a folder, by id, each validated.

    Raises
    ------
    FileNotFoundError
        If there is no such folder, or no ledger in it.
    ValueError
        If a claim breaks the format that each file's header describes.
    """
    folder = Path(folder).resolve()
    paths = sorted(folder.glob("*.yml"))
    if not paths:
        own = ": the package data of ldp_lib.book is incomplete" if folder == FOLDER.resolve() else ""
        missing = "" if folder.is_dir() else ", which is no folder"
        raise FileNotFoundError(f"no claims ledger (*.yml) in {folder}{missing}{own}")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    claims = {}
    for path in paths:
        try:
            items = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
        except yaml.YAMLError as error:
            raise ValueError(f"{path.name}: {error}") from None
        for item in items if isinstance(items, list) else [items]:
            claim = _validated(item, path.name)
            if claim.id in claims:
                raise ValueError(f"{path.name}: {claim.id} is listed twice")
            claims[claim.id] = claim
    return claims


def _validated(item, file):
    """Return the claim of one list item, or raise a ValueError that says what is wrong with it."""

    def require(condition, problem):
        if not condition:
            raise ValueError(f"{file}: {item.get('id', item) if isinstance(item, dict) else item!r}: {problem}")

    require(isinstance(item, dict), "not a mapping")
    for key, value in item.items():
        require(key in REQUIRED + OPTIONAL, f"unknown key {key!r}; allowed: {', '.join(REQUIRED + OPTIONAL)}")
        require(isinstance(value, str) and value.strip(), f"{key} must be non-empty text, not {value!r}")
    for key in REQUIRED:
        require(key in item, f"{key} is missing")
    claim = _Claim(**item)
    require(claim.kind in KINDS, f"kind {claim.kind!r} is not one of {', '.join(KINDS)}")
    require(claim.verdict in VERDICTS, f"verdict {claim.verdict!r} is not one of {', '.join(VERDICTS)}")
    if claim.verdict == "open":
        require(not claim.chapter, "an open claim must not name a chapter")
        return claim
    place = r"(tests/claims/)?[a-z][a-z0-9_]*"
    require(re.fullmatch(place, claim.chapter), f"chapter {claim.chapter!r} is not a notebook or tests/claims/<module>")
    if claim.verdict in ("holds", "reproduced"):
        require(not claim.slip, "a claim that is right must not name a slip")
    else:
        require(claim.note, f"{claim.verdict} needs a note")
    if claim.verdict == "misprint":
        require(claim.correction, "misprint needs a correction")
    if claim.verdict == "refuted" and claim.kind in FORMULAS:
        reason = claim.note.startswith("No correction")
        require(claim.correction or reason, 'refuted needs a correction, or a note that starts "No correction"')
    return claim


@cache
def ledger():
    """Return the book's claims by id, read once and not to be changed."""
    return MappingProxyType(read_ledger(FOLDER))


def claim(id):
    """Return the claim with this id, such as ``"jrr/eq-2"``; an unknown id is a ValueError that names the nearest."""
    return _find(ledger(), id, FOLDER)


def claims_in(folder):
    """Return a function like `claim`, for a ledger of one's own: all ``*.yml`` files in a folder.

    Raises
    ------
    FileNotFoundError, ValueError
        If the folder has no ledger, or a claim breaks the format.
    """
    own = read_ledger(folder)
    folder = Path(folder).resolve()
    return lambda id: _find(own, id, folder)


def slips(claims):
    """Return the ids of the claims that rest on one and the same slip, by the slip's name: one finding, not many."""
    found = {}
    for claim in claims:
        if claim.slip:
            found.setdefault(claim.slip, []).append(claim.id)
    return found


def _find(claims, id, folder):
    if id not in claims:
        near = difflib.get_close_matches(str(id), claims, n=3)
        nearest = f"; nearest: {', '.join(near)}" if near else ""
        raise ValueError(f"unknown claim {id!r}{nearest}; searched: *.yml in {folder}")
    return claims[id]
