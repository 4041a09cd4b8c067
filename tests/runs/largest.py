#!/usr/bin/env python3
"""train_micro_batch_size_per_gpu = "max" is the largest that fits, "best" the fastest by forecast,
alike on all ranks."""
import json
import re

from program import Program, check

MAX = "train_micro_batch_size_per_gpu=max"


def arena_bytes(program, micro):
    planned = program.alone("plan", "tiny.toml", f"train_micro_batch_size_per_gpu={micro}",
                            "--ranks", "2", "--json")
    check(planned.status == 0, f"plans micro-batch {micro}", planned)
    return json.loads(planned.out)["arena_bytes"]


def training_equals_the_run_with_that_number(program, limit):
    result = program.train(2, MAX, limit)
    check(result.finished(), "trains to the end", result)
    batch = result.summary["batch"]
    check(batch == {"train": 8, "micro": 2, "accumulation": 2}, f"8 = 2 x 2 x 2, not {batch}",
          result)
    check("\"max\" is 2 within" in result.out, "the head of the run says so", result)
    written = (program.folder / "runs" / "tiny" / "effective.toml").read_text()
    note = 'train_micro_batch_size_per_gpu = 2  # command line; chosen for "max": 2\n'
    check(note in written, f"effective.toml says so: {written}", result)
    plain = program.train(2, "train_micro_batch_size_per_gpu=2", limit)
    check(plain.state() == result.state(), "the same bits", plain)


def plan_and_dry_run_agree(program, limit):
    searched = program.alone("plan", "tiny.toml", limit, "--ranks", "2", "--max-batch")
    check("train_micro_batch_size_per_gpu=2\n" in searched.out, "--max-batch prints 2", searched)
    planned = program.alone("plan", "tiny.toml", MAX, limit, "--ranks", "2", "--json")
    check(json.loads(planned.out)["batch"]["micro"] == 2, "plan takes 2", planned)
    dry = program.alone("tiny.toml", MAX, limit, "--dry-run")
    check(dry.status == 0 and "\"max\" is 2 within" in dry.out, "--dry-run says 2", dry)


def the_best_is_chosen_alike_on_all_ranks(program, limit):
    words = ("train_micro_batch_size_per_gpu=best", "activation_checkpointing.recompute=auto",
             "zero.stage=1", "zero.offload_optimizer.device=auto", limit)
    result = program.train(2, *words)
    check(result.finished() and "\"best\" is " in result.out, "trains to the end", result)
    check("that fit, by the rates of host, in samples a second: " in result.out, "what is weighed",
          result)
    micro = result.summary["batch"]["micro"]
    written = (program.folder / "runs" / "tiny" / "effective.toml").read_text()
    note = f'per_gpu = {micro}  # command line; chosen for "best": {micro}\n'
    recompute = re.search(r'^recompute = "(.*)" +# command line; chosen: ', written, re.M)
    check(note in written and recompute, f"effective.toml says so: {written}", result)
    planned = program.alone("plan", "tiny.toml", *words, "--ranks", "2", "--json")
    check(json.loads(planned.out)["batch"]["micro"] == micro, "plan takes the same", planned)
    plain = program.train(2, *words[2:], f"train_micro_batch_size_per_gpu={micro}",
                          f"activation_checkpointing.recompute={recompute[1]}")
    check(plain.state() == result.state(), "the same bits", plain)
    searched = program.alone("plan", "tiny.toml", words[1], "--max-batch")
    check(searched.status == 2 and "write recompute as" in searched.err, "--max-batch", searched)


def the_whole_share_is_taken_where_memory_is_ample(program):
    result = program.train(2, MAX)
    check(result.summary["batch"]["micro"] == 4, "a rank's share of 8 samples is 4", result)


def refusals_name_what_would_work(program):
    fixed = program.alone("plan", "tiny.toml", MAX, "gradient_accumulation_steps=2")
    check(fixed.status == 2 and "\"auto\"" in fixed.err, "no choice is left: status 2", fixed)
    small = program.train(2, MAX, "memory.device_limit=200000")
    check(small.status == 6 and len(small.error_lines()) == 1, "nothing fits: status 6", small)


def main():
    program = Program()
    two, four = arena_bytes(program, 2), arena_bytes(program, 4)
    check(two < four, f"4 samples need more than 2: {four} and {two} bytes")
    limit = f"memory.device_limit={(two + four) // 2}"
    training_equals_the_run_with_that_number(program, limit)
    plan_and_dry_run_agree(program, limit)
    the_best_is_chosen_alike_on_all_ranks(program, limit)
    the_whole_share_is_taken_where_memory_is_ample(program)
    refusals_name_what_would_work(program)
    print("the largest that fits")


main()
