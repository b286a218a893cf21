"""House style of the book's figures: one look, and one colour and marker for each mechanism throughout."""

from pathlib import Path

STYLE = Path(__file__).with_name("ldp.mplstyle")

_COLOURS = {
    "grey": "#6e6e6e",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "blue": "#0072B2",
    "red": "#D55E00",
    "pink": "#CC79A7",
}
_LOOKS = """
RR blue h
GRR blue o
SUE pink v
OUE green ^
UnaryEncoding pink <
OLH orange s
SubsetSelection red D
OneQuestion green o
AskSome orange P
SPL grey s
BRR grey v
MRR sky ^
OBRR green X
OMRR red p
RSFD sky v
RSRFD pink ^
TwoPhaseRSRFD pink X
SecondPhase red <
CorrRR red o
CondRR orange d
Plurality blue *
JRR red s
KJRR red ^
SignedRR green s
ServerProtocol pink P
ShuffleProtocol sky P
JointUnary pink D
JointHashing orange v
RRIndependent grey o
RRJoint blue D
RRClusters green d
ProductRR sky d
TensorProduct pink o
"""

#: Mechanism to colour and marker, the same in every chapter; no two mechanisms share both.
LOOKS = {name: (_COLOURS[colour], marker) for name, colour, marker in map(str.split, _LOOKS.split("\n")[1:-1])}
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
