"""Settings of `make lab`: chapters are shown in JupyterLab with links that work, and are stored as the book needs them.

What a chapter says in Sphinx's way is turned into plain Markdown when JupyterLab reads it: links between chapters,
citations, references to another chapter's theorems, and the captions of drawn figures. On saving it is turned back,
word for word, and what belongs to one machine only is left out. A page lists all chapters in their order.
"""

import json
import re
from pathlib import Path

import nbformat
import yaml
from ipykernel.ipkernel import IPythonKernel
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from nbformat.v4 import new_markdown_cell, new_notebook
from pybtex.database import parse_file

ROOT = Path(__file__).resolve().parents[1]
STORED = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
ROLE = re.compile(r"\{(doc|cite:p|cite:t|prf:ref|eq|numref|ref|term)\}`([^`]+)`")
LABEL = re.compile(r"^(?::(?:label|name): |\(|.*\$\$ \()([\w-]+)(?:\)=?)?$", re.MULTILINE)
TARGET = re.compile(r'\[([^\]\n"]*)\]\(([\w-]+)\)')
# What is stored is the title of the link that is shown, so the way back is exact.
SHOWN = re.compile(r'\[[^\]\n]*\]\([^)\s]+ "(\{[a-z:]+\}`[^`]+`|' + TARGET.pattern + r')"\)')
CAPTION = "caption_of"


def title(path):
    """Return the title of a chapter or page."""
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "".join(cells[0]["source"])
    else:
        text = path.read_text(encoding="utf-8")
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1]


def pages():
    """Return the parts of the book in their order: captions, and the files of their pages."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    for part in toc["parts"]:
        names = [ROOT / chapter["file"] for chapter in part["chapters"]]
        found = [p for name in names for p in (name.with_suffix(".ipynb"), name.with_suffix(".md")) if p.exists()]
        yield part["caption"], found


def references():
    """Return for each key of the bibliography its authors, its year, and an address."""
    found = {}
    for key, entry in parse_file(ROOT / "book" / "references.bib").entries.items():
        names = [" ".join(person.last_names).strip("{}") for person in entry.persons.get("author", [])]
        who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        doi = entry.fields.get("doi")
        url = f"https://doi.org/{doi}" if doi else entry.fields.get("url", "../book/references.bib")
        found[key] = (who, entry.fields.get("year", ""), url)
    return found


def labels():
    """Return the chapter in which each label stands."""
    found = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                named = re.findall(
                    r"^(?::(?:label|name): |\(|.*\$\$ \()([\w-]+)(?:\)=?)?$", "".join(cell["source"]), re.MULTILINE
                )
                found |= dict.fromkeys(named, path)
    return found


class Dresser:
    """Turns stored chapters into what JupyterLab shows, and back."""

    def __init__(self):
        self.references, self.labels = references(), labels()

    def dress(self, notebook, name):
        """Change a stored notebook, in place, into what is shown."""
        spec = KernelSpecManager().get_kernel_spec("python3")
        kernel = {"name": "python3", "display_name": spec.display_name, "language": spec.language}
        notebook.metadata.update(kernelspec=kernel, language_info=dict(IPythonKernel.language_info))
        cells = []
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = TARGET.sub(lambda match: self.named(match, name), cell.source)
                cell.source = ROLE.sub(lambda match: self.link(match, name), cell.source)
            cells.append(cell)
            caption = cell.metadata.get("mystnb", {}).get("figure", {}).get("caption")
            if caption:
                shown = new_markdown_cell(f"*Figure.* {caption}", id=f"{cell.id[:55]}-caption")
                shown.metadata[CAPTION] = cell.id
                cells.append(shown)
        notebook.cells = cells

    def link(self, match, name):
        """Return a plain link that shows what a role says, or the role where JupyterLab knows it."""
        role, text = match.groups()
        if role.startswith("cite"):
            known = [self.references.get(key.strip()) for key in text.split(",")]
            if None in known:
                return match[0]
            shape = "{0} ({1})" if role == "cite:t" else "{0}, {1}"
            words = "; ".join(shape.format(*entry) for entry in known)
            return f'[{words if role == "cite:t" else f"({words})"}]({known[0][2]} "{match[0]}")'
        target = re.search(r"<(.+)>$", text)
        words, target = (text[: target.start()].strip(), target[1]) if target else (None, text)
        if role == "term":
            return f'[{words or target}](../book/glossary.md "{match[0]}")'
        if role == "doc":
            path = (ROOT / "notebooks" / target).resolve()
            place = next((p for p in (path.with_suffix(".ipynb"), path.with_suffix(".md")) if p.exists()), None)
            if place is None:
                return match[0]
            home = "" if place.parent.name == "notebooks" else f"../{place.parent.name}/"
            return f'[{words or title(place)}]({home}{place.name} "{match[0]}")'
        place = self.labels.get(target)
        if place is None or place.name == name:
            return match[0]
        kind = {"prf:ref": "a theorem in ", "eq": "a formula in "}.get(role)
        said = f'{kind}"{title(place)}"' if kind else title(place)
        return f'[{words or said}]({place.name} "{match[0]}")'

    def named(self, match, name):
        """Return a link to a label in another chapter as a link to that chapter."""
        place = self.labels.get(match[2])
        if place is None or place.name == name:
            return match[0]
        return f'[{match[1] or title(place)}]({place.name} "{match[0]}")'

    @staticmethod
    def undress(notebook):
        """Change what is shown, in place, into what is stored."""
        notebook.metadata = nbformat.from_dict(STORED)
        notebook.cells = [cell for cell in notebook.cells if CAPTION not in cell.metadata]
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = SHOWN.sub(lambda match: match[1], cell.source)


def reading_order():
    """Return a notebook with all chapters in their order, as links."""
    lines, number = (
        [
            "# Reading order",
            "",
            "Each title opens a chapter. Run all cells, change a number, and look at which check fails.",
        ],
        0,
    )
    for caption, found in pages():
        lines += ["", f"## {caption}", ""]
        for path in found:
            number += path.suffix == ".ipynb"
            mark = f"{number}. " if path.suffix == ".ipynb" else "- "
            lines.append(f"{mark}[{title(path)}](../../{path.parent.name}/{path.name})")
    return new_notebook(cells=[new_markdown_cell("\n".join(lines), id="order")], metadata=STORED)


class Chapters(AsyncLargeFileManager):
    """Files as they are, but for the book's chapters."""

    def _is_chapter(self, path):
        place = Path(path.strip("/"))
        return place.parent.name == "notebooks" and place.suffix == ".ipynb"

    async def get(self, path, content=True, type=None, format=None, **more):
        """Read a file; a chapter is changed into what is shown."""
        model = await super().get(path, content=content, type=type, format=format, **more)
        if model["type"] == "notebook" and model["content"] is not None:
            DRESSER.dress(model["content"], Path(path).name)
        return model

    async def save(self, model, path=""):
        """Write a file; a chapter is changed into what is stored."""
        if model.get("type") == "notebook" and self._is_chapter(path):
            notebook = nbformat.from_dict(model["content"])
            DRESSER.undress(notebook)
            model = {**model, "content": notebook}
        return await super().save(model, path)

    def mark_trusted_cells(self, nb, path=""):
        """Trust the book's own chapters: this is the reader's clone."""
        if self._is_chapter(path):
            self.notary.mark_cells(nb, True)
        else:
            super().mark_trusted_cells(nb, path)


def quiet(handler, page_config):
    """Leave out what asks new users, in a toast, whether they want JupyterLab's news."""
    asks = "@jupyterlab/apputils-extension:announcements"
    page_config["disabledExtensions"] = [*{*page_config.get("disabledExtensions", []), asks}]
    return page_config


DRESSER = Dresser()
if "get_config" in globals():  # Jupyter reads this file; a test imports it
    order = ROOT / "_build" / "lab" / "reading_order.ipynb"
    order.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(reading_order(), order)
    c = get_config()  # noqa: F821
    c.ServerApp.contents_manager_class = Chapters
    c.ServerApp.root_dir = str(ROOT)
    c.LabApp.news_url = None  # no look-ups on the network
    c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
    c.ServerApp.tornado_settings = {"page_config_hook": quiet}
    c.LabApp.default_url = "/lab/tree/_build/lab/reading_order.ipynb"
