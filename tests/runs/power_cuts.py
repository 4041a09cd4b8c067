#!/usr/bin/env python3
"""The power fails under a run that saves after each step, again and again: an ext4 of its own is
shut down without its log being flushed and mounted anew, and the run goes on from what was
acknowledged.

CUTS in the environment says how often, 100 else. Needs root and loop devices: else it prints SKIP
and ends with 77."""
import contextlib
import fcntl
import os
import random
import shutil
import struct
import subprocess
import sys
import time

from program import Program, check
from signals import wait_for_steps

EXT4_IOC_SHUTDOWN, WITHOUT_LOG = 0x8004587D, 2
SETTINGS = ("checkpoint.resume=auto", "checkpoint.interval=1", "run.steps=1000000",
            "run.log_interval=1000")
DISK_BYTES = 64 << 20
NOT_JUDGED = 77


class Disk:
    """An ext4 in a file."""

    def __init__(self, folder):
        self.image, self.place = folder / "disk", folder / "mounted"
        self.place.mkdir()
        with open(self.image, "wb") as image:
            image.truncate(DISK_BYTES)
        self.run("mkfs.ext4", "-q", "-F", self.image)
        self.mount()

    @staticmethod
    def run(*line):
        subprocess.run([str(word) for word in line], check=True, capture_output=True, timeout=60)

    def mount(self):
        self.run("mount", "-o", "loop", self.image, self.place)

    def unmount(self):
        self.run("umount", self.place)

    def cut_power(self):
        place = os.open(self.place, os.O_RDONLY)
        fcntl.ioctl(place, EXT4_IOC_SHUTDOWN, struct.pack("I", WITHOUT_LOG))
        os.close(place)


def made_disk(program):
    """The disk, or why there can be none."""
    if os.geteuid() != 0:
        return None, "only root may mount"
    for tool in ("mkfs.ext4", "mount", "umount"):
        if not shutil.which(tool):
            return None, f"there is no {tool}"
    try:
        return Disk(program.folder), ""
    except subprocess.CalledProcessError as error:
        return None, f"no loop device: {error.stderr.decode().strip()}"


def start_of(result):
    check("going on from step " in result.out, "there is a checkpoint to go on from", result)
    return int(result.out.split("going on from step ")[1].split(",")[0])


def last_acknowledged(result):
    return int(result.out.rsplit("saved step ", 1)[1].split()[0])


def cut(program, disk, moment, first):
    """A launch that ends with the power."""
    process = program.start(2, *SETTINGS, f"checkpoint.dir={disk.place}/checkpoints")
    wait_for_steps(program, process, first + 3)
    time.sleep(moment)
    disk.cut_power()
    result = program.wait(process)
    check(result.status == 5, f"without a disk the run ends with 5: {result.status}", result)
    disk.unmount()
    disk.mount()
    return result


def cuts(program, disk, times):
    chance = random.Random(1)
    acknowledged = 0
    for i in range(times):
        result = cut(program, disk, chance.uniform(0, 0.3), acknowledged)
        check("does not verify" not in result.err, f"cut {i}: no folder is damaged", result)
        begun = start_of(result) if acknowledged else 0
        check(begun >= acknowledged, f"cut {i}: from step {begun}, though {acknowledged} was "
              "acknowledged", result)
        acknowledged = last_acknowledged(result)
    return acknowledged


def same_bytes(program, disk, step):
    result = program.train(2, *SETTINGS, f"checkpoint.dir={disk.place}/checkpoints",
                           f"run.stop_at={step + 2}")
    check(result.finished() and start_of(result) >= step, "it goes on after the last cut", result)
    shutil.rmtree(program.folder / "runs")
    straight = program.train(2, "run.steps=1000000", f"run.stop_at={step + 2}")
    check(straight.finished(), "a straight run finishes", straight)
    check(result.state() == straight.state(), "the same bytes",
          result)


def main():
    program = Program()
    disk, reason = made_disk(program)
    if not disk:
        print(f"SKIP power cuts: {reason}")
        sys.exit(NOT_JUDGED)
    times = int(os.environ.get("CUTS", "100"))
    with contextlib.ExitStack() as stack:
        stack.callback(disk.unmount)
        same_bytes(program, disk, cuts(program, disk, times))
    print(f"{times} power cuts, nothing acknowledged is lost")


if __name__ == "__main__":
    main()
