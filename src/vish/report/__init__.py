"""A report on a fitted model: one page that says whether to trust it, and answers what-if.

It opens without a network. Verdict and warnings come first, then the scores beside simple
models, calibration, the spectrum, effects of the columns, and how the model was learned. The
panel of sliders computes the model's own polynomial in the page.
"""
