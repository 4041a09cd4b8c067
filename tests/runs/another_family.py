#!/usr/bin/env python3
"""A family of models, a kind of data and an operation that the program does not know go through all
commands where main hands them in: argv[3] is such a program, families/tower.cpp. A sample has a
source of 12 letters and a target of 32; a parameter is used by four units."""
import json
import sys

from program import FOUR_STEPS, OFFLOADED, Program, check, check_refused

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
""" + FOUR_STEPS


SOURCE, TARGET = 12, 32


def trained(program, name, ranks, *settings):
    result = program.wait(program.start(ranks, *settings, f"run.output=runs/{name}",
                                        "activation_checkpointing.recompute=[1]",
                                        input_file="tower.toml"), run=name)
    check(result.finished(), f"{name}: {ranks} ranks with {settings}", result)
    return result


def trains_alike_at_every_stage(program):
    hashes, losses = set(), set()
    all_stages = [(ranks, stage, ()) for ranks in (1, 2, 4) for stage in (0, 1, 2, 3)]
    for ranks, stage, more in ((2, 3, OFFLOADED), *all_stages):
        result = trained(program, f"r{ranks}s{stage}", ranks, f"zero.stage={stage}",
                         "checkpoint.resume=never", *more)
        hashes.add(result.summary["state_sha256"])
        losses.add(result.summary["eval_loss"])
    check(len(hashes) == 1 and len(losses) == 1, f"one state and not {hashes}, {losses}")


def reads_each_input(program):
    """Other letters in the sources alone make another model: they come to where they belong."""
    whole = json.loads((program.folder / "runs/r1s0/summary.json").read_text())
    text, window = (program.folder / "text.txt").read_text(), SOURCE + TARGET + 1
    cut = [text[i:i + window] for i in range(0, len(text), window)]
    program.write("other.txt", "".join(one[:SOURCE].upper()[::-1] + one[SOURCE:] for one in cut))
    other = trained(program, "other", 1, "data.train=other.txt").summary
    check(other["state_sha256"] != whole["state_sha256"], "the source changes nothing")
    words = ("data", "tower.toml", "--steps", "1", "--json")
    sample = json.loads(program.alone(*words).out.splitlines()[0])
    begin = sample["sample"] * window
    shown = {"source": text[begin:begin + SOURCE], "previous": text[begin + SOURCE:][:TARGET],
             "next": text[begin + SOURCE + 1:][:TARGET]}
    for name, letters in shown.items():
        check(bytes(sample[name]).decode() == letters, f"{name}: {sample[name]}, not {letters!r}")


def goes_on_on_another_rank_count(program):
    whole = json.loads((program.folder / "runs/r2s3/summary.json").read_text())
    for ranks, stop in ((2, 2), (1, 4)):
        result = trained(program, "parts", ranks, "zero.stage=1", f"run.stop_at={stop}")
    check(result.summary["state_sha256"] == whole["state_sha256"], "the same bytes", result)


def is_looked_at(program):
    for words, found in ((("plan", "tower.toml", "--ranks", "4"), "parameters"),
                         (("data", "tower.toml"), "vocabulary"),
                         (("eval", "runs/r2s3"), "loss"),
                         (("generate", "runs/r2s3", "--prompt", "3 times "), "3 times "),
                         (("data", "tower.toml"), f"{SOURCE} and {TARGET} + 1 tokens"),
                         (("inspect", "runs/parts"), "tower: 2 floors of 64 and 128"),
                         (("export", "runs/parts", "exported"), "step 4"),
                         (("import-weights", "exported", "imported"), "init_from=imported"),
                         (("inspect", "exported", "imported"), "18 tensors equal, 0 differ"),
                         (("--help",), "zeroapp trains a tower or relay on MPI")):
        result = program.alone(*words)
        check(result.status == 0 and found in result.out, f"{words}: {found!r}", result)
    config = json.loads((program.folder / "exported/config.json").read_text())
    check(config["model_type"] == "tower" and config["n_source"] == SOURCE, f"config: {config}")
    # The number of threads is a choice of arithmetic: products may split sums by it.
    data = ("data.train=text.txt", "data.validation_fraction=0.2", "data.max_validation_samples=5",
            "run.threads=1")
    losses = [program.alone("eval", model, *data, "--json").out for model in
              ("runs/r4s3", "exported", "imported")]
    losses = {json.loads(loss)["loss_hex"] for loss in losses}
    check(len(losses) == 1, f"one loss of what was exported and imported: {losses}")


def has_a_rate_of_the_network(program):
    """Softness, a term of the tower's norms, is as fixed as a count."""
    soft = trained(program, "soft", 1, "model.softness=0.5")
    check("softness 0.5" in program.alone("inspect", "runs/soft").out, "its fact says it")
    data = ("data.train=text.txt", "data.validation_fraction=0.2", "data.max_validation_samples=5",
            "run.threads=1")
    for model in ("runs/soft", "runs/soft/model"):
        loss = json.loads(program.alone("eval", model, *data, "--json").out)["loss"]
        check(abs(loss - soft.summary["eval_loss"]) < 1e-12, f"{model}: {loss}", soft)
    again = ("tower.toml", "run.output=runs/soft", "run.steps=5")
    check_refused(program.alone(*again), 3, "architecture is", "softness 0.5 there",
                  "softness 0.001 now")
    begun = ("run.output=runs/begun", "model.init_from=runs/soft/model", "model.name=")
    sizes = ("model.family=tower", )
    other = program.alone("tower.toml", *begun, *sizes, "model.softness=0.25")
    check_refused(other, 3, "model.init_from")
    check("softness = 0.5  (command line: 0.25)" in other.err, "it says both", other)
    taken = program.alone("tower.toml", *begun, *sizes, "run.steps=1")
    check(taken.status == 0, "it comes with the model", taken)
    check("softness = 0.5" in (program.folder / "runs/begun/effective.toml").read_text(), "taken")


def others_are_refused(program):
    check_refused(program.alone("plan", "tower.toml", "model.name=gpt2"), 2, "is no model", "low")
    check_refused(program.alone("plan", "tower.toml", "model.heads=2"), 2, "no such key")
    check_refused(program.alone("plan", "tower.toml", "train_micro_batch_size_per_gpu=2"), 2,
                  "one sample at a time")
    config = program.folder / "exported/config.json"
    config.write_text(config.read_text().replace('"tower"', '"gpt2"'))
    check_refused(program.alone("eval", "exported"), 3, "model_type", 'only "tower"')


def main():
    program = Program([sys.argv[3], sys.argv[2]])
    program.write("tower.toml", TOWER)
    trains_alike_at_every_stage(program)
    reads_each_input(program)
    goes_on_on_another_rank_count(program)
    is_looked_at(program)
    has_a_rate_of_the_network(program)
    others_are_refused(program)
    print("another family goes all ways")


main()
