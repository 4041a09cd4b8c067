#!/usr/bin/env python3
"""Tiny decoders of today go through the commands: every stage and rank count trains the same bytes,
a folder for Transformers holds every tensor under its name and comes back, a training begins with
it, and texts are written."""
import json

from program import (FOUR_STEPS, OFFLOADED, Program, check, check_refused, read_safetensors,
                     shared)

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 2
[model]
layers = 2
width = 32
heads = 4
key_heads = 2
inner = 48
%s
[data]
train = "text.txt"
validation_fraction = 0.2
sequence_length = 16
""" + FOUR_STEPS + """
[checkpoint]
resume = "never"
"""
MODELS = {
    "llama": 'family = "llama"\nclassifier = "tied"\nrope_theta = 5000\n',
    "qwen3": 'family = "qwen3"\nhead_width = 12\n',
    "smollm3": 'family = "smollm3"\nmax_positions = 64\n',
    "gemma2": 'family = "gemma2"\nhead_width = 8\n',
}
ATTENTION = "model.layers.1.self_attn."
TENSORS = {
    "llama": {ATTENTION + "k_proj.weight": [16, 32], "model.embed_tokens.weight": [256, 32],
              "model.layers.0.mlp.down_proj.weight": [32, 48], "lm_head.weight": None},
    "qwen3": {ATTENTION + "q_proj.weight": [48, 32], ATTENTION + "q_norm.weight": [12],
              "lm_head.weight": [256, 32]},
    "smollm3": {ATTENTION + "o_proj.weight": [32, 32], "model.norm.weight": [32]},
    "gemma2": {"model.layers.1.pre_feedforward_layernorm.weight": [32],
               "model.layers.1.mlp.up_proj.weight": [48, 32]},
}
DATA = ("data.train=text.txt", "data.validation_fraction=0.2", "data.sequence_length=16",
        "numerics.reproducible=true")


def trained(program, name, ranks, *settings):
    run = f"{name}_{ranks}_{len(settings)}"
    result = program.wait(program.start(ranks, *settings, f"run.output=runs/{run}",
                                        input_file=f"{name}.toml"), run=run)
    check(result.finished(), f"{name}: {ranks} ranks with {settings}", result)
    return result


def trains_alike_at_every_stage(program, name):
    hashes, losses = set(), set()
    for ranks, stage, more in [(1, 0, ()), (2, 1, ()), (4, 2, ()), (2, 3, ()), (2, 3, OFFLOADED)]:
        summary = trained(program, name, ranks, f"zero.stage={stage}", *more).summary
        hashes.add(summary["state_sha256"])
        losses.add(summary["eval_loss"])
    check(len(hashes) == 1 and len(losses) == 1, f"{name}: one state and not {hashes}, {losses}")


def comes_back_from_a_folder(program, name):
    folder = program.folder / f"runs/{name}_1_1/model"
    rows, stored = read_safetensors(folder / "model.safetensors")
    for tensor, shape in TENSORS[name].items():
        found = rows.get(tensor, {}).get("shape")
        check(found == shape, f"{name}: {tensor} is {found}")
    generation = {"eos_token_id": [7, 9], "max_new_tokens": 6, "transformers_version": "5.24.0"}
    (folder / "generation_config.json").write_text(json.dumps(generation))
    program.alone("import-weights", str(folder), f"{name}_imported")
    program.alone("export", f"{name}_imported", f"{name}_again")
    again = program.folder / f"{name}_again"
    check(read_safetensors(again / "model.safetensors") == (rows, stored),
          f"{name}: the same bytes of every tensor")
    for file in ("config.json", "generation_config.json"):
        check((again / file).read_bytes() == (folder / file).read_bytes(), f"{name}: {file}")
    losses = {json.loads(program.alone("eval", model, *DATA, "--json").out)["loss_hex"]
              for model in (f"runs/{name}_1_1", str(folder), f"{name}_imported")}
    check(len(losses) == 1, f"{name}: one loss of what was exported and imported: {losses}")


def goes_on_from_a_folder(program, name):
    folder = f"runs/{name}_1_1/model"
    program.write("on.toml", shared("""
train_batch_size = 8
train_micro_batch_size_per_gpu = 2
[model]
init_from = "%s"
[data]
train = "text.txt"
validation_fraction = 0.2
sequence_length = 16
""" % folder + FOUR_STEPS))
    result = program.wait(program.start(2, "zero.stage=3", f"run.output=runs/on_{name}",
                                        input_file="on.toml"), run=f"on_{name}")
    check(result.finished(), f"{name}: goes on from its folder", result)
    config = [json.loads((program.folder / place / "config.json").read_text())
              for place in (folder, f"runs/on_{name}/model")]
    check(config[0] == config[1], f"{name}: it is the same model")
    carried = (program.folder / f"runs/on_{name}/model/generation_config.json").read_bytes()
    check(carried == (program.folder / folder / "generation_config.json").read_bytes(),
          f"{name}: with what its folder says of texts")


def writes_texts(program, name):
    said = [program.alone("generate", model, "--prompt", "3 times 3", "--tokens", "20",
                          "--temperature", "0").out
            for model in (f"runs/{name}_1_1", f"runs/{name}_1_1/model")]
    check(said[0] and said[0] == said[1], f"{name}: a run and its folder write the same: {said}")


def refuses_what_differs(program):
    folder = program.folder / "runs/llama_1_1/model"
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_local_experts": 8}))
    check_refused(program.alone("eval", str(folder), *DATA), 3, "num_local_experts is 8")
    (folder / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": False}))
    result = program.alone("eval", str(folder), *DATA)
    check(result.status == 3 and "lm_head.weight: expected" in result.err, "no head", result)


def main():
    program = Program()
    for name, model in MODELS.items():
        program.write(f"{name}.toml", shared(INPUT % model))
        trains_alike_at_every_stage(program, name)
        writes_texts(program, name)
        comes_back_from_a_folder(program, name)
        goes_on_from_a_folder(program, name)
    refuses_what_differs(program)
    print("decoders go all ways")


if __name__ == "__main__":
    main()
