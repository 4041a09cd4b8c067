#!/usr/bin/env python3
"""Every optimizer as whole runs: at each stage, home, precision and rank count it has the same
bytes and takes what is planned; it goes on at other ranks; a checkpoint of another is refused by
name. OPTIMIZERS=all in the environment: each of them in each precision at every place, and not at
two."""
import itertools
import json
import os
import shutil

from program import Program, check, check_refused, home_settings

STEPS = 14
REPRODUCIBLE = "numerics.reproducible=true"
LION = ("optimizer.type=Lion", "optimizer.lr=1e-3", "optimizer.weight_decay=0.1")
SGD = ("optimizer.type=SGD", "optimizer.lr=0.1", "optimizer.weight_decay=1e-3")
OPTIMIZERS = {
    "Lion": LION,
    "SGD": SGD,
    "SGD with momentum": (*SGD, "optimizer.momentum=0.9", "optimizer.nesterov=true"),
}
STATES = {"Lion": ["momentum"], "SGD": [], "SGD with momentum": ["momentum_buffer"]}
PRECISIONS = {
    "fp32": (),
    "bf16": ("bf16.enabled=true",),
    "fp16": ("fp16.enabled=true", "fp16.initial_scale_power=24", "fp16.hysteresis=1"),
}
REST_BYTES = {"fp32": 0, "bf16": 2, "fp16": 4}
# Ranks, stage, home of the states, at stage 3 of the weights too.
PLACES = ((2, 1, "cpu"), (2, 2, "nvme"), (1, 3, "nvme"), (2, 3, "cpu"), (4, 3, "none"))


def outcome(result):
    return ([line["loss_hex"] for line in result.metrics], result.summary["state_sha256"],
            result.summary["eval_loss"])


def check_memory(case, result):
    memory = result.summary["memory"]
    for tier in ("device", "host", "nvme"):
        planned, taken = (memory[tier][f"{which}_bytes"] for which in ("planned", "allocated"))
        check(planned == taken, f"{case}: {tier} takes {taken} bytes of {planned}", result)


def places(name, precision):
    """Every place, or two that go round: over the precisions each optimizer comes to all places,
    and over the optimizers each precision does."""
    if os.environ.get("OPTIMIZERS") == "all":
        return PLACES
    turn = 2 * (list(OPTIMIZERS).index(name) + list(PRECISIONS).index(precision))
    return [PLACES[(turn + i) % len(PLACES)] for i in range(2)]


def places_change_no_bit(program, name, precision):
    common = (*OPTIMIZERS[name], *PRECISIONS[precision], f"run.steps={STEPS}", REPRODUCIBLE)
    first = program.train(1, *common)
    check(first.finished(), f"{name}, {precision}: trains to the end", first)
    losses = [line["loss"] for line in first.metrics]
    check(losses[-1] < losses[0], f"{name}, {precision}: learns: {losses}", first)
    for ranks, stage, home in places(name, precision):
        case = f"{name}, {precision}, {ranks} ranks, stage {stage}, {home}"
        result = program.train(ranks, *common, f"zero.stage={stage}",
                               *home_settings(program, stage, home))
        check(result.finished(), f"{case}: trains to the end", result)
        check(outcome(result) == outcome(first), f"{case}: the bits of one rank", result)
        check_memory(case, result)
    return outcome(first)


def plan_counts_its_states(program, name, precision):
    planned = program.alone("plan", "tiny.toml", "--json", "--ranks", "2", "zero.stage=1",
                            *OPTIMIZERS[name], *PRECISIONS[precision])
    check(planned.status == 0, f"{name}, {precision}: is planned", planned)
    plan = json.loads(planned.out)
    bytes_each = REST_BYTES[precision] + 4 * len(STATES[name])
    wanted = plan["parameters"] * bytes_each / 2
    seen = plan["formula_bytes"]["optimizer state"]
    check(abs(seen - wanted) < 1, f"{name}, {precision}: {seen} bytes of state, {wanted}", planned)


def goes_on_elsewhere(program, name):
    """Five steps on two ranks with states on disk, five on one."""
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    common = (*OPTIMIZERS[name], "bf16.enabled=true", f"run.steps={STEPS}", REPRODUCIBLE,
              "checkpoint.resume=auto")
    straight = program.train(1, *common)
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    program.train(2, *common, "zero.stage=3", *home_settings(program, 3, "nvme"), "run.stop_at=5")
    result = program.train(1, *common)
    check("going on from step 5" in result.out, f"{name}: goes on", result)
    check(outcome(result) == outcome(straight), f"{name}: the bytes of one launch", result)
    seen = program.alone("inspect", "runs/tiny")
    for state in ("momentum", "variance", "momentum_buffer"):
        kept = f"optimizer/{state}/" in seen.out
        check(kept == (state in STATES[name]), f"{name}: keeps {STATES[name]}", seen)


def others_are_refused_by_name(program):
    """The run folder holds a checkpoint of SGD with momentum."""
    for settings, words in ((LION, ("SGD", "momentum_buffer", "Lion", "momentum")),
                            ((), ("SGD", "momentum_buffer", "AdamW", "momentum and variance")),
                            (SGD, ("SGD", "momentum_buffer", "no state"))):
        result = program.train(1, *settings, "bf16.enabled=true", "run.steps=20",
                               "checkpoint.resume=auto")
        check_refused(result, 3, "the optimizer is", *words, "begin anew")


def main():
    program = Program()
    seen = {}
    for name, precision in itertools.product(OPTIMIZERS, PRECISIONS):
        plan_counts_its_states(program, name, precision)
        seen[name, precision] = places_change_no_bit(program, name, precision)
    check(len({digest for _, digest, _ in seen.values()}) == len(seen), "all differ")
    for name in OPTIMIZERS:
        goes_on_elsewhere(program, name)
    others_are_refused_by_name(program)
    print("every optimizer the same bytes")


main()
