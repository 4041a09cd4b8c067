#!/usr/bin/env python3
"""A signal before the first step ends all ranks as what they are at is done, with the status that
asks for another start, which then begins or goes on as if nothing had been; Ctrl-C ends with 0.

usage: early_stops.py ZEROAPP MPIEXEC FAULT_CALLS
"""
import json
import os
import signal

from dead_rank import fields_of, ranks_of
from program import Program, check
from suspended import wait_until

GOES_ON = "checkpoint.resume=auto"
# Where a rank is as the signal comes: a path, and the first call about it that holds it there.
PLACES = {"its input": ("/tiny.toml", "open"), "its data": ("/text.txt", "pread"),
          "its folder": ("/lock", "open"), "its record": ("/launches.jsonl", "open")}


def stop_at(program, rank, place, number, *settings):
    """How a run of two ends of which one gets a signal at a place, without time to pass there."""
    under, only = PLACES[place]
    words = {"RANK": rank, "UNDER": under, "ONLY": only, "CALL": 1, "ACTION": "stop"}
    *launch, zeroapp = program.launch_line(2)
    line = [*launch, "-x", f"LD_PRELOAD={program.library}", zeroapp, "tiny.toml", GOES_ON,
            *settings]
    process = program.popen(line, {f"FAULT_{key}": str(value) for key, value in words.items()})
    pids = []

    def is_held():
        nonlocal pids
        check(process.poll() is None, f"rank {rank} is held at {place}")
        pids = ranks_of(process)
        return len(pids) == 2 and fields_of(pids[rank])[:1] == ["T"]

    wait_until(is_held, f"rank {rank} is held at {place}")
    for what in (number, signal.SIGCONT):
        os.kill(pids[rank], what)
    return program.wait(process)


def require_stopped(program, result, status, number, step, what):
    check(result.status == status and not result.error_lines(),
          f"{what}: ends with {status}, not {result.status}", result)
    name = signal.Signals(number).name
    said = [line for line in result.out.splitlines() if line.startswith(f"stopped by {name}")]
    check(len(said) == 1 and said[0].endswith(f" before step {step}"), f"{what}: says so", result)
    check("to go on: the same command\n" in result.out, f"{what}: says how to go on", result)
    record = program.folder / "runs/tiny/launches.jsonl"
    launches = record.read_text().splitlines() if record.exists() else []
    check(not any(json.loads(line)["ended"] in (None, "killed") for line in launches),
          f"{what}: its record says how it ended")


def main():
    program = Program()
    for place in PLACES:
        rank = 0 if place in ("its folder", "its record") else 1
        result = stop_at(program, rank, place, signal.SIGTERM)
        require_stopped(program, result, 85, signal.SIGTERM, 1, place)
        check(not result.metrics, f"{place}: no step is taken", result)
        print(f"SIGTERM at {place}: {result.out.strip().splitlines()[-2]}")
    typed = stop_at(program, 0, "its record", signal.SIGINT)
    require_stopped(program, typed, 0, signal.SIGINT, 1, "Ctrl-C")
    first = program.train(2, GOES_ON, "run.stop_at=3")
    check(first.finished(), "the same command begins", first)
    later = stop_at(program, 0, "its record", signal.SIGUSR1)
    require_stopped(program, later, 85, signal.SIGUSR1, 4, "going on")
    last = program.train(2, GOES_ON)
    check(last.finished() and "going on from step 3" in last.out, "it goes on", last)
    check([line["step"] for line in last.metrics] == [1, 2, 3, 4, 5, 6], "every step once", last)
    print("nothing is lost so early")


if __name__ == "__main__":
    main()
