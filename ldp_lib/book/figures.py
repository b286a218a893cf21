"""House style of the book's figures: one look, and one colour and marker for each mechanism throughout."""

from pathlib import Path

STYLE = Path(__file__).with_name("ldp.mplstyle")

_GREY, _ORANGE, _SKY, _GREEN, _BLUE, _RED, _PINK = (
    "#6e6e6e",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)

#: Mechanism to colour and marker, the same in every chapter; no two mechanisms share both.
LOOKS = {
    "RR": (_BLUE, "h"),
    "GRR": (_BLUE, "o"),
    "SUE": (_PINK, "v"),
    "OUE": (_GREEN, "^"),
    "UnaryEncoding": (_PINK, "<"),
    "OLH": (_ORANGE, "s"),
    "SubsetSelection": (_RED, "D"),
    "OneQuestion": (_GREEN, "o"),
    "AskSome": (_ORANGE, "P"),
    "SPL": (_GREY, "s"),
    "BRR": (_GREY, "v"),
    "MRR": (_SKY, "^"),
    "OBRR": (_GREEN, "X"),
    "OMRR": (_RED, "p"),
    "RSFD": (_SKY, "v"),
    "RSRFD": (_PINK, "^"),
    "TwoPhaseRSRFD": (_PINK, "X"),
    "SecondPhase": (_RED, "<"),
    "CorrRR": (_RED, "o"),
    "CondRR": (_ORANGE, "d"),
    "Plurality": (_BLUE, "*"),
    "JRR": (_RED, "s"),
    "KJRR": (_RED, "^"),
    "SignedRR": (_GREEN, "s"),
    "ServerProtocol": (_PINK, "P"),
    "ShuffleProtocol": (_SKY, "P"),
    "JointUnary": (_PINK, "D"),
    "JointHashing": (_ORANGE, "v"),
    "RRIndependent": (_GREY, "o"),
    "RRJoint": (_BLUE, "D"),
    "RRClusters": (_GREEN, "d"),
    "ProductRR": (_SKY, "d"),
    "TensorProduct": (_PINK, "o"),
}

#: Mechanism to colour (Okabe and Ito's palette, readable with any colour vision).
COLOURS = {name: colour for name, (colour, _) in LOOKS.items()}

#: Mechanism to marker; with `COLOURS` what seaborn takes: `hue=..., palette=COLOURS, style=..., markers=MARKERS`.
MARKERS = {name: marker for name, (_, marker) in LOOKS.items()}


def look(name):
    """Return a mechanism's colour and marker as keywords of `plot`."""
    colour, marker = LOOKS[name]
    return {"color": colour, "marker": marker}


def use_style():
    """Apply the book's figure style, `ldp.mplstyle`, to all figures drawn from here on."""
    import matplotlib.pyplot as plt

    plt.style.use(STYLE)
