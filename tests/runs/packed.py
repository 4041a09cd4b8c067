#!/usr/bin/env python3
"""Documents packed in rows are learnt as each alone: of one batch, loss and gradients of packed
rows equal those of a document a row. A step of SGD from the same weights leaves the weights minus
the gradients, so exported weights compare gradients. Rows at any split of ranks and micro-batches
count the same targets and make the same weights. Lists of files are mixed and resume at the
sample, and a prepared set trains as its files do."""
import json
import math
import random
import struct
import sys

from program import Program, check, check_refused, read_safetensors

LENGTH = 16
MODEL = """
train_micro_batch_size_per_gpu = 1
[model]
family = "llama"
layers = 2
width = 64
heads = 4
key_heads = 2
inner = 96
vocab_size = 131
max_positions = 64
[data]
train = "documents.jsonl"
sequence_length = 16
[run]
steps = 1
threads = 1
[optimizer]
type = "SGD"
lr = 1.0
[numerics]
reproducible = true
[export]
at_end = true
[checkpoint]
resume = "never"
"""


def documents():
    """Documents of 1 token, of a row, of one more, and others; of a third not all is learnt."""
    random.seed(3)
    records = []
    for length in (1, LENGTH, LENGTH + 1, 2, *(random.randint(2, LENGTH) for _ in range(20))):
        ids = [random.randrange(131) for _ in range(length)]
        unlearnt = length // 2 if len(records) % 3 == 2 else 0
        records.append({"input_ids": ids, "labels": [-100] * unlearnt + ids[unlearnt:]})
    return records


def targets_of(record):
    ids = record["input_ids"][:LENGTH]
    labels = record.get("labels", ids)[:LENGTH]
    return sum(label != -100 for label in labels[1:])


def weights_of(program, run):
    """The fp32 tensors that a run exported, by name."""
    rows, tensors = read_safetensors(program.folder / f"runs/{run}/model/model.safetensors")
    check(all(row["dtype"] == "F32" for row in rows.values()), "weights are fp32")
    return {name: struct.unpack(f"<{len(raw) // 4}f", raw) for name, raw in tensors.items()}


def trained(program, name, ranks, *settings):
    result = program.wait(program.start(ranks, *settings, f"run.output=runs/{name}",
                                        input_file="packed.toml"), run=name)
    check(result.finished(), f"{name}: {ranks} ranks with {settings}", result)
    return result


def rows_of(program, *settings):
    found = program.alone("data", "packed.toml", "--json", *settings)
    return json.loads(found.out)["train"]["samples"]


def distance(a, b, start):
    """The largest relative difference of two gradients, by tensors."""
    worst = 0
    for name, weights in start.items():
        first = [w - x for w, x in zip(weights, a[name])]
        second = [w - x for w, x in zip(weights, b[name])]
        norm = math.sqrt(sum(x * x for x in first))
        if norm > 0:
            worst = max(worst, math.dist(first, second) / norm)
    return worst


def equals_documents_alone(program):
    records = documents()
    kept = [record for record in records if targets_of(record) > 0]
    program.write("documents.jsonl", "".join(json.dumps(one) + "\n" for one in records))
    packed, alone = rows_of(program), rows_of(program, "data.packing=none")
    check(alone == len(kept) and packed < alone,
          f"{packed} rows of {alone} of {len(kept)} documents")
    trained(program, "start", 1, f"gradient_accumulation_steps={packed}", "optimizer.lr=0.0")
    rows = trained(program, "rows", 1, f"gradient_accumulation_steps={packed}")
    one = trained(program, "alone", 1, f"gradient_accumulation_steps={alone}", "data.packing=none")
    losses = rows.metrics[0]["loss"], one.metrics[0]["loss"]
    check(abs(losses[0] - losses[1]) <= 1e-6 * losses[1], f"losses {losses}")
    worst = distance(*(weights_of(program, run) for run in ("rows", "alone", "start")))
    check(0 < worst <= 1e-5, f"gradients differ by {worst}")
    check("1 document cut to 16 tokens, 1 document without a target left out" in rows.out,
          "the banner counts what was cut and left out", rows)
    # Documents that see one another have another loss.
    stream = trained(program, "stream", 1, "data.packing=stream",
                     f"gradient_accumulation_steps={packed}")
    check(abs(stream.metrics[0]["loss"] - losses[1]) > 1e-4 * losses[1], "borders act")


def splits_anyhow(program):
    states = set()
    for ranks, stage, steps in ((1, 0, 8), (2, 3, 4), (4, 2, 2)):
        result = trained(program, "split", ranks, f"zero.stage={stage}", "run.steps=3",
                         f"gradient_accumulation_steps={steps}", "optimizer.lr=0.1")
        states.add((result.summary["state_sha256"], result.metrics[-1]["loss"]))
    check(len(states) == 1, f"one state and not {states}")
    single = trained(program, "micro1", 1, "gradient_accumulation_steps=8")
    four = trained(program, "micro4", 1, "gradient_accumulation_steps=2",
                   "train_micro_batch_size_per_gpu=4")
    losses = single.metrics[0]["loss"], four.metrics[0]["loss"]
    check(abs(losses[0] - losses[1]) <= 1e-6 * losses[1], f"losses {losses} of two micro-batches")


def shows_rows(program):
    result = program.alone("data", "packed.toml", "--steps", "1", "--json",
                           "gradient_accumulation_steps=1")
    row = json.loads(result.out.splitlines()[0])
    whole = [one["input_ids"][:LENGTH] for one in documents()]
    shown = [ids for name, ids in row.items() if name.startswith("document")
             and not name.endswith("text")]
    check(shown and all(ids in whole for ids in shown), f"{row}")
    result = program.alone("data", "packed.toml", "--steps", "1", "gradient_accumulation_steps=1")
    check("learnt" in result.out and "16 tokens of whole documents" in result.out, "a row", result)


def mixes_and_resumes(program):
    texts = {"a": "aa bb cc", "b": "dd ee", "c": "f"}
    for name, text in texts.items():
        program.write(f"{name}.jsonl", "".join(json.dumps({"text": f"{text} {i}"}) + "\n"
                                               for i in range(30)))
    mix = 'data.train=[{path = "a.jsonl", weight = 3}, {path = "[bc].jsonl", weight = 1}]'
    settings = (mix, "model.vocab_size=256", "optimizer.lr=0.1", "run.steps=6")
    whole = trained(program, "whole", 2, *settings, "gradient_accumulation_steps=2")
    trained(program, "parts", 2, *settings, "run.stop_at=3", "checkpoint.resume=auto",
            "gradient_accumulation_steps=2")
    parts = trained(program, "parts", 1, *settings, "checkpoint.resume=auto",
                    "gradient_accumulation_steps=4")
    check("step 3" in parts.out and parts.state() == whole.state(),
          "a mix goes on at its sample", parts)
    told = program.alone("data", "packed.toml", "--steps", "1..25", "--json", *settings,
                         "gradient_accumulation_steps=4")
    samples = [json.loads(line)["sample"] for line in told.out.splitlines()]
    rows = rows_of(program, 'data.train=["a.jsonl"]', "model.vocab_size=256")
    share = sum(sample < rows for sample in samples) / len(samples)
    check(abs(share - 0.75) <= 0.02, f"a share of {share} of {len(samples)}")
    check_refused(program.alone("data", "packed.toml", 'data.train=["none/*.jsonl"]'), 2,
                  "matches no file")


def trains_on_a_prepared_set(program):
    own = trained(program, "own", 1, "gradient_accumulation_steps=2", "run.steps=2")
    made = program.alone("data", "packed.toml", "--prepare", "set.documents")
    check("24 documents, 1 part" in made.out, "a set is made", made)
    again = trained(program, "set", 2, "data.train=set.documents", "run.steps=2",
                    "gradient_accumulation_steps=1")
    check(again.state() == own.state(), "a set trains as its files", again)


def main():
    program = Program()
    program.write("packed.toml", MODEL)
    equals_documents_alone(program)
    splits_anyhow(program)
    shows_rows(program)
    trains_on_a_prepared_set(program)
    mixes_and_resumes(program)
    print("documents are learnt as alone")


main()
