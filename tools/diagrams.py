"""Draw the book's diagrams of mechanisms: python tools/diagrams.py writes book/_static/diagrams/*.svg.

One visual language: a person's record is a row of squares, one an attribute; a randomizer is a circle; a report is a
sheet with a folded corner; counts are grey bars; an estimate is bars with an interval. What stays on the device is
left of the dashed line. Every drawing has its own light background, a title and a description for a screen reader.
For a phone it is cut at a place that only arrows cross, and the parts stand one below the other, with larger letters.
"""

import itertools
import re
import sys
from pathlib import Path

import drawsvg as dw

from ldp_lib.book.choose import leaves

FOLDER = Path(__file__).resolve().parents[1] / "book" / "_static" / "diagrams"
INK, SOFT, PAPER, DEVICE = "#1f2933", "#52606d", "#ffffff", "#eef2f6"
# Okabe and Ito's colours, one a value.
VALUES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7"]
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif"
WIDTH = 720
DIAGRAMS = {}


def diagram(draw):
    """List a function that draws a diagram."""
    DIAGRAMS[draw.__name__] = draw
    return draw


class Diagram:
    """A drawing to which the shapes of the visual language are added by their place."""

    more = 0  # how much larger letters are than in the wide drawing

    def __init__(self, title, words, height=200, device=None, width=WIDTH, cut=None, start=20):
        self.title, self.words, self.height, self.width = title, words, height, width
        self.cut, self.start = cut or (device + 4 if device else None), start
        self.drawing = dw.Drawing(width, height, role="img")
        self.drawing.append(dw.Title(title))
        self.drawing.append(dw.Raw(f"<desc>{words}</desc>"))
        self.bar(0, 0, width, height, PAPER, radius=10)
        if device is not None:
            self.bar(8, 8, device - 8, height - 16, DEVICE, radius=8)
            self._line(device + 12, 12, device + 12, height - 12, SOFT, dash="5 5")
            self.text(device / 2, height - 18, "on the person's device", size=12, colour=SOFT)
            self.text((device + WIDTH) / 2 + 6, height - 18, "at the collector", size=12, colour=SOFT)

    def bar(self, x, y, w, h, fill, radius=3, stroke="none"):
        """Draw a rectangle."""
        self.drawing.append(dw.Rectangle(x, y, w, h, rx=radius, fill=fill, stroke=stroke, stroke_width=1.5))

    def _line(self, x1, y1, x2, y2, colour=INK, width=1.5, dash=None):
        extra = {"stroke_dasharray": dash} if dash else {}
        self.drawing.append(dw.Line(x1, y1, x2, y2, stroke=colour, stroke_width=width, **extra))

    def text(self, x, y, words, size=13, colour=INK, anchor="middle", weight="normal"):
        """Write words around a point; a line break starts a new line."""
        size += self.more
        for row, line in enumerate(words.split("\n")):
            self.drawing.append(
                dw.Text(
                    line,
                    size,
                    x,
                    y + row * size * 1.25,
                    fill=colour,
                    font_family=FONT,
                    font_weight=weight,
                    text_anchor=anchor,
                    dominant_baseline="middle",
                )
            )

    def person(self, x, y):
        """Draw a person, whose head is at (x, y)."""
        self.drawing.append(dw.Circle(x, y, 9, fill=SOFT))
        path = dw.Path(fill=SOFT)
        path.M(x - 16, y + 32).C(x - 16, y + 12, x + 16, y + 12, x + 16, y + 32).Z()
        self.drawing.append(path)

    def record(self, x, y, values, labels=None, side=30, faded=()):
        """Draw a record with its left upper corner at (x, y): `values` are numbers of colours, None is not shown."""
        for j, value in enumerate(values):
            fill = PAPER if value is None else VALUES[value % len(VALUES)]
            left = x + j * (side + 5)
            self.bar(left, y, side, side, fill, radius=4, stroke=INK)
            if j in faded:
                self.bar(left, y, side, side, "#ffffffc0", radius=4, stroke=SOFT)
            if value is None:
                self.text(left + side / 2, y + side / 2 + 1, "?", size=15, colour=SOFT)
            if labels:
                self.text(left + side / 2, y - 10, labels[j], size=12, colour=SOFT)

    def randomizer(self, x, y, label, below=""):
        """Draw a randomizer around (x, y) with its probability or ε, and words below."""
        self.drawing.append(dw.Circle(x, y, 22, fill="#fff4d6", stroke=INK, stroke_width=1.5))
        self.text(x, y + 1, label, size=14)
        if below:
            self.text(x, y + 36, below, size=12, colour=SOFT)

    def report(self, x, y, values=(), words="", width=None):
        """Draw a report with its left upper corner at (x, y), holding values or words."""
        w, h = width or max(58, 16 + 30 * len(values)), 46
        path = dw.Path(fill=PAPER, stroke=INK, stroke_width=1.5)
        path.M(x, y).L(x + w - 12, y).L(x + w, y + 12).L(x + w, y + h).L(x, y + h).Z()
        self.drawing.append(path)
        fold = dw.Path(fill="none", stroke=INK, stroke_width=1.2)
        self.drawing.append(fold.M(x + w - 12, y).L(x + w - 12, y + 12).L(x + w, y + 12))
        if words:
            self.text(x + w / 2, y + h / 2 + 1 - 8 * words.count("\n"), words, size=13)
        for j, value in enumerate(values):
            left = x + (w - 30 * len(values) + 6) / 2 + 30 * j
            self.bar(left, y + 13, 24, 24, PAPER if value is None else VALUES[value % 4], radius=3, stroke=INK)
        return x + w

    def counts(self, x, y, heights, label="counts"):
        """Draw grey bars that stand on (x, y)."""
        for j, height in enumerate(heights):
            self.bar(x + 18 * j, y - height, 14, height, "#9aa5b1", radius=1)
        self._line(x - 4, y, x + 18 * len(heights), y)
        self.text(x + 9 * len(heights) - 2, y + 14, label, size=12, colour=SOFT)

    def table(self, x, y, cells, label="", side=26):
        """Draw a table with its left upper corner at (x, y): darker is more, red with a minus is below zero."""
        for row, line in enumerate(cells):
            for column, value in enumerate(line):
                left, top = x + side * column, y + side * row
                fill = "#f3c1b5" if value < 0 else f"#{3 * f'{245 - int(150 * value):02x}'}"
                self.bar(left, top, side, side, fill, radius=0, stroke=SOFT)
                if value < 0:
                    self.text(left + side / 2, top + side / 2 + 1, "\u2212", size=15)
        self.text(x + side * len(cells[0]) / 2, y + side * len(cells) + 14, label, size=12, colour=SOFT)

    def estimate(self, x, y, heights, label="estimate"):
        """Draw coloured bars with an interval each, standing on (x, y)."""
        for j, height in enumerate(heights):
            self.bar(x + 22 * j, y - height, 16, height, VALUES[j % 4], radius=1)
            self._line(x + 22 * j + 8, y - height - 9, x + 22 * j + 8, y - height + 9, INK, 2)
        self._line(x - 4, y, x + 22 * len(heights), y)
        self.text(x + 11 * len(heights) - 3, y + 14, label, size=12, colour=SOFT)

    def arrow(self, x1, y1, x2, y2, label="", above=10, colour=INK):
        """Draw an arrow with words above its middle."""
        marker = dw.Marker(-0.1, -0.5, 0.9, 0.5, scale=7, orient="auto")
        marker.append(dw.Lines(-0.1, -0.5, -0.1, 0.5, 0.9, 0, fill=colour, close=True))
        self.drawing.append(dw.Line(x1, y1, x2, y2, stroke=colour, stroke_width=1.6, marker_end=marker))
        if label:
            self.text((x1 + x2) / 2, (y1 + y2) / 2 - above, label, size=12, colour=SOFT)

    def svg(self):
        """Return the SVG text, the same on every machine."""
        return self.drawing.as_svg() + "\n"

    def stacked(self):
        """Return the SVG text of the drawing cut in parts, which stand one below the other."""
        if self.cut in (None, WIDTH):
            return self.svg()
        parts = list(itertools.pairwise((self.start, self.cut, WIDTH - 4)))
        width = max(right - left for left, right in parts)
        inner = re.sub(r"<(title|desc)>.*?</\1>|<svg[^>]*>|</svg>|<\?xml[^>]*>", "", self.svg(), flags=re.DOTALL)
        shown = [
            f'<svg x="{(width - right + left) / 2:g}" y="{row * self.height}" width="{right - left}" '
            f'height="{self.height}" viewBox="{left} 0 {right - left} {self.height}"><use href="#all"/></svg>'
            for row, (left, right) in enumerate(parts)
        ]
        height = self.height * len(parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" role="img">\n<title>{self.title}</title>\n'
            f'<desc>{self.words}</desc>\n<defs><g id="all">{inner}</g></defs>\n'
            f'<rect width="{width}" height="{height}" rx="10" fill="{PAPER}"/>\n' + "\n".join(shown) + "\n</svg>\n"
        )


def for_a_phone(name):
    """Return the SVG text of a diagram for a narrow screen."""
    wide = DIAGRAMS[name]()
    Diagram.more = (2 if wide.cut - wide.start < 430 else 3) if wide.cut else 0  # the wider, the smaller it is shown
    try:
        return DIAGRAMS[name]().stacked()
    finally:
        Diagram.more = 0


@diagram
def randomized_response():
    """One person, one randomizer: the truth, or any other answer."""
    d = Diagram(
        "Randomized response",
        "A person with one answer randomizes it on their own device. With probability p the report is the truth, else "
        "another answer. The collector counts the reports and corrects the counts.",
        device=400,
    )
    d.person(48, 62)
    d.record(80, 70, [0], ["answer"])
    d.arrow(120, 86, 168, 86)
    d.randomizer(194, 86, "p")
    d.arrow(218, 76, 292, 52, "truth", above=14)
    d.arrow(218, 96, 292, 124, "other", above=-14)
    d.report(300, 28, [0])
    d.report(300, 104, [1])
    d.arrow(372, 86, 446, 86)
    d.counts(460, 120, [52, 36, 26])
    d.arrow(526, 92, 586, 92, "correct")
    d.estimate(606, 120, [64, 30, 12])
    return d


@diagram
def channel_matrix():
    """Draw the channel matrix: a person's answer picks a row, the collector sees a column."""
    d = Diagram(
        "One table, two readers",
        "A square table of probabilities, with a row for each of three answers and a column for each of three reports. "
        "A person's answer picks a row, and a draw from that row is the report. The collector sees which column it was "
        "and compares the probabilities within that column.",
        height=250,
        cut=428,
    )
    shades = (("4", "1", "1"), ("1", "3", "2"), ("1", "1", "4"))
    d.person(52, 104)
    d.record(86, 112, [1], ["answer"])
    d.arrow(122, 127, 196, 127, "picks a row")
    for row in range(3):
        d.record(206, 62 + 50 * row, [row])
        for column in range(3):
            sixths = shades[row][column]
            fill = {"1": "#ffffff", "2": "#dbe7f3", "3": "#b5cfe6", "4": "#8fb7da"}[sixths]
            d.bar(250 + 56 * column, 56 + 50 * row, 48, 42, fill, stroke=SOFT)
            d.text(274 + 56 * column, 78 + 50 * row, f"{sixths}/6", size=14)
    d.bar(246, 102, 168, 50, "none", radius=6, stroke=INK)
    d.bar(358, 50, 56, 158, "none", radius=6, stroke="#D55E00")
    d.text(330, 17, "report", size=12, colour=SOFT)
    for column in range(3):
        d.record(264 + 56 * column, 30, [column], side=18)
    d.arrow(420, 127, 500, 127, "a draw")
    d.report(510, 104, [2])
    d.text(424, 224, "probabilities of this report: 1, 2, 4 sixths", size=12, colour="#a84300", anchor="end")
    d.arrow(574, 127, 620, 127, "invert")
    d.estimate(636, 160, [46, 34, 18])
    return d


@diagram
def subset_selection():
    """One person, one randomizer: a set that holds the truth, or any set."""
    d = Diagram(
        "Subset selection",
        "A person with one answer randomizes it on their own device. With probability c the report is a set of three "
        "values that holds the answer, else any set of three values. The collector counts how often each value is "
        "named and corrects the counts.",
        device=430,
    )
    d.person(48, 62)
    d.record(80, 70, [0], ["answer"])
    d.arrow(120, 86, 168, 86)
    d.randomizer(194, 86, "c")
    d.arrow(218, 76, 300, 52, "a set with it", above=16)
    d.arrow(218, 96, 300, 124, "any set", above=-16)
    d.report(310, 28, [0, 2, 3])
    d.report(310, 104, [1, 2, 3])
    d.arrow(424, 86, 472, 86)
    d.counts(482, 120, [50, 38, 44, 40])
    d.arrow(562, 92, 606, 92, "correct")
    d.estimate(616, 120, [60, 18, 36, 24])
    return d


@diagram
def budget_split():
    """Draw a record of three attributes, ε split into three parts, and three reports."""
    d = Diagram(
        "Budget splitting",
        "A person's record has three attributes with 2, 4 and 16 possible answers. A bar of length ε is cut into three "
        "parts, the widest for the attribute with the most answers. Each attribute is randomized with its own part.",
        height=230,
        device=490,
    )
    d.person(44, 84)
    left = 206
    d.text(left + 100, 21, "\u03b5, in three parts", size=12, colour=SOFT)
    for row, (label, width) in enumerate((("2 answers", 43), ("4 answers", 61), ("16 answers", 96))):
        y = 30 + 58 * row
        d.record(76, y, [row])
        d.text(112, y + 16, label, size=12, colour=SOFT, anchor="start")
        d.bar(left, y + 8, width, 16, VALUES[row], radius=2)
        d.arrow(left + width + 6, y + 16, 426, y + 16)
        d.report(434, y - 6, [row], width=50)
        left += width
    d.arrow(486, 104, 588, 104)
    d.estimate(604, 136, [64, 40, 24], label="estimates")
    return d


@diagram
def copies():
    """Draw a record of two attributes, the pivot's randomizer, and a copy of its report."""
    d = Diagram(
        "Corr-RR: copies of the pivot's report",
        "A person's record has two attributes. One, the pivot, is picked at random and randomized with the whole "
        "ε. The other report looks only at the pivot's report and copies it with probability p_y.",
        height=220,
        device=490,
    )
    d.person(44, 70)
    d.record(76, 44, [0, 1], ["pivot", "other"], side=40, faded=(1,))
    d.arrow(97, 88, 176, 140, "", above=0)
    d.randomizer(200, 152, "p")
    d.arrow(224, 152, 300, 152, "all of \u03b5", above=-14)
    d.report(310, 129, [2])
    d.arrow(338, 126, 338, 94)
    d.randomizer(338, 70, "")
    d.text(335, 71, "p", size=14)
    d.text(344, 75, "y", size=10)
    d.text(296, 108, "copy?", size=12, colour=SOFT)
    d.arrow(362, 66, 404, 58)
    d.report(412, 34, [2])
    d.text(172, 64, "not looked at", size=12, colour=SOFT, anchor="start")
    d.arrow(472, 60, 540, 92)
    d.arrow(372, 152, 540, 112)
    d.counts(552, 128, [30, 44, 52])
    d.arrow(612, 100, 640, 100)
    d.estimate(650, 128, [24, 36, 54])
    return d


@diagram
def one_question():
    """Three people, one question each."""
    d = Diagram(
        "One question each",
        "Three people hold three answers each. Each is asked about one of them, drawn at random, and randomizes it "
        "with the whole ε; the report says which attribute it is about. The collector keeps a group for each attribute "
        "and divides each group by its own size.",
        height=250,
        device=430,
    )
    for row, (values, asked) in enumerate((((0, 1, 2), 0), ((3, 1, 0), 2), ((0, 3, 3), 0))):
        y = 32 + 64 * row
        d.person(44, y)
        d.record(78, y - 6, values, labels="ABC" if row == 0 else None, faded=set(range(3)) - {asked})
        d.arrow(188, y + 9, 226, y + 9)
        d.randomizer(254, y + 9, "\u03b5")
        d.arrow(280, y + 9, 324, y + 9)
        d.report(334, y - 14, width=76)
        d.text(352, y + 10, f"{'ABC'[asked]}:")
        d.record(372, y - 3, [(0, 0, 3)[row]], side=24)
    for row, (label, heights) in enumerate((("A", [40, 18, 14]), ("B", [12, 30, 22]), ("C", [24, 16, 28]))):
        y = 62 + 64 * row
        d.counts(470, y, heights, label=f"group {label}")
        d.estimate(600, y, [1.3 * height - 5 for height in heights], label=f"estimate {label}")
        d.arrow(534, y - 20, 584, y - 20, "\u00f7 its size" if row == 0 else "")
    return d


@diagram
def correlation():
    """Draw two associated answers, one report, and the question which estimates it may serve."""
    d = Diagram(
        "One report for two answers?",
        "A person's two answers agree, as those of most people do. One of them is randomized with the whole ε. "
        "At the collector the report counts for the first attribute; whether it may count for the second as "
        "well is the question.",
        device=420,
    )
    d.person(48, 72)
    d.record(74, 70, [0, 0], ["first", "second"], side=46)
    d.text(122, 134, "agree in 99 of 100", size=12, colour=SOFT)
    d.arrow(176, 93, 222, 93)
    d.randomizer(250, 93, "\u03b5")
    d.arrow(276, 93, 332, 93)
    d.report(342, 70, [0])
    d.arrow(446, 84, 540, 58, "counts", above=14)
    d.arrow(446, 102, 540, 132, "counts too?", above=-16)
    d.estimate(566, 72, [44, 20], label="first")
    d.estimate(566, 150, [44, 20], label="second")
    return d


@diagram
def plurality():
    """Draw one person, four answers and three kinds of report."""
    d = Diagram(
        "Looking before answering",
        "A person's record has four answers, three of them alike. The device finds the answer that most of them share. "
        "At random it sends that answer, or whether one of the four agrees with it, or one of the four; each through "
        "randomized response. The collector puts the three kinds of report together.",
        height=230,
        device=490,
    )
    d.person(40, 84)
    d.record(70, 92, [0, 0, 1, 0], ["1", "2", "3", "4"], side=26)
    d.arrow(198, 105, 236, 105)
    d.randomizer(266, 105, "?")
    for y, height, words, values, text in (
        (24, 48, "what most share", [0], ""),
        (84, 96, "does 3 agree?", (), "3: no"),
        (144, 164, "what is 3?", [1], ""),
    ):
        d.arrow(290, 105 + (y - 84) * 0.25, 392, y + 22)
        d.text(345 - abs(y - 84) / 2, height, words, size=12, colour=SOFT)
        d.report(400, y, values, text, width=62)
    d.arrow(500, 106, 560, 106, "combine")
    d.estimate(586, 140, [64, 34, 18], label="estimate of each")
    return d


@diagram
def longer_reports():
    """Draw four reports on the same answer: one answer, bits, a hash, a set."""
    d = Diagram(
        "Four reports on the same answer",
        "A person holds one of four answers and can report in four ways: one answer; a noisy bit for each answer; the "
        "bucket of a random hash function, randomized; a set of answers in which the true one is more likely.",
        height=280,
        device=490,
    )
    d.person(44, 110)
    d.record(80, 112, [0], ["answer"])
    rows = (("one answer", [0]), ("unary", None), ("hashing", "bucket 2"), ("a set", [0, 2]))
    for row, (label, content) in enumerate(rows):
        y = 40 + 60 * row
        d.arrow(116, 127, 170, y)
        d.randomizer(196, y, "\u03b5")
        d.arrow(220, y, 318, y)
        d.text(268, y - 12, label, size=12, colour=SOFT)
        if content is None:
            d.report(328, y - 23, words="1 0 1 0", width=92)
        elif isinstance(content, str):
            d.report(328, y - 23, words=content, width=92)
        else:
            d.report(328, y - 23, content, width=92)
    d.arrow(432, 130, 570, 130)
    d.text(620, 114, "count\nsupports,\ncorrect", size=13)
    return d


@diagram
def sorted_set():
    """Draw a set of records, and as many records after sorting and swapping: a threshold set."""
    d = Diagram(
        "From any set to a threshold set",
        "On the left a square of five by five records with eight filled cells in no order. An arrow to the right leads "
        "to the same square with eight filled cells in the lower left corner, a threshold set.",
        height=230,
        cut=420,
        start=50,
    )
    before = {(0, 1), (1, 3), (1, 4), (2, 0), (2, 3), (3, 3), (4, 1), (4, 4)}
    after = {(0, 4), (1, 4), (2, 4), (3, 4), (0, 3), (1, 3), (0, 2), (0, 1)}
    for left, cells, words in ((130, before, "any set of records"), (440, after, "as many, a threshold set")):
        for i in range(5):
            for j in range(5):
                d.bar(left + 30 * i, 44 + 30 * j, 24, 24, VALUES[2] if (i, j) in cells else DEVICE, stroke=SOFT)
        d.text(left + 72, 22, words, size=13)
        d.text(left + 72, 208, "first answer", size=12, colour=SOFT)
    d.text(88, 116, "second\nanswer", size=12, colour=SOFT)
    d.arrow(300, 116, 404, 116, "sort and swap")
    return d


@diagram
def report_as_set():
    """Draw three reports as sets of records: one question, two questions, any set."""
    d = Diagram(
        "Every report is a set of records",
        "Three squares of four by four cells. A cell is a record: the column is the first answer, the row the second. "
        "In the first square one column is filled: one question. In the second the cell where a column and a row "
        "meet: two questions. In the third some cells in no order: any other mechanism.",
        height=236,
        cut=430,
        start=8,
    )
    drawn = [
        ("one question", lambda i, j: i == 1),
        ("two questions", lambda i, j: i == 1 and j == 2),
        ("whatever is possible", lambda i, j: (i, j) in {(0, 0), (1, 0), (3, 1), (2, 3), (0, 2)}),
    ]
    for number, (words, holds) in enumerate(drawn):
        left, top = 86 + 225 * number, 42
        d.text(left + 57, 20, words, size=13)
        for i in range(4):
            for j in range(4):
                d.bar(left + 30 * i, top + 30 * j, 24, 24, VALUES[2] if holds(i, j) else DEVICE, stroke=SOFT)
        d.text(left + 57, top + 132, "first answer", size=12, colour=SOFT)
    d.text(40, 90, "second\nanswer", size=12, colour=SOFT)
    d.text(28, 202, "a record in the filled set sends this report", size=12, colour=SOFT, anchor="start")
    d.text(28, 220, "e", size=12, colour=SOFT, anchor="start")
    d.text(36, 215, "\u03b5", size=9, colour=SOFT, anchor="start")
    d.text(47, 220, "times as often as any other", size=12, colour=SOFT, anchor="start")
    return d


@diagram
def prior_ball():
    """Draw the triangle of all distributions, the uniform one, and the ball on which the prior lives."""
    d = Diagram(
        "A prior about the uniform distribution",
        "A triangle: its points are the distributions of three answers. In the middle the uniform distribution, around "
        "it two circles: a large one for few users, a small one for many, which is still wide against the standard "
        "error, drawn as a short bar.",
        height=230,
        cut=510,
        start=50,
    )
    corners = [(250, 200), (470, 200), (360, 20)]
    for (x1, y1), (x2, y2) in zip(corners, corners[1:] + corners[:1], strict=True):
        d._line(x1, y1, x2, y2)
    for radius, colour in ((54, SOFT), (26, VALUES[0])):
        d.drawing.append(dw.Circle(360, 140, radius, fill="none", stroke=colour, stroke_width=1.5))
    d._line(352, 140, 368, 140, VALUES[1], width=4)
    d.text(256, 216, "all answer 1", size=12, colour=SOFT)
    d.text(462, 216, "all answer 2", size=12, colour=SOFT)
    d.text(360, 12, "all answer 3", size=12, colour=SOFT)
    d.text(595, 92, "few users: the prior\nfills what fits", size=12, colour=SOFT)
    d.text(150, 122, "many users: a small ball,\nyet wide against\nthe standard error (bar)", size=12, colour=VALUES[0])
    return d


@diagram
def correlated_randomization():
    """Draw two people whose randomization is correlated, and their two reports."""
    d = Diagram(
        "Joint randomized response of a pair",
        "Two people are paired at random. Their randomization is correlated: when one tells the truth, the other tends "
        "to lie. Each sends one report; the collector counts all reports and corrects the count.",
        height=220,
        device=420,
    )
    for row, (value, said) in enumerate(((0, 0), (0, 1))):
        y = 30 + 94 * row
        d.person(48, y + 8)
        d.record(82, y + 10, [value])
        d.arrow(118, y + 25, 178, y + 25)
        d.randomizer(204, y + 25, "p")
        d.arrow(228, y + 25, 306, y + 25, "truth" if value == said else "lie")
        d.report(316, y + 2, [said])
        d.arrow(380, y + 25, 478, 104 + 8 * (2 * row - 1))
    d.arrow(204, 94, 204, 82)
    d.arrow(204, 88, 204, 122)
    d.text(214, 103, "correlation \u03c1", size=12, colour=SOFT, anchor="start")
    d.counts(492, 134, [34, 56])
    d.arrow(540, 104, 590, 104, "correct")
    d.estimate(606, 134, [22, 66])
    return d


@diagram
def transcript():
    """Draw two pairs with correlated randomization, and an observer who knows all answers but one."""
    d = Diagram(
        "The transcript of joint randomized response",
        "Four people in two pairs. In each pair the randomization is correlated: where one tells the truth the other "
        "tends to lie. Each sends one report. An observer sees all four reports, the transcript, knows the answers of "
        "three of the people, and asks for the fourth.",
        height=332,
        device=400,
    )
    for row, (value, said) in enumerate(((0, 0), (1, 0), (1, 1), (0, 1))):
        y = 18 + 70 * row
        d.person(48, y + 6)
        d.record(82, y + 8, [value])
        d.arrow(118, y + 23, 172, y + 23)
        d.randomizer(198, y + 23, "p")
        d.arrow(222, y + 23, 286, y + 23, "truth" if value == said else "lie")
        d.report(296, y, [said])
        d.arrow(362, y + 23, 448, y + 23)
        d.record(458, y + 8, [None if row == 0 else value])
        if row:
            d.text(496, y + 24, "known", size=12, colour=SOFT, anchor="start")
        if row % 2 == 0:
            d.arrow(198, y + 58, 198, y + 46)
            d.arrow(198, y + 58, 198, y + 70)
            d.text(212, y + 58, "correlation \u03c1", size=12, colour=SOFT, anchor="start")
        d.arrow(542 if row else 498, y + 23, 602, 138 + 5 * row)
    d.person(632, 130)
    d.text(656, 196, "sees all reports:\nwhat is the first?", size=12, colour=SOFT)
    return d


@diagram
def helpers():
    """Draw three helpers beside a survey: who deals signs, who shuffles reports, who deals masks."""
    narrow = Diagram.more > 0
    d = Diagram(
        "Three helpers: signs, shuffling, masks",
        "Three rows. A dealer gives people secret signs, and a sign moves each report. A shuffler removes the names "
        "from the reports before the collector gets them. A dealer gives people masks that sum to zero, so the "
        "collector learns only the sum of all answers and noise.",
        height=366 if narrow else 270,
        width=480 if narrow else WIDTH,
        cut=WIDTH,  # drawn anew for a phone
    )
    left, high, down = (8, 118, 24) if narrow else (150, 84, 0)  # of a row: where it begins, its height, its name

    def helper(x, y, words):
        d.bar(x, y, 150, 46, "#fff4d6", radius=6, stroke=INK)
        d.text(x + 75, y + 16, words, size=13)

    def people(x, y, words):
        for j in range(3):
            d.person(x + 38 * j, y + 6)
        d.text(x + 38, y + 52, words, size=12, colour=SOFT)

    for row, name in enumerate(("signed\nreports", "shuffle\nmodel", "secure\naggregation")):
        y = high * row + (10 if narrow else 36)
        d.text(24, y, name.replace("\n", " ") if narrow else name, size=13, anchor="start", weight="bold")
    y, far = 20 + down, 370 if narrow else 582
    helper(left, y, "dealer:\nsecret signs")
    d.arrow(left + 152, y + 23, left + 188, y + 23)
    people(left + 214, y, "the sign moves the report")
    d.arrow(left + 316, y + 23, far, y + 23, "" if narrow else "reports")
    y += high
    people(left + (44 if narrow else 28), y, "randomized response")
    d.arrow(
        left + (146 if narrow else 130), y + 23, left + (166 if narrow else 212), y + 23, "" if narrow else "reports"
    )
    helper(left + (172 if narrow else 222), y, "shuffler:\nremoves names")
    d.arrow(left + (326 if narrow else 374), y + 23, far, y + 23)
    y += high
    helper(left, y, "dealer: masks\nthat sum to zero")
    d.arrow(left + 152, y + 23, left + 188, y + 23)
    people(left + 214, y, "answer + noise + mask")
    d.arrow(left + 316, y + 23, far, y + 23, "" if narrow else "reports")
    for row, heights in enumerate(([34, 52], [34, 52], [52])):
        d.counts(far + 18, 70 + down + high * row, heights, label="only the sum" if row == 2 else "counts")
    return d


@diagram
def joint_table():
    """Two noisy answers, and two tables from the same reports."""
    d = Diagram(
        "From reports to a table",
        "A person answers two questions, each randomized on its own. The collector counts the reports in a table. "
        "The inverse of the channel gives a table with cells below zero; the maximum likelihood estimate has none.",
        height=220,
        device=330,
    )
    for row, values in enumerate(((0, 2), (1, 2))):
        y = 48 + 84 * row
        d.person(44, y)
        d.record(78, y - 2, values, labels="AB" if row == 0 else None)
        d.arrow(146, y + 13, 170, y + 13)
        d.randomizer(202, y + 13, "A")
        d.randomizer(252, y + 13, "B")
        d.arrow(278, y + 13, 322, y + 13)
    d.table(366, 58, [[0.5, 0.35, 0.3], [0.35, 0.45, 0.3], [0.3, 0.3, 0.35]], "reports")
    d.arrow(452, 82, 508, 52, "")
    d.arrow(452, 110, 508, 146, "")
    d.table(522, 16, [[0.95, 0.2, -1], [0.15, 0.7, 0.1], [-1, 0.1, 0.3]], side=24)
    d.text(610, 46, "by inverse:\nunbiased,\nsome below 0", size=12, anchor="start")
    d.table(522, 108, [[0.8, 0.2, 0], [0.1, 0.65, 0.1], [0, 0.1, 0.25]], side=24)
    d.text(610, 130, "maximum\nlikelihood\nestimate", size=12, anchor="start")
    return d


@diagram
def pairs():
    """Three people, one pair of questions each, with one randomization of both answers."""
    d = Diagram(
        "One pair of questions each",
        "Three people hold three answers each. Each is asked a pair of them, drawn at random, and one randomization "
        "with the whole ε decides for both answers together whether the report tells. The collector gets a table for "
        "each pair.",
        height=250,
        device=450,
    )
    for row, (values, asked) in enumerate((((0, 1, 2), (0, 1)), ((3, 1, 0), (1, 2)), ((0, 3, 3), (0, 2)))):
        y = 32 + 64 * row
        d.person(44, y)
        d.record(78, y - 6, values, labels="ABC" if row == 0 else None, faded=set(range(3)) - set(asked))
        d.arrow(184, y + 9, 216, y + 9)
        d.randomizer(248, y + 9, "\u03b5")
        d.arrow(274, y + 9, 302, y + 9)
        d.report(314, y - 14, width=112)
        d.text(340, y + 10, f"{'ABC'[asked[0]]}{'ABC'[asked[1]]}:")
        d.record(362, y - 3, [(0, 1), (1, 2), (2, 3)][row], side=24)
    for row, (label, cells) in enumerate(
        (("AB", [[0.9, 0.2], [0.1, 0.6]]), ("BC", [[0.3, 0.5], [0.6, 0.3]]), ("AC", [[0.5, 0.4], [0.4, 0.5]]))
    ):
        y = 20 + 68 * row
        d.arrow(436, 41 + 64 * row, 500, y + 24)
        d.table(516, y, cells, side=24)
        d.text(576, y + 24, f"table of {label}", size=13, anchor="start")
    return d


@diagram
def fakes():
    """Draw a record of three attributes, one of which is really reported."""
    d = Diagram(
        "RS+FD: one real answer among fakes",
        "A person's record has three attributes. One is sampled at random and randomized with the whole ε. "
        "The other two reports are fakes, drawn without looking at the record. The collector sees three.",
        height=220,
        device=450,
    )
    d.person(44, 84)
    for row, value in enumerate((0, 1, 2)):
        y = 22 + 56 * row
        d.record(80, y, [value], faded=() if row == 1 else (0,))
        if row == 1:
            d.arrow(116, y + 15, 186, y + 15, "sampled")
            d.randomizer(212, y + 15, "p")
            d.arrow(236, y + 15, 340, y + 15, "all of \u03b5")
        else:
            d.text(240, y + 15, "fake, from the prior", size=12, colour=SOFT)
            d.arrow(318, y + 15, 340, y + 15)
        d.report(350, y - 8, [(3, 1, 0)[row]])
        d.arrow(414, y + 15, 500, y + 15)
        d.text(514, y + 15, "real or fake?", size=12, colour=SOFT, anchor="start")
    d.arrow(600, 93, 630, 93)
    d.estimate(640, 126, [50, 34, 20])
    return d


@diagram
def choose():
    """Draw the questions of the decision page, narrow enough for a phone; every number is computed."""
    names = {"SubsetSelection": "subset selection", "OneQuestion": "attribute sampling", "AskSome": "some attributes"}
    names |= {"RR": "Warner's RR", "GRR": "GRR (k-RR)", "SignedRR": "signed reports", "RRJoint": "RR on records"}
    names |= {"RRIndependent": "RR on each answer"}
    rows = leaves()
    d = Diagram(
        "Which mechanism to take",
        "How many questions do you ask? One: by its number of answers, randomized response or subset selection. "
        "Several: by what you want to know, ask each person one question, some questions together, or "
        "randomize whole records. The table below the picture has the same with all numbers.",
        height=470,
        width=400,
    )

    def ask(y, words):
        d.bar(8, y - 15, 384, 30, "#fff4d6", radius=6, stroke=INK)
        d.text(20, y + 1, words, size=15, anchor="start", weight="bold")

    def lead(y, leaf):
        pair = leaf.of == "pair" and leaf.mechanism.k == (4,) * 4
        d.text(30, y + 1, leaf.when, size=14, anchor="start")
        d.bar(184, y - 13, 148, 26, DEVICE, radius=5, stroke=SOFT)
        d.text(258, y + 1, "two or more each" if pair else names[type(leaf.mechanism).__name__], size=13, weight="bold")
        star = "*" if leaf.mechanism.epsilon == 4 else ""
        d.text(380 + 6 * len(star), y + 1, f"{leaf.points:.2f}{star}", size=14, anchor="end")

    ask(26, "One question: how many answers?")
    y = 58
    for place, (group, found) in enumerate(rows.items()):
        if place == 1:
            ask(y + 10, "Several: what do you want to know?")
            y += 42
        if place:
            d.text(18, y, group, size=14, colour=SOFT, anchor="start")
            y += 26
        for leaf in found:
            lead(y, leaf)
            y += 30
        y += 2
    d.text(20, 452, "right: error in points, 10,000 people, \u03b5 = 1 (* 4)", size=13, colour=SOFT, anchor="start")
    return d


def main(folder=FOLDER):
    """Write every diagram into a folder, and those for a phone into one within."""
    folder = Path(folder)
    (folder / "phone").mkdir(parents=True, exist_ok=True)
    for name, draw in DIAGRAMS.items():
        (folder / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")
        (folder / "phone" / f"{name}.svg").write_text(for_a_phone(name), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
