#!/usr/bin/env python3
"""doc/step.svg is what tools/step_picture.py draws of doc/step.json, and doc/step.json is still
true: today's plan of the same step takes the same memory and, by the forecast, the same time within
10 %. The table of doc/a_step.md is what tools/step_table.py prints of today's plan. The
curves of inputs/deberta_mini.toml, where they stand, are what tools/score_picture.py draws.
doc/t5_mini.svg shows the steps of inputs/t5_mini.toml and the losses of its run, and zeroapp report
draws it again from the points of its curves. Called like the other scripts here; the third argument
is the program print_step."""
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import xml.dom.minidom

TREE = pathlib.Path(__file__).resolve().parents[2]
MOST_DRIFT = 0.1
# Each picture of doc, and what draws it.
TOOLS = {"step": "step_picture", "deberta_mini": "score_picture"}
# Drawn by zeroapp report of a run that takes too long for a test.
REPORTED = "t5_mini"
# The losses of that run's held-out verses, and what a tenth of a unit in the picture is worth.
HELD_OUT = (2.7777, 1.3386, 1.1527, 1.0106, 0.8978, 0.8582)
MOST_OFF = 0.003


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


def curve(picture, kind, steps):
    """The steps and losses of the points of the only curve of this class."""
    marks = re.findall(r'<text x="62" y="[\d.]+" text-anchor="end">([\d.]+)</text>', picture)
    low, high = float(marks[0]), float(marks[-1])
    paths = re.findall(f'<path class="{kind}" d="([^"]*)"', picture)
    assert len(paths) == 1, f"{len(paths)} curves of class {kind}"
    points = re.findall(r"[ML]([\d.]+) ([\d.]+)", paths[0])
    return [(round(float(x) * steps / 1000), low + (high - low) * (1 - float(y) / 300))
            for x, y in points]


def without_band(picture):
    """The band between extremes, of which the points say nothing, is left out."""
    return re.sub(r'<path class="b [^>]*>', "", picture)


def drawn_again(training, held_out):
    """What zeroapp report draws of these points."""
    with tempfile.TemporaryDirectory() as place:
        run = pathlib.Path(place, REPORTED)
        run.mkdir()
        for name, points in (("metrics", training), ("evaluations", held_out)):
            lines = [json.dumps({"step": step, "loss": loss}) + "\n" for step, loss in points]
            (run / f"{name}.jsonl").write_text("".join(lines))
        subprocess.run([sys.argv[1], "report", run, "-o", run / "loss.svg"], check=True,
                       capture_output=True)
        return (run / "loss.svg").read_text()


def reported():
    """The picture of the report has the data of its run and is drawn by today's program."""
    committed = (TREE / f"doc/{REPORTED}.svg").read_text()
    xml.dom.minidom.parseString(committed)
    given = tomllib.loads((TREE / f"inputs/{REPORTED}.toml").read_text())
    steps, interval = given["run"]["steps"], given["evaluation"]["interval"]
    assert f'<text x="930" y="368" text-anchor="middle">{steps}</text>' in committed, "its steps"
    training, held_out = (curve(committed, kind, steps) for kind in ("l s0", "l d s1"))
    assert [step for step, _ in held_out] == list(range(interval, steps + 1, interval)), held_out
    off = [abs(loss - known) for (_, loss), known in zip(held_out, HELD_OUT, strict=True)]
    assert max(off) < MOST_OFF, f"held-out losses {held_out}, not {HELD_OUT}"
    assert without_band(drawn_again(training, held_out)) == without_band(committed), (
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
