#!/usr/bin/env python3
"""A read of data fails on one rank in the middle of a run, and nothing on the others: all end with
one error line and one status, at once."""
import errno
import json
import os
import pathlib
import time

from program import Program, check

STEPS, END_SECONDS = 20, 5
SETTINGS = (f"run.steps={STEPS}", "data.validation_fraction=0")
# (rank that fails, stage, environment)
CASES = ((0, 0, {}), (1, 3, {}), (1, 2, {"ZERO_COMM": "mpi"}))


def run(program, rank, stage, env, **faults):
    """The result, and the seconds from the last counted read to the end."""
    log = program.folder / "calls"
    log.unlink(missing_ok=True)
    words = {"RANK": rank, "UNDER": "text.txt", "FROM": "text.txt", "ONLY": "pread", "LOG": log}
    env = dict(env, **{f"FAULT_{name}": str(value) for name, value in (words | faults).items()})
    *launch, zeroapp = program.launch_line(2)
    result = program.wait(program.popen(
        [*launch, "-x", f"LD_PRELOAD={program.library}", zeroapp, "tiny.toml",
         *SETTINGS, f"zero.stage={stage}"], env))
    return result, time.time() - log.stat().st_mtime, len(log.read_text().splitlines())


def left_running(folder):
    """Processes that still work in the folder."""
    left = []
    for link in pathlib.Path("/proc").glob("[0-9]*/cwd"):
        try:
            left += [link.parent.name] if os.readlink(link) == str(folder) else []
        except OSError:
            pass  # it has ended, or is not ours
    return left


def check_case(program, rank, stage, env):
    case = f"rank {rank} at stage {stage} {env or ''}"
    whole, _, reads = run(program, rank, stage, env)
    check(whole.finished() and reads > STEPS, f"{case}: {reads} reads of a whole run", whole)
    result, seconds, _ = run(program, rank, stage, env, CALL=reads - 2 * STEPS,
                             ACTION=errno.EIO)
    check(result.status == 5, f"{case}: ends with 5, not {result.status}", result)
    lines = result.error_lines()
    check(len(lines) == 1, f"{case}: one error line, not {len(lines)}", result)
    for word in (f"[rank {rank} ", " step ", "text.txt: offset", os.strerror(errno.EIO)):
        check(word in lines[0], f"{case}: {word!r} in {lines[0]!r}")
    record = json.loads((program.folder / "runs/tiny/error.json").read_text())
    check(record["exit"] == 5 and record["rank"] == rank and 2 < record["step"] < STEPS,
          f"{case}: in mid-run, recorded: {record}")
    check(seconds <= END_SECONDS, f"{case}: ends {seconds:.1f} s after the failure", result)
    # The launcher ends when it has sent its signals; what they meet takes a moment to be gone.
    until = time.monotonic() + END_SECONDS
    while left_running(program.folder) and time.monotonic() < until:
        time.sleep(0.05)
    check(not left_running(program.folder), f"{case}: nothing is left running")
    print(f"{case}: fails in step {record['step']}, all have ended {seconds:.2f} s later")


def main():
    program = Program()
    for case in CASES:
        check_case(program, *case)
    print("all ranks end with one")


main()
