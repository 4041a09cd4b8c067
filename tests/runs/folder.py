#!/usr/bin/env python3
"""A run's folder: what is written into it, whom it lets in, and disks and consoles that fail."""
import atexit
import functools
import json
import math
import os
import shutil
import signal
import subprocess
import time

from program import Program, check, side_by_side
from signals import ENDLESS, begin, first_rank, other_rank, wait_for_steps

FILES = {"checkpoints", "effective.toml", "evaluations.jsonl", "launches.jsonl", "lock",
         "metrics.jsonl", "ranks.jsonl", "summary.json", "tensorboard"}
STEPS = [1, 2, 3, 4, 5, 6]


def launches(folder):
    return [json.loads(line) for line in (folder / "launches.jsonl").read_text().splitlines()]


def steps(result):
    return [line["step"] for line in result.metrics]


def fresh(program):
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    return program.folder / "runs/tiny"


def leaves_its_files(program):
    folder = fresh(program)
    result = program.train(2, "run.seed=3")
    check(result.finished(), "a run finishes", result)
    names = {path.name for path in folder.iterdir()}
    check(names == FILES, f"it leaves {sorted(FILES)}, not {sorted(names)}")
    check((folder / "lock").read_text() == "", "after a clean end the lock names nobody")
    line, = launches(folder)
    check(line["ranks"] == 2 and line["threads"] == 1 and line["ended"] == "finished step 6 of 6",
          f"the launch is on record: {line}")
    check(line["command"] == ["zeroapp", "tiny.toml", "run.seed=3"], f"with its command: {line}")
    check(line["start"] <= line["end"], f"from when to when: {line}")
    check("of peak" not in result.out, "so few steps are worth no product peak", result)


def effective_settings_train_the_same(program):
    first = program.train(1, "run.seed=3", "scheduler.type=WarmupLR",
                          "scheduler.warmup_num_steps=4")
    shutil.copy(program.folder / "runs/tiny/effective.toml", program.folder / "again.toml")
    again = program.train(1, input_file="again.toml")
    check(first.finished() and again.finished(), "both runs finish", again)
    losses = [[line["loss_hex"] for line in run.metrics] for run in (first, again)]
    check(len(losses[0]) == 6 and losses[0] == losses[1], f"the same losses: {losses}")


def earlier_run_makes_way(program):
    folder = fresh(program)
    program.train(1)
    (folder / "notes.txt").write_text("mine")
    result = program.train(1)
    check(result.finished() and steps(result) == STEPS, "it begins anew", result)
    said = [line for line in result.out.splitlines() if "moved to runs/tiny/old-1" in line]
    words = "earlier run here: finished step 6 of 6, not to go on"
    check(len(said) == 1 and words in said[0], f"one line says so: {said}")
    check((folder / "notes.txt").read_text() == "mine", "what no run has written stays")
    check((folder / "old-1/summary.json").exists(), "the old summary is there")


def begun_anew_after(program, end):
    again = program.train(2)
    check(again.finished() and steps(again) == STEPS, "the next run finishes", again)
    check(f"earlier run here: {end}" in again.out, f"it names the earlier end: {end}", again)
    ended = launches(program.folder / "runs/tiny/old-1")[0]["ended"]
    check(ended.startswith(end), f"and it is on record: {ended}")


def killed_rank_leaves_a_usable_folder(program):
    process = begin(program)
    os.kill(other_rank(program), signal.SIGKILL)
    result = program.wait(process)
    check(result.status != 0 and len(result.error_lines()) == 1, "its death ends all", result)
    begun_anew_after(program, "error E1000 in step ")


def killed_run_leaves_a_usable_folder(program):
    process = begin(program)
    all_of_it = process.pid, first_rank(program), other_rank(program)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for victim in all_of_it:
            os.kill(victim, number)
    program.wait(process)
    begun_anew_after(program, "killed")


def refused_run_changes_nothing(program):
    process = begin(program)
    before = len(launches(program.folder / "runs/tiny"))
    second = program.train(1)
    check(second.status == 9 and len(second.error_lines()) == 1, "a second run is refused", second)
    check(before == len(launches(program.folder / "runs/tiny")) == 1, "and leaves no launch")
    check(not (program.folder / "runs/tiny/error.json").exists(), "nor an error")
    os.kill(first_rank(program), signal.SIGTERM)
    first = program.wait(process)
    check(steps(first) == list(range(1, len(first.metrics) + 1)), "metrics are the first's", first)


def lock_of_the_dead_is_no_lock(program):
    for holder in ("host elsewhere process 17\n", f"host {os.uname().nodename} process 99999999\n"):
        folder = fresh(program)
        folder.mkdir(parents=True)
        (folder / "lock").write_text(holder)
        result = program.train(1)
        check(result.finished() and steps(result) == STEPS, f"nobody holds {holder!r}", result)


def refused_path(program, path, reason):
    result = program.train(2, f"run.output={path}")
    lines = result.error_lines()
    check(result.status == 5 and len(lines) == 1, f"{path}: status 5 and one line", result)
    check(str(path) in lines[0] and reason in lines[0], f"{path}, {reason}: {lines[0]}")


def paths_that_cannot_be_written_are_refused(program):
    (program.folder / "a_file").write_text("x")
    refused_path(program, "a_file", "Not a directory")
    refused_path(program, "a_file/run", "Not a directory")
    refused_path(program, "/proc/zeroapp", "No such file or directory")


def mounted(program, name, options):
    """A small file system at runs/<name>; None where this machine lets nobody mount."""
    place = fresh(program).parent / name
    place.mkdir(parents=True)
    line = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(line, capture_output=True).returncode != 0:
        print(f"SKIP {name}: nothing can be mounted here")
        return None
    atexit.register(subprocess.run, ["umount", str(place)], capture_output=True)
    return place


def release(place):
    subprocess.run(["umount", str(place)], check=True)


def read_only_folder_is_refused(program):
    place = mounted(program, "readonly", "ro,size=1m")
    if place is not None:
        refused_path(program, "runs/readonly", "Read-only file system")
        release(place)


def fill(place):
    with open(place / "filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def full_disk_is_found_at_the_start(program):
    place = mounted(program, "full", "size=64k")
    if place is not None:
        fill(place)
        refused_path(program, "runs/full", "No space left on device")
        release(place)


def disk_that_fills_up_costs_no_training(program):
    place = mounted(program, "filling", "size=256k")
    if place is None:
        return
    process = program.start(2, "run.output=runs/filling", "run.steps=400",
                            "checkpoint.max_failures=1")
    wait_for_steps(program, process, 3, run="filling")
    fill(place)
    result = program.wait(process, run="filling")
    check("step 400/400" in result.out, "all steps are taken", result)
    warnings = [line for line in result.err.splitlines() if "metrics.jsonl lacks steps" in line]
    check(len(warnings) == 1 and "No space left" in warnings[0], "one warning", result)
    check(steps(result) == list(range(1, len(result.metrics) + 1)), "no line is cut", result)
    lines = result.error_lines()
    check(result.status == 5 and len(lines) == 1, "the summary's loss is an error", result)
    check("runs/filling/summary.json" in lines[0] and "No space left" in lines[0], lines[0])
    release(place)


def through_shell(program, launch, tail):
    fresh(program)
    line = " ".join([*launch, str(program.zeroapp), "tiny.toml"])
    shell = ["bash", "-c", f"set -o pipefail; {line} {tail}"]
    return program.wait(program.popen(shell))


def closed_console_costs_no_training(program):
    mpiexec = program.launch_line(2)[:-1]
    for launch, tail in (([], ">&-"), ([], "> /dev/full"), ([], "| head -1"), ([], ">&- 2>&- <&-"),
                         (mpiexec, "> /dev/full"), (mpiexec, "| head -1")):
        result = through_shell(program, launch, tail)
        what = f"{'mpiexec ' if launch else ''}{tail}"
        check(steps(result) == STEPS and result.summary["steps"] == 6, f"{what}: all is there",
              result)
        check(result.summary["stopped"] is False, f"{what}: nothing stopped it", result)
        warnings = result.err.count("warning: standard output")
        silent = "2>&-" in tail or launch  # a launcher reads its ranks' words whatever follows
        check(warnings == (0 if silent else 1), f"{what}: {warnings} warnings", result)
        check(launch or result.status == 0, f"{what}: status {result.status}", result)


def require_ended_in_time(program, start, limit, reason):
    """start(seconds) trains with a limit, which is doubled until steps fit into it. A busy machine
    takes its time over all but that: the run's own clock says when its steps ended."""
    steps_taken = 0
    while steps_taken <= 10:
        check(limit < 200, f"{reason}: {steps_taken} steps in {limit / 2} s")
        fresh(program)
        result = start(limit)
        check(result.status == 85 and not result.error_lines(), f"{reason}: to be requeued", result)
        check(f"stopped by {reason} after step" in result.out, f"{reason}: it says why", result)
        check(result.summary["stopped_by"] == reason, f"{reason}: so does the summary")
        steps_taken, last_limit, limit = len(result.metrics), limit, 2 * limit
    check(result.summary["steps"] == steps_taken, f"{reason}: all steps are there", result)
    # One more step may follow the one that shows how long they take.
    most = last_limit + 2e-3 * max(line["step_ms"] for line in result.metrics)
    taken = result.summary["launch"]["train_seconds"]
    check(taken <= most, f"{reason}: {taken:.1f} s of steps in a limit of {last_limit} s", result)
    return result


def walltime_ends_a_run_in_time(program):
    result = require_ended_in_time(
        program, lambda seconds: program.train(2, *ENDLESS, f"run.walltime={seconds}"), 3,
        "run.walltime")
    launch = result.summary["launch"]
    check(launch["start_seconds"] > 0, f"the limit counts from the program's start: {launch}")


def squeue_that(program, *lines):
    """A folder for PATH whose squeue notes its words and then does this."""
    path = program.folder / "slurm/squeue"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(("#!/bin/sh", f'echo "$@" >> {program.folder}/asked', *lines)) + "\n")
    path.chmod(0o755)
    (program.folder / "asked").unlink(missing_ok=True)
    return {"SLURM_JOB_ID": "77", "PATH": f"{path.parent}:{program.env['PATH']}"}


def train_beside(program, env, ranks, *settings):
    """With that PATH: a launcher named by its path would put its own folder, in which the machine
    may have a squeue, ahead of it."""
    launcher, *words = program.launch_line(ranks)
    line = [launcher, "--noprefix", *words, "tiny.toml", *settings]
    return program.wait(program.popen(line, env))


def squeue_ends_a_run_in_time(program):
    require_ended_by(program, "squeue", lambda left: squeue_that(
        program, f"echo '{left // 60}:{left % 60:02}                '"))
    asked = (program.folder / "asked").read_text()
    check(asked == "-h -j 77 -O TimeLeft\n", f"one rank asks, once: {asked}")


def jobs_end_ends_a_run_in_time(program):
    env = squeue_that(program)
    # An end that has passed is none: on a busy machine it lies three starts ahead.
    begun = time.time()
    train_beside(program, env, 2, "run.steps=1", "run.walltime=3600")
    require_ended_by(program, "SLURM_JOB_END_TIME", lambda left: dict(
        env, SLURM_JOB_END_TIME=str(int(time.time()) + left)), 3 * math.ceil(time.time() - begun))
    check(not (program.folder / "asked").exists(), "which need not be asked of squeue")


def require_ended_by(program, source, env_of, limit=3):
    """env_of(seconds) says that the job has so many left."""
    result = require_ended_in_time(
        program, lambda seconds: train_beside(program, env_of(seconds), 2, *ENDLESS), limit,
        "the job's end")
    check(f"until the job ends ({source})" in result.out, f"{source}: the banner says it", result)


def squeue_that_hangs_sets_no_limit(program):
    # It would outlast what any test waits for.
    result = train_beside(program, squeue_that(program, "exec sleep 600"), 1)
    check(result.finished() and "\ntime " not in result.out, "a squeue that hangs is given up",
          result)
    check((program.folder / "asked").exists(), "after it was asked", result)


def other_words_set_no_limit(program):
    fresh(program)
    result = train_beside(program, squeue_that(program, "echo UNLIMITED"), 1)
    check(result.finished() and "\ntime " not in result.out, "a job without an end", result)
    fresh(program)
    result = train_beside(program, squeue_that(program, "echo 0:01"), 1, "run.walltime=3600")
    check(result.finished() and "1 h 00 m from the start (run.walltime)" in result.out,
          "run.walltime counts over it", result)
    check(not (program.folder / "asked").exists(), "and nobody is asked")


def breakdown_shows_the_phases_of_a_step(program):
    fresh(program)
    result = program.train(2, "zero.stage=3", "wall_clock_breakdown=true", "run.log_interval=3")
    check(result.finished(), "a run finishes", result)
    lines = [line for line in result.out.splitlines() if line.startswith("    forward ")]
    check(len(lines) == 3, f"a line for steps 1, 3 and 6, not {len(lines)}", result)
    for word in ("backward", "reduce", "optimizer", "gather", "waiting"):
        check(f" {word} " in lines[1], f"{word} in {lines[1]!r}")
    check("(mean of 3 steps)" in lines[2], f"{lines[2]!r} is a mean of 3")
    for line in result.metrics:
        phases = [line[f"{name}_ms"] for name in ("forward", "backward", "optimizer")]
        check(all(phase > 0 for phase in phases), f"every step has them: {line}")
        compute = sum(phases[:2])
        check(compute < 1.05 * line["step_ms"], f"arithmetic takes no more than the step: {line}")


def all_but_limits(program):
    leaves_its_files(program)
    effective_settings_train_the_same(program)
    earlier_run_makes_way(program)
    killed_rank_leaves_a_usable_folder(program)
    killed_run_leaves_a_usable_folder(program)
    refused_run_changes_nothing(program)
    lock_of_the_dead_is_no_lock(program)
    paths_that_cannot_be_written_are_refused(program)
    read_only_folder_is_refused(program)
    full_disk_is_found_at_the_start(program)
    disk_that_fills_up_costs_no_training(program)
    closed_console_costs_no_training(program)
    other_words_set_no_limit(program)
    breakdown_shows_the_phases_of_a_step(program)


WAITING = (walltime_ends_a_run_in_time, squeue_ends_a_run_in_time, jobs_end_ends_a_run_in_time,
           squeue_that_hangs_sets_no_limit)


def main():
    """The waiting ones each in a folder of their own."""
    side_by_side(*(functools.partial(case, Program()) for case in (all_but_limits, *WAITING)))
    print("nothing is lost")


if __name__ == "__main__":
    main()
