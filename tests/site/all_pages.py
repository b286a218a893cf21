"""All pages of the built site under axe-core, in both themes, on a desk and on a phone (`make access`)."""

from urllib.parse import urlsplit

import page_checks as checks
import pytest
from test_site import SITE

PAGES = sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html") if "_static" not in path.parts)
PAGES = [page for page in PAGES if page != "index.html"]  # leads on to the first page

# Rules that the theme breaks where no small repair helps, each with the report upstream. There is none.
UPSTREAM = {}


@pytest.fixture(scope="module")
def tab(browser, serve):
    """One browser tab for all pages."""
    base = serve(SITE)
    return base, checks.Visitor(browser.new_context(color_scheme="light"), urlsplit(base).netloc)


def test_there_is_a_built_site():
    assert len(PAGES) > 40, "run make book first"


@pytest.mark.parametrize("page", PAGES)
def test_there_is_no_barrier(page, tab):
    base, visitor = tab
    tried = visitor.load(f"{base}/{page}")
    # The two longest pages, the library's and the ledger's, say the same kind of thing hundreds of times.
    long = tried.evaluate("() => document.querySelectorAll('*').length") > 20_000
    assert checks.barriers(tried, allowed=UPSTREAM, thin=long) == []
    tried.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
    assert checks.barriers(tried, allowed=UPSTREAM, only=["color-contrast", "link-in-text-block"]) == []
    tried.set_viewport_size(checks.PHONE)
    tried.wait_for_timeout(100)
    assert checks.barriers(tried, allowed=UPSTREAM, thin=True) == []
