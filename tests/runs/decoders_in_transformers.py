#!/usr/bin/env python3
"""What Hugging Face's classes save of tiny decoders of every row is imported and exported to the
same bytes of every tensor; the class reads the same settings from our config.json, in the spelling
of Transformers 5 and of 4, and has the same logits and greedy tokens. TRANSFORMERS4_PYTHON names a
Python with Transformers 4: its classes have the same logits and tokens by our folders, too, except
where they lack the class or a rope for layers with a window. Without torch and transformers the
script says SKIP.

usage: decoders_in_transformers.py ZEROAPP MPIEXEC
       decoders_in_transformers.py --load FOLDER...    compares with FOLDER/expected.json
"""
import json
import os
import pathlib
import subprocess
import sys

from program import Program, check, read_safetensors

try:
    import torch
    import transformers
except ImportError:
    torch = None

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "golden"
# Settings that are of a file and of a program, and no network's; older names of others.
PASSED_OVER = ("_name_or_path", "transformers_version", "dtype", "use_cache", "architectures",
               "zeroapp", "rope_theta", "rope_scaling", "rope_local_base_freq", "head_dim",
               "original_max_position_embeddings", "sliding_window_pattern",
               "_sliding_window_pattern", "max_window_layers", "partial_rotary_factor",
               "torch_dtype")
USUAL = (("beta_fast", 32.0), ("beta_slow", 1.0), ("partial_rotary_factor", 1.0))
SHARD = "30KB"
# Others leave out caps of scores in Transformers 4.
ATTENTION = "eager"
EXPECTED, PROMPT, GREEDY = "expected.json", 60, 30
# Transformers 4 has one theta for all layers of the second, and not the class of the first.
NOT_IN_4 = {"ministral3": "has no class", "olmo3": "has one theta"}
ONE_THETA = {"full_attention": {"rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0,
                                "original_max_position_embeddings": 32},
             "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0}}


def cases():
    sys.path.insert(0, str(TOOLS))
    import decoder_golden
    kind, settings, documents = decoder_golden.CASES["olmo3"]
    other = {"olmo3_one_theta": (kind, {**settings, "rope_parameters": ONE_THETA}, documents)}
    return decoder_golden.BASE, {**decoder_golden.CASES, **other}


def model_of(base, kind, settings):
    torch.manual_seed(1)
    config = transformers.AutoConfig.for_model(kind, **{**base, **settings})
    model = transformers.AutoModelForCausalLM.from_config(
        config, dtype=torch.float32, attn_implementation=ATTENTION).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def without_usual(rope):
    return {key: without_usual(value) if isinstance(value, dict) else value
            for key, value in rope.items() if (key, value) not in USUAL and key != "type"}


def settings_in(folder):
    config = transformers.AutoConfig.from_pretrained(folder).to_dict()
    config["rope_parameters"] = without_usual(config["rope_parameters"])
    return {key: value for key, value in config.items()
            if key not in PASSED_OVER and value is not None}


def differing(*folders):
    one, other = (set(map(str, settings_in(folder).items())) for folder in folders)
    return sorted(one ^ other)


@torch.no_grad() if torch else lambda function: function
def logits_of(model):
    return model(input_ids=torch.arange(PROMPT)[None] % model.config.vocab_size).logits


def tokens_of(model):
    """Greedy tokens with a cache, and the least distance of the two best logits on their way."""
    prompt = torch.arange(7)[None] % model.config.vocab_size
    made = model.generate(prompt, max_new_tokens=GREEDY, do_sample=False, eos_token_id=None,
                          pad_token_id=0, attention_mask=torch.ones_like(prompt))[0]
    best = torch.topk(model(input_ids=made[None]).logits[0, 6:-1], 2).values
    return made.tolist(), (best[:, 0] - best[:, 1]).min().item()


def expected_of(model):
    tokens, margin = tokens_of(model)
    return {"logits": logits_of(model).flatten().tolist(), "tokens": tokens, "margin": margin}


def loaded_from(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation=ATTENTION).eval()


def load_again(folders):
    """By this Python's classes; a loss of settings shows as other logits."""
    faults = []
    for folder in map(pathlib.Path, folders):
        expected = json.loads((folder / EXPECTED).read_text())
        found = expected_of(loaded_from(folder))
        worst = max(abs(a - b) for a, b in zip(found["logits"], expected["logits"]))
        same = found["tokens"] == expected["tokens"] or expected["margin"] < 4e-5
        faults += [] if worst < 2e-5 and same else [f"{folder.name}: logits differ by {worst}"]
        print(f"{folder.name} in {transformers.__version__}: {worst}, {same}", flush=True)
    check(not faults, "; ".join(faults))


def tensors_in(folder):
    tensors = {}
    for path in folder.glob("*.safetensors"):
        tensors.update(read_safetensors(path)[1])
    return tensors


def goes_there_and_back(program, name, model):
    saved, again = program.folder / f"{name}_saved", program.folder / f"{name}_again"
    for shard in (SHARD, "5GB"):
        model.save_pretrained(saved, max_shard_size=shard)
        result = program.alone("import-weights", str(saved), f"{name}_{shard}")
        check(result.status == 0, f"{name}: is imported from files of {shard}", result)
        for path in saved.glob("model*"):
            if shard == SHARD:
                path.unlink()
    program.alone("export", f"{name}_5GB", str(again))
    check(tensors_in(again) == tensors_in(saved), f"{name}: the same bytes of every tensor")
    check(settings_in(saved) == settings_in(again),
          f"{name}: the same settings, without {differing(saved, again)}")
    loaded = loaded_from(again)
    check(torch.equal(logits_of(loaded), logits_of(model)), f"{name}: the same logits")
    check(tokens_of(loaded)[0] == tokens_of(model)[0], f"{name}: the same greedy tokens")
    (again / EXPECTED).write_text(json.dumps(expected_of(model)))
    return again


def is_read_in_the_old_spelling(program, name, folder):
    config = json.loads((folder / "config.json").read_text())
    del config["rope_parameters"]
    (folder / "config.json").write_text(json.dumps(config))
    result = program.alone("import-weights", str(folder), f"{name}_old")
    check(result.status == 0, f"{name}: the old spelling is read", result)


def is_loaded_by_transformers_4(folders):
    python = os.environ.get("TRANSFORMERS4_PYTHON")
    if not python:
        print("TRANSFORMERS4_PYTHON names no Python: its classes load no folder here")
        return
    subprocess.run([python, __file__, "--load", *map(str, folders)], check=True)


def main():
    if torch is None:
        print("SKIP no torch and transformers")
        return
    if sys.argv[1] == "--load":
        load_again(sys.argv[2:])
        return
    program = Program()
    base, table = cases()
    folders = {}
    for name, (kind, settings, _) in table.items():
        folders[name] = goes_there_and_back(program, name, model_of(base, kind, settings))
    is_loaded_by_transformers_4(path for name, path in folders.items() if name not in NOT_IN_4)
    for name, folder in folders.items():
        is_read_in_the_old_spelling(program, name, folder)
        print(f"{name}: goes there and back", flush=True)
    print("decoders are Hugging Face's")


if __name__ == "__main__":
    main()
