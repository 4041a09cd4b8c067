#!/usr/bin/env python3
"""A container's limits: no io_uring, no reading of a peer's memory, 64 MiB of shared memory. Runs
have the same bits there, and nobody prints a warning."""
import ctypes
import errno
import os
import platform
import shutil
import struct
import subprocess
import sys

from program import Program, check

# process_vm_readv, process_vm_writev, io_uring_setup.
NUMBERS = {"x86_64": (310, 311, 425), "aarch64": (270, 271, 425)}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000

SMALL_SHM = "mount -t tmpfs -o size=64m none /dev/shm && exec \"$@\""


def forbid(numbers):
    """These system calls fail with EPERM from now on, in this process and all that it starts."""
    count = len(numbers)
    code = [(LOAD, 0, 0, 0)]
    code += [(JUMP_IF_EQUAL, count - i, 0, number) for i, number in enumerate(numbers)]
    code += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | errno.EPERM)]
    words = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    program = Filter(len(code), ctypes.addressof(words))
    libc = ctypes.CDLL(None)
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges")
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)) == 0, "a filter")


def small_shared_memory():
    """What starts a program over 64 MiB of /dev/shm; nothing where only an administrator may."""
    line = ["unshare", "-m", "sh", "-c", SMALL_SHM, "sh"]
    if shutil.which("unshare") and subprocess.run([*line, "true"], capture_output=True,
                                                  check=False).returncode == 0:
        return line
    print("without a small /dev/shm: only an administrator may mount one")
    return []


def contained(program, start, *words, env=None):
    inside = [sys.executable, os.path.abspath(__file__), "--inside", *start, *words]
    return program.wait(program.popen(inside, env))


def main():
    if sys.argv[1] == "--inside":
        forbid(NUMBERS[platform.machine()])
        os.execvp(sys.argv[2], sys.argv[2:])
    program = Program()
    start = small_shared_memory()
    settings = ("zero.stage=3", "model.width=256", "run.steps=2")
    plain = program.train(2, *settings)
    for env in ({}, {"ZERO_COMM": "mpi"}):
        result = contained(program, start, *program.launch_line(2), "tiny.toml", *settings, env=env)
        check(result.finished(), f"{env}: trains to the end", result)
        check(not result.err, f"{env}: nothing on stderr", result)
        same = result.summary["state_sha256"] == plain.summary["state_sha256"]
        check(same, f"{env}: the same bits as outside", result)
    report = contained(program, start, str(program.zeroapp), "doctor")
    check(report.status == 0, f"doctor: status 0, not {report.status}", report)
    for words in ("process_vm_readv is forbidden", "forbidden, as containers do"):
        check(words in report.out, f"doctor says: {words}", report)
    if start:
        check("64.00 MiB free" in report.out, "doctor says how much is shared", report)
    print("as outside of a container")


main()
