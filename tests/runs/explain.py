#!/usr/bin/env python3
"""zeroapp explain says why a run is not faster, of runs that ended and that live, and what would
change it: settings that plan and training accept. Folders that no run wrote end in one error."""
import json
import os
import random
import shutil
import signal

from program import Program, check, check_refused
from signals import begin, first_rank

RUN = "runs/tiny"
FILES = ("effective.toml", "metrics.jsonl", "launches.jsonl", "summary.json", "ranks.jsonl")
# A machine that others share may be ten times as slow from one second to the next.
WITHIN = (0.1, 10)
DAMAGED_FOLDERS = 30


def explained(program, *words):
    result = program.alone("explain", RUN, *words)
    check(result.status == 0 and not result.err, f"explain {words} answers", result)
    return result.out


def a_run_is_explained(program):
    result = program.train(2, "zero.stage=3", "run.steps=12", "train_batch_size=16")
    check(result.finished(), "the run", result)
    before = {path: path.stat().st_mtime_ns for path in (program.folder / RUN).rglob("*")}
    told = json.loads(explained(program, "--json"))
    check(told["fitted_to"] == "kinds" and told["steps"] == 10, f"all steps but two: {told}")
    ratio = told["forecast_seconds"] / told["step_seconds"]
    check(WITHIN[0] < ratio < WITHIN[1], f"its own plan by its own rates: {ratio}")
    check(0 < told["bottleneck"]["share"] <= 1, f"{told['bottleneck']}")
    tried = told["advice"] + told["others"]
    keys = {setting.split("=")[0] for trial in tried for setting in trial["settings"]}
    for key in ("train_micro_batch_size_per_gpu", "train_batch_size", "zero.stage",
                "activation_checkpointing.recompute", "zero.reduce_bucket_size",
                "zero.overlap_comm", "zero.offload_optimizer.device"):
        check(key in keys, f"{key} is tried: {sorted(keys)}")
    check(all(trial["fits"] and trial["gain"] >= 0.01 for trial in told["advice"]), f"{told}")
    last = {path: path.stat().st_mtime_ns for path in (program.folder / RUN).rglob("*")}
    check(before == last, "no file of the run has changed")
    return tried


def tells_which_bytes_are_the_same(tried):
    same = {trial["settings"][0]: trial["same_bytes"] for trial in tried
            if len(trial["settings"]) == 1 and "refused" not in trial}
    for setting, wanted in (("zero.stage=2", "yes"), ("zero.stage=0", "no"),
                            ("activation_checkpointing.recompute=full", "yes"),
                            ("zero.overlap_comm=false", "yes"),
                            ("train_batch_size=32", "batch changes")):
        check(same.get(setting, wanted) == wanted, f"{setting}: {same.get(setting)}, not {wanted}")
    check("zero.stage=2" in same and "zero.stage=0" in same, f"stages are tried: {sorted(same)}")


def lines_are_few(program):
    lines = explained(program).splitlines()
    check(lines[0].startswith(f"{RUN}: 10 steps on 2 ranks, ") and "bottleneck" in lines[2],
          f"{lines}")
    check(len(lines) <= 4 + 8, f"at most eight lines of advice: {lines}")
    check("no gain, too large or refused:" in explained(program, "--all"), "--all")


def advice_is_accepted(program, tried):
    for trial in [trial for trial in tried if "refused" not in trial][:12]:
        planned = program.alone("plan", f"{RUN}/effective.toml", "--ranks", "2",
                                *trial["settings"])
        check(planned.status == 0, f"plan accepts {trial['settings']}", planned)


def a_live_run_is_explained(program):
    process = begin(program, steps=8)
    told = explained(program)
    check("steps so far on 2 ranks" in told and "fitted to each phase" in told, told)
    os.kill(first_rank(program), signal.SIGKILL)
    program.wait(process)
    check("fitted to each phase" in explained(program), "a killed run")


def what_is_missing_is_named(program):
    check_refused(program.alone("explain", "nothing"), 3, "nothing")
    check_refused(program.alone("explain", "."), 3, "is the folder of no run")
    for name, words in (("effective.toml", "effective.toml: is missing"),
                        ("metrics.jsonl", "0 steps behind its first 2"),
                        ("launches.jsonl", "launches.jsonl: is missing")):
        shutil.copytree(program.folder / "whole", program.folder / "less")
        (program.folder / "less" / name).unlink()
        check_refused(program.alone("explain", "less"), 3, words)
        shutil.rmtree(program.folder / "less")


def damaged(data, draw):
    kind = draw.randrange(5)
    place = draw.randrange(len(data))
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + bytes(draw.randrange(256) for _ in range(16)) + data[place + 16:]
    if kind == 2:
        return data.replace(draw.choice((b"0", b"1", b"2")), b"9e999")
    if kind == 3:
        return data.replace(b":", b": -", 3)
    return data[:place] + b'{"step": 1e300, "ranks": -1, "step_ms": "\x1b[2J"}\n' + data[place:]


def damage_ends_in_one_error_or_none(program):
    draw = random.Random(1)
    for _ in range(DAMAGED_FOLDERS):
        folder = program.folder / "hostile"
        shutil.copytree(program.folder / "whole", folder)
        path = folder / draw.choice(FILES)
        if path.exists():
            path.write_bytes(damaged(path.read_bytes(), draw))
        result = program.alone("explain", "hostile")
        check(result.status in (0, 2, 3, 5) and "\x1b" not in result.out + result.err,
              f"{path.name}: status {result.status}", result)
        check(len(result.error_lines()) == (result.status != 0), f"{path.name}", result)
        shutil.rmtree(folder)


def main():
    program = Program()
    tried = a_run_is_explained(program)
    tells_which_bytes_are_the_same(tried)
    lines_are_few(program)
    advice_is_accepted(program, tried)
    shutil.copytree(program.folder / RUN, program.folder / "whole")
    what_is_missing_is_named(program)
    damage_ends_in_one_error_or_none(program)
    a_live_run_is_explained(program)
    print("a run is explained")


main()
