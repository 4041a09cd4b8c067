#!/usr/bin/env python3
"""How long GPT-2 124M takes from its start to step 1, and how slow step 1 is beside the others.

usage: start.py BUILD [--dtype fp32|bf16] [--runs N]

One rank with two threads, one sample of 256 tokens a step, the program's file in the cache after a
first run that is not counted. Ends with status 1 if a median over the runs is above its bound.
"""
import argparse
import pathlib
import statistics
import sys

from runs import run_program, show, spread

START_SECONDS, FIRST_STEP = 1.5, 1.3
STEPS = 8


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--dtype", choices=["fp32", "bf16"])
    parser.add_argument("--runs", type=int, default=5)
    parser.set_defaults(ranks=1, threads=2, length=256, steps=STEPS)
    return parser.parse_args()


def measure(args):
    """True if both medians are within their bounds."""
    starts, firsts = [], []
    for run in range(args.runs + 1):
        started = run_program(args, {"zero.stage": 0})
        if run == 0:
            continue
        steps = [line["step_ms"] for line in started.lines]
        starts.append(started.summary["launch"]["start_seconds"])
        firsts.append(steps[0] / statistics.median(steps[1:]))
    start, first = spread(starts), spread(firsts)
    passed = start["median"] <= START_SECONDS and first["median"] <= FIRST_STEP
    show(f"{args.dtype}: start to step 1", start, f"s, at most {START_SECONDS}")
    show(f"{args.dtype}: first step over median", first, f", at most {FIRST_STEP}")
    return passed


def main():
    args = arguments()
    passed = True
    for args.dtype in [args.dtype] if args.dtype else ["fp32", "bf16"]:
        passed = measure(args) and passed
    print("passed" if passed else "FAILED")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
