#!/usr/bin/env python3
"""How a run ends before its time: signals, a second run in its folder, a rank that hangs."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import time

from program import Program, check

ENDLESS = ("run.steps=1000000", "run.log_interval=1000")
PATIENCE_SECONDS = 120  # for a step, or for the start


def wait_for_steps(program, process, steps, run="tiny"):
    metrics = program.folder / "runs" / run / "metrics.jsonl"
    begun, seen = time.monotonic(), 0
    while time.monotonic() - begun < PATIENCE_SECONDS and process.poll() is None:
        taken = metrics.read_text().count("\n") if metrics.exists() else 0
        if taken >= steps:
            return
        if taken > seen:
            begun, seen = time.monotonic(), taken
        time.sleep(0.05)
    process.kill()
    check(False, f"{steps} steps, and none takes {PATIENCE_SECONDS} s", program.wait(process))


def first_rank(program):
    """The process of rank 0, which the run's lock names."""
    return int((program.folder / "runs/tiny/lock").read_text().split()[-1])


def parent_of(process):
    return int(pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def children_of(parent):
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue  # it has ended meanwhile
        if int(rest.split()[1]) == parent and name == "zeroapp":
            yield int(stat.parent.name)


def other_rank(program):
    """The process of another rank: same program, same parent."""
    first = first_rank(program)
    return next(child for child in children_of(parent_of(first)) if child != first)


def begin(program, steps=3, settings=(), env=None):
    """A run in a fresh folder, a few steps after its start."""
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    process = program.start(2, *ENDLESS, *settings, env=env)
    wait_for_steps(program, process, steps)
    return process


def ends_at_a_step_boundary(program, number):
    name = signal.Signals(number).name
    typed = ("checkpoint.resume=never",) if number == signal.SIGUSR1 else ()
    process = begin(program, settings=typed)
    os.kill(other_rank(program), number)
    result = program.wait(process)
    # Who has pressed Ctrl-C wants no requeue.
    status = 0 if number == signal.SIGINT else 85
    check(result.status == status and not result.error_lines(), f"{name}: status {status}", result)
    word = " (or Ctrl-C, which mpirun turns into it)" if number == signal.SIGTERM else ""
    check(f"stopped by {name}{word} after step" in result.out, f"{name}: says so", result)
    change = "without checkpoint.resume=never" if typed else "with checkpoint.resume=auto"
    check(f"to go on: the same command, {change}\n" in result.out, f"{name}: says how to go on",
          result)
    steps = [line["step"] for line in result.metrics]
    check(steps == list(range(1, len(steps) + 1)), f"{name}: every step once: {steps}")
    check(result.summary["stopped"] and result.summary["steps"] == len(steps),
          f"{name}: the summary counts {len(steps)} steps: {result.summary['steps']}")
    check(result.summary["state_sha256"] is None and result.summary["state_xxh3"]
          and name in result.summary["state_sha256_left_out"], f"{name}: no time for SHA-256")


def pause_stops_no_run(program):
    process = begin(program)
    paused = other_rank(program)
    os.kill(paused, signal.SIGSTOP)
    os.kill(paused, signal.SIGCONT)
    taken = (program.folder / "runs/tiny/metrics.jsonl").read_text().count("\n")
    wait_for_steps(program, process, taken + 20)
    os.kill(paused, signal.SIGTERM)
    check("stopped by SIGTERM" in program.wait(process).out, "it goes on until it is stopped")


def last_step_is_reached_all_the_same(program):
    """A signal that is voted on in the last step only comes too late to cut the run short."""
    settings = ("train_batch_size=1024", "run.steps=4")  # steps long enough to hit the one meant
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    process = program.start(2, *settings)
    wait_for_steps(program, process, 1)
    time.sleep(0.05)
    os.kill(other_rank(program), signal.SIGTERM)
    result = program.wait(process)
    check(result.finished(), "the run has finished", result)
    check(not result.summary["stopped"], "it was not cut short", result)
    check(result.summary["eval_step"] == 4, "its last weights are evaluated", result)


def may_come_at_any_instant(program):
    """Hundreds of one are one, and none interrupts a product: oneDNN's for processors with AVX2 and
    without AVX-512 point the stack pointer elsewhere."""
    process = begin(program, settings=("train_batch_size=1024",), steps=1)
    other, begun = other_rank(program), time.monotonic()
    with contextlib.suppress(ProcessLookupError):  # it has died, which the status tells
        while time.monotonic() - begun < 0.05:
            os.kill(other, signal.SIGTERM)
            time.sleep(0.0002)
    result = program.wait(process)
    check(result.status == 85 and not result.error_lines(),
          f"it ends as after one signal, not with {result.status}", result)


def second_run_is_refused(program):
    process = begin(program)
    second = program.train(1)
    check(second.status == 9, f"a second live run ends with 9, not {second.status}", second)
    line = second.error_lines()[0]
    named = f"process {first_rank(program)}" in line and "host " in line
    check(named, f"it names the first: {line}")
    os.kill(first_rank(program), signal.SIGTERM)
    check(program.wait(process).status == 85, "the first run is not disturbed")


def old_outputs_are_moved(program):
    before = (program.folder / "runs/tiny/metrics.jsonl").read_text()
    result = program.train(1)
    check(result.finished(), "a run over old outputs finishes", result)
    moved = [line for line in result.out.splitlines() if "moved to runs/tiny/old-" in line]
    check(len(moved) == 1, "one line says where old files went", result)
    old = program.folder / moved[0].split("moved to ")[1] / "metrics.jsonl"
    check(old.read_text() == before, "the old metrics are whole")


def stopped_rank_is_a_hang(program, rank, env=None):
    """The watchdog names the rank that is stopped, not one that waits for it."""
    process = begin(program, settings=("run.watchdog=2",), env=env)
    stopped = first_rank(program) if rank == 0 else other_rank(program)
    os.kill(stopped, signal.SIGSTOP)
    result = program.wait(process)
    check(result.status == 10, f"a stopped rank ends all with 10, not {result.status}", result)
    lines = result.error_lines()
    named = len(lines) == 1 and f"] no word from rank {rank} for " in lines[0]
    check(named, f"one line names rank {rank}", result)
    check(" of step), step " in lines[0], "its op and step", result)
    at = "lane " in lines[0] or "the ranks' vote" in lines[0]
    check(at and f" - rank {1 - rank} is at " in lines[0], "and where the other one waits", result)
    for which, state in ((rank, "says nothing"), (1 - rank, "waits")):
        check(f"\n  rank {which} {state}, last op: " in result.err, f"rank {which}: a line", result)
    # By the other rank's clock: a launcher and a busy machine take their time over the rest.
    seconds = float(re.search(r" for (\d+\.\d) s;", lines[0]).group(1))
    check(2 <= seconds < 3.5, f"within timeout + 1 s and a margin, not {seconds} s", result)
    print(f"rank {rank} stopped: missed after {seconds} s")


def main():
    program = Program()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2):
        ends_at_a_step_boundary(program, number)
    pause_stops_no_run(program)
    last_step_is_reached_all_the_same(program)
    may_come_at_any_instant(program)
    second_run_is_refused(program)
    old_outputs_are_moved(program)
    for rank in (0, 1):
        stopped_rank_is_a_hang(program, rank)
    stopped_rank_is_a_hang(program, 1, env={"ZERO_COMM": "mpi"})
    print("all ended in time")


if __name__ == "__main__":
    main()
