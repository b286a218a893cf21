"""Parts of pages that programs write, each between two marks: ``<!-- name -->`` and ``<!-- end of name -->``."""

from pathlib import Path

QUALITY = Path(__file__).resolve().parents[1] / "book" / "quality.md"


def put(text, name, part):
    """Return a page's text with this part in place of what stands between the marks."""
    before, rest = text.split(f"<!-- {name} -->\n")
    return (
        f"{before}<!-- {name} -->\n\n{part.strip()}\n\n<!-- end of {name} -->"
        + rest.split(f"<!-- end of {name} -->")[1]
    )


def write(name, part, page=QUALITY):
    """Put a part into a page."""
    page.write_text(put(page.read_text(encoding="utf-8"), name, part), encoding="utf-8")
