#!/usr/bin/env python3
"""Scores of labels go through all commands: argv[3] is a program with objectives that have heads
of labels, objectives/main.cpp. A sample is a text whose first letter decides its class, *.tones,
or its number, *.grades."""
import json
import sys

import labelled
from labelled import (evaluated, evaluations, facts_of, letters, metrics_of_classes,
                      metrics_of_numbers, rows_of)
from program import Program, check, check_refused

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 1
[model]
layers = 2
width = 64
heads = 2
dropout = 0.1
[data]
train = "texts.tones"
validation_fraction = 0.25
sequence_length = 12
[run]
steps = 12
threads = 1
[optimizer]
lr = 3e-5
[numerics]
reproducible = true
[evaluation]
interval = 3
micro_batch_size = 3
[checkpoint]
interval = 3
keep = 0
best_metric = "f1"
[export]
at_end = true
"""
LINES, HELD_OUT = 92, 23  # which no micro-batch of three on 1 to 4 ranks divides
NAMES = ("flat", "high", "low")
CLASSES, NUMBERS = ("accuracy", "f1", "matthews"), ("pearson", "spearman")


def texts(label_of):
    return [f"{label_of(kind)}\t{text}\n" for kind, text in letters(LINES)]


def trained(program, name, ranks, *settings):
    return labelled.trained(program, name, ranks, *settings, input_file="tones.toml")


def trains_alike_everywhere(program):
    states, told = set(), set()
    for ranks, stage in ((1, 0), (2, 3), (4, 2)):
        result = trained(program, f"r{ranks}", ranks, f"zero.stage={stage}")
        states.add(result.summary["state_sha256"])
        told.add(tuple(tuple(line[key] for key in ("step", "loss_hex", *CLASSES, "samples"))
                       for line in evaluations(program, f"r{ranks}")))
    check(len(states) == 1 and len(told) == 1, f"one row of evaluations and not {told}")


def logs_what_it_measures(program):
    told = evaluations(program, "r1")
    keys = ["step", "loss", "loss_hex", *CLASSES, "samples", "seconds"]
    check(all(list(line) == keys and line["samples"] == HELD_OUT for line in told), f"{told}")
    check(told[-1]["accuracy"] >= 0.8 > told[0]["accuracy"], f"it has learnt: {told}")
    out = trained(program, "said", 1).out
    check("  accuracy 0." in out and "  Matthews correlation 0." in out, "in words")
    summary = json.loads((program.folder / "runs/r1/summary.json").read_text())
    check(summary["eval_f1"] == told[-1]["f1"], f"the last is in the summary: {summary}")
    best = max(told, key=lambda line: line["f1"])
    facts = facts_of(program, "r1", 12)
    check(float.fromhex(facts["best.f1"]) == best["f1"], f"the best by F1: {facts}")


def writes_the_scores(program):
    told = evaluations(program, "r1")[-1]
    files = set()
    for ranks in (1, 2, 3, 4):
        path = program.folder / f"scores{ranks}.tsv"
        result = evaluated(program, ranks, "runs/r1", "--json", "--scores", path.name)
        found = json.loads(result.out)
        check(all(found[key] == told[key] for key in ("loss_hex", *CLASSES)), f"{found} {told}")
        check("macro" in found["signature"], f"the kind of F1 is told: {found}")
        files.add(path.read_text())
    check(len(files) == 1, "the same scores on any number of ranks")
    head, *rows = rows_of(program.folder / "scores1.tsv")
    check(head == ["predicted", "label", *(f"score of {name}" for name in NAMES)], f"{head}")
    labels = [line.split("\t")[0] for line in texts(NAMES.__getitem__)][-HELD_OUT:]
    check([row[1] for row in rows] == labels, "the order of the file")
    check(all(row[0] == NAMES[max(range(3), key=lambda i: float(row[2 + i]))] for row in rows),
          "the highest score is predicted")
    for name, wanted in zip(CLASSES, metrics_of_classes(rows, NAMES)):
        check(abs(told[name] - wanted) < 1e-12, f"{name} is {told[name]}, not {wanted}")
    words = evaluated(program, 1, "runs/r1").out
    check("F1 0." in words and "mean over those that occur" in words, f"in words: {words}")


def keeps_the_order_of_the_file_in_buckets(program):
    """Short texts come first then, and with them their scores."""
    _, *plain = rows_of(program.folder / "scores1.tsv")
    for ranks in (1, 3):
        evaluated(program, ranks, "runs/r1", "data.length_buckets=6, 12", "--scores",
                  f"buckets{ranks}.tsv")
        _, *rows = rows_of(program.folder / f"buckets{ranks}.tsv")
        check([row[1] for row in rows] == [row[1] for row in plain], "the labels of the file")
        apart = max(abs(float(a) - float(b)) for row, other in zip(rows, plain)
                    for a, b in zip(row[2:], other[2:]))
        check(apart < 1e-5, f"a bucket moves scores by {apart}")


def measures_numbers(program):
    own = ("data.train=texts.grades", "checkpoint.best_metric=pearson",
           "optimizer.lr=3e-3")
    trained(program, "grades", 2, *own, "zero.stage=2")
    told = evaluations(program, "grades")[-1]
    check(set(NUMBERS) < set(told) and "accuracy" not in told, f"{told}")
    evaluated(program, 3, "runs/grades", "--scores", "grades.tsv")
    head, *rows = rows_of(program.folder / "grades.tsv")
    check(head == ["predicted", "label"] and len(rows) == HELD_OUT, f"{head}")
    for name, wanted in zip(NUMBERS, metrics_of_numbers(rows)):
        check(abs(told[name] - wanted) < 1e-12, f"{name} is {told[name]}, not {wanted}")
    check(told["pearson"] > 0.5, f"it has learnt: {told}")
    program.write("same.grades", "1.5\tequal\n" * 4)
    same = ("runs/grades", "data.validation=same.grades")
    found = json.loads(evaluated(program, 2, *same, "--json").out)
    check(found["pearson"] is None and found["spearman"] is None, f"constant labels: {found}")
    check("Pearson correlation undefined" in evaluated(program, 1, *same).out, "and in words")


def an_undefined_metric_is_never_the_best(program):
    program.write("same.grades", "1.5\tequal\n" * 24)
    result = trained(program, "same", 1, "data.train=same.grades",
                     "checkpoint.best_metric=spearman", "checkpoint.load_best_at_end=true",
                     "run.steps=6")
    told = evaluations(program, "same")
    check(all(line["spearman"] is None for line in told), f"{told}")
    check("Spearman correlation undefined" in result.out, "in the log", result)
    check(result.err.count("the evaluation after step ") == 1 and
          "has no spearman, which is undefined if" in result.err, "said once", result)
    check("warning: no evaluation had a spearman, so no step is the best" in result.err, "", result)
    check("the best weights are loaded" not in result.out, "none is the best", result)
    facts = facts_of(program, "same", 6)
    check(not any(name.startswith("best.") for name in facts), f"no fact of a best: {facts}")


def keeps_the_names_of_classes(program):
    check(facts_of(program, "r1", 12)["classes"] == '["flat", "high", "low"]', "a fact")
    folder = program.folder / "runs/r1/model"
    config = json.loads((folder / "config.json").read_text())
    check(config["id2label"] == {str(i): name for i, name in enumerate(NAMES)}, f"{config}")
    check(config["label2id"] == {name: i for i, name in enumerate(NAMES)}, f"{config}")
    told = evaluations(program, "r1")[-1]
    data = ("data.train=texts.tones", "data.validation_fraction=0.25")
    found = json.loads(evaluated(program, 2, str(folder), *data, "--json").out)
    check(all(found[key] == told[key] for key in ("loss_hex", *CLASSES)), f"{found} and {told}")
    # A folder that has the same names in another order is followed.
    config["id2label"] = {"0": "low", "1": "flat", "2": "high"}
    (folder / "config.json").write_text(json.dumps(config))
    trained(program, "goes_on", 2, "model.init_from=runs/r1/model", "zero.stage=1")
    check(facts_of(program, "goes_on", 12)["classes"] == '["low", "flat", "high"]', "its order")
    evaluated(program, 1, "runs/goes_on", "--scores", "goes_on.tsv")
    check(rows_of(program.folder / "goes_on.tsv")[0][2] == "score of low", "and its scores")
    again = trained(program, "goes_on", 1, "model.init_from=runs/r1/model", "run.steps=14")
    check("going on from step 12" in again.out, "a resume keeps the order", again)


def others_are_refused(program):
    program.write("odd.tones", "flat\tx\nloud\ty\n")
    check_refused(program.alone("eval", "runs/r1", "data.validation=odd.tones"), 3, "loud")
    check_refused(program.alone("eval", "runs/r1", "--scores", "scores1.tsv"), 5, "scores1.tsv")
    program.write("tiny.toml", INPUT.replace("texts.tones", "text.txt").replace('"f1"', '""'))
    result = program.wait(program.start(1, "run.steps=1", "checkpoint.interval=0",
                                        input_file="tiny.toml"), run="tiny")
    check(result.finished(), "a model of texts", result)
    check_refused(program.alone("eval", "runs/tiny", "--scores", "tiny.tsv"), 2,
                  "--scores: the model learns tokens, which give no scores of labels")
    check(not list(program.folder.glob("tiny.tsv*")), "no file is left")


def main():
    program = Program([sys.argv[3], sys.argv[2]])
    program.write("tones.toml", INPUT)
    program.write("texts.tones", "".join(texts(NAMES.__getitem__)))
    program.write("texts.grades", "".join(texts(lambda kind: kind + 0.5)))
    trains_alike_everywhere(program)
    logs_what_it_measures(program)
    writes_the_scores(program)
    keeps_the_order_of_the_file_in_buckets(program)
    measures_numbers(program)
    an_undefined_metric_is_never_the_best(program)
    keeps_the_names_of_classes(program)
    others_are_refused(program)
    print("scores go all ways")


main()
