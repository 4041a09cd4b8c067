#!/usr/bin/env python3
"""Collectives take 3 GiB of a rank's memory at their first call, as NCCL's do. A plan at its limit
runs all of its steps beside them, or is refused with status 6 before the first one."""
import collections
import shutil

from program import Program, check

LAZY = 3 << 30
RANKS, STEPS = 2, 2
# MiB of address space: too little for any plan beside what collectives take, and enough for this
# one; and how near both are to each other at the end.
LEAST, MOST, NEAR = 3072 + 150, 3072 + 1400, 40
# The plan takes some 350 MiB of a rank: of more than 512 a limit leaves 256 for what is beside it.
SETTINGS = ("model.width=1024", "model.heads=8", f"run.steps={STEPS}", "zero.stage=2",
            "data.train=synthetic", "data.validation_fraction=0", "data.max_validation_samples=0",
            "train_batch_size=2")


def outcome(program, mebibytes):
    env = {"ZERO_COMM": "mpi", "LAZY_BYTES": str(LAZY)}
    *launch, zeroapp = program.launch_line(RANKS)
    words = ["bash", "-c", f'ulimit -v {mebibytes * 1024}; exec "$0" "$@"']
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    result = program.wait(program.popen(
        [*launch, "-x", f"LD_PRELOAD={program.library}", *words, zeroapp, "tiny.toml", *SETTINGS],
        env))
    if result.finished():
        return "runs"
    lines = result.error_lines()
    check(result.status == 6 and len(lines) == 1, f"{mebibytes} MiB: refused with 6", result)
    check(" step " not in lines[0], f"{mebibytes} MiB: not in a step: {lines[0]}", result)
    check(not result.metrics, f"{mebibytes} MiB: no step was made", result)
    return "refused by its plan" if "the plan needs" in lines[0] else "refused"


def main():
    program = Program()
    low, high = LEAST, MOST
    check(outcome(program, high) == "runs", f"{high} MiB are enough")
    outcomes = [outcome(program, low)]
    check(outcomes[0] != "runs", f"{low} MiB are too little")
    while high - low > NEAR:
        middle = (low + high) // 2
        outcomes.append(outcome(program, middle))
        low, high = (low, middle) if outcomes[-1] == "runs" else (middle, high)
    tally = collections.Counter(outcomes)
    print(f"from {high} MiB on it runs: " +
          ", ".join(f"{count} {name}" for name, count in tally.items()))
    check(tally["refused by its plan"], f"a plan is what does not fit at last: {tally}")
    print("no plan dies in a step")


main()
