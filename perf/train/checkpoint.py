#!/usr/bin/env python3
"""Checkpoints of whole runs: how long a killed run of 10 million parameters takes to its next step,
and how long a save of GPT-2 124M takes beside a peer, and how long steps wait for one.

usage: checkpoint.py BUILD [restart] [save]

Both without a word. The peer is any shell command in SAVE_PEER that writes and syncs the same
state, 1.5 GB of fp32, in a folder {folder}, a few times and prints a JSON line with "seconds",
their median; without it what is relative to it is not judged: status 77. Ends with status 1 where a
bound does not hold.
"""
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

RESTART_SECONDS, RESTARTS = 3.0, 5
PEER_RATIO = 0.98
NOT_JUDGED = 77
SMALL = """
train_batch_size = 4
[model]
layers = 6
width = 384
heads = 6
dropout = 0.0
[data]
train = "text.txt"
sequence_length = 128
[run]
steps = 1000000
output = "run"
log_interval = 1000
[optimizer]
lr = 1e-4
[checkpoint]
interval = 10
"""


def start(build, folder, *settings):
    return subprocess.Popen([str(build / "src/zeroapp"), "input.toml", *settings], cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def steps_of(folder):
    metrics = folder / "run/metrics.jsonl"
    return metrics.read_text().splitlines() if metrics.exists() else []


def last_saved(folder):
    latest = folder / "run/checkpoints/latest"
    return int(latest.readlink().name[4:]) if latest.is_symlink() else 0


def wait_for(condition, process, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            sys.exit("".join(process.communicate()))
        time.sleep(0.005)


def restart_seconds(build, folder):
    """From the kill to the first step of the next launch that this one had not made."""
    process = start(build, folder)
    before = last_saved(folder)
    wait_for(lambda: last_saved(folder) > before + 10, process)
    process.send_signal(signal.SIGKILL)
    begin = time.monotonic()
    process.communicate()
    step = last_saved(folder)
    process = start(build, folder)

    def has_new_step():
        # Of the new launch: it cuts the file behind the checkpoint first.
        lines = steps_of(folder)
        launches = (folder / "run/launches.jsonl").read_text().count("\n")
        return launches > has_new_step.launches and len(lines) > step

    has_new_step.launches = (folder / "run/launches.jsonl").read_text().count("\n")
    wait_for(has_new_step, process)
    seconds = time.monotonic() - begin
    process.kill()
    process.communicate()
    return seconds


def measure_restart(build):
    with tempfile.TemporaryDirectory(dir=build) as name:
        folder = pathlib.Path(name)
        (folder / "input.toml").write_text(SMALL)
        (folder / "text.txt").write_text("".join(f"{i} and {i} is {i + i}.\n" for i in range(9999)))
        seconds = [restart_seconds(build, folder) for _ in range(RESTARTS)]
    median = statistics.median(seconds)
    passed = median <= RESTART_SECONDS
    print(f"kill to next step, 10 M parameters: median {median:.2f} s of "
          f"{min(seconds):.2f} to {max(seconds):.2f}, at most {RESTART_SECONDS}: "
          f"{'passed' if passed else 'FAILED'}")
    return 0 if passed else 1


def our_save(build, folder):
    """Median seconds of one rank's file of 1.5 GB."""
    done = subprocess.run([str(build / "perf/perf_io_checkpoint"), str(folder)], text=True,
                          capture_output=True, check=True)
    print(done.stdout, end="")
    return float(done.stdout.split("save ")[1].split()[0])


def measure_save(build):
    peer = os.environ.get("SAVE_PEER", "")
    with tempfile.TemporaryDirectory(dir=build) as folder:
        ours = our_save(build, folder)
        if not peer:
            print(f"SKIP no SAVE_PEER: at least {PEER_RATIO} of it is not judged")
            return NOT_JUDGED
        done = subprocess.run(peer.replace("{folder}", folder), shell=True, text=True,
                              capture_output=True, check=True)
        theirs = json.loads(done.stdout.splitlines()[-1])["seconds"]
    ratio = theirs / ours
    print(f"peer {theirs:.3f} s, ours {ours:.3f} s: ratio {ratio:.3f}, at least {PEER_RATIO}")
    return 0 if ratio >= PEER_RATIO else 1


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] or ["restart", "save"]
    measures = {"restart": measure_restart, "save": measure_save}
    statuses = [measures[name](build) for name in wanted]
    return 1 if 1 in statuses else max(statuses)


if __name__ == "__main__":
    sys.exit(main())
