#!/usr/bin/env python3
"""Names of classes decide what a label means: a model is measured with its own names, or with whole
numbers where it has none, and trained on in the order of its folder; whatever else is written is
refused with both lists."""
import json
import shutil

import labelled
from labelled import evaluated, evaluations, facts_of, letters, rows_of, write_table
from program import Program, check, check_refused, shared

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 2
[model]
family = "deberta"
layers = 1
width = 32
heads = 2
inner = 48
position_buckets = 8
relative_distance = 20
dropout = 0.0
[data]
train = "words.tsv"
validation = "words.tsv"
sequence_length = 16
[run]
steps = 40
threads = 1
[optimizer]
lr = 1e-2
[numerics]
reproducible = true
[evaluation]
interval = 40
micro_batch_size = 3
[export]
at_end = true
"""
SAMPLES = 44
WORDS, OTHERS, ORDER = ("high", "low", "middle"), ("a", "b", "c"), ("low", "middle", "high")
SHORT = ("h", "l", "m")  # for WORDS
METRICS = ("accuracy", "f1", "matthews")
SOME = {"first.tsv": (0, 1), "last.tsv": (2,)}  # classes that a file has
NUMBERED = tuple(f"LABEL_{i}" for i in range(3))
STILL = ("run.steps=1", "evaluation.interval=1", "optimizer.lr=0.0")
REINIT = 'model.reinit=["classifier.*"]'


def list_of(names):
    return "data.labels=" + json.dumps(names)


def write_files(program):
    samples = list(letters(SAMPLES))
    for name, label in (("words", WORDS.__getitem__), ("short", SHORT.__getitem__),
                        ("whole", int), ("grades", lambda i: i / 2)):
        rows = [(label(kind), text) for kind, text in samples]
        write_table(program.folder / f"{name}.tsv", ("label", "text"), rows)
    for file, kinds in SOME.items():
        write_table(program.folder / file, ("label", "text"),
                    [(kind, text) for kind, text in samples if kind in kinds])


def folder_of(program, name, source, names):
    """A model as others publish it: that of a run, with these names."""
    folder = program.folder / name
    shutil.copytree(program.folder / "runs" / source / "model", folder)
    config = json.loads((folder / "config.json").read_text())
    del config["zeroapp"]
    config["id2label"] = {str(i): label for i, label in enumerate(names)}
    config["label2id"] = {label: i for i, label in enumerate(names)}
    (folder / "config.json").write_text(json.dumps(config))


def trained(program, name, *settings):
    return labelled.trained(program, name, 1, *settings, input_file="labels.toml")


def line_of(place, file, *more):
    """What a published folder does not say is written."""
    own = () if place.startswith("runs/") else ("data.tokenizer=bytes", "data.sequence_length=16",
                                                "evaluation.micro_batch_size=3")
    return (place, f"data.validation={file}", *own, *more)


def measured(program, *words):
    return json.loads(evaluated(program, 1, *line_of(*words), "--json").out)


def alike(program, run, *words, metrics=METRICS):
    """A place and a file, measured as the run's last evaluation."""
    told, found = evaluations(program, run)[-1], measured(program, *words)
    check(abs(found["loss"] - told["loss"]) < 1e-6 and all(
        abs(found[key] - told[key]) < 1e-6 for key in metrics), f"{words}: {found} and {told}")


def words_are_no_numbers(program):
    """A whole number says nothing of a model with names, unless a user says what."""
    for place in ("runs/words", "runs/words/model", "named"):
        check_refused(program.alone("eval", *line_of(place, "whole.tsv")), 3,
                      "whole.tsv: line 2: the label ", "high, low, middle; write data.labels")
        alike(program, "words", place, "words.tsv")
        alike(program, "words", place, "whole.tsv", list_of(WORDS))
    check_refused(program.alone("labels.toml", "model.labels=3", "data.validation=whole.tsv",
                                "run.output=runs/none"), 3, "whole.tsv: line 2: the label ",
                  "high, low, middle; write all classes as data.labels")


def other_words_can_be_written(program):
    """As the refusal advises, in the order of the names that they stand for."""
    line = line_of("named", "short.tsv")
    check_refused(program.alone("eval", *line), 3, "short.tsv: line 2: the label ",
                  "write data.labels, the words of the file for these, in this order")
    alike(program, "words", "named", "short.tsv", list_of(SHORT))


def numbers_stand_for_what_has_no_names(program):
    """As whole numbers name the classes of a training."""
    trained(program, "whole", "model.labels=3", "data.train=whole.tsv",
            "data.validation=whole.tsv")
    check(facts_of(program, "whole", 40)["classes"] == '["0", "1", "2"]', "names of numbers")
    folder_of(program, "numbered", "whole", NUMBERED)
    evaluated(program, 1, "runs/whole", "--scores", "whole.scores")
    _, *rows = rows_of(program.folder / "whole.scores")
    for place in ("runs/whole", "runs/whole/model", "numbered"):
        alike(program, "whole", place, "whole.tsv")
        for file, kinds in SOME.items():
            hits = [row[0] == row[1] for row in rows if int(row[1]) in kinds]
            found = measured(program, place, file)
            check(abs(found["accuracy"] - sum(hits) / len(hits)) < 1e-9, f"{file}: {found}")
        # As many words as classes are not taken for them in some order.
        check_refused(program.alone("eval", *line_of(place, "words.tsv")), 3,
                      "words.tsv: line 2: the label ", "0, 1, 2; write data.labels")
    alike(program, "whole", "numbered", "words.tsv", list_of(WORDS))


def one_label_is_a_number(program):
    """However it is named."""
    grades = ("model.labels=1", "data.train=grades.tsv", "data.validation=grades.tsv")
    trained(program, "grades", *grades)
    folder_of(program, "similarity", "grades", ("similarity",))
    metrics = ("pearson", "spearman")
    for place in ("runs/grades", "runs/grades/model", "similarity"):
        alike(program, "grades", place, "grades.tsv", metrics=metrics)
    trained(program, "graded", *grades, "model.init_from=similarity", *STILL)
    alike(program, "graded", "similarity", "grades.tsv", metrics=metrics)
    check_refused(program.alone("eval", *line_of("similarity", "words.tsv")), 3,
                  "words.tsv: line 2: the label ", "is no number")


def names_of(program, run):
    """In the checkpoint, the exported model and the scores."""
    fact = json.loads(facts_of(program, run, 1)["classes"])
    config = json.loads((program.folder / f"runs/{run}/model/config.json").read_text())
    check(list(config["id2label"].values()) == fact, f"{run}: {config['id2label']} and {fact}")
    evaluated(program, 1, f"runs/{run}", "--scores", f"{run}.scores")
    head = rows_of(program.folder / f"{run}.scores")[0]
    check(head[2:] == [f"score of {name}" for name in fact], f"{run}: {head} and {fact}")
    return tuple(fact)


def a_folder_has_its_order(program):
    folder_of(program, "ordered", "words", ORDER)
    result = program.alone("import-weights", "ordered", "imported")
    check(result.status == 0, "a folder is imported", result)
    for i, begin in enumerate(("ordered", "imported")):
        for j, written in enumerate(((), (list_of(ORDER),))):
            run = f"ordered{i}{j}"
            trained(program, run, f"model.init_from={begin}", *written, *STILL)
            found = names_of(program, run)
            check(found == ORDER, f"{begin} with {written} has {found}")
            alike(program, run, "ordered", "words.tsv")
    alike(program, "words", "named", "words.tsv")
    told = evaluations(program, "ordered00")[-1], evaluations(program, "words")[-1]
    check(told[0]["loss"] > told[1]["loss"], f"other names mean other classes: {told}")


def other_names_are_refused(program):
    """Unless the head is drawn anew, which then has the names of the data, or the user has written
    what the words of the data stand for."""
    folder_of(program, "others", "words", OTHERS)
    for begin, names, written, wanted in (
            ("others", OTHERS, (), WORDS), ("ordered", ORDER, (list_of(WORDS),), WORDS),
            ("ordered", ORDER, (list_of(WORDS[::-1]),), WORDS[::-1])):
        settings = (f"model.init_from={begin}", *written)
        result = program.alone("labels.toml", *settings, "run.output=runs/none")
        check_refused(result, 3, begin, json.dumps(names), json.dumps(wanted), "data.labels",
                      "model.reinit")
        result = program.alone("labels.toml", *settings, 'model.reinit=["classifier.weight"]',
                               "run.output=runs/none")
        check_refused(result, 3, "model.reinit keeps classifier.bias of their head",
                      'model.reinit = ["classifier.*"]')
        run = f"anew_{begin}_{wanted[0]}"
        trained(program, run, *settings, REINIT, *STILL)
        check(names_of(program, run) == wanted, f"{settings} with a new head")
    check(not (program.folder / "runs/none/checkpoints").exists(), "nothing is trained")
    trained(program, "meant", "model.init_from=others", list_of(WORDS), *STILL)
    check(names_of(program, "meant") == WORDS, "words that are written stand for others")
    alike(program, "meant", "named", "words.tsv")


def a_training_file_that_is_gone_is_not_asked_for(program):
    """The classes are those of the checkpoint."""
    file = program.folder / "words.tsv"
    moved = file.rename(program.folder / "moved.tsv")
    alike(program, "words", "runs/words", "moved.tsv")
    moved.rename(file)


def no_text_is_read_as_bytes_unasked(program):
    """The tokenizer of a folder that lacks it and has a larger vocabulary."""
    trained(program, "wide", "model.labels=3", "model.vocab_size=400", *STILL)
    folder_of(program, "foreign", "wide", WORDS)
    said = "foreign: holds no tokenizer, and its vocabulary of 400 is not that of bytes"
    own = ("data.validation=words.tsv", "data.sequence_length=16",
           "evaluation.micro_batch_size=3")
    check_refused(program.alone("eval", "foreign", *own), 3, said, "spm.model")
    check_refused(program.alone("labels.toml", "model.init_from=foreign", *STILL,
                                "run.output=runs/none"), 3, said)
    evaluated(program, 1, "foreign", *own, "data.tokenizer=bytes")
    trained(program, "asked", "model.init_from=foreign", "data.tokenizer=bytes", *STILL)


PARTS = (words_are_no_numbers, a_training_file_that_is_gone_is_not_asked_for,
         no_text_is_read_as_bytes_unasked, numbers_stand_for_what_has_no_names,
         one_label_is_a_number, a_folder_has_its_order, other_names_are_refused,
         other_words_can_be_written)


def main():
    program = Program()
    program.write("labels.toml", shared(INPUT))
    write_files(program)
    trained(program, "words", "model.labels=3")
    folder_of(program, "named", "words", WORDS)
    for part in PARTS:
        part(program)
    print("names mean what they say")


main()
