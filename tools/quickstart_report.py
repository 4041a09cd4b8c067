#!/usr/bin/env python3
"""Says what a byte-level run has learnt: its held-out loss beside two plain models', and a sample.

Of a run that was stopped it says that, and ends with status 1.

usage: quickstart_report.py RUN TEXT      RUN: the run's folder, TEXT: the file it was trained on
"""
import collections
import json
import math
import pathlib
import sys

SAMPLE_CHARACTERS = 200


def unigram_nats(text):
    """Entropy of the byte frequencies: the loss of a model that knows them and nothing else."""
    counts = collections.Counter(text)
    return -sum(n / len(text) * math.log(n / len(text)) for n in counts.values())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    run, text = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    try:
        summary = json.loads((run / "summary.json").read_text())
        loss, stopped = summary["eval_loss"], summary["stopped"]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"quickstart_report.py: {run / 'summary.json'} has no eval_loss: {error!r}")
    if stopped:
        print(f"stopped after step {summary['steps']}: nothing is evaluated yet")
        sys.exit(1)
    print("nats per byte of held-out text")
    print(f"  uniform     {math.log(256):.2f}   (knows nothing)")
    unigram = unigram_nats(text.read_bytes())
    print(f"  unigram     {unigram:.2f}   (knows how frequent each byte is)")
    print(f"  this model  {loss:.2f}")
    sample = run / "sample.txt"
    if sample.exists():
        words = sample.read_text(encoding="utf-8", errors="replace")[:SAMPLE_CHARACTERS]
        print("sampled text\n  " + words.replace("\n", "\n  "))
    else:
        print(f"sampled text: none ({sample} is written when evaluation.show_samples is above 0)")


if __name__ == "__main__":
    main()
