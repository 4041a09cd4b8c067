#!/usr/bin/env python3
"""How long a killed run of 10 million parameters takes to its first new step.

usage: restart.py BUILD

Ends with status 1 where the median is above its bound.
"""
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

RESTART_SECONDS, RESTARTS = 3.0, 5
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
        # Lines of the new launch: it cuts the file behind the checkpoint first.
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


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    return measure_restart(pathlib.Path(sys.argv[1]).resolve())


if __name__ == "__main__":
    sys.exit(main())
