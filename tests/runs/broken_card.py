#!/usr/bin/env python3
"""CUDA reports a fault to one rank in the middle of a run: all ranks end within seconds, with one
line that says which card, what an administrator looks at and, by its status, whether to start again
elsewhere."""
import json

from dead_rank import ended_after_fault
from program import Program, check

STEPS = 20
RANK, CALL = 1, 12
CARD = "on NVIDIA H100 GPU-00010203-0405, 0000:3b:00.0: "
BROKEN, PROGRAM, FULL = 12, 11, 6
# CUDA's number, the status of the run, words of its line.
CASES = (
    (46, BROKEN, ("cudaErrorDevicesUnavailable", CARD, "nvidia-smi -q -d COMPUTE")),
    (802, BROKEN, ("cudaErrorSystemNotReady", CARD, "nvidia-fabricmanager")),
    (214, BROKEN, ("cudaErrorECCUncorrectable", CARD, "dmesg (Xid 48", "nvidia-smi -q -d ECC")),
    (220, BROKEN, ("cudaErrorNvlinkUncorrectable", CARD, "Xid 74", "nvidia-smi nvlink")),
    (719, BROKEN, ("cudaErrorLaunchFailure", CARD, "dmesg (Xid 13", "please report it")),
    (805, BROKEN, (CARD, "MPS server", "nvidia-cuda-mps-control")),
    (700, PROGRAM, ("cudaErrorIllegalAddress",)),
    (2, FULL, ("cudaErrorMemoryAllocation",)),
)


def check_case(program, number, status, words):
    log = program.folder / "broken"
    log.unlink(missing_ok=True)
    env = {"ZERO_COMM": "mpi", "CARD_RANK": str(RANK), "CARD_CALL": str(CALL),
           "CARD_STATUS": str(number), "CARD_LOG": str(log)}
    process = program.start_preloaded(2, "tiny.toml", f"run.steps={STEPS}", env=env)
    result, seconds = ended_after_fault(program, process, log, number)
    check(result.status == status, f"{number}: ends with {status}, not {result.status}", result)
    lines = result.error_lines()
    check(len(lines) == 1, f"{number}: one error line, not {len(lines)}", result)
    for word in (f"[rank {RANK} ", " step ", "waiting for a stream failed in CUDA: ", *words):
        check(word in lines[0], f"{number}: {word!r} in {lines[0]!r}")
    told = "start again on another node" in lines[0]
    check(told == (status == BROKEN), f"{number}: whether another node is the way: {lines[0]!r}")
    record = json.loads((program.folder / "runs/tiny/error.json").read_text())
    check(record["exit"] == status and record["rank"] == RANK, f"{number}: recorded: {record}")
    print(f"{number}: status {status}, {seconds:.2f} s")


def main():
    program = Program()
    for number, status, words in CASES:
        check_case(program, number, status, words)
    print("every fault has its status and its words")


main()
