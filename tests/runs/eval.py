#!/usr/bin/env python3
"""What a run leaves in model/ has the loss that the run ended with, to the last digit."""
import itertools
import json
import shutil
import struct

from program import Program, check, check_refused

EXPORT = ("export.at_end=true", "run.steps=8")
# A stored run, the ranks it trained on, its settings.
RUNS = (
    ("fp32", 1, ("zero.stage=0",)),
    ("bf16", 2, ("zero.stage=3", "bf16.enabled=true", "evaluation.micro_batch_size=2")),
    ("fp16", 2, ("zero.stage=1", "fp16.enabled=true", "fp16.initial_scale_power=4")),
    ("offloaded", 2, ("zero.stage=3", "bf16.enabled=true", "optimizer.lr=1.1e-2",
                      "zero.offload_optimizer.device=cpu", "zero.offload_param.device=nvme",
                      "zero.offload_param.nvme_path=.")),
)
# Bytes of a device: more than any of these runs takes, and less than the weights of any.
LIMITS = (64 << 20, 64 << 10)


def evaluate(program, ranks, *words):
    result = program.wait(program.popen([*program.launch_line(ranks), "eval", *words, "--json"]))
    check(result.status in (0, 1) and not result.error_lines(), f"{ranks} ranks: {words}", result)
    def refuse(word):
        check(False, f"{word} is no JSON", result)
    return json.loads(result.out, parse_constant=refuse)


def trained(program, name, ranks, settings):
    """A run of its own, and what its last evaluation was."""
    place = f"runs/{name}"
    result = program.train(ranks, *EXPORT, *settings, f"run.output={place}")
    check(result.finished(), f"{name} trains", result)
    check(f"zeroapp generate {place}" in result.out, f"{name}: the next command is said", result)
    summary = json.loads((program.folder / place / "summary.json").read_text())
    return place, summary["eval_loss"]


def digits_are_the_runs(program):
    losses = set()
    for name, ranks, settings in RUNS:
        place, loss = trained(program, name, ranks, settings)
        for other, limit in itertools.product((1, 2), LIMITS):
            found = evaluate(program, other, place, f"memory.device_limit={limit}")
            check(found["loss"] == loss,
                  f"{name} on {other} ranks of {limit}: {found['loss']}, not {loss}")
            check(found["tokens"] == 5 * 32, f"{name}: all tokens count: {found}")
        losses.add(loss)
    check(len(losses) == len(RUNS), f"precisions differ from each other: {losses}")


def settings_change_what_is_asked(program):
    held_out = evaluate(program, 1, "runs/fp32")
    all_of_it = evaluate(program, 1, "runs/fp32", "data.validation=text.txt",
                         "data.max_validation_samples=0")
    check(all_of_it["tokens"] > held_out["tokens"], "another file is evaluated as a whole")
    other = evaluate(program, 2, "runs/bf16", "bf16.enabled=false", "zero.stage=0")
    check(other["loss"] != evaluate(program, 2, "runs/bf16")["loss"], "another precision")
    # A model that has left its run brings what its description says, which is no number of threads.
    shutil.copytree(program.folder / "runs/fp32/model", program.folder / "moved")
    moved = evaluate(program, 1, "moved", "data.validation=text.txt", "run.threads=1")
    check(moved["loss"] == all_of_it["loss"], f"{moved} is not {all_of_it}")


def scaled(file, name, factor):
    """Multiplies a tensor of fp32 of a safetensors file."""
    content = bytearray(file.read_bytes())
    begin = 8 + int.from_bytes(content[:8], "little")
    first, last = json.loads(content[8:begin])[name]["data_offsets"]
    for at in range(begin + first, begin + last, 4):
        struct.pack_into("<f", content, at, factor * struct.unpack_from("<f", content, at)[0])
    file.write_bytes(content)


def a_perplexity_without_a_number_is_null(program):
    shutil.copytree(program.folder / "runs/fp32/model", program.folder / "scaled")
    scaled(program.folder / "scaled/model.safetensors", "transformer.ln_f.weight", 1e6)
    found = evaluate(program, 1, "scaled", "data.validation=text.txt")
    check(found["loss"] > 710 and found["perplexity"] is None, f"too large for a double: {found}")


def refused(program, status, word, *words):
    result = program.wait(program.popen([*program.launch_line(2), "eval", *words]))
    check_refused(result, status)
    check(word in result.err, f"{words}: {word!r} in {result.err}", result)


def what_cannot_be_evaluated_is_refused(program):
    refused(program, 3, "is not there", "runs/absent")
    refused(program, 3, "export.at_end=true", "runs")
    refused(program, 2, "data.validation=FILE", "moved")
    refused(program, 2, "data.validatoin", "moved", "data.validatoin=text.txt")
    weights = program.folder / "moved/model.safetensors"
    whole = weights.read_bytes()
    for name, damaged in (("cut", whole[:-1]), ("long", whole + b"\0"), ("empty", b""),
                          ("header", b"\xff" * 8 + whole[8:])):
        weights.write_bytes(damaged)
        refused(program, 3, "model.safetensors", "moved", "data.validation=text.txt")
        check(weights.read_bytes() == damaged, f"{name}: nothing is written")
    weights.write_bytes(whole)
    config = program.folder / "moved/config.json"
    config.write_text(config.read_text().replace('"n_layer": 2', '"n_layer": 1'))
    refused(program, 3, "h.1.attn.c_attn.bias: expected nothing", "moved",
            "data.validation=text.txt")


def main():
    program = Program()
    digits_are_the_runs(program)
    settings_change_what_is_asked(program)
    a_perplexity_without_a_number_is_null(program)
    what_cannot_be_evaluated_is_refused(program)
    print("the digits of the run")


main()
