#!/usr/bin/env python3
"""How fast one program trains and generates beside another, in turn:

  tools/paired_speed.py BASE HEAD [--pairs N] [--only WORD] [--folder DIR]

BASE and HEAD are programs, made with the same preset. Cases: GPT-2 124M in fp32 and bf16 on one
rank with all cores, two of its layers on two ranks at stage 3 in both, and a text that a model of
its width continues; the start of 124M, three steps that each save 1.5 GB, and a start that loads
as much. A run's figure is the median time of its steps but the first, of a start the time before
step 1, of saves and of generate that of the process. Printed is, pair by pair, BASE / HEAD: above
1 HEAD is faster. Status 0: every median is at least --at-least.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
FP32, BF16 = ("bf16.enabled=false",), ("bf16.enabled=true",)
LARGE = ("train_micro_batch_size_per_gpu=1", "data.sequence_length=256")
SMALL = ("model.name=", "model.layers=2", "model.width=768", "model.heads=12",
         "train_micro_batch_size_per_gpu=1", "data.sequence_length=256", "run.steps=16",
         "zero.stage=3")
CASES = {
    "124M, fp32, 1 rank": (1, (*LARGE, *FP32, "train_batch_size=1", "run.steps=6")),
    "124M, bf16, 1 rank": (1, (*LARGE, *BF16, "train_batch_size=1", "run.steps=6")),
    "2 layers, fp32, 2 ranks, stage 3": (2, (*SMALL, *FP32, "train_batch_size=2")),
    "2 layers, bf16, 2 ranks, stage 3": (2, (*SMALL, *BF16, "train_batch_size=2")),
}
# A text has a tokenizer; synthetic tokens have none.
WRITER = ("model.name=", "model.layers=12", "model.width=768", "model.heads=12",
          "data.train=text.txt", "data.sequence_length=256", "train_micro_batch_size_per_gpu=1",
          "train_batch_size=1", "run.steps=1", "bf16.enabled=false", "checkpoint.interval=1",
          "checkpoint.weights_only=true")
GENERATE = "12 layers of bytes, fp32, generate 200 tokens"
START = "124M, bf16, start to step 1"
SAVED = ("model.name=", "model.layers=12", "model.width=768", "model.heads=12",
         "model.vocab_size=28672", "train_micro_batch_size_per_gpu=1", "train_batch_size=1",
         "data.sequence_length=64", "bf16.enabled=true", "zero.stage=3")
SAVE = "107M, bf16, 3 steps and saves"
LOAD = "107M, bf16, load to step 2"
COMMON = ("data.validation_fraction=0", "data.tokenizer=bytes", "run.record=false",
          "run.log_interval=1")
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def call(command, folder):
    result = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True,
                            check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {result.returncode}\n{result.stdout[-1000:]}"
                 f"{result.stderr[-1000:]}")


def train(program, ranks, settings, folder, run):
    shutil.rmtree(folder / run, ignore_errors=True)
    threads = max(1, len(os.sched_getaffinity(0)) // ranks)
    call(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), program,
          str(ROOT / "inputs/gpt2_124m.toml"), *COMMON, "data.train=synthetic", *settings,
          f"run.threads={threads}", f"run.output={run}"], folder)


def step_ms(program, ranks, settings, folder):
    train(program, ranks, settings, folder, "run")
    lines = (folder / "run/metrics.jsonl").read_text().splitlines()
    times = [json.loads(line)["step_ms"] for line in lines if '"step_ms"' in line]
    return statistics.median(times[1:])


def start_ms(program, settings, folder):
    train(program, 1, settings, folder, "run")
    return 1000 * json.loads((folder / "run/summary.json").read_text())["launch"]["start_seconds"]


def save_ms(program, folder):
    """Times the whole process on a disk done with earlier writes, as summaries time steps alone."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    os.sync()
    start = time.monotonic()
    train(program, 1, (*SAVED, "run.steps=3", "checkpoint.interval=1"), folder, "run")
    return 1000 * (time.monotonic() - start)


def load_ms(program, folder):
    saved = "saved-" + name_of(program)
    if not (folder / saved).exists():
        train(program, 1, (*SAVED, "run.steps=1", "checkpoint.interval=1"), folder, saved)
    return start_ms(program, (*SAVED, "run.steps=2", f"checkpoint.resume_from={saved}"), folder)


def generate_ms(program, folder):
    start = time.monotonic()
    call([program, "generate", writer_of(program), "--prompt", "In the beginning"], folder)
    return 1000 * (time.monotonic() - start)


def name_of(program):
    return hashlib.sha256(program.encode()).hexdigest()[:8]


def writer_of(program):
    return "writer-" + name_of(program)


def make_writer(program, folder):
    """A run of one step, from whose weights its own program continues a text."""
    if not (folder / writer_of(program)).exists():
        (folder / "text.txt").write_text((ROOT / "README.md").read_text() * 8)
        call([program, str(ROOT / "inputs/gpt2_124m.toml"), *COMMON, *WRITER,
              f"run.output={writer_of(program)}"], folder)


def compare(name, measure, programs, pairs):
    """The median of the ratios; the first pair warms up."""
    ratios, last = [], ()
    for pair in range(pairs + 1):
        order = programs if pair % 2 == 0 else programs[::-1]
        times = {program: measure(program) for program in order}
        last = (times[programs[0]], times[programs[1]])
        if pair > 0:
            ratios.append(last[0] / last[1])
    median = statistics.median(ratios)
    print(f"{name}: {median:.3f} ({min(ratios):.3f} to {max(ratios):.3f}, {pairs} pairs; the last "
          f"{last[0]:.0f} and {last[1]:.0f} ms)", flush=True)
    return median


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=pathlib.Path)
    parser.add_argument("head", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", default="", help="cases with this word in their names")
    parser.add_argument("--at-least", type=float, default=0.98)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/paired_speed")
    return parser.parse_args()


def cases(programs, folder):
    """What is measured, as (name, function of a program)."""
    for name, (ranks, settings) in CASES.items():
        yield name, lambda program, ranks=ranks, settings=settings: step_ms(
            program, ranks, settings, folder)
    yield START, lambda program: start_ms(
        program, (*LARGE, "train_batch_size=1", "run.steps=1"), folder)
    yield SAVE, lambda program: save_ms(program, folder)
    yield LOAD, lambda program: load_ms(program, folder)

    def generate(program):
        make_writer(program, folder)
        return generate_ms(program, folder)

    yield GENERATE, generate


def main():
    words = options()
    programs = [str(words.base.resolve()), str(words.head.resolve())]
    words.folder.mkdir(parents=True, exist_ok=True)
    medians = [compare(name, measure, programs, words.pairs)
               for name, measure in cases(programs, words.folder) if words.only in name]
    return 0 if medians and min(medians) >= words.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
