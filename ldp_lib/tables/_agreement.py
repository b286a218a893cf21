"""Pair tables of probabilities that agree on every attribute's marginal, from raw ones: what `Survey` publishes."""

from ldp_lib.postprocess import project_simplex
from ldp_lib.tables._checks import check_pairs
from ldp_lib.tables.consistency import project_marginals


def _agree(tables):
    """Return pair tables that agree on every attribute's marginal, and these marginals: least squares in closed form.

    Parameters
    ----------
    tables : dict
        For pairs (j, l) of attributes an array (k_j, k_l) of raw estimates that sum to 1.

    Returns
    -------
    tables : dict
        The corrected tables: linear in the given ones, so unbiased if these are, and maybe negative.
    marginals : dict
        For each attribute its marginal, shape (k_j,).

    Notes
    -----
    A table is the sum of its mean, a row effect, a column effect and an interaction, all orthogonal; agreement
    concerns the row and column effects only. So each attribute's marginals are averaged, and each table takes up the
    difference spread evenly over the other attribute's values (Qardaji, Yang and Li, 2014, for equal weights).
    """
    tables = check_pairs(tables)
    tables_and_turned = tables | {(b, a): table.T for (a, b), table in tables.items()}
    sums, totals = {}, {}
    for (j, _), table in tables_and_turned.items():
        weight = 1 / table.shape[1]
        sums[j] = sums.get(j, 0) + weight * table.sum(axis=1)
        totals[j] = totals.get(j, 0) + weight
    marginals = {j: sums[j] / totals[j] for j in sorted(sums)}
    corrected = {}
    for (j, other), table in tables.items():
        rows, columns = marginals[j] - table.sum(axis=1), marginals[other] - table.sum(axis=0)
        corrected[j, other] = table + rows[:, None] / table.shape[1] + columns / len(table)
    return corrected, marginals


def repair_pairs(tables):
    """Return pair tables of probabilities that agree on every marginal: `_agree`, then the nearest non-negative ones.

    The marginals are projected first, then each table onto those with these marginals, so that agreement stays.
    """
    corrected, marginals = _agree(tables)
    marginals = {j: project_simplex(marginal) for j, marginal in marginals.items()}
    repaired = {}
    for (j, other), table in corrected.items():
        found = project_marginals(table, [marginals[j], marginals[other]])
        if not found.converged:
            raise ValueError(f"tables must be repaired within {found.passes} passes; {j, other} was off by {found.gap}")
        repaired[j, other] = found.table
    return repaired
