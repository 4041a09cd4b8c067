#!/usr/bin/env python3
"""Low-rank adapters, an alteration that the program does not know, go through all commands where
main hands them in: argv[3] is such a program, families/adapted.cpp. Only they are trained, saved
and exported. All other weights stay in the folder that the run begins with."""
import json
import shutil
import sys

from program import FOUR_STEPS, Program, check, check_refused, read_safetensors

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 2
[model]
family = "gpt2"
layers = 2
width = 32
heads = 2
max_positions = 16
[data]
train = "text.txt"
validation_fraction = 0.2
max_validation_samples = 5
sequence_length = 16
""" + FOUR_STEPS
BASE = "model.init_from=runs/base/model"
OFFLOADED = ("zero.offload_optimizer.device=cpu", "zero.offload_param.device=nvme",
             "zero.offload_param.nvme_path=.")
ON_DISK = ("zero.offload_optimizer.device=nvme", "zero.offload_optimizer.nvme_path=.")
BF16 = ("bf16.enabled=true", "checkpoint.async=true")
RANK, WIDTH, LAYERS = 4, 32, 2
# Queries, values and the product behind attention: A [32, 4] and B [4, 32] each.
ADAPTERS = 3 * LAYERS
TRAINED = ADAPTERS * 2 * RANK * WIDTH


def trained(program, name, ranks, *settings):
    result = program.wait(program.start(ranks, *settings, f"run.output=runs/{name}",
                                        input_file="gpt2.toml"), run=name)
    check(result.finished(), f"{name}: {ranks} ranks with {settings}", result)
    return result


def tensors(path):
    """The bytes of each tensor of an exported model, with its shape."""
    rows, content = read_safetensors(path)
    return {tensor: (tuple(row["shape"]), content[tensor]) for tensor, row in rows.items()}


def trains_alike_everywhere(program):
    stages = [(ranks, stage, ()) for ranks in (1, 2, 4) for stage in (0, 1, 2, 3)]
    for precision, cases in (((), (*stages, (2, 3, OFFLOADED), (2, 2, ON_DISK))),
                             (BF16, ((1, 0, ()), (4, 3, ()), (2, 3, OFFLOADED)))):
        results = [trained(program, f"r{ranks}s{stage}{len(homes)}{len(precision)}", ranks, BASE,
                           f"zero.stage={stage}", *homes, *precision)
                   for ranks, stage, homes in cases]
        for what in ("state_sha256", "eval_loss"):
            found = {result.summary[what] for result in results}
            check(len(found) == 1, f"{precision}: one {what} and not {found}")
    out = results[0].out
    check("of them frozen, " in out, f"the banner counts what is frozen: {out}")


def exports_what_is_trained(program):
    folder = program.folder / "runs/r2s300/model"
    check(not (folder / "config.json").exists(), "no model stands in the folder")
    config = json.loads((folder / "adapter_config.json").read_text())
    check(config["base_model_name_or_path"] == "runs/base/model", f"config: {config}")
    made = tensors(folder / "adapter_model.safetensors")
    shapes = sorted(shape for shape, _ in made.values())
    check(shapes == sorted([(RANK, WIDTH), (WIDTH, RANK)] * ADAPTERS), f"A and B: {shapes}")
    name = "transformer.h.1.attn.c_attn.lora_B.v.weight"
    check(name in made and any(made[name][1]), f"{name} has learnt: {sorted(made)}")
    result = program.alone("export", "runs/r2s300", "exported")
    check(result.status == 0, "an export of a checkpoint", result)
    again = tensors(program.folder / "exported/adapter_model.safetensors")
    check(again == made, "the checkpoint's export has the bytes of the run's")


def saves_what_is_trained(program):
    shown = program.alone("inspect", "runs/r2s300").out
    check("wte.weight" not in shown and "c_proj.weight" not in shown, f"held: {shown}")
    check(shown.count(".lora_A.") == 4 * ADAPTERS, f"A, its master and two states: {shown}")
    summary = json.loads((program.folder / "runs/r2s300/summary.json").read_text())
    base = json.loads((program.folder / "runs/base/summary.json").read_text())
    check(summary["parameters"] == base["parameters"] + TRAINED, f"counts: {summary}")
    check("adapters of rank 4 and scale 0.5" in shown, f"the fact says it: {shown}")


def goes_on_on_another_rank_count(program):
    for name, cases in (("parts", ((2, 2, "zero.stage=3"), (1, 4, "zero.stage=0"))),
                        ("moved", ((1, 2, "zero.stage=1"), (4, 4, "zero.stage=2")))):
        for ranks, stop, stage in cases:
            result = trained(program, name, ranks, BASE, stage, f"run.stop_at={stop}")
        check("going on from step 2" in result.out, "it goes on", result)
        whole = json.loads((program.folder / "runs/r2s300/summary.json").read_text())
        check(result.summary["state_sha256"] == whole["state_sha256"], "the same bytes", result)


def is_looked_at(program):
    run = json.loads((program.folder / "runs/r2s300/summary.json").read_text())
    loss = json.loads(program.alone("eval", "runs/r2s300", "--json", "run.threads=1").out)
    check(abs(loss["loss"] - run["eval_loss"]) < 1e-12, f"eval: {loss}, the run: {run}")
    plan = json.loads(program.alone("plan", "gpt2.toml", BASE, "--ranks", "2", "--json",
                                    "zero.stage=2").out)
    check(plan["frozen_parameters"] > 0, f"plan: {plan}")
    text = program.alone("generate", "runs/r2s300", "--prompt", "3 times ", "--tokens", "30")
    check(text.status == 0 and "3 times " in text.out, "it writes", text)


def a_changed_folder_is_refused(program):
    shutil.copytree(program.folder / "runs/base/model", program.folder / "other")
    path = program.folder / "other/model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    moved = program.alone("gpt2.toml", "run.output=runs/parts", "run.steps=6",
                          "model.init_from=other")
    check_refused(moved, 3, "model.init_from: other", "the digest of its weights is",
                  "runs/parts/checkpoints/step", "was trained on weights of the digest")
    data[-1] ^= 1
    path.write_bytes(data)
    shutil.move(program.folder / "runs/base/model", program.folder / "away")
    check_refused(program.alone("eval", "runs/parts"), 3, "runs/base/model")
    shutil.move(program.folder / "away", program.folder / "runs/base/model")
    again = trained(program, "parts", 2, "model.init_from=other", "run.steps=6")
    check(again.summary["steps"] == 6, "a copy lends as well", again)


def others_are_refused(program):
    check_refused(program.alone("plan", "gpt2.toml"), 2, "model.init_from", "FOLDER")
    check_refused(program.alone("plan", "gpt2.toml", BASE, 'model.reinit=["wpe.*"]'), 2,
                  "model.reinit: wpe.weight is read from model.init_from at each start")
    program.env["ADAPTER_RANK"] = "8"
    check_refused(program.alone("gpt2.toml", BASE, "run.output=runs/parts", "run.steps=8"), 3,
                  "architecture is", "adapters of rank 4", "adapters of rank 8")
    del program.env["ADAPTER_RANK"]


def main():
    program = Program([sys.argv[3], sys.argv[2]])
    program.write("gpt2.toml", INPUT)
    program.env["ADAPTER_RANK"] = "0"
    trained(program, "base", 1, "run.steps=2")
    del program.env["ADAPTER_RANK"]
    trains_alike_everywhere(program)
    exports_what_is_trained(program)
    saves_what_is_trained(program)
    goes_on_on_another_rank_count(program)
    is_looked_at(program)
    others_are_refused(program)
    a_changed_folder_is_refused(program)
    print("adapters go all ways")


main()
