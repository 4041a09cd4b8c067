#!/usr/bin/env python3
"""Data that are replaced or written to under a live run end it before they are saved as what they
are not; a touch is a warning."""
import json
import os
import re
import shutil
import time

from program import Program, check, check_refused
from signals import wait_for_steps

# Its end would come after minutes.
LIVE = ("checkpoint.resume=auto", "run.steps=1000000", "run.log_interval=1", "data.train=live.txt")


def begun(program, *settings, ranks=2):
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    shutil.copy(program.folder / "text.txt", program.folder / "live.txt")
    process = program.start(ranks, *LIVE, *settings)
    wait_for_steps(program, process, 2)
    return process


def save(program):
    request = program.folder / "runs/tiny/checkpoint_now"
    request.touch()
    return request


def saved(program):
    return sorted((program.folder / "runs/tiny/checkpoints").glob("step*"))


def wait_for(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        check(time.monotonic() < deadline, f"{what} within a minute")
        time.sleep(0.05)


def other_text(program):
    path = program.folder / "live.txt"
    text = bytearray(path.read_bytes())
    text[-2] ^= 1
    return path, bytes(text)


def written_to(program):
    path, text = other_text(program)
    with open(path, "r+b") as file:  # it is never shorter than it was
        file.write(text)


def renamed_over(program):
    path, text = other_text(program)
    beside = path.with_suffix(".new")
    beside.write_bytes(text)
    beside.rename(path)


def longer(program):
    with open(program.folder / "live.txt", "a", encoding="ascii") as file:
        file.write("1 more.\n")


def no_text(program):
    path = program.folder / "live.txt"
    beside = path.with_suffix(".new")
    beside.write_bytes(b"\xff" * 100)
    beside.rename(path)


def replacement_ends_it(program, replace, *settings):
    process = begun(program, *settings)
    save(program)
    wait_for(lambda: saved(program), "a checkpoint of what it began with")
    before = saved(program)
    replace(program)
    save(program)
    result = program.wait(process)
    check_refused(result, 3, "live.txt: was replaced or written to while the run read from it",
                  "data.changed = true")
    check(saved(program) == before, "and nothing of it is saved", result)
    launch = json.loads((program.folder / "runs/tiny/launches.jsonl").read_text().splitlines()[-1])
    check(re.fullmatch(r"error E0300 in step [1-9]\d*", launch["ended"]),
          f"the record of launches tells the step: {launch}", result)


def touch_is_one_warning(program):
    process = begun(program)
    for count in (1, 2):
        os.utime(program.folder / "live.txt")
        save(program)
        wait_for(lambda: len(saved(program)) >= count, f"checkpoint {count}")
    shutil.copy(program.folder / "live.txt", program.folder / "beside")
    os.rename(program.folder / "beside", program.folder / "live.txt")
    (program.folder / "live.txt").unlink()  # which is still open
    (program.folder / "runs/tiny/stop_now").touch()
    result = program.wait(process)
    check(not result.error_lines() and "stopped by stop_now" in result.out, "it goes on", result)
    warnings = result.err.count("live.txt: was touched or replaced")
    check(warnings == 1, f"one warning, not {warnings}", result)


def main():
    program = Program()
    replacement_ends_it(program, written_to)
    replacement_ends_it(program, renamed_over, "checkpoint.async=true")
    replacement_ends_it(program, longer, "zero.stage=3")
    replacement_ends_it(program, no_text)
    touch_is_one_warning(program)
    print("the data are what a checkpoint says")


if __name__ == "__main__":
    main()
