"""The claims ledger: its ids, its format, the verdict methods, and that each settled claim is checked in one place."""

import ast
import hashlib
import itertools
import json
import re
from pathlib import Path

import draw_claims
import numpy as np
import pytest
import sympy as sp
import yaml

from ldp_lib.book import claims
from ldp_lib.book.claims import claim, ledger, read_ledger

ROOT = Path(__file__).resolve().parents[2]
METHODS = {verdict.replace("-", "_"): verdict for verdict in claims.VERDICTS if verdict != "open"}
IDS_SHA256 = "c4b4b2e44cfda273ffb3cfe56f6e0c4ea2683f825ea332cf2e7fc678bb842b15"


def is_claim(node):
    """Whether a syntax node is a call of ``claim``."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", None)) == "claim"


def uses_in(source, place):
    """Return (id, verdict, place) of each ``claim("id").verdict(...)`` in source text, and its problems."""
    uses, problems, checked = [], [], set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_claim(node.func.value):
            inner = node.func.value
            checked.add(inner)
            literal = len(inner.args) == 1 and not inner.keywords and isinstance(inner.args[0], ast.Constant)
            if not literal or not isinstance(inner.args[0].value, str):
                problems.append(f"{place}: the id in {ast.unparse(inner)} is not a literal")
            elif node.func.attr not in METHODS:
                problems.append(f"{place}: {ast.unparse(inner)}.{node.func.attr} is not a verdict")
            else:
                uses.append((inner.args[0].value, METHODS[node.func.attr], place))
    for node in ast.walk(tree):
        if is_claim(node) and node not in checked:
            problems.append(f"{place}: {ast.unparse(node)} is not followed at once by its verdict")
        if isinstance(node, ast.alias) and node.name in ("claim", "ldp_lib.book.claims") and node.asname:
            problems.append(f"{place}: claim is imported under another name")
    return uses, problems


def library_names(trees):
    """Return the names that the sources import from the library, less those that only measure."""
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {a.asname or a.name for i in imports if (i.module or "").startswith("ldp_lib") for a in i.names}
    return names - {"channel", "channels", "check", "claim", "claims"}


def pairs_in(evidence):
    """Return the pairs of expressions that evidence holds equal: by ==, by a difference, or to rounding."""
    pairs = []
    for node in ast.walk(evidence):
        if isinstance(node, ast.Compare) and all(isinstance(op, (ast.Eq, ast.Is)) for op in node.ops):
            pairs += itertools.pairwise([node.left, *node.comparators])
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            pairs.append((node.left, node.right))
        elif isinstance(node, ast.Call) and re.search(r"(isclose|allclose|array_equal)$", ast.unparse(node.func)):
            pairs += [tuple(node.args[:2])] if len(node.args) >= 2 else []
    return pairs


def empty_evidence(sources, place):
    """Return what cannot fail in the evidence of all claims of one notebook or module.

    A literal, two sides with the same text, or the same function of the library called on both sides. (What is hidden
    behind names is for a reader: `draw_claims.py` draws claims for one.)
    """
    trees, problems = [ast.parse(source) for source in sources], []
    library = library_names(trees)

    def called(side):
        calls = [ast.unparse(node.func) for node in ast.walk(side) if isinstance(node, ast.Call)]
        return {call for call in calls if call.split(".")[0] in library}

    for node in itertools.chain(*map(ast.walk, trees)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_claim(node.func.value)):
            continue
        name = f"{place}: {ast.unparse(node.func)}"
        for evidence in node.args if node.func.attr != "not_checkable" else []:
            if isinstance(evidence, ast.Constant):
                problems.append(f"{name}: the evidence {ast.unparse(evidence)} is a literal")
            for left, right in pairs_in(evidence):
                if ast.unparse(left) == ast.unparse(right):
                    problems.append(f"{name}: {ast.unparse(left)} is compared with itself")
                elif both := called(left) & called(right):
                    problems.append(f"{name}: {min(both)} is called on both sides of {ast.unparse(evidence)}")
    return problems


def audit(root, ledger):
    """Return what is wrong with the places under root where the ledger's claims are checked."""
    uses, problems, shown = [], [], {}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        cells = [c for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
        html = [o.get("data", {}).get("text/html", "") for c in cells for o in c["outputs"]]
        shown[path.stem] = "".join("".join(part) for part in html)
        problems += empty_evidence(["".join(cell["source"]) for cell in cells], path.stem)
        for cell in cells:
            found, wrong = uses_in("".join(cell["source"]), path.stem)
            uses += found
            problems += wrong
    for path in sorted((root / "tests" / "claims").glob("**/*.py")):
        found, wrong = uses_in(path.read_text(encoding="utf-8"), f"tests/claims/{path.stem}")
        uses += found
        problems += wrong + empty_evidence([path.read_text(encoding="utf-8")], f"tests/claims/{path.stem}")
        if found and not (path.name.startswith("test_") and path.parent == root / "tests" / "claims"):
            problems.append(f"{path.relative_to(root)}: pytest does not run this module as tests/claims/test_*.py")
    for id, verdict, place in uses:
        if id not in ledger:
            problems.append(f"{place}: unknown claim {id}")
        elif ledger[id].verdict != verdict:
            problems.append(f"{place}: {id} is checked as {verdict}, but the ledger says {ledger[id].verdict}")
        elif ledger[id].chapter != place:
            problems.append(f"{place}: {id} is checked here, but the ledger names {ledger[id].chapter}")
        elif place in shown and f'id="{ledger[id].anchor}"' not in shown[place]:
            problems.append(f"{place}: the stored outputs lack the badge of {id}, to which its row in the ledger links")
    for record in ledger.values():
        places = [place for id, _, place in uses if id == record.id]
        if record.verdict != "open" and len(places) != 1:
            problems.append(f"{record.id}: {record.verdict}, but checked {len(places)} times: {places}")
    return problems


def of_papers():
    """The claims of the papers, without the results of the book itself."""
    return [c for c in ledger().values() if c.paper != "own"]


def test_the_ledger_has_the_595_ids():
    ids = sorted(c.id for c in of_papers())
    assert len(ids) == 595
    assert hashlib.sha256("\n".join(ids).encode()).hexdigest() == IDS_SHA256


def test_the_ledger_matches_the_list_it_was_made_from():
    files = sorted((ROOT.parent / "shared" / "claims").glob("*.yml"))
    if not files:
        pytest.skip("the list of claims is not beside the repository; the pinned sha256 is checked all the same")
    listed = [c for file in files for c in yaml.safe_load(file.read_text(encoding="utf-8"))]
    assert {(c["id"], c["source"], c["kind"]) for c in listed} == {(c.id, c.source, c.kind) for c in of_papers()}
    assert len(listed) == len(of_papers())


def test_results_of_the_book_say_so():
    assert {c.source for c in ledger().values() if c.paper == "own"} == {"This book"}


def test_each_anchor_names_one_claim():
    assert len({c.anchor for c in ledger().values()}) == len(ledger())


def test_each_item_has_each_key_once_and_in_order():
    order = list(claims.REQUIRED + claims.OPTIONAL)
    for path in claims.FOLDER.glob("*.yml"):
        for item in re.split(r"^- ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            keys = re.findall(r"^(?:  )?([a-z]+):", item, flags=re.M)
            assert keys == [key for key in order if key in keys], item


def test_maths_is_delimited_and_balanced():
    for c in ledger().values():
        for text in (c.statement, c.correction, c.note):
            assert text.count("$") % 2 == 0, c.id
            assert r"\'" not in text, c.id
            for formula in text.replace("$$", "$").split("$")[1::2]:
                bare = formula.replace(r"\{", "").replace(r"\}", "")
                assert bare.count("{") == bare.count("}"), c.id


def test_the_page_shows_every_paper():
    page = (ROOT / "book" / "claims.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^```\{ledger\} (\S+)", page, flags=re.M)) == {c.paper for c in ledger().values()}
    for verdict in claims.VERDICTS:
        assert f"| {verdict} |" in page


def test_each_settled_claim_is_checked_in_exactly_one_place():
    assert audit(ROOT, ledger()) == []


ITEM = "- id: {id}\n  source: Eq. (1) & more\n  kind: {kind}\n  statement: $x<1$ is small.\n  verdict: {verdict}\n"
SETTLED = {
    "holds": "",
    "conditional": "  note: Only if so.\n",
    "misprint": "  correction: $x>1$\n  note: A slip.\n",
    "refuted": "  correction: $x>1$\n  note: At 2.\n",
    "reproduced": "",
    "not-reproduced": "  note: It is 3.\n",
    "not-checkable": "  note: The data are withheld.\n",
}


def write_ledger(folder, text):
    """Write one ledger file and return what is read from it."""
    folder.mkdir(exist_ok=True)
    (folder / "a.yml").write_text(text, encoding="utf-8")
    return read_ledger(folder)


def record(folder, verdict, kind="equation"):
    """Return a claim with the given verdict, from a ledger of its own."""
    text = ITEM.format(id="a/eq-1", kind=kind, verdict=verdict)
    if verdict != "open":
        text += SETTLED[verdict] + "  chapter: one\n"
    return write_ledger(folder, text)["a/eq-1"]


@pytest.fixture
def book(tmp_path):
    """A small book: one claim checked in a notebook, one in a test module, one open."""
    text = ITEM.format(id="a/eq-1", kind="equation", verdict="holds") + "  chapter: one\n"
    text += ITEM.format(id="a/eq-2", kind="equation", verdict="refuted")
    text += SETTLED["refuted"] + "  chapter: tests/claims/test_two\n"
    text += ITEM.format(id="a/eq-3", kind="equation", verdict="open")
    records = write_ledger(tmp_path / "ledger", text)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "tests" / "claims").mkdir(parents=True)
    badge = records["a/eq-1"].holds(True)._repr_html_()
    write_notebook(tmp_path, "one", 'claim("a/eq-1").holds(1 < 2)', badge)
    write_module(tmp_path, "test_two", 'def test_it():\n    claim("a/eq-2").refuted(1 != 2)\n')
    return tmp_path, records


def write_notebook(root, name, source, html=""):
    cell = {"cell_type": "code", "source": [source], "outputs": [{"data": {"text/html": [html]}}]}
    (root / "notebooks" / f"{name}.ipynb").write_text(json.dumps({"cells": [cell]}), encoding="utf-8")


def write_module(root, name, source):
    (root / "tests" / "claims" / f"{name}.py").write_text(source, encoding="utf-8")


def test_the_audit_passes_a_sound_book(book):
    assert audit(*book) == []


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ('claim("a/eq-1").holds(1 < 2)', "checked 2 times"),
        ('claim("a/eq-3").holds(1 < 2)', "the ledger says open"),
        ('claim("a/eq-2").misprint(1 < 2)', "checked as misprint, but the ledger says refuted"),
        ('claim("a/eq-9").holds(1 < 2)', "unknown claim a/eq-9"),
        ('for i in "12":\n    claim("a/eq-" + i).holds(1 < 2)', "not a literal"),
        ('c = claim("a/eq-1")', "not followed at once"),
        ('claim("a/eq-1").verdict', "not followed at once"),
        ('claim("a/eq-1").proved(1 < 2)', "not a verdict"),
        ("from ldp_lib.book.claims import claim as c", "another name"),
        ('claim("a/eq-1").holds(1 < 2, True)', "the evidence True is a literal"),
        ('claim("a/eq-2").conditional(1 < 2, False)', "the evidence False is a literal"),
        ('claim("a/eq-1").holds(sum(x) == sum(x))', "sum(x) is compared with itself"),
        (
            "from ldp_lib import pure\nclaim('a/eq-1').holds(pure.f(1) == 2 * pure.f(2))",
            "pure.f is called on both sides",
        ),
        ("from ldp_lib import pure\nclaim('a/eq-1').holds(abs(pure.f(1) - pure.f(2)) < 1)", "pure.f is called on both"),
        (
            "from ldp_lib import pure\nclaim('a/eq-1').holds(np.isclose(pure.f(1), 2 + pure.f(2)))",
            "called on both sides",
        ),
    ],
)
@pytest.mark.parametrize("write", [write_notebook, write_module])
def test_the_audit_finds_a_planted_fault(book, write, source, problem):
    write(book[0], "test_other", source)
    assert any(problem in found for found in audit(*book))


@pytest.mark.parametrize(
    "evidence",
    ["pure.f(1) == 2", "pure.f(1) < pure.f(2)", "pure.f(1) == derived", "channel.ratio(a) == channel.ratio(b)"],
)
def test_evidence_that_can_fail_passes_the_audit(evidence):
    source = f"from ldp_lib import channel, pure\nclaim('a/eq-1').holds({evidence})"
    assert empty_evidence([source], "one") == []


def test_claims_are_drawn_by_the_seed_and_shown_with_their_check():
    settled = [id for id, c in ledger().items() if c.verdict != "open"]
    drawn = draw_claims.draw(settled, 100, seed=1)
    assert len(set(drawn)) == 100
    assert drawn == draw_claims.draw(reversed(settled), 100, seed=1) != draw_claims.draw(settled, 100, seed=2)
    for id in drawn:
        assert f'claim("{id}")' in draw_claims.check_of(ledger()[id])


def test_the_audit_finds_a_claim_checked_nowhere(book):
    write_module(book[0], "test_two", "")
    assert audit(*book) == ["a/eq-2: refuted, but checked 0 times: []"]


def test_the_audit_finds_a_claim_checked_elsewhere_than_the_ledger_says(book):
    root, records = book
    (root / "tests" / "claims" / "test_two.py").rename(root / "tests" / "claims" / "test_three.py")
    assert audit(root, records) == [
        "tests/claims/test_three: a/eq-2 is checked here, but the ledger names tests/claims/test_two"
    ]


def test_the_audit_finds_a_module_that_pytest_does_not_run(book):
    root, records = book
    (root / "tests" / "claims" / "test_two.py").rename(root / "tests" / "claims" / "two.py")
    assert any("pytest does not run" in found for found in audit(root, records))


def test_the_audit_finds_a_missing_badge(book):
    write_notebook(book[0], "one", 'claim("a/eq-1").holds(1 < 2)')
    assert any("lack the badge of a/eq-1" in found for found in audit(*book))


def give(c, verdict, *evidence):
    """Call the method of a verdict, with a true first piece where two are needed."""
    if verdict == "conditional" and len(evidence) == 1:
        evidence = (True, *evidence)
    return getattr(c, verdict.replace("-", "_"))(*evidence)


WITH_EVIDENCE = [v for v in SETTLED if v != "not-checkable"]
N = sp.Symbol("n")


@pytest.mark.parametrize("true", [True, np.bool_(True), sp.true, sp.Integer(1) < 2], ids=repr)
@pytest.mark.parametrize("verdict", WITH_EVIDENCE)
def test_true_evidence_gives_a_badge(tmp_path, verdict, true):
    badge = give(record(tmp_path, verdict), verdict, true)
    assert repr(badge) == f"{claims.VERDICTS[verdict]} a/eq-1 · Eq. (1) & more · {verdict}"
    assert 'id="claim-a-eq-1"' in badge._repr_html_()
    assert "Eq. (1) &amp; more" in badge._repr_html_()


@pytest.mark.parametrize("false", [False, np.bool_(False), sp.false, sp.Integer(1) > 2], ids=repr)
@pytest.mark.parametrize("verdict", WITH_EVIDENCE)
def test_false_evidence_fails_and_is_named(tmp_path, verdict, false):
    with pytest.raises(AssertionError, match=r"a/eq-1 .*evidence 2 of 2.*\$x<1\$ is small"):
        give(record(tmp_path, verdict), verdict, True, false)


@pytest.mark.parametrize("verdict", WITH_EVIDENCE)
def test_where_a_verdict_speaks_against_the_claim_the_message_says_so(tmp_path, verdict):
    with pytest.raises(AssertionError) as told:
        give(record(tmp_path, verdict), verdict, True, False)
    wanted = verdict in ("refuted", "not-reproduced")
    assert ("must be evidence against the" in str(told.value)) == wanted
    assert (f"{verdict.replace('-', '_')}(" in str(told.value)) == wanted


@pytest.mark.parametrize(
    "other", [1, 0, 1.0, "yes", None, [], np.array([True]), np.array(True), sp.Eq(N, 1), N], ids=repr
)
@pytest.mark.parametrize("verdict", WITH_EVIDENCE)
def test_evidence_that_is_not_a_boolean_is_a_type_error(tmp_path, verdict, other):
    with pytest.raises(TypeError, match=r"a/eq-1: evidence . of . must be a boolean"):
        give(record(tmp_path, verdict), verdict, other)


@pytest.mark.parametrize("verdict", [v for v in WITH_EVIDENCE if v != "conditional"])
def test_no_evidence_is_a_type_error(tmp_path, verdict):
    with pytest.raises(TypeError, match="needs at least one piece of evidence"):
        give(record(tmp_path, verdict), verdict)


@pytest.mark.parametrize("evidence", [(), (True,), (True, True, True)])
def test_a_conditional_claim_takes_exactly_two_pieces_of_evidence(tmp_path, evidence):
    with pytest.raises(TypeError):
        record(tmp_path, "conditional").conditional(*evidence)


@pytest.mark.parametrize(("verdict", "ledger_says"), [(v, w) for v in SETTLED for w in claims.VERDICTS if v != w])
def test_another_verdict_in_the_ledger_fails(tmp_path, verdict, ledger_says):
    evidence = "The data are withheld." if verdict == "not-checkable" else True
    with pytest.raises(AssertionError, match=f"a/eq-1: checked as {verdict}, but the ledger says {ledger_says}"):
        give(record(tmp_path, ledger_says), verdict, evidence)


def test_the_reason_of_a_claim_that_cannot_be_checked_is_the_ledgers_note(tmp_path):
    c = record(tmp_path, "not-checkable")
    assert repr(c.not_checkable("The data  are\nwithheld.")) == "– a/eq-1 · Eq. (1) & more · not-checkable"
    with pytest.raises(AssertionError, match=r"the ledger's note is 'The data are withheld\.'"):
        c.not_checkable("Lost.")
    with pytest.raises(TypeError, match="reason must be a string, not bool"):
        c.not_checkable(True)


def test_an_unknown_id_names_the_nearest():
    with pytest.raises(ValueError, match=r"unknown claim 'jrr/eq2'; nearest: .*jrr/eq-2.*; searched: .*ledger$"):
        claim("jrr/eq2")


def test_a_claim_and_the_ledger_cannot_be_changed():
    c = claim("jrr/eq-2")
    with pytest.raises(AttributeError):
        c.verdict = "holds"
    with pytest.raises(TypeError):
        ledger()["jrr/eq-2"] = c


def test_a_missing_ledger_is_a_clear_error(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"no claims ledger \(\*\.yml\) in .*/test_a_missing\w*$"):
        read_ledger(tmp_path)
    monkeypatch.setattr(claims, "FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"package data of ldp_lib\.book is incomplete"):
        read_ledger(tmp_path)


OPEN = ITEM.format(id="a/eq-1", kind="equation", verdict="open")
REFUTED = ITEM.format(id="a/eq-1", kind="equation", verdict="refuted") + "  chapter: one\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (OPEN + "  chapter: one\n", "open claim must not name a chapter"),
        (OPEN + "  notes: x\n", "unknown key 'notes'"),
        (OPEN + "  note: 1\n", "note must be non-empty text, not 1"),
        (OPEN + "  note:\n", "note must be non-empty text, not None"),
        (OPEN + OPEN, "listed twice"),
        (OPEN.replace("open", "proved"), "verdict 'proved' is not one of"),
        (OPEN.replace("equation", "formula"), "kind 'formula' is not one of"),
        (OPEN.replace("open", "holds"), "chapter '' is not"),
        (OPEN.replace("open", "holds") + "  chapter: One.ipynb\n", "chapter 'One.ipynb' is not"),
        (OPEN.replace("  kind: equation\n", ""), "kind is missing"),
        ("- text\n", "not a mapping"),
        ("# no claim yet\n", "None: not a mapping"),
        (OPEN + "  note: MSE: 2\n", "mapping values are not allowed"),
        (REFUTED, "refuted needs a note"),
        (REFUTED.replace("refuted", "conditional"), "conditional needs a note"),
        (REFUTED.replace("refuted", "not-reproduced"), "not-reproduced needs a note"),
        (REFUTED.replace("refuted", "not-checkable"), "not-checkable needs a note"),
        (REFUTED.replace("refuted", "misprint"), "misprint needs a note"),
        (REFUTED.replace("refuted", "misprint") + "  note: A slip.\n", "misprint needs a correction"),
        (REFUTED + "  note: At 2.\n", "refuted needs a correction"),
    ],
)
def test_a_broken_ledger_is_a_value_error(tmp_path, text, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        write_ledger(tmp_path, text)


def test_a_refuted_formula_without_correction_says_why(tmp_path):
    text = REFUTED + "  note: No correction is known.\n"
    assert write_ledger(tmp_path, text)["a/eq-1"].refuted(True)


def test_one_slip_is_one_group_of_claims_that_are_not_right():
    groups = claims.slips(ledger().values())
    assert min(map(len, groups.values())) > 1, "a slip of one claim needs no name"
    assert len(groups["partner of a user given the colluders' truths, Appendix B"]) == 7
    refuted = [c for c in ledger().values() if c.verdict == "refuted"]
    assert len({c.slip or c.id for c in refuted}) < len(refuted) - 6


def test_a_claim_that_is_right_names_no_slip(tmp_path):
    text = ITEM.format(id="a/eq-1", kind="equation", verdict="holds") + "  slip: a sign\n  chapter: one\n"
    with pytest.raises(ValueError, match="must not name a slip"):
        write_ledger(tmp_path, text)
