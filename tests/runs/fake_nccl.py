#!/usr/bin/env python3
"""Whole trainings over src/comm/gpu/nccl.cpp and a stand-in for NCCL (tests/support/fake_nccl) have
the bits of shared memory, in every order of arrival, and each of NCCL's errors ends a run with its
status, its words, and at once.

usage: fake_nccl.py ZEROAPP MPIEXEC ZEROAPP_FAKE_NCCL
"""
import os
import shutil
import signal
import sys

from dead_rank import ended_after_fault, ranks_of, require_gone
from program import Program, check
from signals import ENDLESS, wait_for_steps

GIB = 1 << 30
COMMON = ("run.steps=4",)
PRECISIONS = {
    "fp32": (),
    "bf16": ("bf16.enabled=true",),
    "fp16": ("fp16.enabled=true", "fp16.initial_scale_power=24"),
}
# CUDA's numbers of what NCCL meets on a card, a link, in the driver or in its services.
BROKEN_CARDS = (
    (46, "cudaErrorDevicesUnavailable"), (214, "cudaErrorECCUncorrectable"),
    (220, "cudaErrorNvlinkUncorrectable"), (719, "cudaErrorLaunchFailure"),
    (802, "cudaErrorSystemNotReady"), (805, "cudaErrorMpsConnectionFailed"),
)
# (ranks, stage, precision, further settings)
CASES = (
    *((2, stage, "bf16", ()) for stage in range(4)),
    (3, 0, "fp32", ("train_batch_size=6",)),
    (3, 3, "fp16", ("train_batch_size=6",)),
    (3, 2, "bf16", ("train_batch_size=12",)),
    (4, 3, "fp32", ("zero.allgather_bucket_size=3000",)),
    (4, 3, "bf16", ("zero.offload_optimizer.device=cpu",)),
)


def over_nccl(faults="strict=1"):
    return {"ZERO_COMM": "nccl", "ZERO_FAKE_NCCL": faults}


def outcome(result):
    return ([line["loss_hex"] for line in result.metrics], result.state(),
            result.summary["eval_loss"])


def train(program, case, env):
    ranks, stage, precision, further = case
    what = f"{ranks} ranks, stage {stage}, {precision} {' '.join(further)} {env or ''}"
    # One balanced tree over micro-batches too, where it goes on over ranks.
    reproducible = f"numerics.reproducible={'false' if ranks == 3 else 'true'}"
    result = program.train(ranks, *COMMON, reproducible, *PRECISIONS[precision],
                           f"zero.stage={stage}", *further, env=env)
    check(result.finished(), f"{what}: trains to the end", result)
    check("fake NCCL" not in result.err, f"{what}: keeps NCCL's rules", result)
    used = result.summary["communicator"]
    check(used == env.get("ZERO_COMM", "shm"), f"{what}: by its own, not {used}")
    for verb, sent in result.summary["sent"].items():
        counts = {key: sent[key] for key in sent["forecast"]}
        check(counts == sent["forecast"], f"{what}: {verb} sends what the plan forecast: {sent}")
    return outcome(result)


def has_the_bits_of_shared_memory(program):
    for case in CASES:
        check(train(program, case, over_nccl()) == train(program, case, {}),
              f"{case}: the bits of shared memory")
    print(f"{len(CASES)} trainings: the bits of shared memory")


def has_them_in_any_order(program):
    case = (3, 3, "bf16", ("train_batch_size=6",))
    expected = train(program, case, {})
    for seed in range(3):
        late = over_nccl(f"strict=1 delay_us=3000 seed={seed}")
        check(train(program, case, late) == expected, f"late by lot, seed {seed}: the same bits")
    # One rank that has no windows leaves all without.
    check(train(program, case, over_nccl("rank=1 no_window=1")) == expected, "no windows")
    print("late ranks and refused windows: the same bits")


def ends_as(program, name, faults, status, *words):
    """The first error that is told names NCCL's words, and all ranks end soon after the fault, long
    before the watchdog's 300 s."""
    log = program.folder / "fault"
    log.unlink(missing_ok=True)
    process = program.popen([*program.launch_line(2), "tiny.toml", *ENDLESS, "zero.stage=3",
                             "run.watchdog=300"], over_nccl(faults) | {"ZERO_FAKE_NCCL_LOG": log})
    result, seconds = ended_after_fault(program, process, log, name)
    lines = result.error_lines()
    check(result.status == status, f"{name}: status {result.status}, not {status}", result)
    check(len(lines) == 1, f"{name}: one error line, not {len(lines)}", result)
    for word in words:
        check(word in lines[0], f"{name}: {word!r} in {lines[0]!r}", result)
    print(f"{name}: status {status}, {seconds:.2f} s behind the fault")


def memory_is_taken_before_the_first_step(program):
    """Each of three lanes takes a GiB at its first collective, of a device that has it or not."""
    enough = over_nccl(f"strict=1 lazy_bytes={GIB} device_bytes={3 * GIB}")
    check(train(program, CASES[2], enough) == train(program, CASES[2], {}), "the same bits")
    shutil.rmtree(program.folder / "runs")
    result = program.train(2, "run.steps=4", "zero.stage=2",
                           env=over_nccl(f"lazy_bytes={GIB} device_bytes={3 * GIB - 1}"))
    lines = result.error_lines()
    check(result.status == 6 and len(lines) == 1, f"refused with 6: {result.status}", result)
    check(" step " not in lines[0] and not result.metrics, f"before a step: {lines}", result)
    print("3 GiB that are taken late: before the first step, or refused with 6")


def errors_end_as_what_they_are(program):
    ends_as(program, "a lost peer", "fail_call=60 fail_code=6", 10, "failed in NCCL: remote",
            "a peer rank has ended")
    ends_as(program, "a broken link", "fail_call=60 fail_code=2", 10, "unhandled system error")
    ends_as(program, "NCCL's own fault", "fail_call=60 fail_code=3", 11, "internal error")
    ends_as(program, "memory in the first step", "lazy_bytes=3000 device_bytes=4000", 6,
            "out of memory", "memory.device_limit")
    ends_as(program, "memory of an arena", "fail_memory=1", 6, "does not fit")
    ends_as(program, "a fault of windows", "fail_window=3", 11, "registering memory failed")
    ends_as(program, "an asynchronous error", "rank=1 break_call=60 break_code=6", 10,
            "communication between ranks failed in NCCL: remote")
    ends_as(program, "a link that broke later", "rank=0 break_call=60 break_code=2", 10,
            "communication between ranks failed in NCCL: unhandled system error")
    ends_as(program, "a card that broke later",
            "rank=1 break_call=60 break_code=1 device_status=214", 12,
            "communication between ranks failed in CUDA: uncorrectable ECC error")
    for status, word in BROKEN_CARDS:
        ends_as(program, f"a broken card, {status}",
                f"rank=1 fail_call=60 fail_code=1 device_status={status}", 12, word,
                "failed in CUDA", "start again on another node")


def a_killed_rank_ends_all(program):
    process = program.popen([*program.launch_line(2), "tiny.toml", *ENDLESS, "zero.stage=2"],
                            over_nccl())
    wait_for_steps(program, process, 3)
    pids = ranks_of(process)
    check(len(pids) == 2, f"{len(pids)} ranks run")
    os.kill(pids[1], signal.SIGKILL)
    seconds = require_gone(pids, "killed")
    result = program.wait(process)
    lines = result.error_lines()
    check(len(lines) == 1 and "rank 1 has died" in lines[0], "killed: the survivor says so", result)
    print(f"a killed rank: told, all ended {seconds:.2f} s later")


def main():
    program = Program((sys.argv[3], sys.argv[2]))
    has_the_bits_of_shared_memory(program)
    has_them_in_any_order(program)
    memory_is_taken_before_the_first_step(program)
    errors_end_as_what_they_are(program)
    a_killed_rank_ends_all(program)
    print("over NCCL's stand-in all is the same")


if __name__ == "__main__":
    main()
