#!/usr/bin/env python3
"""Refused plans: the change that is printed makes the plan fit, and no part of it does. Then the
two models of DeepSpeed's ZeRO tutorial: which stages fit their machines."""
import itertools
import json
import pathlib
import time

from program import Program, check

MODELS = {
    "small": ("model.layers=4", "model.width=128", "model.heads=4"),
    "wide": ("model.layers=2", "model.width=512", "model.heads=8"),
    "deep": ("model.layers=8", "model.width=128", "model.heads=4"),
}
KINDS = {
    "fp32": (),
    "bf16": ("bf16.enabled=true",),
    "fp16": ("fp16.enabled=true",),
    "LAMB": ("bf16.enabled=true", "optimizer.type=LAMB"),
}
RANKS = (1, 2, 4)
SHARES = (0.95, 0.8, 0.65, 0.5)  # of what the plan needs
BATCH = ("train_batch_size=32", "train_micro_batch_size_per_gpu=8")
INPUTS = pathlib.Path(__file__).resolve().parents[2] / "inputs"
PLAN_SECONDS = 5


class Plan:
    """The answer of `zeroapp plan` to one question; of equal keys the last counts."""

    def __init__(self, program, settings, ranks):
        unique = {setting.split("=")[0]: setting for setting in settings}
        result = program.alone("plan", "tiny.toml", "--json", "--ranks", str(ranks),
                               *unique.values())
        self.status, self.result = result.status, result
        self.bytes = json.loads(result.out)["arena_bytes"] if result.out.startswith("{") else None

    def change(self):
        """The settings and ranks of the printed change; None if nothing fits."""
        line = self.result.error_lines()[0]
        if "cheapest change that fits: " not in line:
            return None
        words = line.split("cheapest change that fits: ")[1].split()
        ranks = int(words[words.index("--ranks") + 1]) if "--ranks" in words else None
        return [word for word in words if "=" in word], ranks


def parts_of(keys, ranks):
    """The change without one of its settings, and without what this one goes with: the samples of
    a micro-batch, or the stage that a key is of."""
    groups = []
    for key in keys:
        together = key.startswith(("gradient_accumulation", "evaluation.micro")) and groups
        groups[-1].append(key) if together else groups.append([key])
    for left_out in groups:
        gone = left_out[0].startswith("zero.stage=")
        yield [key for group in groups if group is not left_out for key in group
               if not (gone and key.startswith("zero.stage3_"))], ranks
    if ranks:
        yield keys, ranks // 2


def check_refusal(program, settings, ranks):
    """True if a change was offered."""
    refused = Plan(program, settings, ranks)
    check(refused.status == 6, f"{settings} on {ranks} ranks is refused", refused.result)
    change = refused.change()
    if change is None:
        return False
    keys, more_ranks = change
    fitting = Plan(program, [*settings, *keys], more_ranks or ranks)
    check(fitting.status == 0, f"{settings} on {ranks}: {change} fits", fitting.result)
    for part, part_ranks in parts_of(keys, more_ranks):
        half = Plan(program, [*settings, *part], part_ranks or ranks)
        check(half.status == 6, f"{settings} on {ranks}: of {change}, {part} does not fit",
              half.result)
    return True


def tutorial_plan(program, name, ranks, *settings):
    begin = time.monotonic()
    result = program.alone("plan", str(INPUTS / f"{name}.toml"), "--machine", "v100_32g",
                           "--ranks", str(ranks), *settings)
    return result, time.monotonic() - begin


def check_tutorial(program):
    for stage in (0, 1):
        refused, _ = tutorial_plan(program, "gpt2_10b", 32, f"zero.stage={stage}")
        check(refused.status == 6, f"10 B at stage {stage} on 32 V100 is refused", refused)
    fitting, seconds = tutorial_plan(program, "gpt2_10b", 32, "zero.stage=2",
                                     "activation_checkpointing.recompute=full")
    check(fitting.status == 0, "10 B at stage 2 with recompute fits 32 V100", fitting)
    check("10279239680 parameters" in fitting.out, "of the published size", fitting)
    check(seconds <= PLAN_SECONDS, f"its plan takes {seconds:.1f} s, at most {PLAN_SECONDS}")
    fitting, _ = tutorial_plan(program, "gpt2_1.5b", 8, "zero.stage=1")
    check(fitting.status == 0, "1.5 B at stage 1 fits 8 V100", fitting)


def main():
    program = Program()
    check_tutorial(program)
    offered = refused = 0
    for (model, numbers), (kind, flags), ranks in itertools.product(
            MODELS.items(), KINDS.items(), RANKS):
        settings = [*BATCH, *numbers, *flags, "run.threads=1"]
        need = Plan(program, settings, ranks).bytes
        check(need, f"{model}, {kind}, {ranks} ranks has a plan")
        for share in SHARES:
            limit = f"memory.device_limit={int(need * share)}"
            offered += check_refusal(program, [*settings, limit], ranks)
            refused += 1
    check(refused >= 120 and offered >= 120, f"{refused} refusals, {offered} with a change")
    print(f"{refused} refusals, {offered} with a change that fits and no part of which does")


main()
