#!/usr/bin/env python3
"""The disk tier on disks of many kinds: what was written is read, or the error has its message.

usage: disk.py ZEROAPP MPIEXEC SWAP_BYTES      starts the last alone

What this machine cannot do is skipped with a line "SKIP ...".
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from disks import NOBODY, become_nobody, mount_image, private_mounts, skip, succeeds, unmount
from program import Result, check
from seccomp import IO_URING_SETUP, forbid, forbid_direct

MIB, ROUNDS, SALT = 24, 2, 7


class Disk:
    """A folder for swap_bytes, in a folder of this test."""

    def __init__(self, place, name="disk"):
        self.program, self.folder = place / "swap_bytes", place / name
        self.folder.mkdir(exist_ok=True)

    def start(self, salt=SALT, rounds=ROUNDS, mib=MIB, **settings):
        return subprocess.Popen(
            [self.program, self.folder, str(mib), str(salt), str(rounds)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            **{"stdin": subprocess.DEVNULL, **settings})

    def run(self, **settings):
        return self.wait(self.start(**settings))

    def wait(self, process, line=None):
        out, err = process.communicate(line, timeout=120)
        check(not list(self.folder.glob("*zeroapp*")), "nothing is left in the folder")
        return Result(process.returncode, out, err, self.folder.parent)


def last_words(result):
    check(result.status == 0, "status 0", result)
    return result.out.splitlines()[-1].split()


def warnings(result):
    return [line for line in result.err.splitlines() if line.startswith("warning: ")]


def the_best_engine_says_nothing(disk):
    result = disk.run()
    engine, way, digest = last_words(result)
    print(f"{engine}, {way}")
    check(len(warnings(result)) == (0 if engine == "io_uring" else 1), "warns of threads", result)
    return engine, digest


def a_forbidden_ring_is_replaced_by_threads(disk, digest):
    result = disk.run(preexec_fn=lambda: forbid((IO_URING_SETUP,)))
    engine, _, read = last_words(result)
    check(engine == "threads" and read == digest, "the same bytes by threads", result)
    said = warnings(result)
    check(len(said) == 1 and "Operation not permitted" in said[0], "one warning", result)


def little_locked_memory_is_enough(disk, digest):
    if os.geteuid() != 0:
        return skip("64 KiB of locked memory", "only root can become a user without rights")
    os.chown(disk.folder, NOBODY, NOBODY)
    result = disk.run(preexec_fn=become_nobody)
    check(last_words(result)[2] == digest, "the same bytes", result)
    said = warnings(result)
    check(len(said) == 1, "one warning", result)
    check("ulimit -l" in said[0] or "threads" in said[0], "that says what to do", result)


def a_file_system_without_direct_transfers_serves(disk, digest):
    result = disk.run(preexec_fn=forbid_direct)
    _, way, read = last_words(result)
    check(way == "cached" and read == digest, "the same bytes through the page cache", result)


def a_file_system_in_memory_serves(place, digest):
    shm = pathlib.Path("/dev/shm")
    if shutil.disk_usage(shm).free < 2 * MIB << 20:
        return skip("a file system in memory", "/dev/shm is too small")
    with tempfile.TemporaryDirectory(dir=shm) as folder:
        (place / "shm").symlink_to(folder)
        result = Disk(place, "shm").run()
    _, way, read = last_words(result)
    check(read == digest, "the same bytes", result)
    print(f"/dev/shm: {way}")


def two_jobs_share_a_folder(disk, digest):
    both = [disk.start(salt=salt, rounds=4) for salt in (SALT, SALT + 100)]
    shared = [last_words(disk.wait(process))[2] for process in both]
    alone = [last_words(disk.run(salt=salt, rounds=4))[2] for salt in (SALT, SALT + 100)]
    check(shared == alone, "two jobs read what they read alone")
    check(digest not in shared, "which differs")


def killed_jobs_leave_nothing(disk):
    draw = random.Random(3)
    for _ in range(20):
        process = disk.start(rounds=1000)
        try:
            process.wait(draw.uniform(0, 0.3))
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        check(not list(disk.folder.iterdir()), "a killed job leaves nothing")


def mounted(place, name, image, mib):
    disk = Disk(place, name)
    return disk if mount_image(image, mib, disk.folder) else None


def a_full_disk_is_found_at_the_start(place):
    disk = mounted(place, "small", place / "small.img", 16)
    if disk is None:
        return skip("a full disk", "no loop device can be mounted")
    result = disk.run()
    check(result.status == 5 and "written" not in result.out, "status 5 before it writes", result)
    check(f"{MIB << 20} bytes are needed by this rank" in result.err, "with the bytes", result)
    return None


def a_disk_that_is_full_behind_the_file_system(place):
    """What thin volumes do: the file system gives room that its disk then has not."""
    thin = place / "thin"
    thin.mkdir()
    if not succeeds("mount", "-t", "tmpfs", "-o", "size=16m", "none", str(thin)):
        return skip("a thin disk", "no file system can be mounted")
    disk = mounted(place, "promised", thin / "disk.img", 64)
    if disk is None:
        return skip("a thin disk", "no loop device can be mounted")
    result = disk.run()
    check(result.status == 5, f"status 5, not {result.status}", result)
    check(f"swap_bytes: {disk.folder}: writing " in result.err and "(errno " in result.err,
          "names folder, length, offset and errno", result)
    print(result.err.strip())
    return None


def a_disk_that_loses_sectors(place):
    image = place / "lost.img"
    disk = mounted(place, "lossy", image, 64)
    if disk is None:
        return skip("a disk that loses sectors", "no loop device can be mounted")
    process = disk.start(stdin=subprocess.PIPE, rounds=1)
    check(process.stdout.readline() == "written\n", "it writes")
    os.truncate(image, 4 << 20)
    # The folder itself may be lost.
    out, err = process.communicate("\n", timeout=120)
    result = Result(process.returncode, out, err, place)
    check(result.status == 5, f"status 5, not {result.status}", result)
    check(f"swap_bytes: {disk.folder}: " in result.err, "names the folder", result)
    print(result.err.strip())
    return None


def disks_that_fail(place):
    if not private_mounts():
        return skip("disks that are full or fail", "only an administrator may mount them")
    try:
        a_full_disk_is_found_at_the_start(place)
        a_disk_that_is_full_behind_the_file_system(place)
        a_disk_that_loses_sectors(place)
    finally:
        unmount(place, "small", "promised", "lossy", "thin")
    return None


def main():
    with tempfile.TemporaryDirectory(prefix="zeroapp-disk-") as folder:
        place = pathlib.Path(folder)
        place.chmod(0o755)
        # Where a user without rights can start it.
        shutil.copy(sys.argv[3], place / "swap_bytes")
        disk = Disk(place)
        engine, digest = the_best_engine_says_nothing(disk)
        if engine == "io_uring":
            a_forbidden_ring_is_replaced_by_threads(disk, digest)
            little_locked_memory_is_enough(disk, digest)
        else:
            skip("a forbidden io_uring", "this machine has none")
        a_file_system_without_direct_transfers_serves(disk, digest)
        a_file_system_in_memory_serves(place, digest)
        two_jobs_share_a_folder(disk, digest)
        killed_jobs_leave_nothing(disk)
        disks_that_fail(place)
    print("the same bytes on every disk")


main()
