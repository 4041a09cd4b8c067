#!/usr/bin/env python3
"""A training on any back end has the losses that the host had: tests/golden/tiny_losses.json, which
`RECORD=1 known_losses.py ZEROAPP MPIEXEC` makes again with a build for the host."""
import json
import os
import pathlib

from program import Program, check

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "tiny_losses.json"
COMMON = ("run.steps=20", "numerics.reproducible=true", "optimizer.lr=1e-3")
# (settings, relative difference of the first step, and of any)
CASES = {
    "fp32": ((), 1e-5, 1e-3),
    "fp32 without dropout": (("model.dropout=0",), 1e-5, 1e-3),
    # A vendor's attention of 16 bits drops other elements than the host.
    "bf16": (("bf16.enabled=true", "model.dropout=0"), 1e-2, 1e-2),
    "fp16": (("fp16.enabled=true", "fp16.initial_scale_power=10", "model.dropout=0"), 1e-2, 1e-2),
}


def losses(program, name, settings):
    result = program.train(1, *COMMON, *settings)
    check(result.finished(), f"{name}: trains to the end", result)
    return [line["loss"] for line in result.metrics] + [result.summary["eval_loss"]]


def compare(name, found, known, first, any_step):
    check(len(found) == len(known) == 21, f"{name}: 20 steps and an evaluation")
    apart = [abs(a - b) / b for a, b in zip(found, known)]
    check(apart[0] <= first, f"{name}: the first loss is {found[0]}, not {known[0]}")
    check(max(apart) <= any_step, f"{name}: apart by up to {max(apart):.2g}: {found}")
    return max(apart)


def main():
    program = Program()
    found = {name: losses(program, name, case[0]) for name, case in CASES.items()}
    if os.environ.get("RECORD"):
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
    known = json.loads(GOLDEN.read_text())
    for name, (_, first, any_step) in CASES.items():
        check(known[name][-2] < 0.9 * known[name][0], f"{name}: the known run has learnt")
        most = compare(name, found[name], known[name], first, any_step)
        print(f"{name}: within {most:.1e}")
    print("the losses of the host")


main()
