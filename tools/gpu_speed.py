#!/usr/bin/env python3
"""How fast one model trains on one GPU: some steps on synthetic tokens, of length 1024 for a GPT-2.

usage: gpu_speed.py ZEROAPP MODEL MICRO_BATCH [key=value ...] [--tokens N] [--fp16] [--steps N]
                    [--to FILE] [--trace FILE]

MODEL is a name that zeroapp knows, or layers x width x heads, as 16x4096x32. Prints tokens/s, the
median of the steps behind the first quarter, as a share of the 989 TFLOP/s that Hopper's data sheet
promises in 16 bits, and what took the device's time. A GPT-2 costs 6 N + 6 L C T operations a token
(src/model/README.md), an encoder-decoder what `zeroapp plan` forecasts for a step without the key
recompute. Its texts have the lengths of inputs/t5_large_en_ro.toml and inputs/blenderbot_400m.toml,
and tokens/s are those of targets. The first two steps never count: the first measures products op
by op, the second is recorded. "exposed" is the time a step in which compute waited for transfers,
disks or peers. --tokens is of a step, of sources and targets together, by default one micro-batch.
--to appends the same as a line of JSON. --trace keeps the last steps, op by op, which are then
queued one by one and slower.

Ends with 77 where the model does not fit the device, and with 1 where the training failed, or ran
on a GPU without cuDNN's attention, several times slower: such a figure tells nothing of the model.
"""
import argparse
import json
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

PEAK = 989e12
LENGTH = 1024
COLD_STEPS = 2
DOES_NOT_FIT, NOT_JUDGED = 6, 77
SHAPES = {"gpt2": (12, 768), "gpt2-medium": (24, 1024), "gpt2-large": (36, 1280),
          "gpt2-xl": (48, 1600), "gpt2_1.5b": (48, 1600), "gpt2_10b": (50, 4096)}
# Encoder-decoders: tokens of a source and of a target.
PAIRS = {"t5-large": (128, 128), "t5-3b": (128, 128), "blenderbot-400M-distill": (128, 64)}
INPUT = """
train_batch_size = {batch}
train_micro_batch_size_per_gpu = {micro}
[model]
{size}
dropout = 0.0
[data]
train = "synthetic"
{lengths}
[run]
steps = {steps}
state_hash = false
output = "run"
[optimizer]
lr = 1e-4
[{dtype}]
enabled = true
"""


def shape_of(model):
    """A GPT-2's layers and width, and the lines that name a model in an input file."""
    if model in PAIRS:
        return None, None, f'name = "{model}"'
    if model in SHAPES:
        return *SHAPES[model], f'name = "{model}"'
    extents = re.fullmatch(r"(\d+)x(\d+)x(\d+)", model)
    if not extents:
        sys.exit(f"gpu_speed.py: model '{model}': layers x width x heads, or one of "
                 f"{[*SHAPES, *PAIRS]}")
    layers, width, heads = map(int, extents.groups())
    return (layers, width,
            f"layers = {layers}\nwidth = {width}\nheads = {heads}\nvocab_size = 50304")


def lengths_of(model):
    """The tokens of a sample, and the lines that say so."""
    if model not in PAIRS:
        return LENGTH, f"sequence_length = {LENGTH}"
    source, target = PAIRS[model]
    return source + target, f"source_length = {source}\ntarget_length = {target}"


def operations_of(zeroapp, path, place):
    """What a step of an encoder-decoder multiplies and adds without the key recompute. A plan that
    does not fit the machine is told all the same."""
    result = subprocess.run([str(zeroapp), "plan", str(path), "--json", "--machine", "h200_141g"],
                            cwd=place, text=True, stdout=subprocess.PIPE, check=False)
    return json.loads(result.stdout)["forecast"]["flops"]


def train(zeroapp, place, options):
    """The run's metrics and summary, and a step's operations where a formula does not tell them.
    Where it failed, the end, behind its last words."""
    path = place / "speed.toml"
    length, lengths = lengths_of(options.model)
    batch = max(options.micro, (options.tokens or 0) // length)
    path.write_text(INPUT.format(batch=batch, micro=options.micro, size=shape_of(options.model)[2],
                                 lengths=lengths, steps=options.steps,
                                 dtype="fp16" if options.fp16 else "bf16"))
    traced = ["profile.trace=true"] if options.trace else []
    result = subprocess.run([str(zeroapp), str(path), *traced, *options.settings], cwd=place,
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            check=False)
    if result.returncode != 0:
        print(result.stdout[-2000:])
        sys.exit(NOT_JUDGED if result.returncode == DOES_NOT_FIT else 1)
    if options.trace:
        shutil.copyfile(place / "run" / "trace.json", options.trace)
    metrics = (place / "run" / "metrics.jsonl").read_text().splitlines()
    flops = operations_of(zeroapp, path, place) if options.model in PAIRS else None
    return ([json.loads(line) for line in metrics],
            json.loads((place / "run" / "summary.json").read_text()), flops)


def memory_of(metrics, summary):
    """Bytes of the device: those of the plan, what was in use before them, and the most of all."""
    device = summary["memory"]["device"]
    before = device["used_before_bytes"]
    return {"planned": device["planned_bytes"], "allocated": device["allocated_bytes"],
            "before": before and int(before["max"]),
            "peak": metrics[-1].get("device_bytes_peak")}


def lacks_attention(summary):
    """On a GPU, whose bytes the summary then tells, attention is our own kernels'."""
    is_gpu = summary["memory"]["device"]["used_before_bytes"] is not None
    return is_gpu and not summary["libraries"]["attention"]


def figures(options, metrics, summary, flops):
    """flops: of a step, None for a GPT-2."""
    layers, width, _ = shape_of(options.model)
    tokens = metrics[-1]["tokens"]
    a_token = (flops / tokens if flops else
               6 * summary["parameters"] + 6 * layers * width * LENGTH)
    steady = metrics[max(COLD_STEPS, len(metrics) // 4):]
    rates = [line["tokens_per_s"] for line in steady]
    rate = statistics.median(rates)
    phases = {name: round(1e3 * spread["mean"] / len(metrics), 3)
              for name, spread in summary["phases"].items()}
    return {"model": options.model, "settings": options.settings, "micro_batch": options.micro,
            "dtype": "fp16" if options.fp16 else "bf16", "tokens_a_step": tokens,
            "steps": len(metrics), "steps_counted": len(steady),
            "step_ms": statistics.median(x["step_ms"] for x in steady),
            "exposed_ms": statistics.median(x["exposed_ms"] for x in steady),
            "tokens_per_s": rate, "least": min(rates), "most": max(rates),
            "mfu": rate * a_token / PEAK, "first_loss": metrics[0]["loss"],
            "last_loss": metrics[-1]["loss"], "ms_a_step": phases,
            "libraries": summary["libraries"],
            "device_bytes": memory_of(metrics, summary)}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("zeroapp", type=pathlib.Path)
    parser.add_argument("model")
    parser.add_argument("micro", type=int)
    parser.add_argument("settings", nargs="*")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--fp16", action="store_true")
    parser.add_argument("--to", type=pathlib.Path)
    parser.add_argument("--trace", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    if options.steps <= COLD_STEPS:
        parser.error(f"--steps {options.steps}: the first {COLD_STEPS} do not count; at least "
                     f"{COLD_STEPS + 1} give a figure")
    return options


def main():
    options = parse()
    # The training ends with this one: a check that is cut leaves the GPU to the next.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="gpu-speed-") as place:
        done = train(options.zeroapp.resolve(), pathlib.Path(place), options)
    found = figures(options, *done)
    print(f"{found['model']} {found['dtype']}, {found['tokens_a_step']} tokens a step in "
          f"micro-batches of {found['micro_batch']} {' '.join(found['settings'])}: "
          f"{found['tokens_per_s']:.0f} tokens/s ({found['least']:.0f} to {found['most']:.0f} in "
          f"{found['steps_counted']} steps), "
          f"{100 * found['mfu']:.1f} % of 989 TFLOP/s, {found['exposed_ms']:.1f} ms exposed of "
          f"{found['step_ms']:.1f}, bytes of the device {found['device_bytes']}, loss "
          f"{found['first_loss']:.3f} to {found['last_loss']:.3f}, ms a step by phase: "
          f"{found['ms_a_step']}, libraries {found['libraries']}")
    if lacks_attention(done[1]):
        sys.exit("gpu_speed.py: attention is not cuDNN's: the figure is left out; make "
                 "libcudnn.so.9 of 9.16 or later, and libnvrtc, known to the loader")
    if options.to:
        with options.to.open("a") as out:
            out.write(json.dumps(found) + "\n")


main()
