"""What happens to a support vector that makes room, as the formulas say it."""

import numpy as np

INDEPENDENT = 1e-3


def weakest(support, kernel, rounds):
    """Place of the weakest vector; ``support`` are lists [vector, coefficients, their sum over the rounds]."""
    means = [total / rounds if rounds else total for _, _, total in support]
    sizes = [max(np.linalg.norm(a), np.linalg.norm(mean)) for (_, a, _), mean in zip(support, means, strict=True)]
    return int(np.argmin([size * np.sqrt(kernel(v, v)) for size, (v, _, _) in zip(sizes, support, strict=True)]))


def hand_over(gone, support, kernel, n_neighbors):
    """Project a vector on its neighbours: both its coefficients and their sum over the rounds."""

    def cosine(v, u):
        lengths = np.sqrt(kernel(v, v)) * np.sqrt(kernel(u, u))
        return float(np.float32(kernel(v, u) / lengths)) if lengths > 0 else 0.0

    vector, share, total = gone
    near = sorted(support, key=lambda example: -abs(cosine(vector, example[0])))[:n_neighbors]
    chosen = []
    for example in near:
        G = np.array([[cosine(a[0], b[0]) if a is not b else 1.0 for a in chosen] for b in chosen])
        g = np.array([cosine(example[0], a[0]) for a in chosen])
        if cosine(vector, example[0]) and 1.0 - (g @ np.linalg.solve(G, g) if chosen else 0.0) > INDEPENDENT:
            chosen.append(example)
    if not chosen:
        return
    G = np.array([[cosine(a[0], b[0]) if a is not b else 1.0 for a in chosen] for b in chosen])
    parts = np.linalg.solve(G, [cosine(vector, example[0]) for example in chosen])
    for part, example in zip(parts, chosen, strict=True):
        factor = part * np.sqrt(kernel(vector, vector) / kernel(example[0], example[0]))
        example[1] = example[1] + factor * share
        example[2] = example[2] + factor * total
