#!/usr/bin/env python3
"""Golden learning rates: 300 updates of every scheduler, for tests/config/schedule_test.cpp.

usage: schedules.py [OUTFILE]      writes tests/golden/schedules.txt by default; needs Python alone

Computed in double precision from what DeepSpeed's deepspeed/runtime/lr_schedules.py does, written
down anew. Its scheduler starts with t = -1 and moves by one after each update, so update u (from 0)
has t = u - 1. The warm-up takes N = max(2, warmup_num_steps):

  WarmupLR        t < 0: warmup_min_lr; else min + (max - min) g(t)
                  g = ln(t + 1) / ln N ("log") or t / N ("linear") while t < N, then 1
  WarmupDecayLR   the same; from t = N on g = (total - t) / (total - N), not below 0
  WarmupCosineLR  t < 0: 0; else lr times r + (1 - r) g(t) with r = warmup_min_ratio while t < N;
                  then c + (1 - c) (1 + cos(pi s)) / 2 with c = cos_min_ratio and
                  s = (t - N + 1) / (total - N), at most 1
  constant        optimizer.lr; no scheduler at all in DeepSpeed

A line of the file that begins with "schedule" opens one: its name and settings; 300 lines with a
rate follow. The total is 280, so that the last rates lie behind the end.
"""
import math
import pathlib
import sys

UPDATES, TOTAL = 300, 280
LR, MIN_LR, MAX_LR = 6e-4, 1e-5, 3e-4
MIN_RATIO, COS_MIN_RATIO = 0.05, 0.1


def ramp(kind, t, steps):
    return math.log(t + 1) / math.log(steps) if kind == "log" else t / steps


def constant(_kind, _warmup, _t):
    return LR


def warmup_lr(kind, warmup, t):
    if t < 0:
        return MIN_LR
    steps = max(2, warmup)
    return MIN_LR + (MAX_LR - MIN_LR) * (ramp(kind, t, steps) if t < steps else 1.0)


def warmup_decay_lr(kind, warmup, t):
    steps = max(2, warmup)
    if t < steps:
        return warmup_lr(kind, warmup, t)
    share = max(0.0, (TOTAL - t) / max(1.0, TOTAL - steps))
    return MIN_LR + (MAX_LR - MIN_LR) * share


def warmup_cosine_lr(kind, warmup, t):
    if t < 0:
        return 0.0
    steps = max(2, warmup)
    if t < steps:
        return LR * (MIN_RATIO + (1 - MIN_RATIO) * ramp(kind, t, steps))
    progress = min(1.0, (t - steps + 1) / max(1, TOTAL - steps))
    return LR * (COS_MIN_RATIO + (1 - COS_MIN_RATIO) * (1 + math.cos(math.pi * progress)) / 2)


SCHEDULERS = {"WarmupLR": warmup_lr, "WarmupDecayLR": warmup_decay_lr,
              "WarmupCosineLR": warmup_cosine_lr}


def sections():
    """(name, ramp, warmup_num_steps, function) of each schedule."""
    yield "constant", "linear", 2, constant
    for name, function in SCHEDULERS.items():
        for kind in ("linear", "log"):
            for warmup in (0, 40):  # 0 acts as 2
                yield name, kind, warmup, function


def main():
    default = pathlib.Path(__file__).parents[2] / "tests/golden/schedules.txt"
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    lines = ["# made by tools/golden/schedules.py",
             f"# lr {LR} warmup_min_lr {MIN_LR} warmup_max_lr {MAX_LR} total_num_steps {TOTAL}"
             f" warmup_min_ratio {MIN_RATIO} cos_min_ratio {COS_MIN_RATIO}"]
    for name, kind, warmup, function in sections():
        lines.append(f"schedule {name} {kind} {warmup}")
        lines += [repr(function(kind, warmup, update - 1)) for update in range(UPDATES)]
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
