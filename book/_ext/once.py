"""Sphinx extension: what packages look up again for each docstring and each citation is looked up once.

numpydoc compiles its template for each docstring, pybtex reads for each citation which packages are installed, and for
the list of chapters beside each page Sphinx copies all sections of all pages, to leave them out again: together a
quarter of the time that the site takes. The pages are the same.
"""

from functools import cache, wraps
from importlib.resources import files

import pybtex.plugin
from jinja2 import FileSystemLoader
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx import addnodes
from sphinx.environment.adapters import toctree


def titles_only(entry):
    """Return what makes an entry of the list of chapters, from the page's title alone if no list hangs below it."""

    @wraps(entry)
    def made(title, ref, maxdepth, toc, *options):
        return entry(title, ref, maxdepth if any(toc.findall(addnodes.toctree)) else 1, toc, *options)

    return made


def setup(app):
    """Put what is remembered in the place of what is looked up."""
    templates = SandboxedEnvironment(loader=FileSystemLoader(str(files("numpydoc") / "templates")))
    docscrape_sphinx.SandboxedEnvironment = lambda loader: templates
    pybtex.plugin.find_plugin = cache(pybtex.plugin.find_plugin)
    toctree._toctree_standard_entry = titles_only(toctree._toctree_standard_entry)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
