#!/usr/bin/env python3
"""The picture of a training step that README.md shows: memory over time, and what each lane does.

usage: step_picture.py reduce RAW OUT.json     what tests/print_step printed, cut to what is drawn
       step_picture.py draw IN.json OUT.svg    the picture of it

doc/step.json and doc/step.svg are made by these commands, in the root of the tree:

    build/host-release/tests/print_step h100_80g 8 inputs/gpt2_1.5b.toml zero.stage=3 \\
        zero.stage3_max_reuse_distance=0 data.train=synthetic > build/step_raw.json
    tools/step_picture.py reduce build/step_raw.json doc/step.json
    tools/step_picture.py draw doc/step.json doc/step.svg
"""
import json
import pathlib
import sys

MOMENTS = 320  # of the memory curve
MIB, GIB = 1 << 20, 1 << 30
WIDTH, LEFT, RIGHT = 960, 88, 170
MEMORY_TOP, MEMORY_HEIGHT = 66, 250
LANES_TOP, LANE_STEP, LANE_HEIGHT = 372, 38, 26
HEIGHT = 520
# From the bottom of the stack up: what rests first, then what comes and goes.
USES = {"weights": "#1b4f72", "optimizer state": "#2874a6", "gradients": "#7fb3d5",
        "gathered weights": "#b9770e", "gradient buckets": "#f0b27a",
        "activations": "#a9cfa4", "scratch": "#c8c8c8"}
LANES = ("compute", "gather", "reduce")
# Two shades a pass, so that neighbouring units can be told apart.
PASSES = {"update": ("#7d3c98", "#a569bd"), "forward": ("#1f7a4d", "#52b788"),
          "backward": ("#b03a2e", "#e07a6f"), "again": ("#7a7a7a", "#9a9a9a"),
          "gather": ("#b9770e", "#e0a83c"), "reduce": ("#ca6f1e", "#f0b27a")}


def pass_of(op):
    """Which colour an op has."""
    if op["lane"] in ("gather", "reduce"):
        return op["lane"]
    return op["pass"] or "update"


def bars_of(ops):
    """Bars [lane, pass, unit, begin us, end us]: neighbouring ops that agree in the first three."""
    bars = []
    last = {}
    for op in ops:
        if op["lane"] not in LANES:
            continue
        key = (op["lane"], pass_of(op), op["unit"])
        begin, end = op["begin"] * 1e6, op["end"] * 1e6
        bar = last.get(op["lane"])
        if bar and tuple(bar[:3]) == key and begin - bar[4] < 2:
            bar[4] = round(end, 1)
        else:
            last[op["lane"]] = bar = [*key, round(begin, 1), round(end, 1)]
            bars.append(bar)
    return bars


def memory_of(buffers, seconds):
    """MiB of each use at MOMENTS moments, in each stretch of time the one with the most bytes; and
    the peak of each use by itself."""
    changes = []
    for buffer in buffers:
        if buffer["use"] in USES:
            changes += [(buffer["begin"], buffer["use"], buffer["bytes"]),
                        (buffer["end"], buffer["use"], -buffer["bytes"])]
    changes.sort(key=lambda change: (change[0], change[2]))
    live, peaks = dict.fromkeys(USES, 0), dict.fromkeys(USES, 0)
    rows, at = [], 0
    for moment in range(MOMENTS):
        until = seconds * (moment + 1) / MOMENTS
        most = dict(live)
        while at < len(changes) and changes[at][0] < until:
            use = changes[at][1]
            live[use] += changes[at][2]
            peaks[use] = max(peaks[use], live[use])
            at += 1
            if sum(live.values()) > sum(most.values()):
                most = dict(live)
        rows.append([round(most[use] / MIB, 1) for use in USES])
    return rows, [round(peak / MIB, 1) for peak in peaks.values()]


def reduce_step(raw):
    step = {name: raw[name] for name in ("input", "settings", "machine", "ranks", "stage",
                                         "arena_bytes", "step_seconds")}
    step["uses"] = list(USES)
    step["memory_mib"], step["peaks_mib"] = memory_of(raw["buffers"], raw["step_seconds"])
    step["bars_us"] = bars_of(raw["ops"])
    return step


def lines_of(step):
    """JSON with one row a line, so that a change of the plan is a readable difference."""
    parts = []
    for name, value in step.items():
        if name in ("memory_mib", "bars_us"):
            text = "[\n" + ",\n".join(json.dumps(row) for row in value) + "]"
        else:
            text = json.dumps(value)
        parts.append(f"{json.dumps(name)}: {text}")
    return "{" + ",\n".join(parts) + "}\n"


class Picture:
    """Lines of an SVG; x is microseconds of the step."""

    def __init__(self, step):
        self.step, self.lines = step, []
        self.us = step["step_seconds"] * 1e6
        self.top_gib = 1.08 * max(step["arena_bytes"] / GIB,
                                  max(sum(row) for row in step["memory_mib"]) / 1024)

    def x(self, us):
        return round(LEFT + (WIDTH - LEFT - RIGHT) * us / self.us, 1)

    def y(self, gib):
        return round(MEMORY_TOP + MEMORY_HEIGHT * (1 - gib / self.top_gib), 1)

    def rectangle(self, x, y, width, height, fill):
        self.lines.append(f'<rect x="{x:g}" y="{y:g}" width="{round(width, 1):g}" '
                          f'height="{height:g}" fill="{fill}"/>')

    def text(self, x, y, words, anchor="start", weight="normal", size=12):
        self.lines.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" '
                          f'font-weight="{weight}" font-size="{size}">{words}</text>')

    def line(self, x1, y1, x2, y2, dash=""):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.lines.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" '
                          f'stroke="#444444" stroke-width="1"{dashes}/>')

    def svg(self):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" font-family="DejaVu Sans, Arial, sans-serif" '
            'fill="#222222">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>', *self.lines, "</svg>\n"])


def steps_of(heights, end):
    """The corners (us, height) of a curve that keeps each height for an equal time."""
    corners = [(0, heights[0])]
    for i in range(1, len(heights)):
        if heights[i] != heights[i - 1]:
            at = end * i / len(heights)
            corners += [(at, heights[i - 1]), (at, heights[i])]
    return [*corners, (end, heights[-1])]


def draw_memory(picture):
    step = picture.step
    below = [0.0] * len(step["memory_mib"])
    for use, colour in USES.items():
        column = step["uses"].index(use)
        above = [round(b + row[column] / 1024, 3) for b, row in zip(below, step["memory_mib"])]
        corners = steps_of(above, picture.us) + steps_of(below, picture.us)[::-1]
        path = " ".join(f"{picture.x(us):g},{picture.y(gib):g}" for us, gib in corners)
        picture.lines.append(f'<polygon points="{path}" fill="{colour}"/>')
        below = above
    arena = step["arena_bytes"] / GIB
    picture.line(LEFT, picture.y(arena), WIDTH - RIGHT, picture.y(arena), "5 3")
    picture.text(LEFT + 4, picture.y(arena) - 5, f"the arena, {arena:.2f} GiB: all that is "
                 "allocated")
    for gib in range(0, int(picture.top_gib) + 1):
        picture.line(LEFT - 4, picture.y(gib), LEFT, picture.y(gib))
        picture.text(LEFT - 8, picture.y(gib) + 4, f"{gib} GiB" if gib else "0", "end")


def draw_legend(picture):
    """From the top of the stack down, with the most that each takes."""
    x, y = WIDTH - RIGHT + 12, MEMORY_TOP + 12
    for use in reversed(USES):
        most = picture.step["peaks_mib"][picture.step["uses"].index(use)]
        size = f"{most / 1024:.2f} GiB" if most >= 1024 else f"{most:.0f} MiB"
        picture.rectangle(x, y - 10, 12, 12, USES[use])
        picture.text(x + 18, y, use)
        picture.text(x + 18, y + 14, f"at most {size}", size=10)
        y += 34


def draw_lanes(picture):
    seen = {}
    for lane, kind, unit, begin, end in picture.step["bars_us"]:
        y = LANES_TOP + LANE_STEP * LANES.index(lane)
        first = seen.setdefault((lane, kind), unit)
        shade = PASSES[kind][(unit - first) % 2]
        picture.rectangle(picture.x(begin), y, max(0.3, picture.x(end) - picture.x(begin)),
                          LANE_HEIGHT, shade)
    for number, lane in enumerate(LANES):
        y = LANES_TOP + LANE_STEP * number
        picture.text(LEFT - 8, y + LANE_HEIGHT / 2 + 4, lane, "end")
    x, y = WIDTH - RIGHT + 12, LANES_TOP + 10
    for kind, words in (("update", "update of a unit"), ("forward", "its forward pass"),
                        ("backward", "its backward pass"), ("gather", "gather of its weights"),
                        ("reduce", "reduce of its gradients")):
        picture.rectangle(x, y - 10, 12, 12, PASSES[kind][0])
        picture.text(x + 18, y, words, size=11)
        y += 19


def draw_axis(picture):
    y = LANES_TOP + LANE_STEP * len(LANES) + 2
    picture.line(LEFT, y, WIDTH - RIGHT, y)
    for ms in range(0, int(picture.us / 1000) + 1, 5):
        picture.line(picture.x(ms * 1000), y, picture.x(ms * 1000), y + 5)
        picture.text(picture.x(ms * 1000), y + 18, f"{ms} ms", "middle", size=11)


def draw(step):
    picture = Picture(step)
    name = pathlib.PurePosixPath(step["input"]).stem
    picture.text(LEFT, 24, f"One step of {name} at ZeRO stage {step['stage']} on {step['ranks']} x "
                 f"{step['machine']}: the plan of a rank", weight="bold", size=15)
    picture.text(LEFT, 46, "Memory of the device, by what its bytes are for; times are forecast")
    draw_memory(picture)
    draw_legend(picture)
    picture.text(LEFT, LANES_TOP - 14, "What each lane does at the same time; the shade changes "
                 "from unit to unit")
    draw_lanes(picture)
    draw_axis(picture)
    return picture.svg()


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("reduce", "draw"):
        sys.exit(__doc__)
    given = json.loads(pathlib.Path(sys.argv[2]).read_text())
    made = lines_of(reduce_step(given)) if sys.argv[1] == "reduce" else draw(given)
    pathlib.Path(sys.argv[3]).write_text(made)


if __name__ == "__main__":
    main()
