"""Bands of several levels at random points, near the training rows and far from them."""

import numpy as np

# t of the intervals: the centre, between levels, on them, and beyond the last.
REACHES = np.array([0.0, 0.3, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 10.0])


def random_rows(X, points, seed=0):
    """As many rows in the range of X, in ten times, and in a thousand times that range."""
    rng = np.random.default_rng(seed)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    far = rng.choice([0.5, 5.0, 500.0], size=(points, 1))
    shares = rng.uniform(-1.0, 1.0, size=(points, X.shape[1]))
    return (low + high) / 2 + far * shares * np.where(high > low, high - low, 1.0)


def crossings(band, X, points):
    """At how many random points an interval of a `FittedBand` is not inside a later one."""
    C = band.at(random_rows(X, points)).family.intervals(REACHES)
    low, high = C[:, 0], C[:, 1]
    apart = np.all(np.diff(low) <= 0, axis=1) & np.all(np.diff(high) >= 0, axis=1)
    return int(np.sum(~(apart & np.all(low <= high, axis=1))))
