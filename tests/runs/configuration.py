#!/usr/bin/env python3
"""The input file as a user meets it: the reference trains, its effective form is an input file
again, and what is wrong is said at once."""
import pathlib

from program import Program, check

REFERENCE = pathlib.Path(__file__).resolve().parents[2] / "inputs" / "reference.toml"
TINY = ("model.name=", "model.layers=2", "model.width=64", "model.heads=2", "run.threads=1",
        "data.sequence_length=32", "train_micro_batch_size_per_gpu=1", "run.steps=2")


def reference_plans_as_it_stands(program):
    result = program.alone("plan", str(REFERENCE), "train_micro_batch_size_per_gpu=1",
                           "--ranks", "2", "--machine", "v100_32g")
    check(result.status == 0, "the reference is a plan", result)


def reference_trains(program):
    program.write("reference.toml", REFERENCE.read_text())
    result = program.wait(program.start(1, *TINY, input_file="reference.toml"), run="reference")
    check(result.finished() and len(result.metrics) == 2, "the reference trains", result)
    effective = program.folder / "runs/reference/effective.toml"
    check("width = 64  # command line" in effective.read_text(), "every value has its origin")
    again = program.alone("plan", str(effective), "--ranks", "1")
    check(again.status == 0, "the effective configuration is an input file", again)


def everything_wrong_is_said_at_once(program):
    program.write("wrong.toml", "fp16.enabled = \"true\"\n[zero_optimization]\nstage = 1\n"
                                "[optimizer]\nlr = -1\nlr = 2\n[run]\nsteps = 5\n")
    result = program.alone("wrong.toml", "zero.stagee=1", "data.train=text.txt", "model.name=gpt2")
    check(result.status == 2, "a wrong file ends with 2", result)
    places = ["wrong.toml:1: fp16.enabled: ", "wrong.toml:2: zero_optimization: ",
              "wrong.toml:5: optimizer.lr: ", "wrong.toml:6: optimizer.lr: ",
              "command line: zero.stagee: "]
    found = [result.err.find(place) for place in places]
    check(-1 not in found and found == sorted(found), f"all of {places} in this order", result)
    check(len(result.error_lines()) == 1, "one line begins with the program's name", result)
    check("without quotes" in result.err and "did you mean zero?" in result.err, "hints", result)


def main():
    program = Program()
    reference_plans_as_it_stands(program)
    reference_trains(program)
    everything_wrong_is_said_at_once(program)
    print("all configured")


main()
