#!/usr/bin/env python3
"""A tiny T5 learns from pairs of mixed lengths, each micro-batch padded to one of a few pairs of
lengths: the same bytes at every rank count and stage, also behind a stop in the middle, and the
losses of one pair for all but for rounding. A tiny BlenderBot that is stopped goes on likewise."""
import json

from program import BUCKETED_PAIRS, Program, check, check_refused

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 2
[model]
family = "t5"
layers = 1
decoder_layers = 1
width = 16
heads = 2
inner = 24
head_width = 8
dropout = 0.0
""" + BUCKETED_PAIRS + """
[run]
steps = 10
threads = 1
[optimizer]
lr = 1e-2
[numerics]
reproducible = true
[evaluation]
interval = 5
[checkpoint]
resume = "never"
"""
SHORT = [(f"{i}", f"{i}!") for i in range(20)]
LONG = [(f"{i} times {i} and {i}", f"is {i * i}, {i + i}") for i in range(20)]


def trained(program, name, ranks, *settings, model="t5"):
    result = program.wait(program.start(ranks, *settings, f"run.output=runs/{name}",
                                        input_file=f"{model}.toml"), run=name)
    check(result.finished(), f"{name}: {ranks} ranks with {settings}", result)
    return result


def losses_of(result):
    return [row["loss"] for row in result.metrics if "loss" in row]


def bytes_are_those_of_one_rank(program):
    states = set()
    for ranks, stage in ((1, 0), (2, 0), (4, 3), (2, 3)):
        result = trained(program, f"at_{ranks}_{stage}", ranks, f"zero.stage={stage}",
                         "model.dropout=0.1")
        check("% of 8x8" in result.out and "% of 40x24" in result.out
              and "of tokens are padding" in result.out, "the banner says the shares", result)
        states.add((result.summary["state_sha256"], result.summary["eval_loss"]))
    check(len(states) == 1, f"one state and not {states}")
    again = program.alone("eval", "runs/at_1_0", "--json")
    check(json.loads(again.out)["loss"] == result.summary["eval_loss"], "eval says", again)
    return states.pop()


def a_stop_in_the_middle_changes_no_byte(program, state):
    trained(program, "stopped", 2, "run.stop_at=4", "model.dropout=0.1", "checkpoint.interval=4")
    result = trained(program, "stopped", 1, "zero.stage=2", "checkpoint.resume=require",
                     "model.dropout=0.1", "checkpoint.interval=4")
    check("going on from step 4" in result.out and "data.length_buckets" not in result.out,
          "goes on with the same pairs", result)
    check((result.summary["state_sha256"], result.summary["eval_loss"]) == state,
          "the bytes of a run that never stopped", result)
    other = program.wait(program.start(1, "run.output=runs/stopped", "checkpoint.resume=require",
                                       "data.length_buckets=none", "run.steps=12",
                                       input_file="t5.toml"), run="stopped")
    check('changed since: data.length_buckets = "8x8, 40x24", now "none"' in other.out,
          "other pairs are told", other)
    check("order of samples: by lengths of 8x8, 40x24, in micro-batches of 2, now by no length; "
          "some of this epoch come twice" in other.out, "and what follows from them", other)


def nor_of_a_blenderbot(program):
    words = ("model.dropout=0.1", "bf16.enabled=true", "checkpoint.interval=3")
    straight = trained(program, "talks", 1, *words, model="blenderbot")
    trained(program, "stopped_talks", 1, *words, "run.stop_at=6", model="blenderbot")
    result = trained(program, "stopped_talks", 2, *words, "zero.stage=3",
                     "checkpoint.resume=require", model="blenderbot")
    check("going on from step 6" in result.out, "goes on", result)
    check(result.state() == straight.state()
          and result.summary["eval_loss"] == straight.summary["eval_loss"],
          "a BlenderBot has the bytes of a run that never stopped", result)


def so_are_those_of_half_precision_beside_frozen_parameters(program):
    words = ('model.freeze=["encoder.block.0.*"]', "fp16.enabled=true",
             "fp16.initial_scale_power=8", "model.dropout=0.1")
    states = {trained(program, name, ranks, *words, *where).state()
              for name, ranks, where in (("frozen_1", 1, ("zero.stage=0",)),
                                         ("frozen_2", 2, ("zero.stage=3",
                                                          "zero.offload_optimizer.device=cpu")))}
    check(len(states) == 1, f"one state and not {states}")


def losses_are_those_of_one_pair(program):
    """A step of all samples sees the same ones in any order."""
    whole = ("train_batch_size=32", "train_micro_batch_size_per_gpu=2", "run.steps=4")
    grouped = trained(program, "grouped", 2, *whole)
    alike = trained(program, "alike", 2, *whole, "data.length_buckets=none")
    pairs = list(zip(losses_of(grouped), losses_of(alike)))
    check(len(pairs) == 4 and all(abs(a - b) < 1e-5 * b for a, b in pairs), f"losses {pairs}")


def auto_chooses_and_tells(program):
    result = trained(program, "auto", 2, "data.length_buckets=auto", "run.steps=2")
    settings = (program.folder / "runs/auto/effective.toml").read_text()
    line = next(line for line in settings.splitlines() if line.startswith("length_buckets"))
    check('40x24"' in line and 'chosen for "auto"' in line and "8x" in line, line, result)
    shown = program.alone("data", "t5.toml", "data.length_buckets=auto", "--steps", "1", "--json")
    lengths = [len(json.loads(row)["source"]) <= 8 for row in shown.out.splitlines()]
    check(all(lengths[i] == lengths[i + 1] for i in range(0, 8, 2)), f"micro-batches: {lengths}")


def names_what_is_wrong(program):
    for words, why in (("short", "is no list of pairs"), ("8x9, 9x8", "is not covered by"),
                       ("50x8", "is beyond the most"), ("1x1, 2x2, 3x3, 4x4", "the most are 4")):
        check_refused(program.alone("plan", "t5.toml", f"data.length_buckets={words}"), 2, why)
    check_refused(program.alone("plan", "t5.toml", "activation_checkpointing.offload=cpu",
                                "activation_checkpointing.recompute=full"), 2, "length_buckets")
    told = program.alone("plan", "t5.toml")
    check("8x8, 40x24" in told.out, "plan tells the pairs", told)


def main():
    program = Program()
    rows = [pair for pairs in zip(SHORT, LONG) for pair in pairs]
    program.write("pairs.tsv", "source\ttarget\n" + "".join(f"{a}\t{b}\n" for a, b in rows))
    program.write("t5.toml", INPUT)
    program.write("blenderbot.toml", INPUT.replace('"t5"', '"blenderbot"')
                  .replace("head_width = 8\n", ""))
    state = bytes_are_those_of_one_rank(program)
    a_stop_in_the_middle_changes_no_byte(program, state)
    nor_of_a_blenderbot(program)
    so_are_those_of_half_precision_beside_frozen_parameters(program)
    losses_are_those_of_one_pair(program)
    auto_chooses_and_tells(program)
    names_what_is_wrong(program)
    print("lengths change nothing but time")


main()
