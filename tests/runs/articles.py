#!/usr/bin/env python3
"""The table of the articles' verdicts in inputs/from_deepspeed.md: each row's verdict of ours is
what its command prints. Likewise the plans in the heads of input files. perf/articles.py finds that
every batch of the articles fits, and nothing that they could not have without ZeRO."""
import pathlib
import re
import subprocess
import sys

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
    done = subprocess.run([sys.executable, "-B", str(script), str(program.zeroapp.parents[1])],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0 and "every batch of the articles fits" in done.stdout,
          f"perf/articles.py: {done.stdout}{done.stderr}")


def main():
    program = Program()
    heads_are_printed(program)
    articles_batches_fit(program)
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
