#!/usr/bin/env python3
"""Bytes of whole runs: what is planned is allocated and resident, and is ZeRO's formula.

usage: memory.py ZEROAPP MPIEXEC [families]      families: encoder-decoders and wide vocabularies
"""
import itertools
import json
import os
import resource
import sys

from program import BUCKETED_PAIRS, Program, check

LAYERS, WIDTH, LENGTH, VOCABULARY = 5, 512, 32, 256
MODEL = (f"model.layers={LAYERS}", f"model.width={WIDTH}", "model.heads=8",
         f"data.sequence_length={LENGTH}", "run.threads=1")
MIB = 1 << 20
HUGE_PAGE = 2 * MIB
OUTSIDE_BYTES = 200 * MIB

PAIRS = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 2
[model]
family = "%s"
layers = 2
decoder_layers = 2
width = 256
heads = 4
inner = 1024
""" + BUCKETED_PAIRS + """
[run]
steps = 3
threads = 1
output = "runs/tiny"
[bf16]
enabled = true
[checkpoint]
resume = "never"
"""

# Bytes a parameter: weight, finished gradient, optimizer state with what completes the master.
PRECISIONS = {
    "fp32": ((), 4, 4, 8),
    "bf16": (("bf16.enabled=true",), 2, 2, 10),
    "fp16": (("fp16.enabled=true",), 2, 2, 12),
}


def unit_sizes():
    """Parameters of each unit: the embedding with the final norm, then the blocks."""
    c = WIDTH
    block = [c, c, 3 * c * c, 3 * c, c * c, c, c, c, 4 * c * c, 4 * c, 4 * c * c, c]
    check(all(numel % 64 == 0 for numel in block), "no tensor needs to be aligned")
    return [(VOCABULARY + LENGTH + 2) * c] + [sum(block)] * LAYERS


def padded(ranks):
    """Parameters with every unit filled up to whole blocks of 2048 on every rank."""
    whole = 2048 * ranks
    return sum(-(-numel // whole) * whole for numel in unit_sizes())


def formula(stage, ranks, accumulation, precision, numel):
    """Weights, gradients and optimizer state of a rank in bytes."""
    _, weight, gradient, optimizer = PRECISIONS[precision]
    gradient = gradient if accumulation == 1 else 4
    share = [numel / ranks if stage >= first else numel for first in (3, 2, 1)]
    return {"weights": weight * share[0], "gradients": gradient * share[1],
            "optimizer state": optimizer * share[2]}


def plan_of(program, ranks, stage, accumulation, precision):
    batch = (f"train_batch_size={2 * ranks * accumulation}", "train_micro_batch_size_per_gpu=2")
    result = program.alone("plan", "tiny.toml", "--json", "--ranks", str(ranks), *MODEL, *batch,
                           f"zero.stage={stage}", *PRECISIONS[precision][0])
    check(result.status == 0, f"stage {stage} on {ranks} ranks has a plan", result)
    return json.loads(result.out)


def check_formula(program):
    most = 0
    for ranks, stage, accumulation, precision in itertools.product(
            (2, 4), range(4), (1, 3), PRECISIONS):
        case = f"{ranks} ranks, stage {stage}, {accumulation} micro-batches, {precision}"
        plan = plan_of(program, ranks, stage, accumulation, precision)
        numel = sum(unit_sizes())
        check(plan["parameters"] == numel, f"{plan['parameters']} parameters, not {numel}")
        check(padded(ranks) < 1.01 * numel, f"padding of {padded(ranks) / numel - 1:.2%}")
        rows = formula(stage, ranks, accumulation, precision, padded(ranks))
        for name, expected in rows.items():
            made = plan["bytes"][name]
            check(made == expected, f"{case}: {name} take {made} bytes, not {expected}")
        paper = sum(formula(stage, ranks, accumulation, precision, numel).values())
        made = sum(plan["bytes"][name] for name in rows)
        check(paper <= made <= 1.02 * paper, f"{case}: {made} bytes beside the formula's {paper}")
        most = max(most, made / paper - 1)
    print(f"model states of 48 plans: the formula and at most {most:.3%}")


def check_arena(result, what):
    """Bytes of a run's arena, all of which are planned and resident; its ranks' peaks."""
    check(result.finished(), f"{what} trains to the end", result)
    memory = result.summary["memory"]
    device, pss = memory["device"], memory["peak_pss_bytes"]
    arena = device["allocated_bytes"]
    check(device["planned_bytes"] == arena, f"{what}: allocated as planned: {device}")
    check(device["used_before_bytes"] is None, f"a host holds no contexts: {device}")
    # The mapping ends with its last small page, and a huge page never lies across a mapping's end.
    page = os.sysconf("SC_PAGESIZE")
    resident = {-(-arena // page) * page}
    check({device["resident_bytes"][key] for key in ("min", "mean", "max")} == resident,
          f"{what}: resident are the planned bytes in whole pages, {resident}: {device}")
    return arena, pss


def check_run(program, stage):
    """Bytes of one run: of the arena, and of the largest process so far, shared pages in full."""
    result = program.train(2, *MODEL, "train_batch_size=4", "train_micro_batch_size_per_gpu=2",
                           "run.steps=3", f"zero.stage={stage}")
    arena, pss = check_arena(result, f"stage {stage}")
    # From start to end, and no less than what the summary tells of the steps.
    peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check(arena < pss["min"] <= pss["mean"] <= pss["max"] <= peak, f"{pss} and {peak} at the peak")
    outside = peak - arena
    check(outside <= OUTSIDE_BYTES, f"stage {stage}: {outside / MIB:.1f} MiB outside the arena")
    print(f"stage {stage}: arena {arena / MIB:.1f} MiB, outside {outside / MIB:.1f} MiB")
    return arena, peak


def check_runs(program):
    """What stage 3 saves, to 5 % and two huge pages of the heap. By the resident bytes: the
    proportional ones fall by 10 MiB where other tests have the program's files mapped too."""
    # The peak is of all runs so far, so that those with larger arenas come later.
    (*_, (arena_3, peak_3), (arena_0, peak_0)) = [check_run(program, s) for s in (2, 1, 3, 0)]
    saved, planned = peak_0 - peak_3, arena_0 - arena_3
    print(f"stage 3 saves {saved / MIB:.2f} MiB, the plans say {planned / MIB:.2f}")
    check(abs(saved - planned) <= 0.05 * planned + 2 * HUGE_PAGE,
          f"stage 3 saves {saved / MIB:.1f} MiB at the peak, the plans {planned / MIB:.1f}")


def check_pairs(program):
    """The same of encoder-decoders, whose texts are padded to several lengths."""
    program.write("pairs.tsv", "source\ttarget\n" + "".join(
        f"{i}\t{i}!\n{i} times {i} and {i}\tis {i * i}, {i + i}\n" for i in range(20)))
    for family, stage in itertools.product(("t5", "blenderbot"), (0, 3)):
        program.write("pairs.toml", PAIRS % family)
        result = program.train(2, f"zero.stage={stage}", input_file="pairs.toml")
        what = f"{family} at stage {stage}"
        arena, pss = check_arena(result, what)
        outside = pss["max"] - arena
        check(0 < outside <= OUTSIDE_BYTES, f"{what}: {outside / MIB:.1f} MiB outside the arena")
        print(f"{what}: arena {arena / MIB:.1f} MiB, outside {outside / MIB:.1f} MiB")


def check_products(program):
    """What a library's products want beside their operands grows with no table of a vocabulary."""
    for precision in ("bf16.enabled=true", "fp16.enabled=true"):
        result = program.train(1, "model.layers=1", "model.width=1536", "model.heads=12",
                               "model.vocab_size=50257", "data.sequence_length=64",
                               "data.validation_fraction=0", "train_batch_size=1",
                               "run.steps=2", precision)
        check(result.finished(), f"{precision}: a wide vocabulary trains", result)
        memory = result.summary["memory"]
        outside = memory["peak_pss_bytes"]["max"] - memory["device"]["allocated_bytes"]
        check(0 < outside <= OUTSIDE_BYTES, f"{precision}: {outside / MIB:.1f} MiB outside")
        print(f"vocabulary of 50257, width 1536, {precision}: {outside / MIB:.1f} MiB outside")


def main():
    families = sys.argv[3:] == ["families"]
    program = Program(sys.argv[1:3])
    if families:
        check_pairs(program)
        check_products(program)
    else:
        check_formula(program)
        check_runs(program)
    print("bytes as planned")


main()
