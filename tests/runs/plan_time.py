#!/usr/bin/env python3
"""A plan for many micro-batches takes little longer than one for two, and one for many layers not
much more than its share: in seconds of the processor beside those of a small plan, so that it holds
on busy machines."""
import itertools
import math
import resource

from program import Program, check

RANKS = 4
# Measured: 4, and 25 for ten times the layers. With every micro-batch written out it is more than a
# thousand, and with every buffer held against every other one 75.
MOST_FOR_MICRO_BATCHES, MOST_FOR_LAYERS = 20, 50


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def planned(program, micro_batches, layers, *settings, most=3600):
    """Seconds of the processor; what takes much more than `most` is ended."""
    limit = (math.ceil(most) + 1, math.ceil(most) + 1)
    line = [str(program.zeroapp), "plan", "tiny.toml", "--ranks", str(RANKS), "--machine",
            "h100_80g", f"train_batch_size={micro_batches * RANKS}", f"model.layers={layers}",
            *settings]
    before = used()
    result = program.wait(program.popen(
        line, before=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit)))
    seconds = used() - before
    what = f"{micro_batches} micro-batches, {layers} layers, {settings}"
    check(result.status == 0 and seconds <= most,
          f"{what}: {seconds:.2f} s of the processor, at most {most:.2f}", result)
    check(f"batch {micro_batches * RANKS} = 1 x {micro_batches} x {RANKS}" in result.out, what,
          result)
    return seconds


def many_micro_batches_are_planned_as_few(program):
    for stage, reproducible in itertools.product((0, 3), ("false", "true")):
        settings = (f"zero.stage={stage}", f"numerics.reproducible={reproducible}")
        few = min(planned(program, 2, 12, *settings) for _ in range(3))
        many = planned(program, 80000, 12, *settings, most=MOST_FOR_MICRO_BATCHES * few)
        print(f"80000 micro-batches, {settings}: {many / few:.1f} times the plan of 2")


def a_thousand_layers_are_planned(program):
    few = min(planned(program, 2, 100, "zero.stage=3") for _ in range(3))
    many = planned(program, 2, 1000, "zero.stage=3", most=MOST_FOR_LAYERS * few)
    print(f"1000 layers: {many / few:.1f} times the plan of 100, {many:.2f} s")


def main():
    program = Program()
    many_micro_batches_are_planned_as_few(program)
    a_thousand_layers_are_planned(program)
    print("plans take no longer")


main()
