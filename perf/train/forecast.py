#!/usr/bin/env python3
"""Forecasts of zeroapp plan with a measured machine, beside the steps themselves.

usage: forecast.py BUILD [--folder DIR] [--rounds N] [--steps N] [--only WORD] [--out FILE.json]

A round runs zeroapp calibrate on one rank and on two, which share the machine's cores; then,
configuration by configuration, plan --machine with what it wrote, and a training whose median step
after the first counts. A machine that others share is now fast and now slow, so there are several
rounds (3), and the median of a configuration's ratios counts: run it where nothing else works. DIR
(default: BUILD) is on the disk for states. --only takes the configurations whose words hold WORD,
to look at a few. Ends with status 1 if forecasts differ from their steps by more than 10 % in the
median of all configurations, or by more than 25 % in any whose step takes 20 ms or more.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

MEDIAN_WITHIN, EACH_WITHIN, LONG_SECONDS = 0.1, 0.25, 0.02
INPUTS = {"gpt2": """
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
""", "t5": """
train_batch_size = 16
train_micro_batch_size_per_gpu = 8

[model]
family = "t5"
layers = 2
width = 384
heads = 6
head_width = 64
inner = 1024
dropout = 0.0
vocab_size = 8192

[data]
train = "synthetic"
validation_fraction = 0
source_length = 128
target_length = 64

[evaluation]
interval = 0

[optimizer]
lr = 1e-3
""", "blenderbot": """
train_batch_size = 16
train_micro_batch_size_per_gpu = 8

[model]
family = "blenderbot"
layers = 1
decoder_layers = 3
width = 384
heads = 12
dropout = 0.0
vocab_size = 8008

[data]
train = "synthetic"
validation_fraction = 0
source_length = 96
target_length = 64

[evaluation]
interval = 0

[optimizer]
lr = 1e-3
"""}
BF16, DROPOUT = "bf16.enabled=true", "model.dropout=0.1"
ON_HOST = ("zero.stage=1", "zero.offload_optimizer.device=cpu")
ON_DISK = ("zero.offload_optimizer.device=nvme", "zero.offload_optimizer.nvme_path=.")
NARROW = ("model.width=128", "model.heads=4", "model.vocab_size=1024")
# Steps of some milliseconds.
BRIEF = ("model.width=64", "model.heads=2", "model.layers=2", "model.vocab_size=256",
         "data.sequence_length=64")
BRIEF_PAIRS = ("model.width=64", "model.heads=2", "model.vocab_size=256",
               "data.source_length=32", "data.target_length=16")
CONFIGURATIONS = (
    ("gpt2", 1, ()),
    ("gpt2", 1, (BF16,)),
    ("gpt2", 1, ("fp16.enabled=true",)),
    ("gpt2", 1, (BF16, "model.layers=2", "model.width=768", "model.heads=12")),
    ("gpt2", 1, (DROPOUT,)),
    ("gpt2", 1, (BF16, DROPOUT)),
    ("gpt2", 1, NARROW),
    ("gpt2", 1, (BF16, *NARROW)),
    ("gpt2", 1, (BF16, DROPOUT, *NARROW)),
    ("gpt2", 1, BRIEF),
    ("gpt2", 1, (BF16, *BRIEF)),
    ("gpt2", 1, ON_HOST),
    ("gpt2", 1, (BF16, "zero.stage=1", *ON_DISK)),
    ("gpt2", 1, ("activation_checkpointing.recompute=full",)),
    ("gpt2", 2, ("zero.stage=0",)),
    ("gpt2", 2, ("zero.stage=1",)),
    ("gpt2", 2, (BF16, "zero.stage=2")),
    ("gpt2", 2, (BF16, "zero.stage=3")),
    ("gpt2", 2, (BF16, "zero.stage=3", DROPOUT, *NARROW)),
    ("gpt2", 2, (BF16, "zero.stage=3", *ON_DISK)),
    ("t5", 1, ()),
    ("t5", 1, (BF16, DROPOUT)),
    ("t5", 1, (BF16, *BRIEF_PAIRS)),
    ("t5", 2, (BF16, "zero.stage=3")),
    ("blenderbot", 1, ()),
    ("blenderbot", 1, (BF16, DROPOUT)),
    ("blenderbot", 1, BRIEF_PAIRS),
    ("blenderbot", 2, ("zero.stage=2",)),
)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def words_of(configuration):
    family, ranks, settings = configuration
    return f"{family}, {ranks} rank{'s' if ranks > 1 else ''} {' '.join(settings)}".strip()


class Place:
    """A folder in which zeroapp runs."""

    def __init__(self, args, folder):
        self.zeroapp = (args.build / "src/zeroapp").resolve()
        self.folder, self.steps = pathlib.Path(folder), args.steps
        for family, text in INPUTS.items():
            (self.folder / f"{family}.toml").write_text(text)

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

    def calibrate(self, ranks):
        (self.folder / f"ranks{ranks}.toml").unlink(missing_ok=True)
        return self.run(ranks, "calibrate", "--nvme", ".", "--out", f"ranks{ranks}.toml")

    def forecast(self, family, ranks, settings):
        words = ["plan", f"{family}.toml", "--ranks", str(ranks), "--machine",
                 f"ranks{ranks}.toml", f"run.steps={self.steps}", "--json", *settings]
        return json.loads(self.run(1, *words))["forecast"]["step_seconds"]

    def step(self, family, ranks, settings):
        """Takes more steps where they are short."""
        seconds = self.median_step(family, ranks, settings, self.steps)
        if seconds > LONG_SECONDS:
            return seconds
        return self.median_step(family, ranks, settings, 20 * self.steps)

    def median_step(self, family, ranks, settings, steps):
        self.run(ranks, f"{family}.toml", f"run.steps={steps}", "run.output=run",
                 "run.state_hash=false", *settings)
        lines = (self.folder / "run/metrics.jsonl").read_text().splitlines()
        return statistics.median(json.loads(line)["step_ms"] for line in lines[1:]) / 1e3


def measure(place, configurations):
    """[(forecast, step)] in seconds, configuration by configuration."""
    for ranks in sorted({ranks for _, ranks, _ in configurations}):
        print(place.calibrate(ranks))
    pairs = []
    for configuration in configurations:
        pairs.append((place.forecast(*configuration), place.step(*configuration)))
        print(f"{1e3 * pairs[-1][0]:8.1f} ms forecast, {1e3 * pairs[-1][1]:8.1f} ms: "
              f"{words_of(configuration)}", flush=True)
    print()
    return pairs


def row_of(configuration, pairs):
    """The median of all rounds, and whether it is as near as it has to be."""
    family, ranks, settings = configuration
    ratio = statistics.median(forecast / step for forecast, step in pairs)
    seconds = statistics.median(step for _, step in pairs)
    passed = seconds < LONG_SECONDS or abs(ratio - 1) <= EACH_WITHIN
    ratios = [forecast / step for forecast, step in pairs]
    print(f"{ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f}) "
          f"{'passed' if passed else 'FAILED'}: {words_of(configuration)}", flush=True)
    return {"family": family, "ranks": ranks, "settings": settings,
            "forecast_s": [pair[0] for pair in pairs], "step_s": [pair[1] for pair in pairs],
            "ratio": ratio, "passed": passed}


def compare(args, place):
    configurations = [c for c in CONFIGURATIONS if args.only in words_of(c)]
    rounds = [measure(place, configurations) for _ in range(args.rounds)]
    return [row_of(configuration, [pairs[index] for pairs in rounds])
            for index, configuration in enumerate(configurations)]


def main():
    args = arguments()
    with tempfile.TemporaryDirectory(dir=args.folder or args.build, prefix="forecast-") as folder:
        rows = compare(args, Place(args, folder))
    middle = statistics.median(abs(row["ratio"] - 1) for row in rows)
    passed = middle <= MEDIAN_WITHIN and all(row["passed"] for row in rows)
    print(f"{len(rows)} configurations, off by {100 * middle:.1f} % in the median: "
          f"{'passed' if passed else 'FAILED'}")
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
