"""Statistics of trials; pure, NumPy and SciPy."""
