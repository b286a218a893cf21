"""Store the pictures of the figures with sliders: python tools/explore.py writes book/_static/explore/*.svg.

One script draws both what is stored and what a reader sees (book/_static/scenes.js), so a browser runs it here.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "book" / "_static"
sys.path.insert(0, str(ROOT / "tests"))


def blank(browser):
    """Return a page that holds nothing but the formulas and the scenes."""
    page = browser.new_page()
    for name in ("formulas.js", "scenes.js"):
        page.add_script_tag(path=STATIC / name)
    return page


def pictures(page):
    """Return the picture and the words of each scene, as it is at the start."""
    return page.evaluate(
        """() => Object.fromEntries(Object.keys(scenes.all).map(name => [name, {
            picture: scenes.picture(name) + '\\n',
            words: scenes.all[name].about + ' ' + scenes.says(name, scenes.start(name)),
        }]))"""
    )


def main():
    """Write all pictures."""
    import browser as browsers

    (STATIC / "explore").mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = browsers.launch(playwright, browsers.find(playwright))
        for name, scene in pictures(blank(browser)).items():
            (STATIC / "explore" / f"{name}.svg").write_text(scene["picture"], encoding="utf-8")
            print(f"{name}: {scene['words']}")
        browser.close()


if __name__ == "__main__":
    main()
