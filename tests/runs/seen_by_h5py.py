#!/usr/bin/env python3
"""A checkpoint as h5py shows it: seen_by_h5py.py INDEX PLAIN MASTERS reads every dataset of a
checkpoint.h5 and compares it with the same weights and masters exported as HDF5 and safetensors.
Needs h5py, which not every Python of a machine has: runs/checkpoints.py finds one."""
import pathlib
import sys

import h5py
import numpy
from tensor_files import safetensors

PARTS = ("model", "optimizer/master", "optimizer/momentum", "optimizer/variance")


def floats(dataset):
    return dataset[:].astype("<f4")


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def main():
    index, plain, masters = map(pathlib.Path, sys.argv[1:])
    masters = safetensors(masters)
    with h5py.File(index) as joined, h5py.File(plain) as exported:
        check(set(exported) == set(masters), "one dataset a tensor")
        for part in PARTS:
            check(set(joined[part]) == set(masters), f"one dataset a tensor in {part}")
        for name, (_, shape, raw) in masters.items():
            for part in PARTS:
                values = floats(joined[f"{part}/{name}"])
                check(list(values.shape) == shape, f"{part}/{name} has its shape")
                check(numpy.isfinite(values).all(), f"all of {part}/{name} is there")
            master, weight = (floats(joined[f"{part}/{name}"]) for part in PARTS[:2][::-1])
            check(master.tobytes() == raw, f"masters of {name}")
            check(floats(exported[name]).tobytes() == weight.tobytes(), f"weights of {name}")
        check("[model]" in joined["config"][()].decode(), "the configuration is there")
    print("all equal")


main()
