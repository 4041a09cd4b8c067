#!/usr/bin/env python3
"""Runs whose states and activations rest on disks of many kinds: the bits of a run in memory, or
one error line; and the bytes that the kernel counts are those that are planned.

KILLS=20 kills more runs. What this machine cannot do is skipped with a line "SKIP ...".
"""
import os
import random
import re
import shutil
import subprocess
import tempfile
import time

from disks import NOBODY, become_nobody, mount_image, private_mounts, skip, succeeds, unmount
from program import Program, advised_change, check, check_refused
from seccomp import IO_URING_SETUP, forbid, forbid_direct

IN_MEMORY = ("zero.stage=3",)
ON_DISK = (*IN_MEMORY, "zero.offload_optimizer.device=nvme", "zero.offload_param.device=nvme",
           "activation_checkpointing.recompute=full", "activation_checkpointing.offload=nvme",
           "activation_checkpointing.buffer_count=1")
FOLDERS = ("zero.offload_optimizer", "zero.offload_param", "activation_checkpointing")
LARGE = "model.width=384"  # some 30 MB of states
ENDLESS = "run.steps=1000000"


class Runs:
    """Runs of one process, each with its own output."""

    def __init__(self, program):
        self.program, self.count, self.alone = program, 0, []

    def start(self, *settings, disk="disk", homes=ON_DISK, before=None):
        self.count += 1
        name = f"run{self.count}"
        paths = (f"{section}.nvme_path={disk}" for section in FOLDERS)
        line = [str(self.program.zeroapp), "tiny.toml", f"run.output=runs/{name}", *homes,
                *(paths if homes == ON_DISK else ()), *settings]
        return name, self.program.popen(line, before=before)

    def wait(self, started):
        name, process = started
        return self.program.wait(process, name)

    def run(self, *settings, **how):
        return self.wait(self.start(*settings, **how))

    def folder(self, name):
        folder = self.program.folder / name
        folder.mkdir()
        return folder


def outcome(result):
    check(result.finished(), "trains to the end", result)
    return [line["loss_hex"] for line in result.metrics], result.state()


def warnings(result):
    return [line for line in result.err.splitlines() if line.startswith("zeroapp: warning")]


def less_than_the_best_gives_the_same_bits(runs, expected):
    result = runs.run()
    check(outcome(result) == expected, "on disk as in memory", result)
    ring = not warnings(result)
    without_ring = {"before": lambda: forbid((IO_URING_SETUP,))}
    result = runs.run(**without_ring)
    check(outcome(result) == expected, "without io_uring", result)
    check(len(warnings(result)) == 1, f"one warning: {warnings(result)}", result)
    if ring:
        result = runs.run("aio.intra_op_parallelism=2")
        check(outcome(result) == expected, "with threads that nobody needs", result)
        said = warnings(result)
        check(len(said) == 1 and "intra_op_parallelism = 2 does nothing" in said[0]
              and "aio.queue_depth" in said[0], f"one warning: {said}", result)
    result = runs.run("aio.require_uring=true", **without_ring)
    check(result.status == 2 and "aio.require_uring" in result.err, "refused by wish", result)
    result = runs.run(before=forbid_direct)
    check(outcome(result) == expected, "without O_DIRECT", result)
    return ring


def wait_for_a_step(runs, name):
    metrics = runs.program.folder / "runs" / name / "metrics.jsonl"
    deadline = time.monotonic() + 60
    while not metrics.exists() or not metrics.read_text():
        check(time.monotonic() < deadline, "the first step ends within a minute")
        time.sleep(0.05)


def registered_buffers(pid):
    """How many stretches of memory the kernel keeps mapped for each ring of a process."""
    counts = []
    for link in os.listdir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(f"/proc/{pid}/fd/{link}") != "anon_inode:[io_uring]":
                continue
        except FileNotFoundError:  # closed meanwhile
            continue
        with open(f"/proc/{pid}/fdinfo/{link}", encoding="ascii") as lines:
            counts += [int(line.split()[1]) for line in lines if line.startswith("UserBufs:")]
    return counts


def staging_is_registered(runs):
    name, process = runs.start(ENDLESS)
    wait_for_a_step(runs, name)
    counts, deadline = [], time.monotonic() + 20
    # The kernel leaves out the lines of a ring that is at work in that moment.
    while len(counts) < 2 and time.monotonic() < deadline:
        counts = registered_buffers(process.pid)
    process.kill()
    process.communicate()
    check(len(counts) == 2 and min(counts) >= 1,
          f"a ring for reading, one for writing, both with registered memory: {counts}")


def the_kernel_counts_what_is_planned(runs):
    """What a run writes that writes nothing else to speak of: synthetic data, no checkpoint."""
    result = runs.run(LARGE, "data.train=synthetic", "data.validation_fraction=0",
                      "data.max_validation_samples=0", "run.steps=12")
    check(result.finished(), "trains to the end", result)
    disk, planned = result.summary["disk"], result.summary["memory"]["nvme"]["planned_bytes"]
    check(disk["steps"] == {**disk["steps"]["forecast"], "forecast": disk["steps"]["forecast"]},
          f"steps move what is planned: {disk['steps']}", result)
    start = disk["all"]["written_bytes"] - disk["steps"]["written_bytes"]
    check(0.99 * planned <= start <= planned,
          f"at the start {start} bytes are written, once each of {planned}", result)
    check(disk["written_bytes_a_day"] > disk["steps"]["written_bytes"], "and more a day", result)
    lanes = result.summary["lanes"]
    for lane, way in (("disk read", "read_bytes"), ("disk write", "written_bytes")):
        moved = lanes[lane]["bytes"]["mean"]
        check(moved == disk["steps"][way], f"{lane} moves {moved} bytes: {disk['steps']}", result)
        check(0 < lanes[lane]["busy_seconds"]["mean"] < result.summary["train_seconds"] + 1,
              f"{lane} is busy for a part of the run: {lanes}", result)
        check(f"  {lane} " in result.out, "the end tells of it", result)
    check(lanes["compute"]["waited_seconds"]["mean"] > 0, f"compute waits: {lanes}", result)
    check("disk in steps: read " in result.out and "written a day" in result.out, "said", result)
    for way in ("read_bytes", "written_bytes"):
        kernel, ours = disk["kernel"][way], disk["all"][way]
        if way == "written_bytes" and kernel < ours / 2:
            return skip("the kernel's counters", "this file system does not take part in them")
        check(ours <= kernel <= 1.02 * ours, f"{way}: {kernel} by the kernel, {ours} by us", result)
        print(f"{way}: {ours}, by the kernel {kernel / ours - 1:+.2%}")
    return None


def a_user_without_rights_trains(runs, expected, ring):
    if os.geteuid() != 0:
        return skip("64 KiB of locked memory", "only root can become a user without rights")
    program = runs.program
    try:
        subprocess.run([str(program.zeroapp), "--version"], preexec_fn=become_nobody, cwd="/",
                       capture_output=True, check=True)
    except (PermissionError, subprocess.CalledProcessError):
        return skip("64 KiB of locked memory", f"{program.zeroapp} is closed to other users")
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(program.folder)], check=True)
    result = runs.run(before=become_nobody)
    check(outcome(result) == expected, "with 64 KiB of locked memory", result)
    said = warnings(result)
    check(len(said) == 1, f"one warning: {said}", result)
    check(not ring or "without registered memory" in said[0], f"of locked memory: {said}", result)
    two_runs_share_a_folder_in_memory(runs)
    subprocess.run(["chown", "-R", "0:0", str(program.folder)], check=True)
    return None


def two_runs_share_a_folder(runs, expected):
    both = [runs.start(f"run.seed={seed}") for seed in (5, 6)]
    shared = [outcome(runs.wait(started)) for started in both]
    runs.alone = [outcome(runs.run(f"run.seed={seed}", homes=())) for seed in (5, 6)]
    check(shared == runs.alone and expected not in shared,
          "two at once have the bits of each alone")


def two_runs_share_a_folder_in_memory(runs):
    """As users without rights, whose files a tmpfs keeps."""
    try:
        place = tempfile.TemporaryDirectory(dir="/dev/shm", prefix="zeroapp-")
    except OSError as error:
        return skip("a tmpfs", f"/dev/shm: {error.strerror}")
    with place as folder:
        os.chown(folder, NOBODY, NOBODY)
        both = [runs.start(f"run.seed={seed}", disk=folder, before=become_nobody)
                for seed in (5, 6)]
        shared = [outcome(runs.wait(started)) for started in both]
        check(not os.listdir(folder), "nothing is left in a tmpfs")
    check(shared == runs.alone, "two at once on a tmpfs have the bits of each alone")
    return None


def killed_runs_leave_nothing(runs):
    """Half of them as they start, half in the middle of steps."""
    draw = random.Random(3)
    for kill in range(int(os.environ.get("KILLS", "4"))):
        name, process = runs.start(ENDLESS)
        if kill % 2 > 0:
            wait_for_a_step(runs, name)
        time.sleep(draw.uniform(0.05, 1))
        check(process.poll() is None, "the run is killed before it ends")
        process.kill()
        process.communicate()
        check(not os.listdir(runs.program.folder / "disk"), "a killed run leaves nothing")


def fails_with_5(result, *words):
    check(result.status == 5, f"status 5, not {result.status}", result)
    check(len(result.error_lines()) == 1, "one error line", result)
    for word in words:
        check(word in result.err, f"says {word}", result)
    print(result.error_lines()[0])


def a_full_disk_is_found_at_the_start(runs, place):
    folder = runs.folder("small")
    if not mount_image(place / "small.img", 16, folder):
        return skip("a full disk", "no loop device can be mounted")
    result = runs.run(LARGE, disk="small")
    check_refused(result, 6, "the plan needs ", " on disk a rank of ", "free in nvme_path",
                  "cheapest change that fits: ")
    check(not (runs.program.folder / "runs" / f"run{runs.count}").exists(), "nothing is written")
    change = advised_change(result)
    dry = runs.run(LARGE, "--dry-run", disk="small")
    check_refused(dry, 6, "cheapest change that fits: " + " ".join(change))
    check("limit of disk" in dry.out and "does not fit" in dry.out, "the table has it", dry)
    paths = [f"{section}.nvme_path=small" for section in FOLDERS]
    changed = {word.split("=")[0] for word in change}
    kept = [word for word in (*ON_DISK, *paths) if word.split("=")[0] not in changed]
    fitting = runs.run(LARGE, *change, homes=kept)
    check(fitting.finished(), f"{change} fits", fitting)
    return None


def a_plan_may_be_for_another_machine(runs):
    result = runs.run("--dry-run", disk="absent")
    check(result.status == 0 and "limit of disk" not in result.out, "planned", result)
    check_refused(runs.run(disk="absent"), 2, "nvme_path: absent is no folder")


def the_start_tells_what_the_disk_gives(runs):
    result = runs.run(LARGE)
    check(result.finished(), "trains to the end", result)
    needed = result.summary["memory"]["nvme"]["planned_bytes"] / 2 ** 20
    told = re.search(r"^disk disk: needs ([\d.]+) MiB of [\d.]+ \wiB free; a rank reads "
                     r"([\d.]+ \wiB)/s, writes ([\d.]+ \wiB)/s \((.*)\)$", result.out, re.M)
    check(told and abs(float(told[1]) - needed) < 0.02, f"needed {needed} MiB and free", result)
    check("take a predicted " in result.out, "and how long a step's transfers take", result)
    print(told[0])


def a_disk_full_behind_its_file_system_ends_the_run(runs, place):
    thin, folder = runs.folder("thin"), runs.folder("promised")
    if not (succeeds("mount", "-t", "tmpfs", "-o", "size=16m", "none", str(thin))
            and mount_image(thin / "disk.img", 64, folder)):
        return skip("a thin disk", "no file system can be mounted")
    fails_with_5(runs.run(LARGE, disk="promised"), "promised: writing ", "at offset", "(errno ")
    return None


def a_disk_that_loses_sectors_ends_the_run(runs, place):
    folder, image = runs.folder("lossy"), place / "lossy.img"
    if not mount_image(image, 64, folder):
        return skip("a disk that loses sectors", "no loop device can be mounted")
    started = runs.start(LARGE, ENDLESS, disk="lossy")
    wait_for_a_step(runs, started[0])
    # Once may not be enough: for a moment all that is lost can be in memory, about to be written.
    deadline = time.monotonic() + 60
    while started[1].poll() is None and time.monotonic() < deadline:
        os.truncate(image, 4 << 20)
        time.sleep(0.05)
    fails_with_5(runs.wait(started), "lossy: ")
    return None


def disks_that_fail(runs):
    if not private_mounts():
        return skip("disks that are full or fail", "only an administrator may mount them")
    place = runs.program.folder
    try:
        a_full_disk_is_found_at_the_start(runs, place)
        a_disk_full_behind_its_file_system_ends_the_run(runs, place)
        a_disk_that_loses_sectors_ends_the_run(runs, place)
    finally:
        unmount(place, "small", "promised", "lossy", "thin")
    return None


def main():
    runs = Runs(Program())
    runs.folder("disk")
    expected = outcome(runs.run(homes=IN_MEMORY))
    ring = less_than_the_best_gives_the_same_bits(runs, expected)
    if ring:
        staging_is_registered(runs)
    else:
        skip("registered memory", "this machine has no io_uring, or little memory to lock")
    the_kernel_counts_what_is_planned(runs)
    a_plan_may_be_for_another_machine(runs)
    the_start_tells_what_the_disk_gives(runs)
    two_runs_share_a_folder(runs, expected)
    a_user_without_rights_trains(runs, expected, ring)
    killed_runs_leave_nothing(runs)
    disks_that_fail(runs)
    print("the same bits on every disk")


main()
