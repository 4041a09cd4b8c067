"""Two speeds in turns: the median of their paired ratios, and how far it may be trusted."""
import random
import statistics

RESAMPLES = 10_000
NOT_JUDGED = 77  # the status of a skipped test


def interval(ratios):
    """The 95 % bootstrap interval of the median: of as many ratios, drawn from these."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios)))
                     for _ in range(RESAMPLES))
    return medians[round(0.025 * RESAMPLES)], medians[round(0.975 * RESAMPLES) - 1]


def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def compared(ours, theirs):
    """Our speed over theirs, pair by pair."""
    ratios = [mine / other for mine, other in zip(ours, theirs)]
    low, high = interval(ratios)
    return dict(summary(ratios), low=low, high=high)


def judged(name, row, bound):
    """Prints the ratio and whether its median reaches the bound, which may be None."""
    words = f"{name}: {row['median']:.3f} (95 %: {row['low']:.3f} to {row['high']:.3f})"
    passed = bound is None or row["median"] >= bound
    print(words if bound is None else
          f"{words}, at least {bound}: {'passed' if passed else 'FAILED'}")
    return passed
