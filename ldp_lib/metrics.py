"""The error of many estimates at once, as papers on several attributes report it."""

import numpy as np


def mse(estimates, truth):
    """Return each run's squared error, averaged over an attribute's values and then over the attributes, (runs,).

    Parameters
    ----------
    estimates : sequence of d arrays, shape (runs, k_j)
        As `simulate` gives them.
    truth : sequence of d arrays, shape (k_j,)
        The true frequencies.

    Notes
    -----
    Seeam et al. (revised 2026), Eq. 2; chapter `corr_rr_evaluation`.
    """
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(estimates, truth, strict=True)]
    for found, true in pairs:
        if found.ndim != 2 or found.shape[1:] != true.shape:
            raise ValueError(f"estimates must have shape (runs, k_j) and truth (k_j,); got {found.shape}, {true.shape}")
    return np.mean([((found - true) ** 2).mean(axis=1) for found, true in pairs], axis=0)
