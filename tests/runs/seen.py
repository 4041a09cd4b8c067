#!/usr/bin/env python3
"""What a user sees of a run by its files: zeroapp metrics, top, why and report, of runs that
finished, stopped, failed, were killed, and live."""
import csv
import json
import os
import re
import shutil
import signal
import time

from program import Program, check, check_refused
from signals import ENDLESS, begin, first_rank, other_rank, wait_for_steps

RUN = "runs/tiny"
HEADINGS = ("Loss and evaluation", "Speed", "Where a step goes", "Memory", "Ranks",
            "Checkpoints and launches", "Settings", "Hashes")
GOES_ON = "checkpoint.resume=auto"
# Bytes of a file of metrics of which only the end may be read.
HUGE = 4 << 30
MOST_TOP_SECONDS = 1.0


def told(program, *words):
    result = program.alone(*words)
    check(result.status == 0 and not result.err, f"{words} is answered", result)
    return result.out


def why(program, *sentences):
    words = " ".join(told(program, "why", RUN).split())
    for sentence in sentences:
        check(sentence in words, f"{sentence!r} in {words!r}")


def table_is_the_files(program, result):
    rows = list(csv.DictReader(told(program, "metrics", RUN, "--csv").splitlines()))
    check([int(row["step"]) for row in rows] == list(range(1, 7)), f"each step once: {rows}")
    for row, line in zip(rows, result.metrics):
        for name, value in line.items():
            wanted = str(value).lower() if isinstance(value, bool) else value
            same = row[name] == wanted if isinstance(wanted, str) else float(row[name]) == wanted
            check(same, f"step {row['step']}: {name}: {row[name]}, not {value}")
    evaluated = {int(row["step"]): row["eval_loss"] for row in rows if row["eval_loss"]}
    lines = (program.folder / RUN / "evaluations.jsonl").read_text().splitlines()
    wanted = {line["step"]: line["loss"] for line in map(json.loads, lines)}
    check({step: float(loss) for step, loss in evaluated.items()} == wanted,
          f"evaluations: {evaluated}, not {wanted}")
    check(told(program, "metrics", RUN, "--tsv", "--columns", "step,skipped").splitlines()[1] ==
          "1\tfalse", "two columns")
    check_refused(program.alone("metrics", RUN, "--columns", "los"), 2, "did you mean loss?")
    check_refused(program.alone("metrics", RUN, "--csv", "--tsv"), 2, "--tsv")


def every_step_of_two_launches(program):
    first = program.train(2, GOES_ON, "evaluation.interval=2", "run.stop_at=3")
    check(first.finished(), "the first launch", first)
    why(program, "its launch (2 ranks", "finished step 3 of 6 (run.stop_at)", "run.stop_at=0")
    result = program.train(2, GOES_ON, "evaluation.interval=2", "profile.trace=true")
    check(result.finished(), "the second launch", result)
    table_is_the_files(program, result)
    why(program, "the last of its 2 launches", "from step 3",
        "finished step 6 of 6 and is complete")
    return result


def ranks_are_told(program):
    lines = [json.loads(line) for line in
             (program.folder / RUN / "ranks.jsonl").read_text().splitlines()]
    check([line["step"] for line in lines] == [1, 2, 4, 5],
          f"all steps but the last of each launch: {lines}")
    for line in lines:
        check(len(line["hosts"]) == 2 and all(ms > 0 for ms in line["compute_ms"]), f"{line}")


def page_is_whole(program, result):
    told(program, "report", RUN)
    page = (program.folder / "report.html").read_text()
    told(program, "report", RUN)
    for heading in HEADINGS:
        check(f"<h2>{heading}</h2>" in page, f"a section {heading}")
    check("<script" not in page and "http:" not in page, "nothing is fetched")
    for text in (result.summary["state_sha256"], result.summary["state_xxh3"],
                 "After 6 of 6 steps in 2 launches", "of the first rank, traced",
                 "<td>run.steps</td><td>6</td><td>tiny.toml:", "compute time of ranks"):
        check(text in page, f"{text} in the page")
    program.write("mine.html", "mine")
    check_refused(program.alone("report", RUN, "-o", "mine.html"), 5, "no report")
    check_refused(program.alone("report", "."), 3, "is the folder of no run")
    shutil.copytree(program.folder / RUN, program.folder / "runs/<script>")
    told(program, "report", RUN, "runs/<script>", "-o", "both.html")
    page = (program.folder / "both.html").read_text()
    check("&lt;script&gt;" in page and "<script" not in page, "a hostile name is escaped")


def failures_are_explained(program):
    check_refused(program.train(1, "run.stepps=3"), 2)
    why(program, "is complete")
    process = begin(program)
    os.kill(other_rank(program), signal.SIGKILL)
    program.wait(process)
    why(program, "It ended with status 10 on rank 0", "leave the node out", "begins anew")
    top = told(program, "top", RUN, "--once")
    check("error E1000" in top, f"top of a run that failed: {top}")


def a_killed_run_is_told(program):
    shutil.rmtree(program.folder / "runs")
    process = program.start(1, *ENDLESS, "run.state_hash=false")
    wait_for_steps(program, process, 3)
    live = told(program, "top", RUN, "--once")
    check(": running, 1 rank" in live, f"top of a live run: {live}")
    check(re.search(r"step \d+/\d+ [\d.]+ %  loss \d.*tokens/s  ETA ", live), f"its step: {live}")
    check("  forward    " in live and "saved     " in live and "ends      " in live, live)
    why(program, "holds the folder")
    check_refused(program.alone("top", RUN), 2, "--once")
    os.kill(first_rank(program), signal.SIGKILL)
    program.wait(process)
    why(program, "It was killed at step", "out-of-memory killer")
    check(": killed, " in told(program, "top", RUN, "--once"), "top of a killed run")


def only_ends_are_read(program):
    """A run of so many steps that nobody reads them all in time."""
    shutil.copytree(program.folder / RUN, program.folder / "huge")
    metrics = program.folder / "huge/metrics.jsonl"
    lines = metrics.read_text()
    with open(metrics, "w") as file:
        file.truncate(HUGE)
        file.seek(HUGE)
        file.write("\n" + lines)
    begun = time.monotonic()
    top = told(program, "top", "huge", "--once")
    taken = time.monotonic() - begun
    last = json.loads(lines.splitlines()[-1])["step"]
    check(f"step {last}/" in top and taken < MOST_TOP_SECONDS, f"{taken:.2f} s: {top}")
    print(f"top --once of a file of {HUGE >> 30} GiB took {1e3 * taken:.0f} ms")


def main():
    program = Program()
    result = every_step_of_two_launches(program)
    ranks_are_told(program)
    page_is_whole(program, result)
    failures_are_explained(program)
    a_killed_run_is_told(program)
    only_ends_are_read(program)
    print("a run is seen")


main()
