"""What depends on where the book lives: one setting, ``book_repository``, or the variable BOOK_REPOSITORY.

With it pages get links to their source, to an issue and to an edit, chapters get buttons that run them elsewhere and a
download that installs the library, and the site gets a sitemap and a picture for those who link to it. Without it none
of this is shown, and each chapter says how to run it on one's own machine. In any case each page gets a description,
and there is a page for addresses that lead nowhere.
"""

import html
import json
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 300
PICTURE = "printed_variance.png"
PAGES = {"github.com": "github.io", "gitlab.com": "gitlab.io"}
ISSUE = {
    "github.com": "{}/issues/new?title={{title}}&body={{body}}",
    "gitlab.com": "{}/-/issues/new?issue[title]={{title}}&issue[description]={{body}}",
}
NEED = re.compile(r"^\*\*You need:\*\*.+\*\*Minutes:\*\* \d+$", re.MULTILINE)


def site_of(repository):
    """Return the address of the pages of a repository on GitHub or GitLab; empty for any other host."""
    place = urlsplit(repository)
    if place.netloc not in PAGES:
        return ""
    owner, _, name = place.path.strip("/").removesuffix(".git").partition("/")
    return f"https://{owner.lower()}.{PAGES[place.netloc]}/{name}/"


def issue_of(repository):
    """Return the address of a new issue, with places for its title and its body; empty where it is not known."""
    return ISSUE.get(urlsplit(repository).netloc, "").format(repository)


def settle(app, config):
    """Turn the one setting into the theme's many; the theme knows two hosts, Colab one."""
    repository = (config.book_repository or os.environ.get("BOOK_REPOSITORY", "")).rstrip("/").removesuffix(".git")
    config.book_repository = repository
    config.html_baseurl = config.html_baseurl or site_of(repository)
    if urlsplit(repository).netloc not in PAGES:
        return
    launch = {"notebook_interface": "jupyterlab", "binderhub_url": "https://mybinder.org"}
    if urlsplit(repository).netloc == "github.com":
        launch["colab_url"] = "https://colab.research.google.com"
    if os.environ.get("BOOK_JUPYTERHUB"):
        launch["jupyterhub_url"] = os.environ["BOOK_JUPYTERHUB"]
    config.html_theme_options = {
        **config.html_theme_options,
        "repository_url": repository,
        "repository_branch": "main",
        "path_to_docs": "",
        "use_repository_button": True,
        "use_issues_button": True,
        "use_edit_page_button": True,
        "launch_buttons": launch,
    }


def plain(text):
    """Return Markdown as a line of plain text, cut at a word."""
    text = re.sub(r"\{[a-z:]+\}`([^`<]*?)\s*(?:<[^>]*>)?`", r"\1", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = " ".join(re.sub(r"[*`$\\]", "", text).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rpartition(" ")[0] + "…"


def description(path):
    """Return what a page is about: a chapter's answer, else its first paragraph."""
    if path.suffix == ".ipynb":
        text = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    else:
        text = path.read_text(encoding="utf-8")
    answer = re.search(r"\*\*Answer\.\*\* (.+?)\n\n", text, re.DOTALL)
    if answer:
        return plain(answer[1])
    paragraphs = re.split(r"\n\s*\n", re.sub(r"^(`{3,}|:{3,}).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL))
    said = [part for part in paragraphs if re.match(r"[A-Z*\[{]", part.strip())]
    return plain(said[0].strip()) if said else ""


def describe(app, pagename, templatename, context, doctree):
    """Give a page its description."""
    if doctree is not None:
        text = description(Path(app.env.doc2path(pagename)))
        if text:
            tag = f'<meta name="description" content="{html.escape(text)}">'
            tags = [tag, *preview(app.config.html_baseurl, pagename, context["title"], text)]
            context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def preview(base, pagename, title, text):
    """Return what a link to a page shows elsewhere; addresses must be whole, so there is none without the site's."""
    if not base:
        return []
    shown = {
        "og:type": "article",
        "og:title": re.sub("<[^>]*>", "", title),
        "og:description": html.escape(text),
        "og:url": f"{base}{pagename}.html",
        "og:image": f"{base}_static/{PICTURE}",
        "og:image:alt": "Standard error against the true share: the exact curve rises, the printed line is flat.",
    }
    tags = [f'<meta property="{name}" content="{value}">' for name, value in shown.items()]
    return [*tags, '<meta name="twitter:card" content="summary_large_image">']


def lost(base):
    """Return the page for addresses that lead nowhere; it works at any depth, so it needs nothing else of the site."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>No such page</title>
<style>body {{ font: 1.1rem/1.6 sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem }}</style>
</head>
<body>
<main>
<h1>No such page</h1>
<p>The chapter may have another name by now.</p>
<ul>
<li><a href="{base}index.html">The first page, with all chapters</a></li>
<li><a href="{base}search.html">Search the book</a></li>
</ul>
</main>
</body>
</html>
"""


def how_to_run(docname, repository):
    """Return how to run a chapter on one's own machine, in two lines of Markdown; empty where it has launch buttons."""
    if site_of(repository):
        return ""
    got = f"get the book by `git clone {repository}`; " if repository else ""
    return (
        ":::{div} run-here d-print-none\n"
        f"**To run this chapter:** {got}`make lab` in the book's folder opens JupyterLab, and there open\n"
        f"`{docname}.ipynb`. The first time it installs what it needs, which takes some minutes. With the library's "
        "wheel alone, install it with its extra `book`, and download this chapter (the arrow at the top, `.ipynb`).\n"
        ":::\n"
    )


def add_how_to_run(app, docname, source):
    """Put it below what a chapter needs."""
    text = how_to_run(docname, app.config.book_repository)
    if not text or not docname.startswith("notebooks/"):
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        written = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and NEED.search(written):
            cell["source"] = NEED.sub(lambda found: f"{found[0]}\n\n{text}", written, count=1)
            break
    source[0] = json.dumps(notebook)


class RunElsewhere(SphinxDirective):
    """How to run a chapter without installing anything here; nothing, where the site does not know its repository."""

    def run(self):
        """Return a paragraph."""
        repository = self.config.book_repository
        if not site_of(repository):
            return []
        return self.parse_text_to_nodes(
            "Or install nothing: the rocket at the top of a chapter opens it elsewhere. On Binder all is ready; on "
            f"Colab first run `{install_line(repository)}` in a cell and restart the kernel."
        )


def where_to_send(repository):
    """Return where a report goes, as Markdown; a copy that does not know its repository says so."""
    if repository:
        return f"Issues belong to the repository, <{repository}>."
    return (
        "This copy of the book was built without the address of its repository (the setting `book_repository`, or the "
        "variable `BOOK_REPOSITORY`), so it cannot name one: send the report to whoever published this copy."
    )


class WhereToSend(SphinxDirective):
    """Where a report about an error goes."""

    def run(self):
        """Return a paragraph."""
        return self.parse_text_to_nodes(where_to_send(self.config.book_repository))


def sitemap(base, pages):
    """Return the sitemap of the pages, in their order."""
    lines = [f"  <url><loc>{html.escape(base + page)}.html</loc></url>" for page in pages]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    return head + "\n".join(lines) + "\n</urlset>\n"


def install_line(repository):
    """Return the line that installs the library in a notebook."""
    return f"%pip install 'ldp-lib[book] @ git+{repository}'"


def install_cell(repository):
    """Return the first cell of a downloaded chapter, as it stands in the file: a comment, so that it runs anywhere."""
    source = (
        "# Where the library is not installed: take away the mark before %pip, run this cell, restart the kernel.\n"
        f"# {install_line(repository)}"
    )
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": "install",
        "metadata": {},
        "outputs": [],
        "source": source.splitlines(keepends=True),
    }


def finish(app, error):
    """Write what is not a page of the book, and the install line of the downloads."""
    if error or app.builder.format != "html":
        return
    out, base = Path(app.outdir), app.config.html_baseurl
    (out / "404.html").write_text(lost(urlsplit(base).path or "/"), encoding="utf-8")
    if base:
        (out / "sitemap.xml").write_text(sitemap(base, sorted(app.env.found_docs)), encoding="utf-8")
    if app.config.book_repository:
        for path in (out / "_sources" / "notebooks").glob("*.ipynb"):
            notebook = json.loads(path.read_text(encoding="utf-8"))
            notebook["cells"].insert(0, install_cell(app.config.book_repository))
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def setup(app):
    """Register the setting and the steps."""
    app.add_config_value("book_repository", "", "env")
    app.add_directive("run-elsewhere", RunElsewhere)
    app.add_directive("where-to-send", WhereToSend)
    app.connect("config-inited", settle, priority=100)
    app.connect("source-read", add_how_to_run)
    app.connect("html-page-context", describe)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
