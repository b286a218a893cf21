"""Make the site's font for formulas: python tools/formula_font.py STIXTwoMath-Regular.ttf (needs fonttools and brotli).

The font is in the package ziamath 0.13 on PyPI, in its folder fonts. What is changed suits screens and browsers; the
numbers are in thousandths of the size. `tests/site/test_site.py` fails where a page shows a character that is left out.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

TARGET = Path(__file__).resolve().parents[1] / "book" / "_static" / "fonts" / "stix-two-math.woff2"
CHARACTERS = """
    20-7E A0 A8 AC AF B1 B4 B7 D7 F7 131 237 2C6 2D8 2DC 300-308 30A 30C 332 338 391-3F6 2010-2016 2018-201D 2020-2022
    2026 2032-2037 2044 2057 2061-2064 20D6-20D7 2102-2134 2190-2199 21A6 21D0-21D5 2200-2237 223C-224D 2250-2257
    2260-226B 2270-2289 228E-2299 22A2-22A5 22C0-22C7 22EE-22F1 2308-230B 23B0-23B1 23DC-23DF 25A0-25A1 25CB 27E8-27E9
    27F5-27FA 2A00-2A06 2A7D-2A7E 2AAF-2AB0 1D400-1D4B5 1D538-1D551 1D6A4-1D71B 1D7CE-1D7E1
"""


def suit(font):
    """Change a font in place: thinner rules, indices where TeX sets them, no room beside roots and brackets."""
    table = font["MATH"].table
    constants = {
        **dict.fromkeys(("FractionRuleThickness", "RadicalRuleThickness", "OverbarRuleThickness"), 50),
        "SubscriptBaselineDropMin": -40,  # an index below p is no lower than one below x
        "SuperscriptBaselineDropMax": 340,
    }
    for name, value in constants.items():
        getattr(table.MathConstants, name).Value = value
    names = font.getBestCmap()
    forms = dict(
        zip(table.MathVariants.VertGlyphCoverage.glyphs, table.MathVariants.VertGlyphConstruction, strict=True)
    )
    # Chromium keeps room for the widest form of a sign: roots get one width, and tall brackets are put together.
    root = forms[names[ord("√")]]
    width = font["hmtx"][names[ord("√")]][0]
    for name in {r.VariantGlyph for r in root.MathGlyphVariantRecord} | {
        p.glyph for p in root.GlyphAssembly.PartRecords
    }:
        glyph = font["glyf"][name]
        glyph.coordinates.scale((width / font["hmtx"][name][0], 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = (width, glyph.xMin)
    for bracket in "()[]{}":
        form = forms[names[ord(bracket)]]
        form.MathGlyphVariantRecord = form.MathGlyphVariantRecord[:7]


def main():
    """Write the font."""
    font = TTFont(sys.argv[1])
    suit(font)
    ranges = [[int(end, 16) for end in part.split("-")] for part in CHARACTERS.split()]
    options = subset.Options(flavor="woff2", layout_features=["ssty", "rtlm", "dtls", "flac"], hinting=False)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=[code for ends in ranges for code in range(ends[0], ends[-1] + 1)])
    subsetter.subset(font)
    subset.save_font(font, TARGET, options)


if __name__ == "__main__":
    main()
