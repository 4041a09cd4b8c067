#!/usr/bin/env python3
"""A tiny GPT-2 as Hugging Face's hub stores the first ones, and the logits of a text under it.

usage: hub_golden.py [OUTDIR]      writes config.json, model.safetensors and logits.json, into
                                   tests/golden/hub by default
Needs numpy and torch (CPU) in any Python environment; the tests need neither.

The weights are float32, named without "transformer.", with the buffers of attention's mask between
them, as in the hub's gpt2. The logits are computed in float64 by the formulas of gpt2_golden.py,
which also says how the weights are drawn; token t is (7 t + 3) mod vocabulary.
"""
import json
import pathlib
import struct
import sys

import numpy
import torch

from gpt2_golden import attention, conv1d, gelu, initial_weights, layer_norm, packed, tensors_of

CONFIG = {"layers": 2, "width": 16, "heads": 2, "vocabulary": 61, "length": 16}


def hub_config():
    return {"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
            "attn_pdrop": 0.1, "bos_token_id": 60, "embd_pdrop": 0.1, "eos_token_id": 60,
            "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
            "n_ctx": CONFIG["length"], "n_embd": CONFIG["width"], "n_head": CONFIG["heads"],
            "n_layer": CONFIG["layers"], "n_positions": CONFIG["length"], "resid_pdrop": 0.1,
            "summary_activation": None, "summary_first_dropout": 0.1,
            "summary_proj_to_labels": True, "summary_type": "cls_index",
            "summary_use_proj": True, "vocab_size": CONFIG["vocabulary"]}


def hub_tensors(weights):
    """Names and float32 arrays, the masks among them."""
    tensors = {name: weight.detach().numpy().astype("<f4") for name, weight in weights.items()}
    length = CONFIG["length"]
    for layer in range(CONFIG["layers"]):
        mask = numpy.tril(numpy.ones((1, 1, length, length), "<f4"))
        tensors[f"h.{layer}.attn.bias"] = mask
    return dict(sorted(tensors.items()))


def safetensors(tensors):
    header, end = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": array.shape,
                        "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(array.tobytes() for array in tensors.values())
    return struct.pack("<Q", len(text)) + text + data


def logits(w, tokens):
    x = (w["wte.weight"][tokens] + w["wpe.weight"][: len(tokens)])[None]
    for layer in range(CONFIG["layers"]):
        at = f"h.{layer}."
        x = x + attention(layer_norm(x, w, at + "ln_1"), w, at + "attn", CONFIG["heads"])
        inner = gelu(conv1d(layer_norm(x, w, at + "ln_2"), w, at + "mlp.c_fc"))
        x = x + conv1d(inner, w, at + "mlp.c_proj")
    return (layer_norm(x, w, "ln_f") @ w["wte.weight"].T)[0].detach()


def main():
    tree = pathlib.Path(__file__).resolve().parents[2]
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tree / "tests" / "golden" / "hub"
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    weights = initial_weights(tensors_of(CONFIG))
    tokens = [(7 * t + 3) % CONFIG["vocabulary"] for t in range(CONFIG["length"])]
    (out / "config.json").write_text(json.dumps(hub_config(), indent=1) + "\n")
    (out / "model.safetensors").write_bytes(safetensors(hub_tensors(weights)))
    (out / "logits.json").write_text(json.dumps(
        {"made_by": "tools/golden/hub_golden.py", "tokens": tokens,
         "logits": packed(logits(weights, torch.tensor(tokens)))}, indent=1) + "\n")
    print(f"{out}: {sum(path.stat().st_size for path in out.iterdir()) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
