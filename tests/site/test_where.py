"""What depends on where the book lives: all of it from one setting, none of it without."""

import json
import os
import re
import runpy
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml

import ldp_lib

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import chapters  # noqa: E402
import where  # noqa: E402

HOME = "https://github.com/Somebody/some-book"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
NAMES = [TOC["root"]] + [chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]]


def settled(repository, monkeypatch, **variables):
    """Return the configuration that a setting gives."""
    for name in ("BOOK_REPOSITORY", "BOOK_JUPYTERHUB"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    config = SimpleNamespace(book_repository=repository, html_baseurl="", html_theme_options={"repository_url": ""})
    where.settle(None, config)
    return config


def test_without_the_setting_nothing_is_shown(monkeypatch):
    config = settled("", monkeypatch)
    assert config.html_theme_options == {"repository_url": ""}
    assert config.html_baseurl == ""


def test_the_setting_gives_links_and_launch_buttons(monkeypatch):
    config = settled(HOME + "/", monkeypatch)
    options = config.html_theme_options
    assert options["repository_url"] == HOME
    assert options["use_edit_page_button"]
    assert options["use_issues_button"]
    assert options["use_repository_button"]
    assert options["launch_buttons"].keys() == {"notebook_interface", "binderhub_url", "colab_url"}
    assert config.html_baseurl == "https://somebody.github.io/some-book/"


def test_a_variable_does_the_same_and_a_hub_has_its_own(monkeypatch):
    config = settled("", monkeypatch, BOOK_REPOSITORY=HOME, BOOK_JUPYTERHUB="https://hub.example.org")
    assert config.html_theme_options["repository_url"] == HOME
    assert config.html_theme_options["launch_buttons"]["jupyterhub_url"] == "https://hub.example.org"


def test_other_hosts_get_what_works_there(monkeypatch):
    gitlab = settled("https://gitlab.com/Some/book.git", monkeypatch)
    assert gitlab.html_theme_options["launch_buttons"].keys() == {"notebook_interface", "binderhub_url"}
    assert gitlab.html_baseurl == "https://some.gitlab.io/book/"
    other = settled("https://git.example.org/a/b", monkeypatch)
    assert (other.html_baseurl, other.html_theme_options) == ("", {"repository_url": ""})
    assert other.book_repository == "https://git.example.org/a/b"


@pytest.mark.parametrize("name", NAMES)
def test_each_page_has_a_description_of_its_own(name):
    path = next(p for p in (ROOT / f"{name}.ipynb", ROOT / f"{name}.md") if p.exists())
    text = where.description(path)
    assert 40 <= len(text) <= where.LONGEST
    assert not re.search(r"[{}`*\\]|\]\(", text)


def test_a_description_is_a_chapters_answer():
    text = where.description(ROOT / "notebooks" / "randomized_response.ipynb")
    assert text.startswith("Count the reports, subtract what random answers alone would give")


def test_the_sitemap_lists_pages_and_the_lost_page_leads_home():
    root = ElementTree.fromstring(where.sitemap("https://a.example/b/", ["book/intro", "notebooks/x"]))
    assert [place.text for place in root.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")] == [
        "https://a.example/b/book/intro.html",
        "https://a.example/b/notebooks/x.html",
    ]
    assert 'href="/b/index.html"' in where.lost("/b/")


def test_a_download_begins_with_how_to_install(tmp_path):
    folder = tmp_path / "_sources" / "notebooks"
    folder.mkdir(parents=True)
    (folder / "x.ipynb").write_text(json.dumps({"cells": [{"cell_type": "markdown"}]}))
    config = SimpleNamespace(html_baseurl="https://a.example/", book_repository=HOME)
    app = SimpleNamespace(
        builder=SimpleNamespace(format="html"), outdir=tmp_path, config=config, env=SimpleNamespace(found_docs={"a"})
    )
    where.finish(app, None)
    first, second = json.loads((folder / "x.ipynb").read_text(encoding="utf-8"))["cells"]
    assert f"git+{HOME}" in "".join(first["source"])
    assert second == {"cell_type": "markdown"}
    assert {path.name for path in tmp_path.glob("*.*")} == {"404.html", "sitemap.xml"}


def test_the_first_cell_of_a_download_runs_and_does_nothing():
    cell = where.install_cell(HOME)
    names = {}
    exec("".join(cell["source"]), names)
    assert names.keys() == {"__builtins__"}
    assert where.install_line(HOME) == f"%pip install 'ldp-lib[book] @ git+{HOME}'"


def test_a_page_has_a_picture_for_links_where_the_site_knows_its_address():
    assert where.preview("", "book/intro", "Title", "Text.") == []
    tags = "\n".join(where.preview("https://a.example/b/", "book/intro", "A <em>B</em>", 'Say "x".'))
    assert '"og:url" content="https://a.example/b/book/intro.html"' in tags
    assert '"og:title" content="A B"' in tags
    assert '"og:description" content="Say &quot;x&quot;."' in tags
    (picture,) = re.findall(r'"og:image" content="https://a.example/b/_static/(\S+)"', tags)
    assert (ROOT / "book" / "_static" / picture).exists()


@pytest.mark.parametrize("repository", ["", HOME])
def test_how_to_run_elsewhere_is_told_where_it_can_be(repository):
    told = []
    page = SimpleNamespace(
        config=SimpleNamespace(book_repository=repository), parse_text_to_nodes=lambda text: told.append(text) or told
    )
    assert bool(where.RunElsewhere.run(page)) == bool(repository)
    assert all(f"git+{HOME}" in text for text in told)


CHAPTERS = [name for name in NAMES if name.startswith("notebooks/")]
HOSTS = [("", False), (HOME, True), ("https://gitlab.com/Some/book", True), ("https://git.example.org/a/b", False)]


@pytest.mark.parametrize(("repository", "buttons"), HOSTS)
@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_launch_buttons_or_says_how_to_run_it(name, repository, buttons, monkeypatch):
    config = settled(repository, monkeypatch)
    assert ("launch_buttons" in config.html_theme_options) == buttons
    stored = (ROOT / f"{name}.ipynb").read_text(encoding="utf-8")
    source = [stored]
    where.add_how_to_run(SimpleNamespace(config=config), name, source)
    text = "\n".join("".join(cell["source"]) for cell in json.loads(source[0])["cells"])
    assert text.count("**To run this chapter:**") == (not buttons)
    assert (source[0] == stored) == buttons
    if not buttons:
        said = text.partition(":::{div} run-here d-print-none\n")[2].partition("\n:::")[0]
        assert len(said.splitlines()) == 2
        assert f"`{name}.ipynb`" in said
        assert "`make lab`" in said
        assert (f"git clone {repository}" in said) == bool(repository)
        below = text.partition(":::{div} run-here")[0].rstrip().splitlines()[-1]
        assert re.search(r"\*\*Minutes:\*\* \d+$", below)


def test_other_pages_do_not_say_how_to_run_a_chapter():
    source = ["no JSON"]
    where.add_how_to_run(SimpleNamespace(config=SimpleNamespace(book_repository="")), "book/intro", source)
    assert source == ["no JSON"]


def test_make_lab_and_the_folder_that_it_opens_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^lab: \.venv/ready$", makefile, re.M)
    lab = (ROOT / "tools" / "lab_config.py").read_text(encoding="utf-8")
    assert "c.ServerApp.root_dir = str(ROOT)" in lab


def addresses(config, monkeypatch, variable=""):
    """Return the project's addresses that setup.py hands to setuptools."""
    given = {}
    monkeypatch.setattr("setuptools.setup", lambda **options: given.update(options))
    monkeypatch.setattr(Path, "read_text", lambda *args, **kwargs: config)
    monkeypatch.setenv("BOOK_REPOSITORY", variable)
    runpy.run_path(ROOT / "setup.py", run_name="__main__")
    return given["project_urls"]


def test_the_package_s_addresses_follow_from_the_same_setting(monkeypatch):
    config = (ROOT / "_config.yml").read_text(encoding="utf-8")
    line = '    book_repository: ""\n'
    assert line in config
    assert addresses(config, monkeypatch) == {}
    names = {"Repository": HOME, "Issues": f"{HOME}/issues", "Changes": f"{HOME}/blob/main/CHANGES.md"}
    assert addresses(config.replace(line, f'    book_repository: "{HOME}/"\n'), monkeypatch) == names
    assert addresses(config, monkeypatch, HOME) == names
    assert "urls" in tomllib.loads((ROOT / "pyproject.toml").read_bytes().decode())["project"]["dynamic"]


def test_binder_installs_the_lock_and_shows_chapters_as_make_lab_does():
    lines = [
        line
        for line in (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if line[0] != "#"
    ]
    assert lines == ["-r ../requirements.lock"]  # with checksums pip takes no editable package beside it
    assert (ROOT / "binder" / "postBuild").read_text(encoding="utf-8").endswith(" --no-build-isolation -e .\n")
    assert all(os.access(ROOT / "binder" / name, os.X_OK) for name in ("start", "postBuild"))
    (config,) = re.findall(r"--config=\"\$PWD/(\S+)\"", (ROOT / "binder" / "start").read_text(encoding="utf-8"))
    assert (ROOT / config).exists()


def test_the_citation_names_the_version_and_the_title():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == ldp_lib.__version__
    assert cited["title"] == yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["title"]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapters_advice_is_headed_by_whom_it_is_for(name):
    source = [(ROOT / f"{name}.ipynb").read_text(encoding="utf-8")]
    chapters.say_whom_advice_is_for(None, name, source)
    text = "\n\n".join("".join(cell["source"]) for cell in json.loads(source[0])["cells"])
    headings = r"^## (?:What it changes|For those who build on it)\n\n"
    assert len(re.findall(headings + re.escape(chapters.REACH) + r"\n", text, re.MULTILINE)) == 1
    assert text.count("advice-reach") == 1


def test_other_pages_are_not_headed_so():
    source = ["no JSON"]
    chapters.say_whom_advice_is_for(None, "book/intro", source)
    assert source == ["no JSON"]
