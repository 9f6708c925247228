"""The convex problem, from kernels to certified solutions; NumPy, SciPy and threadpoolctl alone."""
