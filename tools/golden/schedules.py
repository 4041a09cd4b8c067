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
  OneCycle        with i = t + 1 while t < F + S: x = i / (F + S) - floor(i / (F + S)), and
                  low + (high - low) times x (F + S) / F up to x = F / (F + S), else
                  (1 - x) (F + S) / S; a half in k stairs: k times that, rounded down, over k;
                  then low / (1 + decay_lr_rate (t - F - S + 1) / decay_step_size)
  LRRangeTest     low (1 + step_rate (t + 1) / step_size), as a staircase with floor of the quotient
  constant        optimizer.lr; no scheduler at all in DeepSpeed

WSD is not DeepSpeed's: WarmupLR, and in the last D of all updates at most max times
r + (1 - r) d(p), p = (u - (total - D)) / D, d = 1 - p, (1 + cos(pi p)) / 2 or 1 - sqrt(p).

Stairs are counted in fractions of integers, as quotients in double precision may miss one.

A line of the file that begins with "schedule" opens one: its settings; 300 lines with a rate
follow. The total is 280, so that the last rates lie behind the end.
"""
from fractions import Fraction
import math
import pathlib
import sys

UPDATES, TOTAL = 300, 280
LR, MIN_LR, MAX_LR = 6e-4, 1e-5, 3e-4
MIN_RATIO, COS_MIN_RATIO = 0.05, 0.1
WARMUP_RATES = {"warmup_min_lr": MIN_LR, "warmup_max_lr": MAX_LR}


def ramp(kind, t, steps):
    return math.log(t + 1) / math.log(steps) if kind == "log" else t / steps


def constant(_settings, _update):
    return LR


def warmup_lr(settings, update):
    t, steps = update - 1, max(2, settings["warmup_num_steps"])
    if t < 0:
        return MIN_LR
    share = ramp(settings["warmup_type"], t, steps) if t < steps else 1.0
    return MIN_LR + (MAX_LR - MIN_LR) * share


def warmup_decay_lr(settings, update):
    t, steps = update - 1, max(2, settings["warmup_num_steps"])
    if t < steps:
        return warmup_lr(settings, update)
    share = max(0.0, (TOTAL - t) / max(1.0, TOTAL - steps))
    return MIN_LR + (MAX_LR - MIN_LR) * share


def warmup_cosine_lr(settings, update):
    t, steps = update - 1, max(2, settings["warmup_num_steps"])
    if t < 0:
        return 0.0
    if t < steps:
        return LR * (MIN_RATIO + (1 - MIN_RATIO) * ramp(settings["warmup_type"], t, steps))
    progress = min(1.0, (t - steps + 1) / max(1, TOTAL - steps))
    return LR * (COS_MIN_RATIO + (1 - COS_MIN_RATIO) * (1 + math.cos(math.pi * progress)) / 2)


def one_cycle(settings, update):
    first = settings["cycle_first_step_size"]
    second = settings.get("cycle_second_step_size", first)
    low, high = settings["cycle_min_lr"], settings["cycle_max_lr"]
    total = first + second
    if update - 1 >= total:
        size = settings.get("decay_step_size", 0)
        intervals = (update - 1 - total + 1) / size if size else 0.0
        return low / (1 + settings.get("decay_lr_rate", 0.0) * intervals)
    x = Fraction(update, total) % 1
    rises = x <= Fraction(first, total)
    share = x * total / first if rises else (1 - x) * total / second
    stairs = settings.get("cycle_first_stair_count", 0)
    if not rises and settings.get("cycle_second_stair_count", -1) >= 0:
        stairs = settings["cycle_second_stair_count"]
    if stairs:
        share = Fraction(math.floor(stairs * share), stairs)
    return low + (high - low) * float(share)


def range_test(settings, update):
    intervals = update / settings["lr_range_test_step_size"]
    if settings.get("lr_range_test_staircase"):
        intervals = update // settings["lr_range_test_step_size"]
    growth = settings["lr_range_test_step_rate"] * intervals
    return settings["lr_range_test_min_lr"] * (1 + growth)


def stable(settings, update):
    steps = settings.get("wsd_decay_steps", TOTAL // 10)
    p = min(1.0, max(0.0, (update - (TOTAL - steps)) / steps))
    left = {"linear": 1 - p, "cosine": (1 + math.cos(math.pi * p)) / 2,
            "sqrt": 1 - math.sqrt(p)}[settings.get("wsd_decay_type", "linear")]
    least = settings.get("wsd_min_ratio", 0.0)
    return min(warmup_lr(settings, update), MAX_LR * (least + (1 - least) * left))


def warmups():
    for kind in ("linear", "log"):
        for warmup in (0, 40):  # 0 acts as 2
            yield {"warmup_type": kind, "warmup_num_steps": warmup}


def cycles():
    rates = {"cycle_min_lr": MIN_LR, "cycle_max_lr": MAX_LR}
    decay = {"decay_step_size": 10, "decay_lr_rate": 0.5}
    yield {**rates, "cycle_first_step_size": 60}
    yield {**rates, **decay, "cycle_first_step_size": 90, "cycle_second_step_size": 150}
    yield {**rates, "cycle_first_step_size": 50, "cycle_second_step_size": 70,
           "cycle_first_stair_count": 7}
    yield {**rates, **decay, "cycle_first_step_size": 33, "cycle_second_step_size": 49,
           "cycle_first_stair_count": 11, "cycle_second_stair_count": 0}
    yield {**rates, "cycle_first_step_size": 140, "cycle_second_stair_count": 3}


def range_tests():
    yield {"lr_range_test_min_lr": 1e-5, "lr_range_test_step_size": 7,
           "lr_range_test_step_rate": 2.5}
    yield {"lr_range_test_min_lr": 1e-5, "lr_range_test_step_size": 7,
           "lr_range_test_step_rate": 2.5, "lr_range_test_staircase": True}


def stables():
    warmup = {**WARMUP_RATES, "total_num_steps": TOTAL, "warmup_type": "linear"}
    yield {**warmup, "warmup_num_steps": 40}
    for decay in ("linear", "cosine", "sqrt"):
        yield {**warmup, "warmup_num_steps": 20, "wsd_decay_steps": 60, "wsd_decay_type": decay,
               "wsd_min_ratio": 0.05}
    yield {**warmup, "warmup_num_steps": 200, "wsd_decay_steps": 180}  # never at its maximum


def sections():
    """(type, settings, function) of each schedule."""
    yield "constant", {}, constant
    for settings in warmups():
        yield "WarmupLR", {**settings, **WARMUP_RATES}, warmup_lr
    total = {"total_num_steps": TOTAL}
    for settings in warmups():
        yield "WarmupDecayLR", {**settings, **WARMUP_RATES, **total}, warmup_decay_lr
    for settings in warmups():
        yield "WarmupCosineLR", {**settings, **total, "warmup_min_ratio": MIN_RATIO,
                                 "cos_min_ratio": COS_MIN_RATIO}, warmup_cosine_lr
    for kind, every, function in (("OneCycle", cycles(), one_cycle),
                                  ("LRRangeTest", range_tests(), range_test),
                                  ("WSD", stables(), stable)):
        for settings in every:
            yield kind, settings, function


def words(settings):
    """As they are typed: key=value."""
    return " ".join(f"{key}={str(value).lower()}" for key, value in settings.items())


def main():
    default = pathlib.Path(__file__).parents[2] / "tests/golden/schedules.txt"
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    lines = ["# made by tools/golden/schedules.py", f"# optimizer.lr {LR}"]
    for kind, settings, function in sections():
        lines.append(f"schedule type={kind} {words(settings)}".rstrip())
        lines += [repr(function(settings, update)) for update in range(UPDATES)]
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
