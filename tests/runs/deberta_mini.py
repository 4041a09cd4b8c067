#!/usr/bin/env python3
"""inputs/deberta_mini.toml learns on two ranks at stage 3 which of two texts of a verse is older:
after at most 60 s of training its accuracy and its F1 on held-out verses are 15 points or more
above those of one answer for all. Called with a third argument, a folder, it leaves there what
tools/score_picture.py draws. Without the packages of `tools/setup.sh --pairs` it says SKIP."""
import json
import pathlib
import subprocess
import sys

from program import Program, check
from verses import can_learn, timed

TREE = pathlib.Path(__file__).resolve().parents[2]
INPUT, RUN = "inputs/deberta_mini.toml", "deberta_mini"
MOST_SECONDS = 60
LEAST_MARGIN = 0.15
LEAST_SAMPLES = 500  # for chance to matter little
MOST_ALIKE = 2 / 3  # share of one class


def make_pairs(program):
    """What the run reads; the held-out samples."""
    pairs = program.folder / "data/verse_order"
    subprocess.run([sys.executable, "-B", TREE / "tools/data/verse_order.py", pairs, "--pieces",
                    "2000"], check=True)
    rows = {part: [json.loads(line) for line in (pairs / f"{part}.jsonl").open(encoding="utf-8")]
            for part in ("train", "val")}
    texts = {part: {row[key] for row in found for key in ("sentence1", "sentence2")}
             for part, found in rows.items()}
    shared = texts["train"] & texts["val"]
    check(not shared, f"no verse is trained on and held out: {sorted(shared)[:3]}")
    return rows["val"]


def one_answer(rows):
    """The best accuracy, and the best F1 of class 1, "second", of one answer for all."""
    second = sum(row["label"] == "second" for row in rows) / len(rows)
    check(1 - MOST_ALIKE < second < MOST_ALIKE, f"classes are balanced: {second:.3f} are second")
    return {"accuracy": max(second, 1 - second), "f1": 2 * second / (1 + second)}


def keep(program, folder, facts):
    """For tools/score_picture.py."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath("facts.json").write_text(json.dumps(facts) + "\n")
    for name in ("evaluations.jsonl", "summary.json"):
        kept = program.folder / "runs" / RUN / name
        folder.joinpath(name).write_bytes(kept.read_bytes())


def main():
    if not can_learn(RUN):
        return
    program = Program(sys.argv[1:3])
    held_out = make_pairs(program)
    process = program.start(2, f"run.output=runs/{RUN}", input_file=str(TREE / INPUT))
    result, seconds = timed(process, lambda started: program.wait(started, RUN))
    check(result.finished(), "a training ends", result)
    summary = result.summary
    samples = summary["eval_samples"]
    check(samples >= LEAST_SAMPLES, f"{samples} held-out samples", result)
    least = one_answer(held_out[:samples])
    for metric, value in least.items():
        found = summary[f"eval_{metric}"]
        check(found >= value + LEAST_MARGIN,
              f"{metric} {found:.3f}, and not {LEAST_MARGIN} above {value:.3f}", result)
    check(seconds <= MOST_SECONDS, f"{seconds:.0f} s of training, and not {MOST_SECONDS}", result)
    print(f"accuracy {summary['eval_accuracy']:.3f}, F1 {summary['eval_f1']:.3f} after "
          f"{seconds:.0f} s; one answer for all has {least['accuracy']:.3f} and {least['f1']:.3f}")
    if len(sys.argv) > 3:
        keep(program, pathlib.Path(sys.argv[3]), {"seconds": round(seconds), "one_answer": least})
    print("the older text is told")


main()
