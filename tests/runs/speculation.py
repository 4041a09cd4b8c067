#!/usr/bin/env python3
"""Updates before the norm is known, of whole runs: they change no bit however often attempts are
clipped or skipped, take the bytes that are planned, go on from checkpoints with and without, and
are refused by name where they cannot work.

usage: speculation.py ZEROAPP MPIEXEC
"""
import json

from program import Program, check, check_refused

OPTIMIZER = "zero.offload_optimizer"
ON_HOST = f"{OPTIMIZER}.device=cpu"
SPECULATE = f"{OPTIMIZER}.speculate"
BF16 = ("bf16.enabled=true",)
FP16 = ("fp16.enabled=true", "fp16.initial_scale_power=24")
OFTEN, NEVER = "gradient_clipping=0.05", "gradient_clipping=0"
ONE, FOUR = "gradient_accumulation_steps=1", "gradient_accumulation_steps=4"
# What differs, stage, ranks and further settings. Of fp16 the first attempts overflow.
CASES = (
    ("bf16, clipped often", 1, 1, (*BF16, OFTEN)),
    ("bf16, never clipped", 1, 1, (*BF16, NEVER)),
    ("bf16, default clipping, accumulated", 2, 1, (*BF16, FOUR)),
    ("bf16, clipped often, two ranks", 1, 2, (*BF16, OFTEN)),
    ("bf16, never clipped, two ranks", 2, 2, (*BF16, NEVER)),
    ("bf16, clipped often, stage 3", 3, 2, (*BF16, OFTEN, FOUR)),
    ("bf16, never clipped, stage 3", 3, 2, (*BF16, NEVER, "zero.stage3_max_reuse_distance=0")),
    ("fp16, overflows", 1, 2, (*FP16, NEVER)),
    ("fp16, overflows, clipped", 2, 1, (*FP16, OFTEN)),
    ("fp16, overflows, stage 3, reproducible", 3, 2, (*FP16, "numerics.reproducible=true", FOUR)),
    ("bf16, reproducible", 2, 2, (*BF16, "numerics.reproducible=true", FOUR)),
    ("fp32, unclipped", 3, 1, (NEVER,)),
)


def batch(settings, ranks):
    """One micro-batch a rank and step where nothing else is said."""
    words = settings if any("accumulation" in word for word in settings) else (*settings, ONE)
    micro_batches = 4 if FOUR in words else 1
    return (*words, f"train_batch_size={micro_batches * ranks}", "model.layers=4")


def outcome(result):
    return ([(line["loss_hex"], line["skipped"]) for line in result.metrics], result.state(),
            result.summary["eval_loss"])


def host_bytes(case, result):
    memory = result.summary["memory"]
    for tier in ("device", "host"):
        planned, allocated = (memory[tier][f"{which}_bytes"] for which in ("planned", "allocated"))
        check(planned == allocated, f"{case}: {tier} takes {allocated} bytes of {planned}", result)
    return memory["host"]["planned_bytes"]


def speculation_changes_no_bit(program):
    for case, stage, ranks, settings in CASES:
        steps = 20 if "fp16" in case else 8
        common = (*batch(settings, ranks), f"zero.stage={stage}", f"run.steps={steps}")
        plain = program.train(ranks, *common)
        beside = program.alone("plan", "tiny.toml", "--json", "--ranks", str(ranks), *common,
                               ON_HOST, f"{SPECULATE}=false")
        ahead = program.train(ranks, *common, ON_HOST, f"{SPECULATE}=true")
        check(ahead.finished() and "before the norm is known" in ahead.out, case, ahead)
        check(outcome(ahead) == outcome(plain), f"{case}: the bits without", ahead)
        without = json.loads(beside.out)["tiers"]["host"]["arena_bytes"]
        more = host_bytes(case, ahead) - without
        check(more > 0, f"{case}: {more} more bytes of host memory", ahead)
        skipped = sum(line["skipped"] for line in ahead.metrics)
        check((skipped > 0) == ("fp16" in case), f"{case}: {skipped} attempts skipped", ahead)
        clipped = sum(line["grad_norm"] > 0.05 for line in ahead.metrics if not line["skipped"])
        check(clipped > 0, f"{case}: norms above the least clip", ahead)


def runs_go_on_with_and_without(program):
    """Four steps of one kind and four of the other are eight."""
    common = (*batch((*BF16, NEVER), 1), "zero.stage=1", "run.steps=8", ON_HOST,
              "checkpoint.resume=auto")
    program.write("whole.toml", (program.folder / "tiny.toml").read_text())
    whole = program.wait(program.start(1, *common, f"{SPECULATE}=false", input_file="whole.toml"),
                         "whole")
    for first, second in (("true", "false"), ("false", "true"), ("true", "true")):
        name = f"{first}_{second}"
        program.write(f"{name}.toml", (program.folder / "tiny.toml").read_text())
        for speculate, stop in ((first, 5), (second, 0)):
            part = program.wait(program.start(1, *common, f"run.stop_at={stop}",
                                              f"{SPECULATE}={speculate}",
                                              input_file=f"{name}.toml"), name)
            check(part.finished(), f"{speculate} of {name} trains to its end", part)
        check(part.state() == whole.state(), f"{name}: the bits of one launch", part)


def what_cannot_work_is_refused_by_name(program):
    on = (ON_HOST, f"{SPECULATE}=true")
    check_refused(program.alone("tiny.toml", "zero.stage=1", *on, "optimizer.type=LAMB"), 2,
                  SPECULATE, "another optimizer.type")
    check_refused(program.alone("tiny.toml", "zero.stage=3", *on, "zero.offload_param.device=cpu"),
                  2, SPECULATE, 'zero.offload_param.device = "none"')
    check_refused(program.alone("tiny.toml", "zero.stage=1", f"{OPTIMIZER}.device=nvme",
                                f"{OPTIMIZER}.nvme_path=.", f"{SPECULATE}=true"), 2,
                  SPECULATE, 'device = "cpu"')
    check_refused(program.alone("tiny.toml", "zero.stage=1", f"{OPTIMIZER}.super_offload=true"), 2,
                  "super_offload", f"{SPECULATE} = true")
    check_refused(program.alone("tiny.toml", "zero.stage=1", ON_HOST, f"{SPECULATE}=2"), 2,
                  SPECULATE, 'true, false or "auto"')
    words = ("plan", "tiny.toml", "--json", "zero.stage=1", ON_HOST)
    plain = json.loads(program.alone(*words, f"{SPECULATE}=false").out)
    check(plain["updates"]["before_the_norm"] == 0, "false speculates nothing", None)
    auto = json.loads(program.alone(*words).out)
    plain["limit_bytes"] = auto["limit_bytes"]  # what is free changes from moment to moment
    check(auto == plain, "auto changes no plan of a host", None)
    tight = (f"memory.host_limit={plain['arena_bytes'] + host_arena(plain) + 4096}",)
    check(program.alone(*words, f"{SPECULATE}=false", *tight).status == 0, "without it fits", None)
    check_refused(program.alone(*words, f"{SPECULATE}=true", *tight), 6, SPECULATE,
                  'write speculate = "auto"')


def host_arena(plan):
    return plan["tiers"]["host"]["arena_bytes"]


def main():
    program = Program()
    what_cannot_work_is_refused_by_name(program)
    speculation_changes_no_bit(program)
    runs_go_on_with_and_without(program)
    print("updates before the norm are the same updates")


main()
