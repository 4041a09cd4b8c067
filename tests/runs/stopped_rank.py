#!/usr/bin/env python3
"""A rank that is stopped before the first step, while data are read or behind the last line, and a
read that never ends: all ranks end with 10, after ten times run.watchdog without a byte moved. Data
that come slowly are waited for. REPEAT=N in the environment does all of it N times.

usage: stopped_rank.py ZEROAPP MPIEXEC FAULT_CALLS
"""
import functools
import os

from program import Program, check, side_by_side

WATCHDOG_SECONDS = 2  # a busy machine keeps ranks from their cores
PATIENCE_SECONDS = 10 * WATCHDOG_SECONDS
SETTINGS = (f"run.watchdog={WATCHDOG_SECONDS}", "data.validation_fraction=0")
LEAST_DELAY = {"OMPI_MCA_odls_base_sigkill_timeout": "1"}


def train(program, name, ranks, *settings, **faults):
    words = {f"FAULT_{key}": str(value) for key, value in faults.items()}
    *launch, zeroapp = program.launch_line(ranks)
    line = [*launch, "-x", f"LD_PRELOAD={program.library}", zeroapp, "tiny.toml", *SETTINGS,
            f"run.output=runs/{name}", *settings]
    return program.wait(program.popen(line, dict(LEAST_DELAY, **words)), run=name, timeout=300)


def require_hang(result, name, *words):
    check(result.status == 10, f"{name}: ends with 10, not {result.status}", result)
    lines = result.error_lines()
    check(len(lines) == 1, f"{name}: one error line, not {len(lines)}", result)
    for word in words:
        check(word in lines[0], f"{name}: {word!r} in {lines[0]!r}", result)
    print(lines[0])


def before_the_banner(program):
    result = train(program, "banner", 2, RANK=0, UNDER="banner/lock", ONLY="open", CALL=1,
                   ACTION="stop")
    require_hang(result, "banner", "no word from rank 0", "none, at its folder and checkpoints",
                 "rank 1 is at MPI_Allreduce of all ranks")
    check("collectives by" not in result.out, "banner: it has said nothing yet", result)


def at_its_input(program):
    """The others have read how long to wait."""
    result = train(program, "input", 2, RANK=0, UNDER="/tiny.toml", ONLY="open", CALL=1,
                   ACTION="stop")
    require_hang(result, "input", "no word from rank 0", "none, at its input file")


def at_its_data(program):
    result = train(program, "data", 2, RANK=0, UNDER="text.txt", ONLY="pread", CALL=1,
                   ACTION="stop")
    require_hang(result, "data", "no word from rank 0", "none, at its data")


def behind_the_last_line(program):
    """Where the lock is given back."""
    result = train(program, "end", 2, RANK=0, UNDER="end/lock", ONLY="ftruncate", CALL=2,
                   ACTION="stop")
    require_hang(result, "end", "no word from rank 0", "none, at its end",
                 "all results of the run were on disk already")
    check("finished step 6 of 6" in result.out and result.summary["steps"] == 6,
          "end: all is there", result)
    check(not (program.folder / "runs/end/error.json").exists(), "end: nothing is put beside it")


def while_others_wait_at_their_samples(program):
    """Whoever waits for a peer does not work, though its core does."""
    result = train(program, "samples", 2, "evaluation.show_samples=1",
                   "data.validation=text.txt", RANK=0,
                   UNDER="samples/summary.json", ONLY="open", CALL=1, ACTION="stop")
    require_hang(result, "samples", "no word from rank 0")


def read_that_never_ends(program):
    """On one rank, whose peers are none."""
    result = train(program, "read", 1, RANK=0, UNDER="text.txt", ONLY="pread", CALL=1,
                   ACTION=-10 * PATIENCE_SECONDS)
    require_hang(result, "read",
                 f"nothing finished for {PATIENCE_SECONDS} s - rank 0 is at its data")


def slow_reads_are_waited_for(program):
    """Together they take longer than anything may that does not move."""
    result = train(program, "slow", 2, "run.steps=1", RANK=0, UNDER="text.txt", ONLY="pread",
                   CALL=1, ACTION=-1.5 * WATCHDOG_SECONDS, REPEATS=1)
    check(result.finished(), "slow: data that come slowly are no hang", result)


CASES = (before_the_banner, at_its_input, at_its_data, behind_the_last_line,
         while_others_wait_at_their_samples, read_that_never_ends,
         slow_reads_are_waited_for)


def run_all(program):
    side_by_side(*(functools.partial(case, program) for case in CASES))


def main():
    program = Program()
    for _ in range(int(os.environ.get("REPEAT", "1"))):
        run_all(program)
    print("whoever is stopped is missed")


main()
