#!/usr/bin/env python3
"""Sixty refused plans: the change that is printed makes the plan fit, and no part of it does."""
import itertools
import json

from program import Program, check

MODELS = {
    "small": ("model.layers=4", "model.width=128", "model.heads=4"),
    "wide": ("model.layers=2", "model.width=512", "model.heads=8"),
    "deep": ("model.layers=8", "model.width=128", "model.heads=4"),
}
PRECISIONS = {"fp32": (), "bf16": ("bf16.enabled=true",)}
RANKS = (1, 2, 4)
SHARES = (0.95, 0.8, 0.65, 0.5)  # of what the plan needs
BATCH = ("train_batch_size=32", "train_micro_batch_size_per_gpu=8")


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
    """The change without one of its settings; a micro-batch goes with its accumulation."""
    groups = []
    for key in keys:
        together = key.startswith(("gradient_accumulation", "evaluation.micro")) and groups
        groups[-1].append(key) if together else groups.append([key])
    for left_out in range(len(groups)):
        yield sum(groups[:left_out] + groups[left_out + 1:], []), ranks
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
        check(half.status in (2, 6), f"{settings} on {ranks}: of {change}, {part} does not fit",
              half.result)
    return True


def main():
    program = Program()
    offered = refused = 0
    for (model, numbers), (precision, flags), ranks in itertools.product(
            MODELS.items(), PRECISIONS.items(), RANKS):
        settings = [*BATCH, *numbers, *flags, "run.threads=1"]
        need = Plan(program, settings, ranks).bytes
        check(need, f"{model}, {precision}, {ranks} ranks has a plan")
        for share in SHARES:
            limit = f"memory.device_limit={int(need * share)}"
            offered += check_refusal(program, [*settings, limit], ranks)
            refused += 1
    check(refused >= 60 and offered >= 60, f"{refused} refusals, {offered} with a change")
    print(f"{refused} refusals, {offered} with a change that fits and no part of which does")


main()
