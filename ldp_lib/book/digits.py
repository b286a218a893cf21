"""Show of a number only the digits that are the same on every machine."""

import math


def digits(value, error):
    """Return `value` as text, with as many digits as ``value - error`` and ``value + error`` have in common if rounded.

    Parameters
    ----------
    value : float
        A number from an optimiser, a long sum or a simulation.
    error : float
        How far it may be off on another machine, above 0: the solver's tolerance, or some multiples of 2.2e-16 times
        the sum of absolute values. This is not a standard error: the same seed draws the same numbers everywhere.

    Returns
    -------
    str
        For example ``digits(0.1234567, 1e-6)`` is "0.12346".
    """
    if not (math.isfinite(value) and 0 < error < math.inf):
        raise ValueError(f"value must be finite and error finite and above 0; got {value!r} and {error!r}")
    finest = math.floor(-math.log10(error))
    for places in range(finest, finest - 330, -1):
        low, high = (round(value + sign * error, places) for sign in (-1, 1))
        if low == high:
            return f"{low + 0.0:.{max(places, 0)}f}"
    raise ArithmeticError(f"no digit of {value!r} is determined within {error!r}")
