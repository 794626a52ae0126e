"""Write a file of made-up hotel ratings: numbers, a category, a remark, missing values, and imprecise stars.

``python examples/ratings.py`` writes ``ratings.csv`` and ``new.csv``, which the README's commands read.
"""

from __future__ import annotations

import csv
import random

COLUMNS = ("price", "distance", "breakfast", "remark", "stars")
WORDS = {-1: ("noisy", "dirty", "rude", "cold"), 0: ("ok", "small", "plain"), 1: ("lovely", "quiet", "clean", "warm")}


def rating(chance: random.Random) -> dict[str, str]:
    price, distance = chance.uniform(40, 200), chance.expovariate(0.5)
    breakfast = chance.choice(["none", "simple", "rich"])
    worth = 0.015 * price - 0.4 * distance + 0.7 * (breakfast == "rich") + chance.gauss(0, 0.5)
    stars = min(5, max(1, round(2 + worth)))
    mood = (stars > 3) - (stars < 3)
    remark = " ".join(chance.choice(WORDS[chance.choice([mood, mood, 0])]) for _ in range(5))
    said = chance.choice([f"{stars}", f"{stars}", f"{max(1, stars - 1)}-{stars}", f">={stars}", "?"])
    shown = "" if chance.random() < 0.1 else f"{distance:.1f}"
    return dict(zip(COLUMNS, (f"{price:.0f}", shown, breakfast, remark, said), strict=True))


def main() -> None:
    chance = random.Random(0)
    for name, n_rows in (("ratings.csv", 1500), ("new.csv", 500)):
        with open(name, "w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rating(chance) for _ in range(n_rows))


if __name__ == "__main__":
    main()
