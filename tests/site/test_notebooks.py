"""Rules for every notebook, as stored. That stored outputs are right is checked by running them (pytest --nbval)."""

import ast
import functools
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MAX_BYTES = 300_000
MAX_LINES = 15

# A path that exists on one machine only: a home or temporary folder, a drive letter.
MACHINE_PATH = re.compile(r"(?<![\w.])/(home|Users|root|tmp|var|opt|work|mnt|private)/\w|[A-Z]:\\\w")
PATH_TRICK = re.compile(r"sys\.path|os\.chdir|PYTHONPATH|importlib|site\.addsitedir")
WARNING_FILTER = re.compile(r"filterwarnings|simplefilter|catch_warnings|seterr|errstate")
MAGIC = re.compile(r"^\s*[%!]|^\s*\w+\?|get_ipython", re.MULTILINE)
PLACEHOLDER = re.compile(r"\b(CAP|CAPTION|ALT|FIG|FIXME|TBD|TODO|XXX)\d*\b|^\S*$")
SEED = re.compile(r"default_rng\(\s*\)|np\.random\.(seed|rand|randint|choice|random)\b|RandomState")


def code(notebook):
    """Return the code cells."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook, kind):
    """Return all outputs of one kind, over all cells."""
    return [output for cell in code(notebook) for output in cell.outputs if output.output_type == kind]


def executed_in_order(notebook):
    """Cells without a count are not compared by nbval; counts out of order did not come from one clean run."""
    counts = [cell.execution_count for cell in code(notebook)]
    return [] if counts and counts == list(range(1, len(counts) + 1)) else [f"execution counts {counts}"]


def no_error_stored(notebook):
    """A stored error means that the chapter was saved broken."""
    return [f"stored error {output.ename}" for output in outputs(notebook, "error")]


def no_stderr_stored(notebook):
    """Warnings and progress bars are no results."""
    return [f"stored stderr {o.text[:60]!r}" for o in outputs(notebook, "stream") if o.name == "stderr"]


def claims_are_checked(notebook):
    """A chapter settles at least one claim of the ledger, or shows that it checks something."""
    if any(re.search(r"\bclaim\(|\bcheck\.passed\(", cell.source) for cell in code(notebook)):
        return []
    return ["no claim is checked"]


def states_a_theorem(notebook):
    """The first cell gives question, answer and theorem."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return [] if re.search(r"\{prf:(theorem|proposition)\}", text) else ["no prf:theorem"]


def tags_are_allowed(notebook):
    """`raises-exception` also passes when nothing is raised; output is ignored for a stated reason only."""
    found = []
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        found += [f"tag {tag}" for tag in tags if tag in ("raises-exception", "nbval-skip", "nbval-raises-exception")]
        if "nbval-ignore-output" in tags and not cell.metadata.get("reason"):
            found.append(f'tag nbval-ignore-output without "reason" in the metadata: {first_line(cell)}')
        found += [f"marker {m}" for m in re.findall(r"#\s*((?:NBVAL|PYTEST_VALIDATE)\w+)", cell.source)]
    return found


def figures_are_described(notebook):
    """Each figure has a caption, a name to refer to and alternative text, and none is a placeholder."""
    found = []
    for cell in code(notebook):
        if any("image/png" in output.get("data", {}) for output in cell.outputs):
            figure = cell.metadata.get("mystnb", {}).get("figure", {})
            image = cell.metadata.get("mystnb", {}).get("image", {})
            missing = [key for key in ("caption", "name") if not figure.get(key)] + ["alt"] * (not image.get("alt"))
            found += [f"figure without {', '.join(missing)}: {first_line(cell)}"] if missing else []
            texts = (figure.get("caption", ""), image.get("alt", ""))
            found += [f"placeholder {text!r}: {first_line(cell)}" for text in texts if PLACEHOLDER.search(text)]
        found += ["SVG output" for output in cell.outputs if "image/svg+xml" in output.get("data", {})]
    return found


#: Pictures that are drawings, not statistics, or whose data frame another cell draws.
DRAWN_OTHERWISE = {"subset-selection-03", "c18e", "limit-attained-04"}


def figures_come_from_frames(notebook):
    """Statistical graphics are seaborn's, so that colour, marker and order come from a tidy frame."""
    drawn = [c for c in code(notebook) if any("image/png" in output.get("data", {}) for output in c.outputs)]
    by_hand = [cell for cell in drawn if "sns." not in cell.source and cell.get("id") not in DRAWN_OTHERWISE]
    return [f"no seaborn: {first_line(cell)}" for cell in by_hand]


#: A letter's size in points, or by name, where a figure does not leave it to the style.
LETTERS = re.compile(r"\b(?:fontsize|labelsize)=(?:(\d+(?:\.\d+)?)|\"((?:xx?-)?small)\")")
LEAST_POINTS = 10


def letters_can_be_read_on_a_phone(notebook):
    """A figure of six inches has half its size there, so no letter is smaller than the style's."""
    found = [match for cell in code(notebook) for match in LETTERS.finditer(cell.source)]
    return [match[0] for match in found if match[2] or float(match[1]) < LEAST_POINTS]


def cells_are_short(notebook):
    """One idea a cell: code that does not fit belongs in the library, or in two cells. Figures and imports may."""
    limit = {True: 2 * MAX_LINES, False: MAX_LINES}
    return [
        f"{len(cell.source.splitlines())} lines: {first_line(cell)}"
        for cell in code(notebook)
        if len(cell.source.splitlines()) > limit["hide-input" in cell.metadata.get("tags", []) or only_imports(cell)]
    ]


def only_imports(cell):
    """Whether a cell holds nothing but import statements."""
    try:
        return all(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.parse(cell.source).body)
    except SyntaxError:
        return False


def no_tricks(notebook):
    """No magics, no changed paths, no silenced warnings, no unseeded or global random numbers."""
    rules = {"magic": MAGIC, "path trick": PATH_TRICK, "warning filter": WARNING_FILTER, "random state": SEED}
    return [
        f"{name} {match.group()!r}"
        for name, pattern in rules.items()
        for cell in code(notebook)
        for match in pattern.finditer(cell.source)
    ]


def no_machine_paths(notebook):
    """Nothing in text, code or outputs (pictures aside) names a folder of one machine."""
    found = []
    for cell in notebook.cells:
        texts = [cell.source]
        for output in cell.get("outputs", []):
            texts += [output.get("text", "")] + [str(v) for k, v in output.get("data", {}).items() if k != "image/png"]
        found += [f"path {match.group()!r}" for text in texts for match in MACHINE_PATH.finditer(text)]
    return found


def metadata_is_plain(notebook):
    """As `make rerun` leaves it: no timings, no versions of one machine."""
    found = [f"cell metadata {key!r}" for cell in notebook.cells for key in cell.metadata if key == "execution"]
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        found.append("kernelspec is not python3")
    if "version" in notebook.metadata.get("language_info", {}):
        found.append("language_info has a version")
    return found


RULES = [
    executed_in_order,
    no_error_stored,
    no_stderr_stored,
    claims_are_checked,
    states_a_theorem,
    tags_are_allowed,
    figures_are_described,
    figures_come_from_frames,
    letters_can_be_read_on_a_phone,
    cells_are_short,
    no_tricks,
    no_machine_paths,
    metadata_is_plain,
]


def first_line(cell):
    """Return enough of a cell to find it."""
    return cell.source.partition("\n")[0][:60]


def test_there_are_notebooks():
    assert NOTEBOOKS


@functools.cache
def read(path):
    """Return a stored notebook, which is read once."""
    return nbformat.read(path, as_version=4)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_notebook_keeps_every_rule(rule, path):
    assert rule(read(path)) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_stay_small(path):
    assert path.stat().st_size < MAX_BYTES


def good():
    """Return a small notebook that keeps every rule."""
    picture = new_output("display_data", {"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"})
    described = {"figure": {"caption": "A line.", "name": "fig-a"}, "image": {"alt": "A line."}}
    cells = [
        new_markdown_cell("# Title\n\n```{prf:theorem} Unbiased\n:label: thm-a\n\nIt is.\n```"),
        new_code_cell("rng = np.random.default_rng(1)", execution_count=1),
        new_code_cell('claim("paper/eq-1").holds(True)', execution_count=2),
        new_code_cell("sns.lineplot(frame)", execution_count=3, outputs=[picture], metadata={"mystnb": described}),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_good_notebook_passes(rule):
    assert rule(good()) == []


def stored(output):
    """Return a change that stores this output in the second cell."""
    return lambda notebook: notebook.cells[1].outputs.append(output)


def source(cell, text):
    """Return a change of one cell's text."""
    return lambda notebook: notebook.cells[cell].update(source=text)


def metadata(cell, **entries):
    """Return a change of one cell's metadata."""
    return lambda notebook: notebook.cells[cell].update(metadata=nbformat.from_dict(entries))


BAD = [
    (executed_in_order, lambda notebook: notebook.cells[1].update(execution_count=None)),
    (executed_in_order, lambda notebook: notebook.cells[1].update(execution_count=7)),
    (executed_in_order, lambda notebook: notebook.update(cells=notebook.cells[:1])),
    (no_error_stored, stored(new_output("error", ename="ValueError", evalue="", traceback=[]))),
    (no_stderr_stored, stored(new_output("stream", name="stderr", text="100%|####|"))),
    (claims_are_checked, source(2, "1 + 1")),
    (states_a_theorem, source(0, "# Title")),
    (tags_are_allowed, metadata(1, tags=["raises-exception"])),
    (tags_are_allowed, metadata(1, tags=["nbval-skip"])),
    (tags_are_allowed, metadata(1, tags=["nbval-ignore-output"])),
    (tags_are_allowed, source(1, "# NBVAL_IGNORE_OUTPUT\ntime()")),
    (figures_are_described, metadata(3)),
    (figures_are_described, metadata(3, mystnb={"figure": {"caption": "A line.", "name": "fig-a"}})),
    (
        figures_are_described,
        metadata(3, mystnb={"figure": {"caption": "CAP1", "name": "fig-a"}, "image": {"alt": "A line."}}),
    ),
    (
        figures_are_described,
        metadata(3, mystnb={"figure": {"caption": "A line.", "name": "fig-a"}, "image": {"alt": "TODO: a line."}}),
    ),
    (figures_are_described, stored(new_output("display_data", {"image/svg+xml": "<svg/>"}))),
    (figures_come_from_frames, source(3, "ax.plot(x, y)")),
    (letters_can_be_read_on_a_phone, source(3, "sns.lineplot(frame)\nax.text(1, 1, 'a', fontsize=9.5)")),
    (letters_can_be_read_on_a_phone, source(3, 'sns.lineplot(frame)\nax.legend(fontsize="x-small")')),
    (cells_are_short, source(1, "x = 1\n" * (MAX_LINES + 1))),
    (no_tricks, source(1, "%matplotlib inline")),
    (no_tricks, source(1, "import sys\nsys.path.insert(0, '..')")),
    (no_tricks, source(1, "warnings.filterwarnings('ignore')")),
    (no_tricks, source(1, "rng = np.random.default_rng()")),
    (no_machine_paths, source(1, "open('/home/me/data.csv')")),
    (no_machine_paths, stored(new_output("stream", name="stdout", text="/tmp/x/y"))),
    (metadata_is_plain, metadata(1, execution={"iopub.execute_input": "2020-01-01"})),
    (metadata_is_plain, lambda notebook: notebook.metadata.kernelspec.update(name="my-env")),
    (metadata_is_plain, lambda notebook: notebook.metadata.language_info.update(version="3.11.7")),
]


@pytest.mark.parametrize(("rule", "change"), BAD, ids=lambda value: getattr(value, "__name__", ""))
def test_a_bad_notebook_fails(rule, change):
    notebook = good()
    change(notebook)
    assert rule(notebook) != []


def test_every_rule_is_shown_to_fail():
    assert {rule for rule, _ in BAD} == set(RULES)


def test_ignored_output_with_a_reason_passes():
    notebook = good()
    metadata(1, tags=["nbval-ignore-output"], reason="a timing")(notebook)
    assert tags_are_allowed(notebook) == []
