#!/usr/bin/env python3
"""On one GPU: ranks that exchange by NCCL, as over nodes, train to the bits of ranks that exchange
through host memory, at every stage; a rank that is killed ends the others with status 10.

usage: nccl_bits.py ZEROAPP MPIEXEC

The ranks share the GPU, which NCCL takes from ranks that say they are on hosts of their own
(tools/nccl_on_one_gpu.sh). Its kernels take turns on the device, so each exchange is slow. Ends
with 77 on a build without NCCL or a machine without a GPU.
"""
import json
import os
import pathlib
import signal
import sys
import time

from program import Program, check

WRAPPER = pathlib.Path(__file__).resolve().parents[2] / "tools/nccl_on_one_gpu.sh"
COMMON = ("bf16.enabled=true", "numerics.reproducible=true", "train_batch_size=8")
CASES = ((2, 0), (2, 1), (2, 2), (2, 3), (4, 3), (4, 1))
END_SECONDS = 10
LOST_PEER = 10
KILLED_RANKS = 2


class OverNccl(Program):
    """Ranks that exchange by NCCL. A launcher starts the wrapper, which starts the program."""

    def launch_line(self, ranks):
        *launch, program = super().launch_line(ranks)
        return [*launch, str(WRAPPER), program]


def outcome(result):
    return [line["loss_hex"] for line in result.metrics], result.state()


def train(program, ranks, stage):
    result = program.train(ranks, *COMMON, f"zero.stage={stage}")
    check(result.finished(), f"{ranks} ranks, stage {stage}: trains to the end", result)
    return result


def children_of(process):
    found = pathlib.Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(pid) for path in found for pid in path.read_text().split()]


def wait_for_steps(program, count):
    metrics = program.folder / "runs/tiny/metrics.jsonl"
    until = time.monotonic() + 90
    while time.monotonic() < until:
        if metrics.exists() and len(metrics.read_text().splitlines()) >= count:
            return
        time.sleep(0.05)
    sys.exit(f"failed: no {count} steps in 90 s")


def a_killed_rank_ends_the_others(program):
    (program.folder / "runs/tiny/metrics.jsonl").unlink(missing_ok=True)
    process = program.start(KILLED_RANKS, *COMMON, "zero.stage=3", "run.steps=100000")
    wait_for_steps(program, 3)
    victim = children_of(process)[-1]
    begin = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    seconds = time.monotonic() - begin
    error = program.folder / "runs/tiny/error.json"
    status = json.loads(error.read_text()).get("exit") if error.exists() else None
    print(f"killed a rank: the launcher ended with {process.returncode} after {seconds:.1f} s, "
          f"error.json says {status}")
    check(status == LOST_PEER or process.returncode == LOST_PEER,
          f"a lost peer is status {LOST_PEER}: {out[-2000:]} {err[-2000:]}")
    check(seconds <= END_SECONDS, f"all ranks are gone within {END_SECONDS} s")


def main():
    staged, nccl = Program(), OverNccl()
    nccl.env["ZERO_COMM"] = "nccl"
    if not os.environ.get("SHARE_DEVICE"):
        print("SKIP ranks that share a GPU by NCCL: SHARE_DEVICE is not set")
        sys.exit(77)
    wanted = outcome(train(staged, 1, 0))
    for ranks, stage in CASES:
        begin = time.monotonic()
        result = train(nccl, ranks, stage)
        used = result.summary["communicator"]
        check(used == "nccl", f"{ranks} ranks exchange by NCCL, not by {used}", result)
        check(outcome(result) == wanted, f"{ranks} ranks, stage {stage}: other bits", result)
        print(f"{ranks} ranks, stage {stage}: the bits of one rank, "
              f"{time.monotonic() - begin:.1f} s", flush=True)
    a_killed_rank_ends_the_others(nccl)
    print("NCCL trains to the same bits")


main()
