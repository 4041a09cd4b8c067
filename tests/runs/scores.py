#!/usr/bin/env python3
"""zeroapp eval scores choices and documents as lm-eval does (golden/lm_eval_scores.json), to the
same digits at every rank count and stage; a training measures them beside its loss and keeps the
best checkpoint by them; what cannot be scored is refused."""
import json
import pathlib

from labelled import evaluations, facts_of
from program import Program, check, check_refused, shared
from scored_models import (DOCUMENTS, LENGTH, MODELS, RECORDS, documents, records, write_lines,
                           write_model)

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "lm_eval_scores.json"
SCORED = ("evaluation.choices=choices.jsonl", "evaluation.documents=documents.jsonl",
          "evaluation.micro_batch_size=4", "run.threads=1")
NAMES = ("acc", "acc_norm", "acc_bytes", "acc_greedy", "word_perplexity", "byte_perplexity",
         "bits_per_byte")
INPUT = """
train_batch_size = 4
train_micro_batch_size_per_gpu = 1
[model]
init_from = "%s"
[data]
train = "documents.jsonl"
validation_fraction = 0.3
tokenizer = "%s"
sequence_length = 64
[run]
steps = 6
threads = 1
[optimizer]
lr = 3e-3
[numerics]
reproducible = true
[evaluation]
interval = 2
micro_batch_size = 3
choices = "choices.jsonl"
documents = "documents.jsonl"
[checkpoint]
interval = 2
keep = 0
best_metric = "acc_norm"
"""


def prepare(program):
    for name in MODELS:
        write_model(program.folder / name, name)
    write_lines(program.folder / "choices.jsonl", records())
    write_lines(program.folder / "documents.jsonl", documents())


def evaluated(program, ranks, model, *words):
    result = program.together(ranks, "eval", model, *words) if ranks > 1 else \
        program.alone("eval", model, *words)
    check(result.status in (0, 1) and not result.error_lines(), f"{model}: {ranks} ranks", result)
    return result.out


def measured(program, ranks, model, *words):
    found = json.loads(evaluated(program, ranks, model, "--json", *words))
    return {name: found[name] for name in NAMES}


def sums_in(path):
    return [[float(score) for score in line.split("\t")[2:]]
            for line in path.read_text().splitlines()[1:]]


def agrees(program, name, said):
    """What lm-eval says is what eval says: counts are equal, logarithms to its fp32."""
    found = measured(program, 1, name, *SCORED, "--scores", f"{name}.tsv")
    for metric in NAMES[:4]:
        check(abs(found[metric] - said[metric]) < 1e-12,
              f"{name}: {metric} is {found[metric]}, not {said[metric]}")
    for metric in NAMES[4:]:
        check(abs(found[metric] / said[metric] - 1) < 2e-5,
              f"{name}: {metric} is {found[metric]}, not {said[metric]}")
    sums = sums_in(program.folder / f"{name}.tsv")
    check([len(row) for row in sums] == [len(row) for row in said["sums"]], f"{name}: all choices")
    apart = max(abs(one - other) / (1 + abs(other)) for row, wanted in zip(sums, said["sums"])
                for one, other in zip(row, wanted))
    check(apart < 2e-5, f"{name}: a sum is {apart} apart")
    return found


def is_the_same_on_any_ranks(program, name, found):
    for ranks, *more in ((3,), (3, "zero.stage=3"), (2, "zero.stage=3")):
        path = program.folder / "others.tsv"
        path.unlink(missing_ok=True)
        again = measured(program, ranks, name, *SCORED, *more, "--scores", path.name)
        check(again == found, f"{name}: {ranks} ranks, {more}: {again} and not {found}")
        check(path.read_text() == (program.folder / f"{name}.tsv").read_text(),
              f"{name}: the sums of {ranks} ranks, {more}")


def says_it_in_words(program):
    out = evaluated(program, 1, "gpt2", *SCORED)
    check(out.startswith("acc 0.") and "  word_perplexity " in out and "loss" not in out, out)
    one = json.loads(evaluated(program, 1, "gpt2", "--json", SCORED[0]))
    check("acc" in one and "bits_per_byte" not in one and "loss" not in one, f"choices: {one}")


def scores_in_a_training(program, name):
    program.write(f"{name}.toml", shared(INPUT % (name, name)))
    told = set()
    for ranks, stage in ((1, 0), (2, 3)):
        run = f"{name}{ranks}"
        result = program.wait(program.start(ranks, f"run.output=runs/{run}", f"zero.stage={stage}",
                                            input_file=f"{name}.toml"), run=run)
        check(result.finished() and "  acc_norm 0." in result.out, f"{name}: trained", result)
        told.add(tuple(tuple(line[key] for key in ("step", "loss_hex", *NAMES))
                       for line in evaluations(program, run)))
    check(len(told) == 1, f"{name}: one row of evaluations and not {told}")
    lines = evaluations(program, f"{name}2")
    check(len(lines) == 3 and lines[0]["word_perplexity"] != lines[-1]["word_perplexity"],
          f"{name}: every evaluation scores: {lines}")
    best = max(line["acc_norm"] for line in lines)
    check(float.fromhex(facts_of(program, f"{name}2", 6)["best.acc_norm"]) == best,
          f"{name}: the best by acc_norm")
    found = json.loads(evaluated(program, 3, f"runs/{name}2", "--json"))
    check(all(found[key] == lines[-1][key] for key in ("loss_hex", *NAMES)),
          f"{name}: what the run ended with: {found} {lines[-1]}")


def refuses_what_cannot_be_scored(program):
    alone = program.alone("eval", "gpt2", "evaluation.choices=documents.jsonl")
    check_refused(alone, 3, "documents.jsonl: line 1", "\"context\" is missing")
    check_refused(program.alone("eval", "gpt2"), 2, "no validation data")
    long = program.alone("eval", "gpt2", SCORED[0], "data.sequence_length=2")
    check_refused(long, 3, "choices.jsonl: line ", "data.sequence_length is 2; write ")
    no_choices = program.alone("eval", "gpt2", SCORED[1], "--scores", "x.tsv")
    check_refused(no_choices, 2, "--scores", "write evaluation.choices=FILE")
    untrained = program.train(1, "data.validation_fraction=0", "evaluation.choices=choices.jsonl",
                              "data.max_validation_samples=0")
    check_refused(untrained, 2, "write data.validation or data.validation_fraction")
    bytes_alone = program.train(1, "evaluation.documents=documents.jsonl")
    check_refused(bytes_alone, 2, "evaluation.prefix_token_id = NUMBER")
    result = program.train(1, "evaluation.documents=documents.jsonl",
                           "evaluation.prefix_token_id=10")
    check(result.finished() and "  bits_per_byte " in result.out, "bytes behind a newline", result)


def main():
    program = Program()
    prepare(program)
    golden = json.loads(GOLDEN.read_text())
    for name in MODELS:
        is_the_same_on_any_ranks(program, name, agrees(program, name, golden[name]))
        scores_in_a_training(program, name)
        print(f"{name}: scores are those of lm-eval {golden['lm_eval']}", flush=True)
    says_it_in_words(program)
    refuses_what_cannot_be_scored(program)
    print("scores go all ways")


if __name__ == "__main__":
    main()
