#!/usr/bin/env python3
"""A replay elsewhere is the same as its run, and names the step and the unit of one flipped bit in
a weight, a state, a gradient or a sample. usage: replay_faults.py ZEROAPP MPIEXEC FLIPPING

QUIET runs without a fault (3 unless said), FAULTS runs with one (4), HALVED runs of 1,000 steps in
which --bisect looks for one (0)."""
import os
import random
import re
import shutil
import sys

from program import Program, check, home_settings

STEPS = 8
# In the order of a plan, of digests, and in which units are updated; backward reduces them last to
# first.
UNITS = ("embedding", "h.0", "h.1")
BACKWARD = ("h.1", "h.0", "embedding")
KINDS = ("weight", "momentum", "variance", "gradient", "sample")
MICRO_BATCHES = 8
TRAIN = ("model.width=32", "model.dropout=0.0", "data.sequence_length=16", "run.log_interval=1000",
         "data.validation_fraction=0.0", "numerics.reproducible=true", "run.digest_interval=1",
         "checkpoint.keep=0", "gradient_clipping=0.0", "run.state_hash=false")


def train(program, ranks, *settings, env=None):
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    result = program.train(ranks, *TRAIN, *settings, env=env)
    check(result.finished(), f"{settings} on {ranks} ranks trains", result)


def replay(program, ranks, *words):
    return program.together(ranks, "replay", "runs/tiny", *words)


def drawn_place(program, draw):
    ranks, stage = draw.choice((1, 2, 4)), draw.randrange(4)
    home = draw.choice(("none", "cpu", "nvme")) if stage else "none"
    homes = home_settings(program, stage, home)
    # The homes of the run itself would stay.
    stay = [f"zero.offload_{part}.device=none" for part in ("optimizer", "param")
            if not any(f"offload_{part}.device" in setting for setting in homes)]
    return ranks, (f"zero.stage={stage}", *homes, *stay)


def quiet_runs_are_the_same(program, draw, count):
    for _ in range(count):
        ranks, settings = drawn_place(program, draw)
        train(program, ranks, *settings, f"run.steps={STEPS}", "checkpoint.interval=2")
        ranks, settings = drawn_place(program, draw)
        result = replay(program, ranks, "--from", "2", *settings)
        check("the same: steps 3 to 8" in result.out, f"{settings} on {ranks}: the same", result)
    print(f"{count} of {count} quiet runs are the same", flush=True)


def drawn_fault(draw, first, last):
    """Kind, step and unit of a flipped bit, and what makes it. A sample's is in every unit."""
    kind, step = draw.choice(KINDS), draw.randrange(first, last + 1)
    number = draw.randrange(len(UNITS))
    call, unit = len(UNITS) * (step - 1) + number, UNITS[number]
    place, bit = draw.randrange(32), draw.randrange(8, 31)
    if kind == "gradient":
        unit = BACKWARD[number]
    if kind == "sample":
        call, unit = MICRO_BATCHES * (step - 1) + draw.randrange(MICRO_BATCHES), UNITS[0]
        place, bit = draw.randrange(16), draw.randrange(5)
    return kind, step, unit, {"ZERO_FLIPS": f"{kind}:0:{call}:{place}:{bit}"}


def faults_are_named(program, flipping, draw, count):
    named = 0
    for _ in range(count):
        kind, step, unit, env = drawn_fault(draw, 3, STEPS)
        train(flipping, 1, f"run.steps={STEPS}", "checkpoint.interval=2", env=env)
        ranks, settings = drawn_place(program, draw)
        result = replay(program, ranks, "--from", "2", *settings)
        said = re.search(r"step (\d+) differs from its replay.* of [123] of 3 units, (?:first )?"
                         r"(\S+): ", result.err)
        found = said and (int(said[1]), said[2]) == (step, unit) and result.status == 12
        named += bool(found)
        if not found:
            print(f"{kind} of {unit} in step {step}, {env}, by {settings} on {ranks} ranks: "
                  f"{result.status} {result.err}", flush=True)
    print(f"{named} of {count} faults are named", flush=True)
    check(named == count, "every fault is named")


def faults_are_halved(program, flipping, draw, count):
    for _ in range(count):
        kind, step, unit, env = drawn_fault(draw, 52, 1050)
        train(flipping, 1, "run.steps=1050", "checkpoint.interval=50", "optimizer.lr=1e-3", env=env)
        result = replay(program, 1, "--from", "50", "--bisect")
        said = re.search(r"step (\d+) differs from its replay, found by (\d+) replays: .*units?, "
                         r"(?:first )?(\S+): ", result.err)
        found = said and (int(said[1]), said[3]) == (step, unit)
        check(found, f"{kind} of {unit} in {step}", result)
        check(int(said[2]) <= 12, f"by {said[2]} replays", result)
        print(f"{kind} in step {step} of 1050: {said[2]} replays", flush=True)


def main():
    program, flipping = Program(sys.argv[1:3]), Program([sys.argv[3], sys.argv[2]])
    shutil.rmtree(flipping.folder)
    flipping.folder = program.folder
    draw = random.Random(int(os.environ.get("SEED", 46)))
    quiet_runs_are_the_same(program, draw, int(os.environ.get("QUIET", 3)))
    faults_are_named(program, flipping, draw, int(os.environ.get("FAULTS", 4)))
    faults_are_halved(program, flipping, draw, int(os.environ.get("HALVED", 0)))
    print("every fault is named and nothing else")


main()
