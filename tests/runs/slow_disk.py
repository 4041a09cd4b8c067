#!/usr/bin/env python3
"""Disks that are slower than the watchdog is patient: waited for and reported, never fatal.

usage: slow_disk.py ZEROAPP MPIEXEC FAULT_CALLS
"""
from program import Program, check

SETTINGS = ("run.steps=1", "run.watchdog=1", "model.layers=1", "zero.stage=1",
            "zero.offload_optimizer.device=nvme", "zero.offload_optimizer.nvme_path=disk")
SYNTHETIC = ("data.train=synthetic", "data.validation_fraction=0",
             "data.max_validation_samples=0")


def trained(program, ranks, *settings, **faults):
    """With faults at calls that write to the disk of the last rank, unless told otherwise."""
    words = {"RANK": ranks - 1, "UNDER": "/disk/", "ONLY": "pwrite", "NO_URING": 1, **faults}
    env = {f"FAULT_{k}": str(v) for k, v in words.items()}
    return program.wait(program.start_preloaded(ranks, "tiny.toml", *SETTINGS, *settings, env=env))


def warnings(result, words):
    return [line for line in result.err.splitlines()
            if line.startswith("zeroapp: warning: ") and words in line]


def one_waits_for_the_other(result, work):
    check(result.finished(), f"{work}: a slow disk is no rank that hangs", result)
    said = warnings(result, f"rank 1 has been at {work}")
    check(len(said) == 1, f"{work}: it is said who is slow: {said}", result)
    print(said[0])


def ranks_wait_for_one_that_fills_its_disk(program):
    """A single call, behind which nothing moves: its rank says that it lives."""
    result = trained(program, 2, *SYNTHETIC, CALL=1, ACTION=-3)
    one_waits_for_the_other(result, "the zeros that its disk begins with")


def ranks_wait_for_one_that_reads_its_weights(program):
    result = program.train(2, "export.at_end=true", *SETTINGS)
    check(result.finished(), "a model is made", result)
    (program.folder / "runs/tiny/model").rename(program.folder / "model")
    log = program.folder / "calls"
    begin = ("model.init_from=model",)
    how = {"UNDER": "model.safetensors", "ONLY": "pread"}
    result = trained(program, 2, *begin, **how, LOG=log)
    check(result.finished(), "which another training begins with", result)
    # The first calls look at it, the last ones read its weights.
    last = len(log.read_text().splitlines())
    result = trained(program, 2, *begin, **how, CALL=last, ACTION=-3)
    one_waits_for_the_other(result, "the weights that it begins with")


def a_transfer_of_many_blocks_is_no_hang(program):
    """200 blocks of 15 ms each, so that every block is in time and the transfer is not."""
    result = trained(program, 1, *SYNTHETIC, "model.width=256", "aio.block_size=16384",
                     CALL=1, ACTION=-0.015, REPEATS=1)
    check(result.finished(), "a transfer may take longer than the watchdog waits", result)
    said = warnings(result, "its disk (disk) is slow: ")
    check(len(said) == 1 and " expected (" in said[0], f"one warning with rates: {said}", result)
    print(said[0])


def main():
    program = Program()
    (program.folder / "disk").mkdir()
    a_transfer_of_many_blocks_is_no_hang(program)
    ranks_wait_for_one_that_fills_its_disk(program)
    ranks_wait_for_one_that_reads_its_weights(program)
    print("slow disks are waited for")


main()
