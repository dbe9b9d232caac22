"""Two classes, with probabilities that come true, and a threshold for unequal costs."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from vish import VISHClassifier, metrics, plots

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.filter(like="worst")  # of the cells of an image, the ten largest values
names = np.where(y == 0, "malignant", "benign")
X_train, X_test, y_train, y_test = train_test_split(
    X, names, test_size=0.4, random_state=0, stratify=names
)

model = VISHClassifier(degree=2, rank=None).fit(X_train, y_train)
malignant = model.predict_proba(X_test)[:, list(model.classes_).index("malignant")]

truth = y_test == "malignant"
print(f"accuracy {model.score(X_test, y_test):.3f}, AUC {roc_auc_score(truth, malignant):.3f}")
print(f"log loss {log_loss(truth, malignant):.3f}", end=", ")
print(f"calibration error {metrics.expected_calibration_error(truth, malignant):.3f}")

# A tumour that is missed costs twenty times a false alarm: act from 1 / 21 on.
for threshold in (0.5, 1 / 21):
    flagged = malignant >= threshold
    missed, false = np.sum(truth & ~flagged), np.sum(~truth & flagged)
    print(f"from {threshold:.0%}: {missed} missed, {false} false alarms")

plots.ReliabilityDisplay.from_estimator(model, X_test, y_test).figure_.savefig("reliability.png")
