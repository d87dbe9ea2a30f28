"""Tables of scores, topics × systems: those of the reference cases, and random ones."""

import numpy as np

X = np.array([[0.10, 0.20, 0.45], [0.30, 0.25, 0.50], [0.55, 0.60, 0.75], [0.20, 0.40, 0.35]])
X2 = np.array([[0.1, 0.1, 0.4], [0.3, 0.2, 0.6], [0.5, 0.55, 0.7], [0.2, 0.25, 0.5], [0, 0.3, 0.3]])
X3 = np.array(
    [
        [0.10, 0.20, 0.45, 0.12],
        [0.30, 0.25, 0.50, 0.33],
        [0.55, 0.60, 0.75, 0.50],
        [0.20, 0.40, 0.35, 0.22],
        [0.40, 0.45, 0.70, 0.45],
        [0.05, 0.20, 0.15, 0.08],
        [0.33, 0.30, 0.52, 0.36],
        [0.25, 0.35, 0.40, 0.24],
    ]
)


def table(n, m, seed=0, spread=0.15):
    """Scores from 0 to 1 of systems that differ by chance alone, on topics of different difficulty."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.beta(2, 3, (n, 1)) + rng.normal(0, spread, (n, m)), 0, 1).round(4)
