#!/usr/bin/env python3
"""The table of doc/a_step.md: every op of one step of a two-layer model at stage 3, as planned.

usage: step_table.py PRINT_STEP [PAGE]     prints the table, or writes it over the one in PAGE

PRINT_STEP is the program tests/print_step of a build. doc/a_step.md is renewed, in the root of the
tree, by

    tools/step_table.py build/host-release/tests/print_step doc/a_step.md
"""
import itertools
import json
import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[1]
STEP = ("host", "2", "inputs/gpt2_nano.toml", "model.layers=2", "train_batch_size=64",
        "zero.stage=3", "zero.stage3_prefetch_bucket_size=1", "zero.stage3_max_reuse_distance=0")
HEAD = ("| row | lane | unit | micro-batch | op | waits for row | last use of |",
        "|---|---|---|---|---|---|---|")
RELEASED = {"gathered weights": "the gathered weights", "gradient buckets": "the bucket"}
TABLE = re.compile(r"^\| row \|.*\n(\|.*\n)+", re.M)


def read_step(print_step):
    done = subprocess.run([print_step, *STEP], cwd=TREE, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def awaited_ops(ops):
    """[ops] the numbers of the ops that each waits for: a wait names a lane and how many of its ops
    have finished."""
    of_lane = {}
    for number, op in enumerate(ops):
        of_lane.setdefault(op["lane"], []).append(number)
    return [[of_lane[wait["lane"]][wait["count"] - 1] for wait in op["waits"]] for op in ops]


def rows_of(ops, awaited):
    """Lists of op numbers: neighbours of one pass of one unit and micro-batch are one row, where
    only the first of them waits and only the last is waited for."""
    ends = set(itertools.chain.from_iterable(awaited))
    rows, before = [], None
    for number, op in enumerate(ops):
        key = [op[part] for part in ("lane", "pass", "unit", "micro")]
        if op["pass"] and key == before and not awaited[number] and number - 1 not in ends:
            rows[-1].append(number)
        else:
            rows.append([number])
        before = key
    return rows


def words_of(ops):
    """What a row does: "forward: linear", "backward: 8 ops, linear_grad to layernorm_grad"."""
    names = [op["name"] for op in ops]
    words = names[0] if len(names) == 1 else f"{len(names)} ops, {names[0]} to {names[-1]}"
    return f"{ops[0]['pass']}: {words}" if ops[0]["pass"] else words


def table_of(step):
    ops = step["ops"]
    awaited = awaited_ops(ops)
    rows = rows_of(ops, awaited)
    row_of = {number: row for row, numbers in enumerate(rows, 1) for number in numbers}
    released = {}
    for buffer in step["buffers"]:
        if buffer["use"] in RELEASED:
            released.setdefault(row_of[buffer["last_use"]], []).append(RELEASED[buffer["use"]])
    lines = list(HEAD)
    for row, numbers in enumerate(rows, 1):
        op = ops[numbers[0]]
        cells = (str(row), op["lane"], step["unit_names"][op["unit"]] if op["unit"] >= 0 else "",
                 str(op["micro"]) if op["pass"] else "", words_of([ops[n] for n in numbers]),
                 ", ".join(str(row_of[n]) for n in awaited[numbers[0]]),
                 ", ".join(sorted(released.get(row, []))))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    table = table_of(read_step(pathlib.Path(sys.argv[1]).resolve()))
    if len(sys.argv) == 2:
        print(table, end="")
        return
    page = pathlib.Path(sys.argv[2])
    page.write_text(TABLE.sub(lambda _: table, page.read_text()))


if __name__ == "__main__":
    main()
