#!/usr/bin/env python3
"""The table of the articles' verdicts in inputs/from_deepspeed.md: each row's verdict of ours is
what its command prints. Likewise the plans in the heads of input files. perf/articles.py finds that
every batch of the articles on DeBERTa fits, with ARTICLES=all in the environment that of all. What
cards of 80 GB take of the larger models of the same families is printed."""
import json
import os
import pathlib
import re
import subprocess
import sys

from program import Program, check

TREE = pathlib.Path(__file__).resolve().parents[2]
LEAST_ROWS = 19
# A model and its published parameters; how many cards and which settings it is planned for, and
# settings that ask for too much.
LARGER = (
    ("blenderbot-1B-distill", 1_437_393_920, "blenderbot_400m", 1,
     ("train_micro_batch_size_per_gpu=64",), ("train_micro_batch_size_per_gpu=4096",)),
    ("blenderbot-3B", 2_696_268_800, "blenderbot_400m", 2,
     ("train_micro_batch_size_per_gpu=64",), ("train_micro_batch_size_per_gpu=4096",)),
    ("t5-11b", 11_307_321_344, "t5_large_en_ro", 8,
     ("zero.stage=3", "zero.offload_optimizer.device=none", "train_micro_batch_size_per_gpu=4"),
     ("zero.stage=0", "zero.offload_optimizer.device=none", "train_micro_batch_size_per_gpu=1")),
)


def rows(text):
    """(case, our verdict) of each row, by number."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0].isdigit():
            found[int(cells[0])] = (cells[1], cells[3])
    return found


def commands(text):
    """The words behind `zeroapp plan` of each row, by number."""
    joined = text.replace("\\\n", " ")
    lines = re.findall(r"(?m)^    \./zeroapp plan (.*?)  # (\d+)$", joined)
    return {int(number): words.split() for words, number in lines}


def verdict(result):
    largest = re.fullmatch(r"train_micro_batch_size_per_gpu=(\d+)\n", result.out)
    if largest:
        check(result.status == 0, "with status 0", result)
        return f"largest {largest[1]}"
    size = r"([\d.]+ \w+)"
    arena = re.search(rf"\n  arena in all +{size}\n", result.out)
    limit = re.search(rf"\n  limit +{size} .*: (fits|does not fit)\n", result.out)
    host = re.search(rf"\n  on host +{size}\n", result.out)
    check(arena and limit and result.status in (0, 6), "prints a plan", result)
    fits = result.status == 0
    check(fits == (limit[2] == "fits"), "the status is that of the limit", result)
    rest = f", {host[1]} on host" if host else ""
    return f"{'fits' if fits else 'does not fit'}: {arena[1]} of {limit[1]}{rest}"


def heads_are_printed(program):
    """`#   ./zeroapp plan ...` in the head of an input file prints the rows below, `#     ...`."""
    planned, head = 0, re.compile(r"(?m)^#   \./zeroapp plan (.+[^\\])\n((?:#     .+\n)+)")
    for path in sorted((TREE / "inputs").glob("*.toml")):
        for words, rows in head.findall(path.read_text()):
            given, *settings = words.split()
            printed = program.alone("plan", str(TREE / given), *settings).out.splitlines()
            for row in rows.splitlines():
                found = [line for line in printed if line.split() == row.split()[1:]]
                check(found, f"{path.name} has {row!r}, which `plan {words}` does not print")
            planned += 1
    check(planned >= 3, f"{planned} input files have a plan in their heads")


def articles_batches_fit(program):
    script = TREE / "perf/articles.py"
    only = () if os.environ.get("ARTICLES") == "all" else ("--only", "DeBERTa")
    done = subprocess.run([sys.executable, "-B", str(script), str(program.zeroapp.parents[1]),
                           *only], capture_output=True, text=True, check=False)
    check(done.returncode == 0 and "every batch of the articles fits" in done.stdout,
          f"perf/articles.py: {done.stdout}{done.stderr}")


def plan_of(program, name, source, ranks, *settings):
    """A plan for A100s of 80 GB, and whether it fits."""
    result = program.alone("plan", str(TREE / f"inputs/{source}.toml"), f"model.name={name}",
                           "evaluation.micro_batch_size=4", "--ranks", str(ranks), "--machine",
                           "a100_80g", "--json", *settings)
    check(result.status in (0, 6), f"{name} has a plan", result)
    plan = json.loads(result.out)
    check(plan["fits"] == (result.status == 0), f"{name}: the status says whether it fits", result)
    return plan


def larger_models_are_planned(program):
    for name, parameters, source, ranks, settings, too_much in LARGER:
        plan = plan_of(program, name, source, ranks, *settings)
        check(plan["parameters"] == parameters, f"{name}: {plan['parameters']}, not {parameters}")
        states = sum(plan["bytes"][use] for use in ("weights", "gradients", "optimizer state"))
        shared = 16 * parameters / ranks
        check(plan["fits"] and states < plan["arena_bytes"] < plan["limit_bytes"] < 80 << 30,
              f"{name} on {ranks} cards of 80 GB: {plan}")
        # Stage 2 has all weights on each card; nothing else is more than its share.
        check(0.8 * shared < states < 1.05 * shared + 2 * parameters, f"{name}: {plan['bytes']}")
        least = plan_of(program, name, source, ranks, *too_much)
        check(not least["fits"], f"{name} with {too_much}: {least}")
        print(f"{name}: {parameters / 1e9:.2f} billion parameters, {ranks} x 80 GB, "
              f"{' '.join(settings)}: states {states / 1e9:.1f} GB, in all "
              f"{plan['arena_bytes'] / 1e9:.1f} GB a card")


def main():
    program = Program()
    heads_are_printed(program)
    articles_batches_fit(program)
    larger_models_are_planned(program)
    text = (TREE / "inputs/from_deepspeed.md").read_text()
    table, plans = rows(text), commands(text)
    check(table.keys() == plans.keys() and len(table) >= LEAST_ROWS,
          f"each row has one command: {sorted(table)} and {sorted(plans)}")
    for number, (case, ours) in table.items():
        given, *settings = plans[number]
        result = program.alone("plan", str(TREE / given), *settings)
        printed = verdict(result)
        check(printed == ours, f"row {number}, {case}: {ours!r} in the table, now {printed!r}",
              result)
    print(f"{len(table)} verdicts of the table are printed")


main()
