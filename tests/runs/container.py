#!/usr/bin/env python3
"""A container's limits: no io_uring, no reading of a peer's memory, 64 MiB of shared memory. Runs
have the same bits there, and nobody prints a warning."""
import os
import shutil
import subprocess
import sys

from program import Program, check
from seccomp import IO_URING_SETUP, forbid, process_vm_numbers

SMALL_SHM = "mount -t tmpfs -o size=64m none /dev/shm && exec \"$@\""


def small_shared_memory():
    """What starts a program over 64 MiB of /dev/shm; nothing where only an administrator may."""
    line = ["unshare", "-m", "sh", "-c", SMALL_SHM, "sh"]
    if shutil.which("unshare") and subprocess.run([*line, "true"], capture_output=True,
                                                  check=False).returncode == 0:
        return line
    print("SKIP a small /dev/shm: only an administrator may mount one")
    return []


def contained(program, start, *words, env=None):
    inside = [sys.executable, os.path.abspath(__file__), "--inside", *start, *words]
    return program.wait(program.popen(inside, env))


def main():
    if sys.argv[1] == "--inside":
        forbid((*process_vm_numbers(), IO_URING_SETUP))
        os.execvp(sys.argv[2], sys.argv[2:])
    program = Program(quick=False)
    start = small_shared_memory()
    settings = ("zero.stage=3", "model.width=256", "run.steps=2")
    plain = program.train(2, *settings)
    for env in ({}, {"ZERO_COMM": "mpi"}):
        result = contained(program, start, *program.launch_line(2), "tiny.toml", *settings, env=env)
        check(result.finished(), f"{env}: trains to the end", result)
        check(not result.err, f"{env}: nothing on stderr", result)
        same = result.state() == plain.state()
        check(same, f"{env}: the same bits as outside", result)
    report = contained(program, start, str(program.zeroapp), "doctor")
    check(report.status == 0, f"doctor: status 0, not {report.status}", report)
    for words in ("process_vm_readv is forbidden", "forbidden, as containers do"):
        check(words in report.out, f"doctor says: {words}", report)
    if start:
        check("64.00 MiB free" in report.out, "doctor says how much is shared", report)
    print("as outside of a container")


main()
