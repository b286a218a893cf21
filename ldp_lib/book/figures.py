"""House style of the book's figures: one look, and one colour for each mechanism throughout."""

from pathlib import Path

STYLE = Path(__file__).with_name("ldp.mplstyle")

#: Mechanism to colour (Okabe and Ito's palette, readable with any colour vision), the same in every chapter.
COLOURS = {
    "RR": "#0072B2",
    "GRR": "#0072B2",
    "SUE": "#CC79A7",
    "OUE": "#009E73",
    "OLH": "#E69F00",
    "SubsetSelection": "#D55E00",
    "OneQuestion": "#009E73",
    "AskSome": "#E69F00",
    "SPL": "#000000",
    "RSFD": "#56B4E9",
    "RSRFD": "#CC79A7",
    "CorrRR": "#D55E00",
    "Plurality": "#0072B2",
    "CondRR": "#E69F00",
    "JRR": "#D55E00",
    "BRR": "#000000",
    "MRR": "#56B4E9",
    "OBRR": "#009E73",
    "OMRR": "#D55E00",
    "RRIndependent": "#000000",
    "RRJoint": "#0072B2",
    "RRClusters": "#009E73",
    "TensorProduct": "#CC79A7",
}


def use_style():
    """Apply the book's figure style, `ldp.mplstyle`, to all figures drawn from here on."""
    import matplotlib.pyplot as plt

    plt.style.use(STYLE)
