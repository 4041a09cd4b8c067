#!/usr/bin/env python3
"""Pipes, links, folders, devices and huge files in each place of a run's folder: every command ends
in time with a status and a sentence, and nothing outside of the folder is written to or waited for.

ATTACK=all in the environment: every thing in every place, at each moment; else ATTACK of them, by
lot. SEED says which, and SHARE=K/N takes the K-th of N parts of them."""
import concurrent.futures
import itertools
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from attack import outcome_of, share_of
from program import Program, check

SECONDS = 60  # that a command has time for, and far more than any of them takes
# MPI may fail as a machine under load starts it, before any word of the program's.
UNBEGUN, TRIES = "before MPI_INIT completed", 3
HUGE = 6 << 30
MEMORY = 4 << 30
CHECKPOINT = "checkpoints/step00000002"
PLACES = ("effective.toml", "effective.toml.tmp", "summary.json", "summary.json.tmp",
          "launches.jsonl", "launches.jsonl.tmp", "metrics.jsonl", ".probe", "lock", "error.json",
          "sample.txt", "sample.txt.tmp", "trace.json", "model", "old-1", "checkpoint_now",
          "stop_now", "evaluations.jsonl", "tensorboard", "checkpoints", "checkpoints/LOCK",
          "checkpoints/latest", "checkpoints/step00000003", "checkpoints/step00000004",
          "checkpoints/other",
          CHECKPOINT, f"{CHECKPOINT}/MANIFEST.json", f"{CHECKPOINT}/rank00000.h5",
          f"{CHECKPOINT}/checkpoint.h5")
SETTINGS = ("evaluation.show_samples=1", "export.at_end=true", "profile.trace=true",
            "checkpoint.interval=1")
MOMENTS = {
    "goes on": ("tiny.toml", *SETTINGS, "checkpoint.resume=auto", "run.steps=4"),
    "is over": ("tiny.toml", *SETTINGS, "checkpoint.resume=auto", "run.steps=2"),
    "begins anew": ("tiny.toml", *SETTINGS, "checkpoint.resume=never", "run.steps=2"),
    "ls": ("ls", "runs/tiny"),
    "fsck": ("fsck", "runs/tiny"),
    "eval": ("eval", "runs/tiny"),
    "export": ("export", "runs/tiny", "out"),
}
# All that a command may end with: 1 and above 11 are no status of the program but 85.
STATUSES = {0, 2, 3, 4, 5, 6, 7, 9, 85}


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def pipe(path, _):
    os.mkfifo(path)


def full_folder(path, _):
    path.mkdir()
    (path / "mine").write_text("mine")


def to_file(path, theirs):
    path.symlink_to(theirs / "file")


def to_folder(path, theirs):
    path.symlink_to(theirs / "folder")


def to_nothing(path, theirs):
    path.symlink_to(theirs / "absent")


def to_itself(path, _):
    path.symlink_to(path.name)


def to_zeros(path, _):
    path.symlink_to("/dev/zero")


def listener(path, _):
    server = socket.socket(socket.AF_UNIX)
    here = os.open(path.parent, os.O_RDONLY)
    server.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)
    server.close()


def huge(path, _):
    with open(path, "wb") as file:
        file.truncate(HUGE)


def noise(path, _):
    path.write_bytes(random.Random(1).randbytes(100_000))


def nothing(path, _):
    path.write_bytes(b"")


def unreadable(path, _):
    path.write_text("{}")
    path.chmod(0)


THINGS = (pipe, full_folder, to_file, to_folder, to_nothing, to_itself, to_zeros, listener, huge,
          noise, nothing, unreadable)


class Attack:
    """One run's folder in a place of its own, with one thing in it that no run has put there."""

    def __init__(self, program, pristine, case):
        self.program, self.case = program, case
        self.place = pathlib.Path(tempfile.mkdtemp(dir=program.folder))
        for name in ("tiny.toml", "text.txt"):
            shutil.copy(program.folder / name, self.place)
        shutil.copytree(pristine, self.place / "runs/tiny", symlinks=True)
        self.theirs = self.place / "theirs"
        (self.theirs / "folder").mkdir(parents=True)
        (self.theirs / "file").write_text("theirs")
        (self.theirs / "folder/file").write_text("theirs")

    def outside(self):
        return sorted((str(path.relative_to(self.theirs)), path.is_file() and path.read_bytes())
                      for path in self.theirs.rglob("*"))

    def is_untouched(self, before):
        """Checkpoints may lie elsewhere, behind a link to a folder, in which steps are added."""
        after = self.outside()
        adds = self.case[:2] == ("checkpoints", to_folder)
        return set(before) <= set(after) if adds else before == after

    def run(self):
        """What is wrong with how the command ends; "" if nothing is."""
        place, thing, moment = self.case
        path = self.place / "runs/tiny" / place
        remove(path)
        thing(path, self.theirs)
        before = self.outside()
        # A process that read a huge file whole would not have the memory.
        line = ["prlimit", f"--as={MEMORY}", str(self.program.zeroapp), *MOMENTS[moment]]
        process = subprocess.Popen(line, cwd=self.place, env=self.program.env, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        _, err, waited = outcome_of(process, SECONDS)
        untouched = self.is_untouched(before)
        shutil.rmtree(self.place, ignore_errors=True)
        if waited:
            return f"still runs after {SECONDS} s"
        return self.verdict(process.returncode, err, untouched)

    def verdict(self, status, err, untouched):
        lines = [one for one in err.splitlines() if one.startswith("zeroapp: error")]
        if status not in STATUSES:
            return f"status {status}: {err[-300:]}"
        if not untouched:
            return "something outside was changed"
        # A list of findings is on standard output.
        if status not in (0, 85) and len(lines) != 1:
            return f"status {status} with {len(lines)} error lines: {err[-300:]}"
        return ""


def attacks():
    wanted, seed = os.environ.get("ATTACK", "40"), int(os.environ.get("SEED", "20"))
    every = list(itertools.product(PLACES, THINGS, MOMENTS))
    if wanted == "all":
        return share_of(every), seed
    return share_of(random.Random(seed).sample(every, int(wanted))), seed


def main():
    program, begun = Program(), time.monotonic()
    first = program.train(1, *SETTINGS, "checkpoint.resume=auto", "run.steps=2")
    check(first.finished(), "a run to be attacked", first)
    pristine = program.folder / "runs/tiny"
    cases, seed = attacks()

    def one(case):
        for _ in range(TRIES):
            problem = Attack(program, pristine, case).run()
            if UNBEGUN not in problem:
                break
        if problem:
            place, thing, moment = case
            print(f"{place}, {thing.__name__}, {moment}: {problem}", flush=True)
        return bool(problem)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = sum(pool.map(one, cases))
    seconds = time.monotonic() - begun
    print(f"{len(cases)} attacks, seed {seed}, {seconds:.0f} s: {bad} ended as none should")
    if bad:
        sys.exit(1)
    print("every attack ends with a sentence")


if __name__ == "__main__":
    main()
