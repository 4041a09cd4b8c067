#!/usr/bin/env python3
"""Forecasts of zeroapp plan with a measured machine, beside the steps themselves.

usage: forecast.py BUILD [--folder DIR] [--rounds N] [--steps N] [--within SHARE] [--out FILE.json]

A round runs zeroapp calibrate on one rank and on two, which share the machine's cores; then,
configuration by configuration, plan --machine with what it wrote, and a training whose median step
after the first counts. A machine that others share is now fast and now slow, so there are several
rounds (3), and the median of a configuration's ratios counts. DIR (default: BUILD) is on the disk
for states. Ends with status 1 if a forecast differs from its step by more than SHARE (0.2).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 4

[model]
layers = 4
width = 512
heads = 8
dropout = 0.0
vocab_size = 8192

[data]
train = "synthetic"
validation_fraction = 0
sequence_length = 256

[evaluation]
interval = 0

[optimizer]
lr = 1e-3
"""
BF16 = "bf16.enabled=true"
OPTIMIZER_ON_DISK = ("zero.offload_optimizer.device=nvme", "zero.offload_optimizer.nvme_path=.")
CONFIGURATIONS = (
    (1, ()),
    (1, (BF16,)),
    (1, (BF16, "model.layers=2", "model.width=768", "model.heads=12")),
    (1, ("zero.stage=1", "zero.offload_optimizer.device=cpu")),
    (1, (BF16, "zero.stage=1", *OPTIMIZER_ON_DISK)),
    (2, ("zero.stage=1",)),
    (2, (BF16, "zero.stage=3")),
    (2, (BF16, "zero.stage=3", *OPTIMIZER_ON_DISK)),
)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--within", type=float, default=0.2)
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


class Place:
    """A folder in which zeroapp runs."""

    def __init__(self, args, folder):
        self.zeroapp = (args.build / "src/zeroapp").resolve()
        self.folder, self.steps = pathlib.Path(folder), args.steps
        (self.folder / "input.toml").write_text(INPUT)

    def run(self, ranks, *words):
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        threads = max(1, len(os.sched_getaffinity(0)) // ranks)
        launch = ["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-np", str(ranks)]
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive")
        done = subprocess.run([*(launch if ranks > 1 else []), self.zeroapp, *words], text=True,
                              cwd=self.folder, env=environment, capture_output=True, check=False)
        if "zeroapp: error" in done.stderr:
            sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def forecast(self, ranks, settings):
        words = ["plan", "input.toml", "--ranks", str(ranks), "--machine", f"ranks{ranks}.toml",
                 f"run.steps={self.steps}", "--json", *settings]
        return json.loads(self.run(1, *words))["forecast"]["step_seconds"]

    def step(self, ranks, settings):
        self.run(ranks, "input.toml", f"run.steps={self.steps}", "run.output=run", *settings)
        lines = (self.folder / "run/metrics.jsonl").read_text().splitlines()
        return statistics.median(json.loads(line)["step_ms"] for line in lines[1:]) / 1e3


def measure(place):
    """[(forecast, step)] in seconds, configuration by configuration."""
    for ranks in sorted({ranks for ranks, _ in CONFIGURATIONS}):
        (place.folder / f"ranks{ranks}.toml").unlink(missing_ok=True)
        print(place.run(ranks, "calibrate", "--nvme", ".", "--out", f"ranks{ranks}.toml"))
    pairs = []
    for ranks, settings in CONFIGURATIONS:
        pairs.append((place.forecast(ranks, settings), place.step(ranks, settings)))
        print(f"{1e3 * pairs[-1][0]:7.0f} ms forecast, {1e3 * pairs[-1][1]:7.0f} ms: "
              f"{ranks} ranks {' '.join(settings)}", flush=True)
    print()
    return pairs


def compare(args, place):
    rounds = [measure(place) for _ in range(args.rounds)]
    rows = []
    for index, (ranks, settings) in enumerate(CONFIGURATIONS):
        ratios = [pairs[index][0] / pairs[index][1] for pairs in rounds]
        ratio = statistics.median(ratios)
        rows.append({"ranks": ranks, "settings": settings,
                     "forecast_s": [pairs[index][0] for pairs in rounds],
                     "step_s": [pairs[index][1] for pairs in rounds], "ratio": ratio})
        print(f"{ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f}) "
              f"{'passed' if abs(ratio - 1) <= args.within else 'FAILED'}: "
              f"{ranks} ranks {' '.join(settings)}", flush=True)
    return rows


def main():
    args = arguments()
    with tempfile.TemporaryDirectory(dir=args.folder or args.build, prefix="forecast-") as folder:
        rows = compare(args, Place(args, folder))
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if all(abs(row["ratio"] - 1) <= args.within for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
