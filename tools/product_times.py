#!/usr/bin/env python3
"""What was measured of fused products: one call of the library beside one kernel behind the other,
and beside kernels of our own where there are some.

usage: product_times.py [FILE] [--to FILE]

FILE is where zeroapp keeps the algorithms of products, by default zeroapp-products.txt in
XDG_CACHE_HOME or ~/.cache: a line is machine, problem, algorithm, microseconds and check sum.
Prints a line for each product that was measured both ways, the fastest way named last; --to writes
the same as JSON. "inf" is what there is no kernel for. Of our own kernels the fastest is shown.
"""
import argparse
import json
import os
import pathlib

APART, BY = " apart", " by "
NEVER = float("inf")


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


def finite(time):
    return None if time == NEVER else time


def measured_both_ways(times):
    for (machine, problem), apart in sorted(times.items()):
        product = problem.removesuffix(APART)
        fused = times.get((machine, product))
        if not problem.endswith(APART) or fused is None:
            continue
        own = {name.removeprefix(product + BY): time for (where, name), time in times.items()
               if where == machine and name.startswith(product + BY)}
        ways = {"fused": fused, "apart": apart, **own}
        yield {"machine": machine, "product": product, "fused_us": finite(fused),
               "apart_us": apart, "own_us": finite(min(own.values(), default=NEVER)),
               "way": min(ways, key=ways.get)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, nargs="?", default=default_file())
    parser.add_argument("--to", type=pathlib.Path)
    options = parser.parse_args()
    products = list(measured_both_ways(read_times(options.file)))
    print(f"{'product':<84} {'fused us':>9} {'apart us':>9} {'own us':>9}  way")
    for found in products:
        shown = [NEVER if found[key] is None else found[key]
                 for key in ("fused_us", "apart_us", "own_us")]
        print(f"{found['product']:<84} {shown[0]:>9.1f} {shown[1]:>9.1f} {shown[2]:>9.1f}"
              f"  {found['way']}")
    print(f"{len(products)} products were measured both ways")
    if options.to:
        options.to.write_text(json.dumps(products, indent=1) + "\n")


main()
