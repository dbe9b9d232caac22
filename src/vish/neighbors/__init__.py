"""The nearest rows: their search, and a Gaussian process conditioned on them."""
