#!/usr/bin/env python3
"""doc/step.svg is what tools/step_picture.py draws of doc/step.json, and doc/step.json is still
true: today's plan of the same step takes the same memory and, by the forecast, the same time within
10 %. The table of doc/a_step.md is what tools/step_table.py prints of today's plan. The
curves of inputs/deberta_mini.toml, where they stand, are what tools/score_picture.py draws, and
doc/t5_mini.svg is a picture of zeroapp report. Called like the other scripts here; the third
argument is the program print_step."""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.dom.minidom

TREE = pathlib.Path(__file__).resolve().parents[2]
MOST_DRIFT = 0.1
# Each picture of doc, and what draws it.
TOOLS = {"step": "step_picture", "deberta_mini": "score_picture"}
# Drawn by zeroapp report of a run that takes too long for a test.
REPORTED = "t5_mini"


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, TREE / f"tools/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def todays_step(tool, print_step, drawn):
    words = [print_step, drawn["machine"], str(drawn["ranks"]), drawn["input"], *drawn["settings"]]
    done = subprocess.run(words, cwd=TREE, check=True, capture_output=True, text=True)
    return tool.reduce_step(json.loads(done.stdout))


def is_near(name, now, drawn):
    drift = abs(now[name] - drawn[name]) / drawn[name]
    assert drift < MOST_DRIFT, (f"{name}: drawn {drawn[name]}, planned today {now[name]}: make "
                                "the picture again, as the head of tools/step_picture.py says")


def compare_table(print_step):
    tool = load_tool("step_table")
    listed = tool.TABLE.search((TREE / "doc/a_step.md").read_text())
    assert listed, "doc/a_step.md has no table"
    planned = tool.table_of(tool.read_step(print_step))
    assert listed[0] == planned, (
        "doc/a_step.md lists another step than today's plan: write its table again, as the head of "
        "tools/step_table.py says, and correct the rows that the page speaks of; the plan is\n"
        + planned)


def drawn(name):
    """What doc/NAME.svg shows."""
    given = json.loads((TREE / f"doc/{name}.json").read_text())
    made = load_tool(TOOLS[name]).draw(given)
    committed = (TREE / f"doc/{name}.svg").read_text()
    assert made == committed, f"doc/{name}.svg is not drawn from doc/{name}.json"
    xml.dom.minidom.parseString(committed)
    return given


def reported():
    """The picture of the report, whose style is today's."""
    committed = (TREE / f"doc/{REPORTED}.svg").read_text()
    xml.dom.minidom.parseString(committed)
    with tempfile.TemporaryDirectory() as place:
        run = pathlib.Path(place)
        (run / "metrics.jsonl").write_text('{"step": 1, "loss": 2}\n')
        subprocess.run([sys.argv[1], "report", run, "-o", run / "loss.svg"], check=True,
                       capture_output=True)
        today = (run / "loss.svg").read_text()
    assert today.split("<rect")[0] == committed.split("<rect")[0], (
        f"doc/{REPORTED}.svg is not drawn by today's zeroapp report, as tools/README.md says")


def main():
    pictures = sorted(path.stem for path in (TREE / "doc").glob("*.svg"))
    assert {"step", REPORTED} <= set(pictures) <= {*TOOLS, REPORTED}, f"pictures: {pictures}"
    reported()
    shown = {name: drawn(name) for name in pictures if name != REPORTED}
    tool, step = load_tool("step_picture"), shown["step"]
    now = todays_step(tool, sys.argv[3], step)
    for name in ("arena_bytes", "step_seconds"):
        is_near(name, now, step)
    assert {bar[0] for bar in now["bars_us"]} == set(tool.LANES), "every drawn lane has ops"
    compare_table(sys.argv[3])
    print("the pictures are of a plan and a run")


main()
