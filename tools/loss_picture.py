#!/usr/bin/env python3
"""The picture of a training's loss that README.md shows, of inputs/t5_mini.toml.

usage: loss_picture.py reduce FOLDER OUT.json    what a campaign left, cut to what is drawn
       loss_picture.py draw IN.json OUT.svg      the picture of it

doc/t5_mini.json and doc/t5_mini.svg are made by these commands, in the root of the tree:

    tools/test_long.sh t5_mini
    tools/loss_picture.py reduce build/long/verses doc/t5_mini.json
    tools/loss_picture.py draw doc/t5_mini.json doc/t5_mini.svg
"""
import json
import pathlib
import re
import sys

POINTS = 120  # of the curve; each is the mean of the steps up to the next
EVALUATION = re.compile(r"^evaluation after step (\d+) +loss ([\d.]+)", re.M)
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 960, 380, 70, 30, 70, 50
TRAINED, HELD_OUT, GREY = "#7fb3d5", "#b03a2e", "#444444"


def means(losses):
    """Rows [last step, mean loss] of POINTS stretches."""
    rows, count = [], len(losses)
    for point in range(min(POINTS, count)):
        begin, end = (count * at // min(POINTS, count) for at in (point, point + 1))
        rows.append([end, round(sum(losses[begin:end]) / (end - begin), 3)])
    return rows


def reduce_run(folder):
    read = {name: (folder / name).read_text() for name in ("metrics.jsonl", "console.txt")}
    losses = [json.loads(line)["loss"] for line in read["metrics.jsonl"].splitlines()]
    facts = json.loads((folder / "facts.json").read_text())
    return {"steps": len(losses), **facts, "trained": means(losses),
            "held_out": [[int(step), float(loss)]
                         for step, loss in EVALUATION.findall(read["console.txt"])]}


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


def draw(run):
    rows = run["trained"] + run["held_out"]
    most = max(run["unigram"], *(loss for _, loss in rows)) * 1.02
    picture = Picture(run["steps"], most)
    picture.text(LEFT, 24, "A T5 of 2.9 million parameters learns to write verses in modern "
                 "English", size=15, weight="bold")
    told = ", ".join(f"{value:.1f} {name}" for name, value in run["scores"].items())
    picture.text(LEFT, 46, f"Nats a token; {run['seconds'] / 60:.0f} minutes on two ranks at stage "
                 f"3. BLEU at the end: {told}")
    draw_axes(picture, range(int(most) + 1))
    picture.curve([(0, run["unigram"]), (run["steps"], run["unigram"])], GREY, 1, "5 3")
    picture.text(WIDTH - RIGHT, picture.y(run["unigram"]) + 15, "entropy of single tokens", "end")
    picture.curve(run["trained"], TRAINED, 1.5)
    picture.curve(run["held_out"], HELD_OUT, 2)
    name_curves(picture, TOP + 110, (("training batches", TRAINED), ("held-out verses", HELD_OUT)))
    return picture.svg()


def name_curves(picture, top, names):
    for number, (words, colour) in enumerate(names):
        picture.text(WIDTH - RIGHT, top + 18 * number, words, "end", colour, weight="bold")


def main(text=__doc__, reduce=reduce_run, draw=draw):
    if len(sys.argv) != 4 or sys.argv[1] not in ("reduce", "draw"):
        sys.exit(text)
    given = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "reduce":
        run = reduce(given)
        made = "{" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}"
                                for name, value in run.items()) + "}\n"
    else:
        made = draw(json.loads(given.read_text()))
    pathlib.Path(sys.argv[3]).write_text(made)


if __name__ == "__main__":
    main()
