#!/usr/bin/env python3
"""Texts with labels go through the whole program: words, whole numbers and real numbers, of one
text and of two, from TSV, CSV and JSON lines. Bytes and figures are the same everywhere, metrics
those of the scores that are written, folders come back, and mistakes are refused."""
import json

import labelled
from labelled import (evaluated, evaluations, facts_of, letters, metrics_of_classes,
                      metrics_of_numbers, rows_of, write_table)
from program import Program, check, check_refused, read_safetensors, shared

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 1
[model]
family = "deberta"
layers = 2
width = 32
heads = 2
inner = 48
position_buckets = 8
relative_distance = 20
convolution = "gelu"
dropout = 0.1
[data]
tokenizer = "bytes"
sequence_length = 24
[run]
steps = 12
threads = 1
[optimizer]
lr = 3e-3
[numerics]
reproducible = true
[evaluation]
interval = 3
micro_batch_size = 3
[checkpoint]
interval = 3
keep = 0
[export]
at_end = true
"""
SAMPLES, HELD_OUT = 70, 23  # which no micro-batch of three on 1 to 4 ranks divides
WORDS = ("high", "low", "middle")
CLASSES, NUMBERS = ("accuracy", "f1", "matthews"), ("pearson", "spearman")
# Names of classes, metrics and own settings of each run.
TASKS = {
    "words": (WORDS, CLASSES, ("data.train=words.tsv", "data.validation=words.csv",
                               "model.labels=3", "checkpoint.best_metric=f1")),
    "pairs": (("0", "1"), CLASSES, ("data.train=pairs.jsonl", "data.validation=pairs.tsv",
                                    "data.length_buckets=16, 24", "model.convolution=none",
                                    "checkpoint.best_metric=accuracy")),
    "grades": ((), NUMBERS, ("data.train=grades.csv", "data.validation=grades.jsonl",
                             "model.labels=1", "checkpoint.best_metric=pearson"))}
AS_MANY = 1500  # classes


def write_files(program):
    def write(name, names, *rows):
        write_table(program.folder / name, names, rows)

    words, pairs = list(letters(SAMPLES)), list(letters(SAMPLES, 3, (0, 1)))
    held_out, held_pairs = list(letters(HELD_OUT, 8)), list(letters(HELD_OUT, 9, (0, 1)))
    write("words.tsv", ("label", "sentence"), *((WORDS[kind], text) for kind, text in words))
    write("words.csv", ("text", "label"),
          *((text + ', "so"\nit is', WORDS[kind]) for kind, text in held_out))
    write("pairs.jsonl", ("sentence1", "sentence2", "label"),
          *((text, text[::-1], kind) for kind, text in pairs))
    write("pairs.tsv", ("index", "sentence1", "sentence2", "label"),
          *((i, text, text[::-1], kind) for i, (kind, text) in enumerate(held_pairs)))
    write("grades.csv", ("score", "text"), *((kind + 0.5, text) for kind, text in words))
    write("grades.jsonl", ("text", "label"), *((text, kind + 0.5) for kind, text in held_out))
    write("four.jsonl", ("text", "label"),
          *((text, WORDS[kind] if i % 5 else "none") for i, (kind, text) in enumerate(words)))
    write("many.jsonl", ("text", "label"),
          *((f"number {i}", f"class {i % AS_MANY}") for i in range(AS_MANY + 7)))


def trained(program, name, ranks, *settings):
    return labelled.trained(program, name, ranks, *settings, input_file="labels.toml")


def told_by(program, name, metrics):
    """What its evaluations say, without times."""
    lines = evaluations(program, name)
    keys = ["step", "loss", "loss_hex", *metrics, "samples", "seconds"]
    check(all(list(line) == keys and line["samples"] == HELD_OUT for line in lines), f"{lines}")
    return [[line[key] for key in keys[:-1]] for line in lines]


def trains_alike_everywhere(program):
    """A resume on other ranks at another stage is among them."""
    for task, (_, metrics, settings) in TASKS.items():
        states, told = set(), []
        for name, ranks, *more in ((task, 1), (f"{task}2", 2, "zero.stage=3")):
            states.add(trained(program, name, ranks, *settings, *more).state())
            told.append(told_by(program, name, metrics))
        halves = (*settings, "checkpoint.resume=auto")
        trained(program, f"{task}s", 4, *halves, "zero.stage=2", "run.stop_at=6")
        rest = trained(program, f"{task}s", 2, *halves, "zero.stage=1")
        check("going on from step 6" in rest.out, f"{task} goes on", rest)
        states.add(rest.state())
        told.append(told_by(program, f"{task}s", metrics))
        check(len(states) == 1, f"{task}: one state and not {states}")
        check(told[0] == told[1] == told[2], f"{task}: one row of evaluations and not {told}")


def keeps_the_best(program):
    for task, metric in (("words", "f1"), ("pairs", "accuracy"), ("grades", "pearson")):
        best = max(line[metric] for line in evaluations(program, task))
        fact = float.fromhex(facts_of(program, task, 12)[f"best.{metric}"])
        check(fact == best, f"{task}: the best {metric} is {best} and not {fact}")
    told = evaluations(program, "words")
    check(told[0]["accuracy"] < told[-1]["accuracy"] > 0.6, f"it has learnt: {told}")


def shows_its_data(program):
    said = {"words": ("words.tsv: TSV, 1 text and one of 3 classes; 70 samples\n",
                      "words.csv: CSV, 1 text and one of 3 classes; 23 samples; 23 samples"),
            "pairs": ("pairs.jsonl: JSON lines, 2 texts and one of 2 classes; 70 samples\n",
                      "pairs.tsv: TSV, 2 texts and one of 2 classes; 23 samples; 23 samples"),
            "grades": ("grades.csv: CSV, 1 text and a number; 70 samples\n",
                       "grades.jsonl: JSON lines, 1 text and a number; 23 samples; 23 samples")}
    for task, lines in said.items():
        result = program.alone("data", "labels.toml", *TASKS[task][2])
        check(all(line in result.out for line in lines), f"{task}: {lines}", result)
    for task, labels, read in (
            ("words", WORDS, lambda text: [1, *text.encode()[:22], 2]),
            ("pairs", ("0", "1"), lambda text: [1, *text.encode()[:21 - len(text)], 2,
                                                 *text.encode()[::-1], 2]),
            ("grades", ("0.5", "1.5", "2.5"), lambda text: [1, *text.encode()[:22], 2])):
        kinds = list(letters(SAMPLES, 3, (0, 1)) if task == "pairs" else letters(SAMPLES))
        shown = program.alone("data", "labels.toml", *TASKS[task][2], "--steps", "1..9", "--json")
        samples = [json.loads(line) for line in shown.out.splitlines()]
        check(len(samples) == 72, f"{task}: nine steps of eight", shown)
        for sample in samples:
            kind, text = kinds[sample["sample"]]
            wanted = read(text), labels[kind]
            check((sample["tokens"], sample["label"]) == wanted, f"{sample} is {wanted}")


def figures_of_words(words, metrics, found):
    names = {"accuracy": "accuracy", "f1": "F1", "matthews": "Matthews correlation",
             "pearson": "Pearson correlation", "spearman": "Spearman correlation"}
    for metric in metrics:
        check(f"  {names[metric]} {found[metric]:.4f}  " in words, f"{metric} of {found}: {words}")
    check(f"  {HELD_OUT} samples  " in words, f"all are counted: {words}")


def evaluates_alike_everywhere(program):
    for task, (names, metrics, _) in TASKS.items():
        told, files = evaluations(program, task)[-1], set()
        for ranks in (1, 2, 3):
            path = program.folder / f"{task}{ranks}.scores"
            line = (f"runs/{task}", "--scores", path.name)
            found = json.loads(evaluated(program, ranks, *line, "--json").out)
            check(all(found[key] == told[key] for key in ("loss_hex", "samples", *metrics)),
                  f"{task} on {ranks}: {found} and {told}")
            files.add(path.read_bytes())
        check(len(files) == 1, f"{task}: the same scores on any number of ranks")
        figures_of_words(evaluated(program, 2, f"runs/{task}").out, metrics, told)
        head, *rows = rows_of(program.folder / f"{task}1.scores")
        check(head == ["predicted", "label", *(f"score of {name}" for name in names)], f"{head}")
        check(len(rows) == HELD_OUT, f"{task}: {len(rows)} lines")
        wanted = metrics_of_classes(rows, names) if names else metrics_of_numbers(rows)
        for metric, value in zip(metrics, wanted):
            check(abs(told[metric] - value) < 1e-12, f"{task}: {metric} {told[metric]}, {value}")


def scores_are_in_the_order_of_the_file(program):
    for task, labels, kinds in (("words", WORDS, letters(HELD_OUT, 8)),
                                ("pairs", ("0", "1"), letters(HELD_OUT, 9, (0, 1))),
                                ("grades", ("0.5", "1.5", "2.5"), letters(HELD_OUT, 8))):
        _, *rows = rows_of(program.folder / f"{task}1.scores")
        check([row[1] for row in rows] == [labels[kind] for kind, _ in kinds], f"{task}: {rows}")
        if task != "grades":
            likeliest = [labels[max(range(len(labels)), key=lambda i: float(row[2 + i]))]
                         for row in rows]
            check([row[0] for row in rows] == likeliest, f"{task}: the highest score")


def folders_come_back(program):
    for task, (names, metrics, settings) in TASKS.items():
        model, told = program.folder / f"runs/{task}/model", evaluations(program, task)[-1]
        names = names or ("LABEL_0",)
        config = json.loads((model / "config.json").read_text())
        check(config["id2label"] == {str(i): name for i, name in enumerate(names)}, f"{config}")
        check(config["label2id"] == {name: i for i, name in enumerate(names)}, f"{config}")
        for words in (("import-weights", f"runs/{task}/model", f"{task}_imported"),
                      ("export", f"{task}_imported", f"{task}_again"),
                      ("export", f"runs/{task}", f"{task}_out")):
            result = program.alone(*words)
            check(result.status == 0, f"{words}", result)
        for name in ("model.safetensors", "config.json"):
            for copy in ("again", "out"):
                check((program.folder / f"{task}_{copy}" / name).read_bytes() ==
                      (model / name).read_bytes(), f"{task}_{copy}: {name} is as at the end")
        for place in (f"runs/{task}/model", f"{task}_imported"):
            line = (place, settings[1], "evaluation.micro_batch_size=3", "--json")
            found = json.loads(evaluated(program, 1, *line).out)
            apart = [abs(found[key] - told[key]) for key in ("loss", *metrics)]
            check(max(apart) < 1e-6, f"{place}: {found} and {told}")


def other_classes_take_a_new_head(program):
    four = ("data.train=four.jsonl", "data.validation=four.jsonl", "model.labels=4",
            "model.init_from=runs/words/model", "run.steps=1", "checkpoint.interval=1",
            "evaluation.interval=1", "optimizer.lr=0.0")
    check_refused(program.alone("labels.toml", *four, "run.output=runs/none"), 3,
                  "runs/words/model", 'model.reinit = ["classifier.*"]')
    out = trained(program, "four", 2, *four, 'model.reinit=["classifier.*"]', "zero.stage=3").out
    check("drawn anew  2 parameters: classifier.weight, classifier.bias\n" in out, f"{out}")
    shapes, source = (read_safetensors(program.folder / f"runs/{name}/model/model.safetensors")
                      for name in ("four", "words"))
    check(shapes[0]["classifier.weight"]["shape"] == [4, 32], f"{shapes[0]}")
    for tensor, content in source[1].items():
        is_kept = shapes[1][tensor] == content
        check(is_kept != tensor.startswith("classifier."), f"{tensor} is kept: {is_kept}")
    names = json.loads((program.folder / "runs/four/model/config.json").read_text())["id2label"]
    check(list(names.values()) == [*WORDS, "none"], f"the names of the data: {names}")


def many_classes_go_all_ways(program):
    result = trained(program, "many", 2, "data.train=many.jsonl", "data.validation=many.jsonl",
                     f"model.labels={AS_MANY}", "data.max_validation_samples=23", "run.steps=1",
                     "checkpoint.interval=1", "evaluation.interval=1", "zero.stage=3")
    told = evaluations(program, "many")[-1]
    check(abs(told["loss"] - 7.3) < 0.2, "a first loss near ln 1500", result)
    for place in ("runs/many", "runs/many/model"):
        line = (place, "data.validation=many.jsonl", "data.max_validation_samples=23",
                "evaluation.micro_batch_size=3", "--json")
        found = json.loads(evaluated(program, 1, *line).out)
        check(abs(found["loss"] - told["loss"]) < 1e-6, f"{place}: {found} and {told}")


def mistakes_are_refused(program):
    for name, rows in (("unknown", ("high\tx", "loud\ty")), ("missing", ("high\tx", "\ty")),
                       ("secret", ("high\tx", "-1\ty")), ("real", ("high\tx", "0.5\ty"))):
        program.write(f"{name}.tsv", "\n".join(("label\tsentence", *rows, "")))
    program.write("both.tsv", "label\tsentence1\tsentence2\ttext\nhigh\tx\ty\tz\n")
    program.write("real.jsonl", '{"text": "x", "label": 1}\n{"text": "y", "label": 0.5}\n')
    words = TASKS["words"][2]
    for file, said in (("unknown.tsv", ('line 3: the label "loud"', "high, low, middle")),
                       ("missing.tsv", ('line 3: the label ""', "leave the line out")),
                       ("secret.tsv", ('line 3: the label "-1"', "leave the line out")),
                       ("real.tsv", ('line 3: the label "0.5"', "high, low, middle")),
                       ("real.jsonl", ("the label",)), ("pairs.tsv", ("2 texts", "words.tsv 1")),
                       ("both.tsv", ('"sentence1"', '"text"', "data.text_fields"))):
        check_refused(program.alone("eval", "runs/words", f"data.validation={file}"), 3, file,
                      *said)
    for status, said, settings in (
            (3, 'line 3: the label ""', ("data.train=missing.tsv",)),
            (3, "write data.text_fields = ", ("data.train=both.tsv",)),
            (3, "line 2: the label 0.5 is no class", ("data.train=real.jsonl",)),
            (3, 'the label "middle" is none of', ('data.labels=["high", "low", "flat"]',)),
            (2, "write model.labels = 3", ("model.labels=4",)),
            (2, "write model.labels = 3", ("model.labels=2",)),
            (2, '"low" stands there twice', ('data.labels=["low", "high", "low"]',)),
            (2, 'write "pearson", "spearman"', ("model.labels=1",)),
            (2, 'write best_metric = "accuracy", "f1", "matthews", or "validation_loss"',
             ("checkpoint.best_metric=acc",)),
            (2, 'write "accuracy", "f1", "matthews"', ("checkpoint.best_metric=spearman",))):
        written = {setting.split("=")[0] for setting in settings}
        kept = [setting for setting in words if setting.split("=")[0] not in written]
        check_refused(program.alone("labels.toml", *kept, *settings, "run.output=runs/none"),
                      status, said)
    result = program.alone("data", "labels.toml", "data.train=both.tsv", "model.labels=3",
                           "data.validation=both.tsv", 'data.text_fields=["text"]',
                           'data.labels=["high", "low", "middle"]')
    check("both.tsv: TSV, 1 text and one of 3 classes; 1 sample\n" in result.out, "read", result)
    check_refused(program.alone("eval", "runs/grades", "data.validation=words.csv"), 3,
                  "words.csv", "is no number")
    check_refused(program.alone("eval", "runs/words", "--scores", "words1.scores"), 5,
                  "words1.scores")
    check_refused(program.alone("generate", "runs/words", "--prompt", "x"), 2,
                  "a DeBERTa writes no texts", "zeroapp eval")
    check(not (program.folder / "runs/none/checkpoints").exists(), "nothing is trained")


def main():
    program = Program()
    program.write("labels.toml", shared(INPUT))
    write_files(program)
    trains_alike_everywhere(program)
    keeps_the_best(program)
    shows_its_data(program)
    evaluates_alike_everywhere(program)
    scores_are_in_the_order_of_the_file(program)
    folders_come_back(program)
    other_classes_take_a_new_head(program)
    mistakes_are_refused(program)
    many_classes_go_all_ways(program)
    print("labelled texts go all ways")


main()
