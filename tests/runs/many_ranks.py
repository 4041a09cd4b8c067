#!/usr/bin/env python3
"""A campaign: more MPI ranks than one pass of the tree over ranks adds train to the bytes of four,
through shared memory and through MPI. MANY_RANKS says how many (128); they share the cores."""
import os

from program import Program, check

MANY = int(os.environ.get("MANY_RANKS", "128"))
# A rank that shares a core with sixty others is slow, and not hanging.
COMMON = ("numerics.reproducible=true", "zero.stage=3", "run.steps=2", "run.watchdog=600",
          "model.layers=1", "model.width=16", "data.sequence_length=8", "data.train=synthetic",
          "data.validation_fraction=0", "data.max_validation_samples=0", "bf16.enabled=true",
          f"train_batch_size={MANY}")


def train(program, ranks, comm):
    case = f"{ranks} ranks {comm}"
    line = program.start(ranks, *COMMON, env={"ZERO_COMM": comm, "OMP_WAIT_POLICY": "passive"})
    result = program.wait(line, timeout=3000)
    check(result.finished(), f"{case} train to the end", result)
    for verb, sent in result.summary["sent"].items():
        counts = {key: sent[key] for key in sent["forecast"]}
        check(counts == sent["forecast"], f"{case}: {verb} sends what the plan forecast: {sent}")
    return [row["loss_hex"] for row in result.metrics], result.state()


def main():
    program = Program()
    first = train(program, 4, "shm")
    for comm in ("shm", "mpi"):
        check(train(program, MANY, comm) == first, f"{MANY} ranks over {comm}: the bytes of four")
    print(f"{MANY} ranks have the bytes of four")


main()
