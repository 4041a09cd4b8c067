#!/usr/bin/env python3
"""In reproducible mode ranks, stages, recompute and communicators change no bit of a training."""
from program import Program, check

COMMON = ("numerics.reproducible=true", "run.steps=20")
PRECISIONS = {
    "fp32": (),
    "bf16": ("bf16.enabled=true",),
    "fp16": ("fp16.enabled=true", "fp16.initial_scale_power=24"),
}
# (ranks, stage, further settings, environment)
CASES = (
    (1, 0, (), {}),
    (1, 3, ("activation_checkpointing.recompute=full",), {}),
    (2, 3, (), {}),
    (2, 2, ("activation_checkpointing.recompute=[0]",), {}),
    (2, 1, (), {"ZERO_COMM": "mpi"}),
    (4, 0, (), {}),
    (4, 2, ("activation_checkpointing.recompute=full",), {}),
)
# bf16 goes through all of them, the others through the first and those of more ranks.
FEW = (CASES[0], CASES[2], CASES[4], CASES[6])
LAMB = ("optimizer.type=LAMB",)


def outcome(result):
    return ([line["loss_hex"] for line in result.metrics], result.state(),
            result.summary["eval_loss"])


def check_equal(program, name, settings, cases):
    first = None
    for ranks, stage, further, env in cases:
        case = f"{name}, {ranks} ranks, stage {stage} {' '.join(further)} {env or ''}"
        result = program.train(ranks, *COMMON, *settings, f"zero.stage={stage}", *further, env=env)
        check(result.finished(), f"{case}: trains to the end", result)
        check(len(result.metrics) == 20, f"{case}: one line a step", result)
        check_traffic(case, result)
        first = first or outcome(result)
        check(outcome(result) == first, f"{case}: the bits of the first case", result)
    return first


def check_traffic(case, result):
    for verb, sent in result.summary["sent"].items():
        counts = {key: sent[key] for key in sent["forecast"]}
        check(counts == sent["forecast"], f"{case}: {verb} sends what the plan forecast: {sent}")


def main():
    program = Program()
    seen = {}
    for name, settings in PRECISIONS.items():
        seen[name] = check_equal(program, name, settings, CASES if name == "bf16" else FEW)
    check(len({digest for _, digest, _ in seen.values()}) == 3, "precisions differ from each other")
    result = program.train(1, *COMMON, *PRECISIONS["fp16"])
    check(any(line["skipped"] for line in result.metrics), "fp16 skips at a scale of 2^24", result)
    check_equal(program, "LAMB", LAMB, (CASES[0], CASES[2]))
    print("all equal")


main()
