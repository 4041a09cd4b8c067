#!/usr/bin/env python3
"""Files of pairs of texts go through the commands with a family that learns from them: argv[3] is
such a program, families/tower.cpp. All formats of one set of pairs make one model, at any rank
count; damaged and long texts are named by file and line; a text without pairs is mended."""
import csv
import io
import json
import sys

from program import Program, check, check_refused

RELAY = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 1
[model]
name = "near"
[data]
train = "pairs.jsonl"
source_field = "translation.en"
target_field = "translation.ro"
source_prefix = "say: "
source_length = 12
target_length = 20
validation_fraction = 0.2
[run]
steps = 3
threads = 1
[numerics]
reproducible = true
"""

PAIRS = [(f"{i} times \"{i}\"", f"is {i * i}, \tand {i + i}") for i in range(50)]
CUT = sum(len("say: " + source) + 1 > 12 for source, _ in PAIRS)


def trained(program, name, ranks, *settings):
    result = program.wait(program.start(ranks, *settings, f"run.output=runs/{name}",
                                        "checkpoint.resume=never", input_file="relay.toml"),
                          run=name)
    check(result.finished(), f"{name}: {ranks} ranks with {settings}", result)
    return result


def write_formats(program):
    lines = [json.dumps({"translation": {"en": en, "ro": ro}}) + "\n" for en, ro in PAIRS]
    program.write("pairs.jsonl", "".join(lines))
    table = io.StringIO()
    csv.writer(table).writerows([("translation.ro", "translation.en")] + [p[::-1] for p in PAIRS])
    with open(program.folder / "pairs.csv", "w", newline="", encoding="utf-8") as file:
        file.write(table.getvalue())
    for ending, place in (("source", 0), ("target", 1)):
        program.write(f"pairs.{ending}", "".join(pair[place] + "\n" for pair in PAIRS))


def makes_one_model_of_every_format(program):
    states = set()
    for name, ranks in (("pairs.jsonl", 1), ("pairs.jsonl", 2), ("pairs.csv", 4),
                        ("pairs.source", 2)):
        result = trained(program, "formats", ranks, f"data.train={name}", "zero.stage=2")
        check(f"in training and validation {CUT} sources cut to 12 tokens" in result.out,
              f"the banner says that {CUT} were cut", result)
        states.add((result.summary["state_sha256"], result.summary["eval_loss"]))
    check(len(states) == 1, f"one state and not {states}")
    other = trained(program, "other", 1, "data.source_prefix=ask: ").summary
    check(other["state_sha256"] not in {state for state, _ in states}, "sources change nothing")


def shows_samples(program):
    result = program.alone("data", "relay.toml", "--steps", "1", "--json", "--decode")
    sample = json.loads(result.out.splitlines()[0])
    source, target = PAIRS[sample["sample"]]
    check(sample["source_text"] == ("say: " + source)[:11] + "\1", f"the source of {sample}")
    check(sample["next_text"] == target[:19] + "\1" and sample["start"] == [0], f"{sample}")
    result = program.alone("data", "relay.toml", "--steps", "1", "--decode")
    check("say: " in result.out and "JSON lines; 50 pairs" in result.out
          and "at most 12 + 20 tokens" in result.out and f"{CUT} sources cut" in result.out,
          "the summary and a sample", result)


def names_what_is_wrong(program):
    program.write("broken.jsonl", '{"translation": {"en": "a", "ro": "b"}}\n{"translation": 1}\n')
    refused = program.alone("data", "relay.toml", "data.train=broken.jsonl")
    check_refused(refused, 3, "broken.jsonl: line 2", "translation.en")
    refused = program.alone("data", "relay.toml", "data.noise_density=0.15",
                            "data.source_prefix=", "data.source_field=source",
                            "data.target_field=target")
    check_refused(refused, 2, "pairs.jsonl is a file of pairs by its name", "noise_density = 0")
    program.write("empty.tsv", "translation.en\ttranslation.ro\n" + "a\t\nb\tc\n" * 8)
    told = program.alone("data", "relay.toml", "data.train=empty.tsv")
    check("in training and validation 8 targets are empty" in told.out, "empty targets", told)
    refused = program.alone("data", "relay.toml", "data.too_long=refuse")
    check_refused(refused, 3, "pairs.jsonl: line 1: the source has 17 tokens", "source_length")
    refused = program.alone("plan", "relay.toml", "model.name=low")
    check("source_prefix" in refused.err and "has no effect" in refused.err,
          "keys of pairs act with pairs alone", refused)


def mends_a_text(program):
    settings = ("data.train=text.txt", "data.noise_density=0.15", "data.source_length=40",
                "data.source_prefix=", "data.source_field=source", "data.target_field=target",
                "model.family=relay", "model.name=", "model.floors=2", "model.width=64",
                "model.inner=128", "model.letters=260", "model.longest=40",
                "model.source_length=40")
    result = trained(program, "mended", 2, *settings)
    shown = program.alone("data", "relay.toml", *settings, "--steps", "1", "--decode")
    check("spans to be found again" in shown.out and "<259>" in shown.out, "sentinels", shown)
    check(result.summary["eval_loss"] > 0, "a loss", result)


def main():
    program = Program([sys.argv[3], sys.argv[2]])
    program.write("relay.toml", RELAY)
    write_formats(program)
    makes_one_model_of_every_format(program)
    shows_samples(program)
    names_what_is_wrong(program)
    mends_a_text(program)
    print("pairs go all ways")


main()
