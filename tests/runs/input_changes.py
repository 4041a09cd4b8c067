#!/usr/bin/env python3
"""Every input of inputs/ on eight cards and on 1, 2, 8 and 32 ranks, with texts after evaluations
and without: where its plan is refused, the change that is printed makes all of it fit, the room of
texts included, and no part of the change does. SHARE=K/N in the environment takes each N-th case
from the K-th on."""
import itertools
import json
import os
import re

from changes import INPUTS, Plan, check_refusal
from program import Program, check, check_refused

CARDS = ("titan_rtx_24g", "rtx_3090_24g", "v100_32g", "a100_40g", "a100_80g", "h100_80g",
         "h200_141g", "b200_192g")
RANKS = (1, 2, 8, 32)
# What asks for texts of a model that answers, and of one that goes on.
ANSWERS = ("evaluation.generate=false", "evaluation.generate=true")
SAMPLES = ("evaluation.show_samples=0", "evaluation.show_samples=8")
VALIDATED = re.compile("^validation", re.MULTILINE)
# Cards alike but for a share of their memory: what fits a whole card is short of a part of it.
SHARES = (1, 0.5)


def cases():
    names = sorted(path.stem for path in INPUTS.glob("*.toml") if path.stem != "reference")
    everything = list(itertools.product(names, CARDS, RANKS, SHARES, (0, 1)))
    first, of = map(int, os.environ.get("SHARE", "1/1").split("/"))
    return everything[first - 1::of]


def judged(program, name, card, ranks, share, texts):
    """What became of a case."""
    Plan.input, Plan.machine = str(INPUTS / f"{name}.toml"), card
    answers = name.startswith(("t5", "blenderbot"))
    settings = [(ANSWERS if answers else SAMPLES)[texts]]
    # Samples need validation data, which inputs/gpt2_1.5b.toml and gpt2_10b.toml leave out.
    if not answers and not VALIDATED.search((INPUTS / f"{name}.toml").read_text()):
        settings.append("data.validation_fraction=0.01")
    plan = Plan(program, settings, ranks)
    if plan.status == 2:
        check_refused(plan.result, 2, "train = micro x accumulation x ranks")
        return "these ranks cannot share its batch"
    if share < 1:
        limit = json.loads(plan.result.out)["limit_bytes"]
        settings.append(f"memory.device_limit={int(limit * share)}")
        plan = Plan(program, settings, ranks)
    if plan.status == 0:
        return "fits"
    if check_refusal(program, settings, ranks) is None:
        return "nothing would fit"
    return "a change fits"


def main():
    program = Program()
    counts = {}
    for case in cases():
        outcome = judged(program, *case)
        counts[outcome] = counts.get(outcome, 0) + 1
        Plan.answers.clear()
    check(counts.get("a change fits", 0) > sum(counts.values()) / 20, f"{counts}")
    print(f"{counts}: each change fits, and no part of it does")


if __name__ == "__main__":
    main()
