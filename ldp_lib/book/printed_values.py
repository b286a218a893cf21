"""Numbers that the papers print or draw, as DataFrames with one row a cell, a point or a value."""

from ldp_lib import datasets

ROWS = {
    "corr_rr_tables": 360,
    "corr_rr_correlations": 36,
    "corr_rr_figures": 165,
    "corr_rr_figure2": 362,
    "corr_rr_figure12": 20,
    "jrr_figures": 1308,
    "jrr_estimates": 614,
}


def load(name):
    """Return one of these tables, or raise ValueError if it was cut short.

    Parameters
    ----------
    name : str
        "corr_rr_tables": Tables 4 to 9 of the revised Corr-RR paper (2026). Columns: table, n (users), method ("RS+RFD"
        or "Corr-RR"), epsilon, n1 (users in the first phase), mse (the mean of 100 runs). Tables 4 to 6 are for its
        data SynA, 7 to 9 for SynB.
        "corr_rr_correlations": its Table 2. Columns: data ("SynA" or "SynB"), rho, first and second (numbers of the two
        attributes), correlation.
        "corr_rr_figures": the 660 values of its Figures 3 to 11, 13 and 14. Columns: panel ("3a"), x, the setting with
        which the values were made as far as it is known: data ("SynA", "SynB", "clave", "mushroom", "adult"), d,
        epsilon, rho, first (the share of the users in the first phase), runs, parents (as for `corr_rr.tree_law`);
        stated_rho (what the paper says); and the errors of SPL, RS+FD, RS+RFD and Corr-RR.
        "corr_rr_figure2": the points of its curves: f_s (the curve), f_j and p_y.
        "corr_rr_figure12": its bars: data_set, attribute, value, count_implied of rows_implied.
        "jrr_figures": the values behind Figures 1 to 4 and 6 of the JRR paper (2025), and percentiles of 2. Columns:
        panel ("3a", "6a inset"), series, mechanism ("RR", "JRR"), the setting n, share (of users with value 1) and
        epsilon, x, quantity ("mse", "are", "fraction_below", "are_percentile", "mse_closed_form_stored") and value.
        "jrr_estimates": mean and variance of the 614 published sets of estimates of n1 behind these figures. Columns:
        figure ("1" for 1 and 2, "6i" for the insets of 6), n, n1, epsilon, mechanism, p, rho, runs, mean, variance.
    """
    datasets._require_name(name, ROWS)
    text = {"corr_rr_figures": "parents", "jrr_estimates": "figure"}.get(name)
    frame = datasets.read_frame(f"{name}.csv", ROWS[name], dtype={text: str} if text else None)
    if text == "parents":
        return frame.assign(parents=[tuple(map(int, tree.split())) for tree in frame.parents.fillna("")])
    return frame.rename(columns={"curve_f_s": "f_s"})
