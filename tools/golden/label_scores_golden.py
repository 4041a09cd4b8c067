#!/usr/bin/env python3
"""Metrics that scikit-learn and SciPy give random sets of scores and labels: golden values of
`model/label_scores`.

usage: label_scores_golden.py [OUT]   writes tests/golden/label_scores.json by default
The file holds one row a set: [samples, labels, metrics...]. Row i is made of the numbers of
Draws(i), as in tests/model/label_scores_test.cpp. Sets of one label have Pearson's and Spearman's
correlation, others accuracy, F1 and Matthews' correlation; null is NaN.
"""
import json
import math
import pathlib
import sys
import warnings

import python_packages

PACKAGES = ("scikit-learn==1.9.1", "scipy==1.17.1", "numpy==2.4.6")
SETS = 200


class Draws:
    """Knuth's linear congruential generator of 64 bits, of which the upper 31 are drawn."""

    def __init__(self, seed):
        self.state = seed

    def below(self, end):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % end


def random_set(draws):
    """Small ranges make ties, and constant columns; one set in three has labels like its scores."""
    labels = 1 + draws.below(5)
    samples = 1 + draws.below(60)
    steps, kinds = 1 + draws.below(30), 1 + draws.below(9 if labels == 1 else labels)
    follows = draws.below(3) == 0
    scores, truths = [], []
    for _ in range(samples):
        row = [(draws.below(steps) - steps // 2) / 8 for _ in range(labels)]
        truth = draws.below(kinds)
        if follows and labels == 1:
            truth = row[0] * 3 + truth / 4
        elif follows:
            truth = row.index(max(row))
        scores.append(row)
        truths.append(truth)
    return labels, scores, truths


def correlation(function, scores, truths):
    constant = len(set(scores)) == 1 or len(set(truths)) == 1
    return math.nan if constant else float(function(scores, truths).statistic)


def metrics(labels, scores, truths):
    from scipy import stats
    from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef
    if labels == 1:
        numbers = [row[0] for row in scores]
        return [correlation(each, numbers, truths) for each in (stats.pearsonr, stats.spearmanr)]
    chosen = [row.index(max(row)) for row in scores]
    average = "binary" if labels == 2 else "macro"
    return [float(accuracy_score(truths, chosen)),
            float(f1_score(truths, chosen, average=average, zero_division=0)),
            float(matthews_corrcoef(truths, chosen))]


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    python_packages.use(*PACKAGES)
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else \
        python_packages.TREE / "tests" / "golden" / "label_scores.json"
    warnings.simplefilter("ignore")  # of sets with one class
    rows = []
    for seed in range(SETS):
        labels, scores, truths = random_set(Draws(seed))
        found = [None if math.isnan(value) else value for value in metrics(labels, scores, truths)]
        rows.append(json.dumps([len(truths), labels, *found]))
    out.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    print(f"{out}: {len(rows)} sets, {out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
