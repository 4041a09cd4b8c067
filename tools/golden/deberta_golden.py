#!/usr/bin/env python3
"""Golden values of DeBERTa-v2, as Hugging Face's own classes compute them: of its attention the
loss behind one layer and every gradient, the buckets of distances, and of whole tiny models loss,
every gradient, logits and a 20-step AdamW loss curve.

usage: deberta_golden.py [OUTDIR]      writes deberta_*.json, into tests/golden by default
Needs torch (CPU) and transformers in any Python environment; the tests need neither.

A layer is DisentangledSelfAttention with shared keys and both terms of position, in float64,
without dropout. "hidden" holds what it reads, [samples * length, width], and "rel_embeddings" its
table. Logits are its output times "head", transposed; the loss is the mean cross entropy of all
tokens that are no padding, whose label is h(3000, token) mod classes. A weight is float32(offset +
amplitude (h(tensor, element) / 2^32 - 1/2)), h as in gpt2_golden.py and the tensor counted in the
order of "tensors". Matrices are [in, out], the transposes of torch's.

A list of buckets holds those of distances 0 to 1023; negative distances have the negative buckets.

A whole model is DebertaV2ForSequenceClassification in float64 without dropout. Its loss is the mean
over the samples with a label, of the cross entropy or with one label of the squared error; the
class itself would round logits to float32 first. Weights are drawn as those of a layer; names have
no "deberta.". Stream s of data has tokens 1 + h(1000 + s, b T + t) mod (vocabulary - 1), as many of
each sample as its count says, then padding; class h(3000 + s, b) mod labels, or h / 2^32.
The first sample of an odd stream has no label: -1 or null. Stream 0 gives the loss and the
gradients.
The curve is that of gpt2_golden.py with streams from 1 on.
"""
import base64
import json
import pathlib
import sys

import numpy
import torch
import transformers
from transformers.models.deberta_v2 import modeling_deberta_v2 as deberta

from gpt2_golden import CURVE_STEPS, OPTIMIZER, AdamW, hash32, initial_weights, packed

CASES = {
    "deberta_attention_a": {"width": 12, "heads": 2, "buckets": 8, "most_distance": 20,
                            "length": 30, "counts": [30, 13, 1]},
    "deberta_attention_b": {"width": 15, "heads": 3, "buckets": -1, "most_distance": 9,
                            "length": 14, "counts": [14, 9]},
}
HUB = {"model_type": "deberta-v2", "vocab_size": 37, "hidden_size": 16, "num_hidden_layers": 2,
       "num_attention_heads": 2, "intermediate_size": 24, "relative_attention": True,
       "position_buckets": 8, "max_position_embeddings": 20, "max_relative_positions": -1,
       "pos_att_type": "p2c|c2p", "share_att_key": True, "norm_rel_ebd": "layer_norm",
       "position_biased_input": False, "type_vocab_size": 0, "hidden_act": "gelu",
       "pooler_hidden_act": "gelu", "layer_norm_eps": 1e-7, "pad_token_id": 0,
       "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
CONVOLUTION = {"conv_kernel_size": 3, "conv_act": "gelu"}
# Texts longer than the table, with padding to 60 %; all buckets single, without padding; a number
# in place of classes; two classes without a convolution beyond the table, with padding.
MODELS = {
    "deberta_a": ({**CONVOLUTION, "num_labels": 3}, 30, [30, 12, 15]),
    "deberta_b": ({"position_buckets": 32, "max_position_embeddings": 64}, 12, [12, 12]),
    "deberta_c": ({**CONVOLUTION, "num_hidden_layers": 1, "num_attention_heads": 4,
                   "num_labels": 1}, 10, [4, 10, 1]),
    "deberta_d": ({}, 30, [30, 12, 19]),
}
CURVES = {"deberta_a", "deberta_b", "deberta_d"}
MICRO_BATCHES = 4
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


# By parts of a name: offset and amplitude.
DRAWN = (("LayerNorm.weight", 1.0, 0.4), (".bias", 0.0, 0.4), ("embeddings", 0.0, 2.0),
         ("", 0.0, 0.9))


def model_of(hub):
    """The model with its first weights."""
    config = transformers.DebertaV2Config(**hub)
    model = transformers.DebertaV2ForSequenceClassification(config).double().eval()
    rows = [(name.removeprefix("deberta."), list(w.shape),
             *next(row[1:] for row in DRAWN if row[0] in name))
            for name, w in model.named_parameters()]
    parameters = dict(zip((row[0] for row in rows), model.parameters()))
    for name, value in initial_weights(rows).items():
        parameters[name].data = value.detach()
    return model, rows, parameters


def labelled(stream, model, length, counts):
    """A micro-batch as its columns have it."""
    samples, labels = len(counts), model.config.num_labels
    tokens = hash32(1000 + stream, numpy.arange(samples * length)).astype("int64")
    tokens = (1 + tokens % (model.config.vocab_size - 1)).reshape(samples, length)
    tokens[numpy.arange(length)[None] >= numpy.array(counts)[:, None]] = 0
    drawn = hash32(3000 + stream, numpy.arange(samples)).astype("int64")
    drawn = (drawn % labels if labels > 1 else drawn / 2.0**32).tolist()
    if stream % 2 == 1:
        drawn[0] = -1 if labels > 1 else None
    return {"tokens": tokens.tolist(), "token_count": counts, "labels": drawn}


def logits_of(model, data):
    tokens, counts = torch.tensor(data["tokens"]), torch.tensor(data["token_count"])
    mask = (torch.arange(tokens.shape[1])[None] < counts[:, None]).long()
    return model(input_ids=tokens, attention_mask=mask).logits


def loss_sum(model, data):
    """Sum of the losses of samples with a label, and how many they are."""
    logits = logits_of(model, data)
    assert logits.dtype == torch.float64
    counted = [i for i, label in enumerate(data["labels"]) if label not in (-1, None)]
    labels = torch.tensor([data["labels"][i] for i in counted])
    if model.config.num_labels > 1:
        total = torch.nn.functional.cross_entropy(logits[counted], labels, reduction="sum")
    else:
        # As fp32 inputs have the labels.
        total = ((logits[counted, 0] - labels.float().double()) ** 2).sum()
    return total, len(counted)


def mean_and_gradients(model, parameters, batches):
    sums = [loss_sum(model, data) for data in batches]
    mean = sum(total for total, _ in sums) / sum(counted for _, counted in sums)
    return mean.item(), dict(zip(parameters, torch.autograd.grad(mean, list(parameters.values()))))


def curve_of(model, parameters, length, counts):
    optimizer, losses, norms, streams = AdamW(parameters), [], [], []
    for step in range(CURVE_STEPS):
        batches = [labelled(1 + MICRO_BATCHES * step + i, model, length, counts)
                   for i in range(MICRO_BATCHES)]
        loss, gradients = mean_and_gradients(model, parameters, batches)
        losses.append(loss)
        norms.append(optimizer.step(gradients))
        streams += batches
    return {"micro_batches": MICRO_BATCHES, "optimizer": OPTIMIZER, "loss": losses, "norm": norms,
            "data": streams}


def golden_model(name):
    settings, length, counts = MODELS[name]
    hub = {**HUB, **settings}
    model, rows, parameters = model_of(hub)
    data = labelled(0, model, length, counts)
    loss, gradients = mean_and_gradients(model, parameters, [data])
    result = {"made_by": "tools/golden/deberta_golden.py",
              "with": f"transformers {transformers.__version__}, torch {torch.__version__}",
              "hub": hub, "data": data, "loss": loss,
              "logits": logits_of(model, data).detach().tolist(),
              "tensors": [dict(zip(("name", "shape", "offset", "amplitude"), row),
                               gradient=packed(gradients[row[0]])) for row in rows]}
    if name in CURVES:
        result["curve"] = curve_of(model, parameters, length, counts)
    return result


def main():
    tree = pathlib.Path(__file__).resolve().parents[2]
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tree / "tests" / "golden"
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    files = {name: golden(case) for name, case in CASES.items()}
    files.update({name: golden_model(name) for name in MODELS})
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
