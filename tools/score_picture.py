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
import pathlib
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 960, 380, 70, 30, 70, 50
TRAINED, HELD_OUT, GREY = "#7fb3d5", "#b03a2e", "#444444"
CURVES = (("accuracy", "accuracy", TRAINED, 3), ("f1", "F1", HELD_OUT, 1.5))


class Picture:
    """Curves over steps, of values up to `most`."""

    def __init__(self, steps, most):
        self.steps, self.most, self.lines = steps, most, []

    def x(self, step):
        return round(LEFT + (WIDTH - LEFT - RIGHT) * step / self.steps, 1)

    def y(self, value):
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / self.most), 1)

    def text(self, x, y, words, anchor="start", colour="#222222", size=12, weight="normal"):
        self.lines.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}" '
                          f'font-size="{size}" font-weight="{weight}">{words}</text>')

    def curve(self, rows, colour, width, dash=""):
        points = " ".join(f"{self.x(step):g},{self.y(loss):g}" for step, loss in rows)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" '
                          f'stroke-width="{width:g}"{dashes}/>')

    def svg(self):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" font-family="DejaVu Sans, Arial, sans-serif">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>', *self.lines, "</svg>\n"])


def draw_axes(picture, marks):
    steps = picture.steps
    picture.curve([(0, picture.most), (0, 0), (steps, 0)], GREY, 1)
    for mark in marks:
        picture.text(LEFT - 8, picture.y(mark) + 4, mark, "end")
        picture.curve([(0, mark), (steps, mark)], "#e4e4e4", 1)
    for part in range(5):
        step = steps * part // 4
        picture.text(picture.x(step), picture.y(0) + 18, step, "middle")
    picture.text(picture.x(steps / 2), HEIGHT - 12, "steps", "middle")


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
    draw_axes(picture, range(0, 101, 20))
    for name, words, colour, width in CURVES:
        alike = 100 * run["one_answer"][name]
        picture.curve([(0, alike), (steps, alike)], GREY, 1, "5 3")
        picture.text(WIDTH - RIGHT, picture.y(alike) + 15, f"{words} of one answer for all", "end")
        picture.curve(run[name], colour, width)
    name_curves(picture, TOP + 190, [row[1:3] for row in CURVES])
    return picture.svg()


def name_curves(picture, top, names):
    for number, (words, colour) in enumerate(names):
        picture.text(WIDTH - RIGHT, top + 18 * number, words, "end", colour, weight="bold")


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("reduce", "draw"):
        sys.exit(__doc__)
    given = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "reduce":
        run = reduce_run(given)
        made = "{" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}"
                                for name, value in run.items()) + "}\n"
    else:
        made = draw(json.loads(given.read_text()))
    pathlib.Path(sys.argv[3]).write_text(made)


if __name__ == "__main__":
    main()
