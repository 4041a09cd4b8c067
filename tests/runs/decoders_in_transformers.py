#!/usr/bin/env python3
"""What Hugging Face's classes save of tiny decoders of every row is imported and exported to the
same bytes of every tensor; the class reads the same settings from our config.json, in the spelling
of Transformers 5 and of 4, and has the same logits. Without torch and transformers it says SKIP.

usage: decoders_in_transformers.py ZEROAPP MPIEXEC
"""
import json
import pathlib
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


def cases():
    sys.path.insert(0, str(TOOLS))
    import decoder_golden
    return decoder_golden.BASE, decoder_golden.CASES


def model_of(base, kind, settings):
    torch.manual_seed(1)
    config = transformers.AutoConfig.for_model(kind, **{**base, **settings})
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def without_usual(rope):
    return {key: without_usual(value) if isinstance(value, dict) else value
            for key, value in rope.items() if (key, value) not in USUAL}


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
    return model(input_ids=torch.arange(60)[None] % model.config.vocab_size).logits


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
    loaded = transformers.AutoModelForCausalLM.from_pretrained(again, dtype=torch.float32).eval()
    check(torch.equal(logits_of(loaded), logits_of(model)), f"{name}: the same logits")
    return again


def is_read_in_the_old_spelling(program, name, folder):
    config = json.loads((folder / "config.json").read_text())
    del config["rope_parameters"]
    (folder / "config.json").write_text(json.dumps(config))
    result = program.alone("import-weights", str(folder), f"{name}_old")
    check(result.status == 0, f"{name}: the old spelling is read", result)


def main():
    if torch is None:
        print("SKIP no torch and transformers")
        return
    program = Program()
    base, table = cases()
    for name, (kind, settings, _) in table.items():
        folder = goes_there_and_back(program, name, model_of(base, kind, settings))
        is_read_in_the_old_spelling(program, name, folder)
        print(f"{name}: goes there and back", flush=True)
    print("decoders are Hugging Face's")


if __name__ == "__main__":
    main()
