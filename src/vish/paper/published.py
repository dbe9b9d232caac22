"""The numbers printed in the paper: mean and standard deviation over splits."""

Printed = tuple[float, float]

# Table 1: per data set rows, inputs, features, and (MSE, NLPD) of each method.
UCI: dict[str, dict[str, dict[str, Printed]]] = {
    "yacht": {
        "vish-paper": {"mse": (0.004, 0.00), "nlpd": (-1.698, 0.21)},
        "a-vff": {"mse": (0.010, 0.01), "nlpd": (-0.861, 0.36)},
        "svgp": {"mse": (0.002, 0.00), "nlpd": (-1.72, 0.12)},
        "a-gpr": {"mse": (0.010, 0.00), "nlpd": (-0.903, 0.16)},
        "gpr": {"mse": (0.001, 0.00), "nlpd": (-2.420, 0.15)},
    },
    "energy": {
        "vish-paper": {"mse": (0.003, 0.00), "nlpd": (-1.575, 0.13)},
        "a-vff": {"mse": (0.011, 0.00), "nlpd": (-0.824, 0.11)},
        "svgp": {"mse": (0.013, 0.00), "nlpd": (-0.61, 0.04)},
        "a-gpr": {"mse": (0.012, 0.00), "nlpd": (-0.797, 0.11)},
        "gpr": {"mse": (0.003, 0.00), "nlpd": (-1.461, 0.12)},
    },
    "concrete": {
        "vish-paper": {"mse": (0.122, 0.02), "nlpd": (0.336, 0.07)},
        "a-vff": {"mse": (0.123, 0.01), "nlpd": (0.371, 0.06)},
        "svgp": {"mse": (0.128, 0.01), "nlpd": (0.374, 0.03)},
        "a-gpr": {"mse": (0.099, 0.01), "nlpd": (0.268, 0.06)},
        "gpr": {"mse": (0.096, 0.01), "nlpd": (0.228, 0.12)},
    },
    "kin8nm": {
        "vish-paper": {"mse": (0.219, 0.01), "nlpd": (0.612, 0.02)},
        "a-vff": {"mse": (0.561, 0.02), "nlpd": (1.129, 0.01)},
        "svgp": {"mse": (0.116, 0.01), "nlpd": (0.381, 0.03)},
        "a-gpr": {"mse": (0.556, 0.02), "nlpd": (1.125, 0.02)},
        "gpr": {"mse": (0.076, 0.00), "nlpd": (0.116, 0.02)},
    },
    "power": {
        "vish-paper": {"mse": (0.054, 0.00), "nlpd": (-0.005, 0.03)},
        "a-vff": {"mse": (0.058, 0.00), "nlpd": (-0.002, 0.04)},
        "svgp": {"mse": (0.055, 0.00), "nlpd": (-0.029, 0.03)},
        "a-gpr": {"mse": (0.032, 0.00), "nlpd": (-0.306, 0.07)},
        "gpr": {"mse": (0.046, 0.00), "nlpd": (-0.114, 0.04)},
    },
}
UCI_DEGREES = {"yacht": 4, "energy": 3, "concrete": 3, "kin8nm": 3, "power": 6}
UCI_FEATURES = {"yacht": 294, "energy": 210, "concrete": 210, "kin8nm": 210, "power": 336}

# Table 2, by number of rows and method; seconds are those of one GPU (GTX 1070).
AIRLINE: dict[int, dict[str, dict[str, Printed]]] = {
    10_000: {
        "vish-paper/3": {"mse": (0.91, 0.16), "nlpd": (1.328, 0.09), "seconds": (1.86, 0.38)},
        "vish-paper/4": {"mse": (0.90, 0.16), "nlpd": (1.326, 0.09), "seconds": (4.76, 1.25)},
        "a-vff": {"mse": (0.89, 0.15), "nlpd": (1.362, 0.09), "seconds": (6.78, 0.85)},
        "svgp": {"mse": (0.90, 0.16), "nlpd": (1.358, 0.09), "seconds": (836.54, 0.78)},
    },
    100_000: {
        "vish-paper/3": {"mse": (0.826, 0.052), "nlpd": (1.28, 0.03)},
        "vish-paper/4": {"mse": (0.808, 0.052), "nlpd": (1.27, 0.03)},
        "a-vff": {"mse": (0.819, 0.05), "nlpd": (1.32, 0.03)},
        "svgp": {"mse": (0.808, 0.05), "nlpd": (1.31, 0.03)},
    },
    1_000_000: {
        "vish-paper/3": {"mse": (0.84, 0.01), "nlpd": (1.29, 0.01)},
        "vish-paper/4": {"mse": (0.83, 0.03), "nlpd": (1.28, 0.01)},
        "a-vff": {"mse": (0.83, 0.01), "nlpd": (1.33, 0.03)},
        "svgp": {"mse": (0.82, 0.01), "nlpd": (1.32, 0.002)},
    },
    5_929_413: {
        "vish-paper/3": {"mse": (0.833, 0.004), "nlpd": (1.29, 0.002), "seconds": (41.32, 0.81)},
        "vish-paper/4": {"mse": (0.834, 0.055), "nlpd": (1.27, 0.002), "seconds": (160.8, 3.80)},
        "a-vff": {"mse": (0.827, 0.004), "nlpd": (1.32, 0.007), "seconds": (75.61, 0.75)},
        "svgp": {"mse": (0.814, 0.004), "nlpd": (1.31, 0.002), "seconds": (918.77, 1.21)},
    },
}

# Table 3; five initialisations.
SUSY: dict[str, dict[str, Printed]] = {
    "lightgbm": {"auc": (0.850, 0.003)},  # the paper's boosted trees
    "nn": {"auc": (0.867, 0.002)},
    "nn-dropout": {"auc": (0.856, 0.001)},
    "svgp": {"auc": (0.852, 0.002)},
    "vish-paper": {"auc": (0.859, 0.001)},
}
