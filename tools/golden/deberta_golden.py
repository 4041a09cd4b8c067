#!/usr/bin/env python3
"""Golden values of DeBERTa-v2's attention: the loss behind one layer and every gradient, as
Hugging Face's own class computes them, and the buckets of distances.

usage: deberta_golden.py [OUTDIR]      writes deberta_attention_*.json and deberta_buckets.json,
                                       into tests/golden by default
Needs torch (CPU) and transformers in any Python environment; the tests need neither.

A layer is DisentangledSelfAttention with shared keys and both terms of position, in float64,
without dropout. "hidden" holds what it reads, [samples * length, width], and "rel_embeddings" its
table. Logits are its output times "head", transposed; the loss is the mean cross entropy of all
tokens that are no padding, whose label is h(3000, token) mod classes. A weight is float32(offset +
amplitude (h(tensor, element) / 2^32 - 1/2)), h as in gpt2_golden.py and the tensor counted in the
order of "tensors". Matrices are [in, out], the transposes of torch's.

A list of buckets holds those of distances 0 to 1023; negative distances have the negative buckets.
"""
import base64
import json
import pathlib
import sys

import torch
import transformers
from transformers.models.deberta_v2 import modeling_deberta_v2 as deberta

from gpt2_golden import hash32, initial_weights

CASES = {
    "deberta_attention_a": {"width": 12, "heads": 2, "buckets": 8, "most_distance": 20,
                            "length": 30, "counts": [30, 13, 1]},
    "deberta_attention_b": {"width": 15, "heads": 3, "buckets": -1, "most_distance": 9,
                            "length": 14, "counts": [14, 9]},
}
CLASSES = 7
TABLES = [[256, 512], [256, 1024], [32, 128], [8, 30], [48, 600], [-1, 512]]


def tensors_of(case):
    """Rows of "tensors": name, shape, offset, amplitude."""
    width, rows = case["width"], 2 * max(case["buckets"], 0) or 2 * case["most_distance"]
    tokens = len(case["counts"]) * case["length"]
    projections = [row for name in ("query", "key", "value")
                   for row in ((f"{name}.weight", [width, width], 0.0, 1.2),
                               (f"{name}.bias", [width], 0.0, 1.0))]
    return [("hidden", [tokens, width], 0.0, 4.0), ("rel_embeddings", [rows, width], 0.0, 4.0),
            *projections, ("head", [CLASSES, width], 0.0, 3.0)]


def layer_of(case, weights):
    config = transformers.DebertaV2Config(
        hidden_size=case["width"], num_attention_heads=case["heads"], relative_attention=True,
        position_buckets=case["buckets"], max_relative_positions=case["most_distance"],
        pos_att_type=["p2c", "c2p"], share_att_key=True, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0)
    layer = deberta.DisentangledSelfAttention(config).double()
    for name in ("query", "key", "value"):
        linear = getattr(layer, f"{name}_proj")
        # The graph's weight stays the leaf whose gradient is told.
        del linear.weight, linear.bias
        linear.weight, linear.bias = weights[f"{name}.weight"].T, weights[f"{name}.bias"]
    return layer


def golden(case):
    rows = tensors_of(case)
    weights = initial_weights(rows)
    samples, length, counts = len(case["counts"]), case["length"], torch.tensor(case["counts"])
    mask = (torch.arange(length)[None] < counts[:, None])
    hidden = weights["hidden"].view(samples, length, case["width"])
    context, _ = layer_of(case, weights)(hidden, (mask[:, None, None] & mask[:, None, :, None]),
                                         rel_embeddings=weights["rel_embeddings"])
    labels = torch.tensor(hash32(3000, range(samples * length)).astype("int64") % CLASSES)
    labels = labels.view(samples, length).masked_fill(~mask, -1)
    logits = context @ weights["head"].T
    loss = torch.nn.functional.cross_entropy(logits[mask], labels[mask])
    loss.backward()
    return {"made_by": "tools/golden/deberta_golden.py",
            "with": f"transformers {transformers.__version__}, torch {torch.__version__}",
            "config": {**case, "classes": CLASSES}, "labels": labels.flatten().tolist(),
            "loss": loss.item(),
            "tensors": [dict(zip(("name", "shape", "offset", "amplitude"), row),
                             gradient=base64.b64encode(weights[row[0]].grad.numpy()
                                                       .astype("<f8").tobytes()).decode())
                        for row in rows]}


def buckets_of(buckets, most_distance):
    """Distances 0 to 1023, and a check of the negative ones and of float64."""
    token = torch.zeros(1, 1024, 1)
    found = deberta.build_relative_position(token, token, buckets, most_distance)[0]
    ahead = found[:, 0].tolist()
    assert found[0].tolist() == [-bucket for bucket in ahead]
    torch.set_default_dtype(torch.float64)
    exact = deberta.build_relative_position(token, token, buckets, most_distance)[0]
    torch.set_default_dtype(torch.float32)
    assert exact[:, 0].tolist() == ahead
    return ahead


def main():
    tree = pathlib.Path(__file__).resolve().parents[2]
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tree / "tests" / "golden"
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    files = {name: golden(case) for name, case in CASES.items()}
    files["deberta_buckets"] = {
        "made_by": "tools/golden/deberta_golden.py",
        "tables": [{"buckets": max(buckets, 0), "most_distance": most,
                    "of_distance": buckets_of(buckets, most)} for buckets, most in TABLES]}
    for name, result in files.items():
        path = out / f"{name}.json"
        path.write_text(json.dumps(result) + "\n")
        print(f"{path}: loss {result.get('loss')!r}, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
