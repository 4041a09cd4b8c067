#!/usr/bin/env python3
"""The table of the articles' verdicts in inputs/from_deepspeed.md: each row's verdict of ours is
what its command prints."""
import pathlib
import re

from program import Program, check

TREE = pathlib.Path(__file__).resolve().parents[2]
LEAST_ROWS = 19


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


def main():
    program = Program()
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
