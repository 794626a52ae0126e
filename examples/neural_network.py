"""A neural network with a layer of cumulative-sum units, trained end to end on interval labels.

Five ordered classes on a square that are not linearly separable (the synthetic set of the PRIL paper). Of 2,000 labels
40 are exact, all others are intervals of up to three classes. Four models: the network on 2,000 exact labels, the
network on the imprecise labels, the network on the 40 exact ones alone, and CuSum Rank, whose scores are linear.

Run: python examples/neural_network.py   (needs PyTorch: pip install 'rankwise[torch]')
"""

from typing import Any

import numpy as np
import torch
from torch import nn

from rankwise import CuSumRank
from rankwise.annotation import partial_labels
from rankwise.datasets import make_pril_synthetic
from rankwise.torch import CuSumHead, CuSumMarginLoss, labels_to_tensors

CLASSES = [1, 2, 3, 4, 5]


def train(X: np.ndarray, y: Any, n_steps: int) -> nn.Module:
    torch.manual_seed(0)
    labels = labels_to_tensors(y, classes=CLASSES)
    rows = torch.tensor(X, dtype=torch.float32)
    network = nn.Sequential(
        nn.Linear(X.shape[1], 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), CuSumHead(64, labels.n_classes)
    )
    loss = CuSumMarginLoss(check=False)  # the codes come from labels_to_tensors
    optimizer = torch.optim.Adam(network.parameters(), lr=0.003)
    for _ in range(n_steps):
        batch = torch.randint(len(rows), (128,))
        optimizer.zero_grad()
        loss(network(rows[batch]), labels.lower[batch], labels.upper[batch]).backward()
        optimizer.step()
    return network


def predict(network: nn.Module, X: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        codes = CuSumHead.predict(network(torch.tensor(X, dtype=torch.float32)))
    return np.array(CLASSES)[codes.numpy()]


def main(n_train: int = 2000, n_exact: int = 40, n_steps: int = 800) -> dict[str, float]:
    torch.set_num_threads(1)  # matrices this small gain nothing from more
    X, y = make_pril_synthetic(n_train + 5000, random_state=0)
    X = 4 * X - 2  # from the unit square to about zero mean and unit variance
    X, X_test, y, y_test = X[:n_train], X[n_train:], y[:n_train], y[n_train:]
    labels = partial_labels(y, 1 - n_exact / n_train, kind=2, classes=CLASSES, random_state=0)
    exact = labels[:, 0] == labels[:, 1]
    mixed = f"{n_exact} exact labels and {n_train - n_exact} intervals"
    linear = CuSumRank(classes=CLASSES, random_state=0).fit(X, labels)
    predicted = {
        f"network, {n_train} exact labels": predict(train(X, y, n_steps), X_test),
        f"network, {mixed}": predict(train(X, labels, n_steps), X_test),
        f"network, {n_exact} exact labels": predict(train(X[exact], y[exact], n_steps), X_test),
        f"CuSumRank, {mixed}": linear.predict(X_test),
    }
    off = {model: float(np.abs(answer - y_test).mean()) for model, answer in predicted.items()}
    for model, ranks in off.items():
        print(f"{model}: {ranks:.2f} ranks off")
    return off


if __name__ == "__main__":
    main()
