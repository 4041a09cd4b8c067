#!/usr/bin/env python3
"""The picture of how inputs/deberta_mini.toml learns that README.md shows: accuracy and F1 of
held-out verses.

usage: score_picture.py reduce FOLDER OUT.json   what a campaign left, cut to what is drawn
       score_picture.py draw IN.json OUT.svg     the picture of it

doc/deberta_mini.json and doc/deberta_mini.svg are made by these commands, in the root of the tree:

    tools/test_long.sh deberta_mini
    tools/score_picture.py reduce build/long/deberta_mini doc/deberta_mini.json
    tools/score_picture.py draw doc/deberta_mini.json doc/deberta_mini.svg
"""
import json

import loss_picture
from loss_picture import GREY, HELD_OUT, LEFT, RIGHT, TOP, TRAINED, WIDTH, Picture

CURVES = (("accuracy", "accuracy", TRAINED, 3), ("f1", "F1", HELD_OUT, 1.5))


def reduce_run(folder):
    facts = json.loads((folder / "facts.json").read_text())
    summary = json.loads((folder / "summary.json").read_text())
    told = [json.loads(line) for line in (folder / "evaluations.jsonl").read_text().splitlines()]
    curves = {name: [[line["step"], round(100 * line[name], 1)] for line in told]
              for name, *_ in CURVES}
    return {"steps": summary["steps"], "samples": summary["eval_samples"], **facts, **curves}


def draw(run):
    picture, steps = Picture(run["steps"], 100), run["steps"]
    picture.text(LEFT, 24, "A DeBERTa of 0.25 million parameters learns which text of a verse is "
                 "older", size=15, weight="bold")
    picture.text(LEFT, 46, f"Per cent of {run['samples']} held-out pairs; {run['seconds']} s on "
                 "two ranks at stage 3")
    loss_picture.draw_axes(picture, range(0, 101, 20))
    for name, words, colour, width in CURVES:
        alike = 100 * run["one_answer"][name]
        picture.curve([(0, alike), (steps, alike)], GREY, 1, "5 3")
        picture.text(WIDTH - RIGHT, picture.y(alike) + 15, f"{words} of one answer for all", "end")
        picture.curve(run[name], colour, width)
    loss_picture.name_curves(picture, TOP + 190, [row[1:3] for row in CURVES])
    return picture.svg()


if __name__ == "__main__":
    loss_picture.main(__doc__, reduce_run, draw)
