"""The experiments of the paper, with every method it names: `vish paper`.

Sparse Gaussian Processes with Spherical Harmonic Features (Dutordoir, Durrande and Hensman,
ICML 2020). Data sets and splits, the methods, a runner that can be interrupted, the paper's own
numbers, tables and figures. docs/paper.md says what came out.
"""
