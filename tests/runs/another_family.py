#!/usr/bin/env python3
"""A family of models that the program does not know goes through all commands where main hands it
in: argv[3] is such a program, families/tower.cpp."""
import json
import sys

from program import Program, check, check_refused

TOWER = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 1
[model]
name = "low"
[data]
train = "text.txt"
validation_fraction = 0.2
max_validation_samples = 5
sequence_length = 32
[run]
steps = 4
threads = 1
[optimizer]
lr = 1e-2
[numerics]
reproducible = true
[export]
at_end = true
"""


def trains_alike_at_every_stage(program):
    hashes = set()
    for ranks, stage in ((1, 0), (2, 1), (2, 2), (2, 3)):
        name = f"runs/r{ranks}s{stage}"
        result = program.wait(program.start(ranks, f"zero.stage={stage}", f"run.output={name}",
                                            "activation_checkpointing.recompute=[1]",
                                            input_file="tower.toml"), run=name[5:])
        check(result.finished(), f"{ranks} ranks at stage {stage}", result)
        hashes.add(result.summary["state_sha256"])
    check(len(hashes) == 1, f"one state and not {hashes}")


def goes_on_on_another_rank_count(program):
    whole = json.loads((program.folder / "runs/r2s3/summary.json").read_text())
    for ranks, stop in ((2, 2), (1, 4)):
        result = program.wait(program.start(ranks, "zero.stage=1", "run.output=runs/parts",
                                            "activation_checkpointing.recompute=[1]",
                                            f"run.stop_at={stop}", input_file="tower.toml"),
                              run="parts")
        check(result.finished(), f"up to step {stop}", result)
    check(result.summary["state_sha256"] == whole["state_sha256"], "the same bytes", result)


def is_looked_at(program):
    for words, found in ((("plan", "tower.toml", "--ranks", "4"), "parameters"),
                         (("data", "tower.toml"), "vocabulary"),
                         (("eval", "runs/r2s3"), "loss"),
                         (("generate", "runs/r2s3", "--prompt", "3 times "), "3 times "),
                         (("inspect", "runs/parts"), "tower: 2 floors of 64 and 128"),
                         (("export", "runs/parts", "exported"), "step 4"),
                         (("import-weights", "exported", "imported"), "init_from=imported"),
                         (("--help",), "zeroapp trains a tower on MPI")):
        result = program.alone(*words)
        check(result.status == 0 and found in result.out, f"{words}: {found!r}", result)
    config = json.loads((program.folder / "exported/config.json").read_text())
    check(config["model_type"] == "tower" and config["d_inner"] == 128, f"config.json: {config}")


def others_are_refused(program):
    check_refused(program.alone("plan", "tower.toml", "model.name=gpt2"), 2, "is no model", "low")
    check_refused(program.alone("plan", "tower.toml", "model.heads=2"), 2, "no such key")
    config = program.folder / "exported/config.json"
    config.write_text(config.read_text().replace('"tower"', '"gpt2"'))
    check_refused(program.alone("eval", "exported"), 3, "model_type", 'only "tower"')


def main():
    program = Program([sys.argv[3], sys.argv[2]])
    program.write("tower.toml", TOWER)
    trains_alike_at_every_stage(program)
    goes_on_on_another_rank_count(program)
    is_looked_at(program)
    others_are_refused(program)
    print("another family goes all ways")


main()
