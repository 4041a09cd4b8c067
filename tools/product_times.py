#!/usr/bin/env python3
"""What was measured of fused products: one call of the library beside one kernel behind the other.

usage: product_times.py [FILE] [--to FILE]

FILE is where zeroapp keeps the algorithms of products, by default zeroapp-products.txt in
XDG_CACHE_HOME or ~/.cache: a line is machine, problem, algorithm, microseconds and check sum.
Prints a line for each product that was measured both ways, the faster way named last; --to writes
the same as JSON. "inf" is what the library cannot do.
"""
import argparse
import json
import os
import pathlib

APART = " apart"


def default_file():
    folder = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(folder) / "zeroapp-products.txt"


def read_times(path):
    """{(machine, problem): microseconds}; of several lines the last counts."""
    times = {}
    for line in path.read_text(errors="replace").splitlines() if path.exists() else ():
        columns = line.split("\t")
        if len(columns) == 5:
            times[columns[0], columns[1]] = float(columns[3])
    return times


def measured_both_ways(times):
    for (machine, problem), apart in sorted(times.items()):
        fused = times.get((machine, problem.removesuffix(APART)))
        if problem.endswith(APART) and fused is not None:
            yield {"machine": machine, "product": problem.removesuffix(APART),
                   "fused_us": None if fused == float("inf") else fused, "apart_us": apart,
                   "way": "fused" if fused <= apart else "apart"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, nargs="?", default=default_file())
    parser.add_argument("--to", type=pathlib.Path)
    options = parser.parse_args()
    products = list(measured_both_ways(read_times(options.file)))
    print(f"{'product':<84} {'fused us':>9} {'apart us':>9}  way")
    for found in products:
        fused = "inf" if found["fused_us"] is None else f"{found['fused_us']:.1f}"
        print(f"{found['product']:<84} {fused:>9} {found['apart_us']:>9.1f}  {found['way']}")
    print(f"{len(products)} products were measured both ways")
    if options.to:
        options.to.write_text(json.dumps(products, indent=1) + "\n")


main()
