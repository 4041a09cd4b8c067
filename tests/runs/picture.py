#!/usr/bin/env python3
"""doc/step.svg is what tools/step_picture.py draws of doc/step.json, and doc/step.json is still
true: today's plan of the same step takes the same memory and, by the forecast, the same time within
10 %. Called like the other scripts here; the third argument is the program print_step."""
import importlib.util
import json
import pathlib
import subprocess
import sys
import xml.dom.minidom

TREE = pathlib.Path(__file__).resolve().parents[2]
MOST_DRIFT = 0.1


def load_tool():
    spec = importlib.util.spec_from_file_location("step_picture", TREE / "tools/step_picture.py")
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


def main():
    tool = load_tool()
    drawn = json.loads((TREE / "doc/step.json").read_text())
    made, committed = tool.draw(drawn), (TREE / "doc/step.svg").read_text()
    assert made == committed, "doc/step.svg is not drawn from doc/step.json"
    xml.dom.minidom.parseString(committed)
    now = todays_step(tool, sys.argv[3], drawn)
    for name in ("arena_bytes", "step_seconds"):
        is_near(name, now, drawn)
    assert {bar[0] for bar in now["bars_us"]} == set(tool.LANES), "every drawn lane has ops"
    print("the picture is of its plan")


main()
