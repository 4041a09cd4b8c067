#!/usr/bin/env python3
"""Golden values of two tiny GPT-2s: loss and every gradient, and a 20-step AdamW loss curve.

usage: gpt2_golden.py [OUTDIR]      writes gpt2_a.json and gpt2_b.json, into tests/golden by default
Needs numpy and torch (CPU) in any Python environment; the tests need neither.

Everything is computed in float64 by PyTorch's autograd from the formulas of Hugging Face's
modeling_gpt2.py: pre-LayerNorm (eps 1e-5), Conv1D weights [in, out], causal softmax attention with
scale 1 / sqrt(head width), tanh GELU, learned positions, tied head, no dropout.

Numbers that tests/support/golden.cpp makes again, bit for bit (h is hash32, integers wrap at 2^32):
  weight   float32(offset + amplitude (h(tensor, element) / 2^32 - 1/2)), the tensor counted in the
           order of "tensors" in the file
  token    (u u) / vocabulary with u = h(1000 + stream, b (T + 1) + t) mod vocabulary, t = 0 .. T
  target   token t + 1, or -1 (not counted) where h(3000 + stream, b T + t) mod 5 = 0
Stream 0 gives the loss and the gradients: the mean over counted tokens. Micro-batch j of step s
(both from 0) of the curve is stream 1 + 4 s + j.

The curve: a step's loss and gradient are means over the counted tokens of its 4 micro-batches; the
gradient g is divided by q = (|g| + 1e-6) / 1.0 where q > 1, |g| being the norm over all tensors
(DeepSpeed's rule); then AdamW, all in float64 with hyperparameters rounded to float32 first:
  w *= 1 - lr decay;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
  w -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps),  t = 1, 2, ...
decay is 0.1 for matrices and both tables, 0 for biases and LayerNorm.
"""
import base64
import json
import math
import pathlib
import sys

import numpy
import torch

CURVE_STEPS, MICRO_BATCHES = 20, 4
OPTIMIZER = {"lr": 1e-2, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.1,
             "gradient_clipping": 1.0}
CONFIGS = {
    "gpt2_a": {"layers": 2, "width": 24, "heads": 3, "vocabulary": 61, "length": 16, "batch": 2},
    "gpt2_b": {"layers": 2, "width": 40, "heads": 4, "vocabulary": 128, "length": 12, "batch": 3},
}


def hash32(stream, element):
    """A 32-bit mix of two numbers, elementwise: murmur3's finaliser of a weighted sum."""
    x = numpy.asarray(stream, numpy.uint32) * numpy.uint32(0x9E3779B1)
    x = x + numpy.asarray(element, numpy.uint32) * numpy.uint32(0x85EBCA77)
    x = x + numpy.uint32(0x165667B1)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ (x >> numpy.uint32(shift))) * numpy.uint32(factor)
    return x ^ (x >> numpy.uint32(16))


def tensors_of(config):
    """Rows of "tensors": name, shape, offset, amplitude."""
    width = config["width"]
    rows = [("wte.weight", [config["vocabulary"], width], 0.0, 0.4),
            ("wpe.weight", [config["length"], width], 0.0, 0.4)]
    for layer in range(config["layers"]):
        at = f"h.{layer}."
        for norm in ("ln_1", "ln_2"):
            rows += [(f"{at}{norm}.weight", [width], 1.0, 0.4),
                     (f"{at}{norm}.bias", [width], 0.0, 0.2)]
        for name, fan_in, fan_out in (("attn.c_attn", 1, 3), ("attn.c_proj", 1, 1),
                                      ("mlp.c_fc", 1, 4), ("mlp.c_proj", 4, 1)):
            rows += [(f"{at}{name}.weight", [fan_in * width, fan_out * width], 0.0, 0.4),
                     (f"{at}{name}.bias", [fan_out * width], 0.0, 0.2)]
    return rows + [("ln_f.weight", [width], 1.0, 0.4), ("ln_f.bias", [width], 0.0, 0.2)]


def initial_weights(rows):
    weights = {}
    for index, (name, shape, offset, amplitude) in enumerate(rows):
        share = hash32(index, numpy.arange(math.prod(shape))).astype(numpy.float64) / 2.0**32
        value = (offset + amplitude * (share - 0.5)).astype(numpy.float32)
        weights[name] = torch.tensor(value.astype(numpy.float64).reshape(shape), requires_grad=True)
    return weights


def micro_batch(config, stream):
    """Tokens and targets, both [batch, length]."""
    batch, length, vocabulary = config["batch"], config["length"], config["vocabulary"]
    u = hash32(1000 + stream, numpy.arange(batch * (length + 1))).astype(numpy.int64) % vocabulary
    tokens = (u * u // vocabulary).reshape(batch, length + 1)
    ignored = hash32(3000 + stream, numpy.arange(batch * length)) % 5 == 0
    targets = numpy.where(ignored.reshape(batch, length), -1, tokens[:, 1:])
    return torch.tensor(tokens[:, :-1].copy()), torch.tensor(targets)


def layer_norm(x, w, name):
    gain, shift = w[name + ".weight"], w[name + ".bias"]
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gain, shift, 1e-5)


def conv1d(x, w, name):
    return x @ w[name + ".weight"] + w[name + ".bias"]


def attention(x, w, name, heads):
    batch, length, width = x.shape
    q, k, v = (part.view(batch, length, heads, width // heads).transpose(1, 2)
               for part in conv1d(x, w, name + ".c_attn").split(width, dim=2))
    scores = q @ k.transpose(2, 3) / math.sqrt(width // heads)
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    mixed = scores.masked_fill(future, -math.inf).softmax(dim=3) @ v
    return conv1d(mixed.transpose(1, 2).reshape(batch, length, width), w, name + ".c_proj")


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def loss_sum(config, w, stream):
    """Sum of the losses of the counted tokens, and how many they are."""
    tokens, targets = micro_batch(config, stream)
    x = w["wte.weight"][tokens] + w["wpe.weight"][: config["length"]]
    for layer in range(config["layers"]):
        at = f"h.{layer}."
        x = x + attention(layer_norm(x, w, at + "ln_1"), w, at + "attn", config["heads"])
        inner = gelu(conv1d(layer_norm(x, w, at + "ln_2"), w, at + "mlp.c_fc"))
        x = x + conv1d(inner, w, at + "mlp.c_proj")
    logits = layer_norm(x, w, "ln_f") @ w["wte.weight"].T
    total = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(),
                                              ignore_index=-1, reduction="sum")
    return total, int((targets >= 0).sum())


def mean_and_gradients(config, w, streams):
    sums = [loss_sum(config, w, stream) for stream in streams]
    mean = sum(total for total, _ in sums) / sum(counted for _, counted in sums)
    return mean.item(), dict(zip(w, torch.autograd.grad(mean, list(w.values()))))


class AdamW:
    def __init__(self, weights, rule=OPTIMIZER):
        self.rule = {key: float(numpy.float32(value)) for key, value in rule.items()}
        self.weights, self.updates = weights, 0
        self.momentum = {name: torch.zeros_like(w) for name, w in weights.items()}
        self.variance = {name: torch.zeros_like(w) for name, w in weights.items()}

    @torch.no_grad()
    def step(self, gradients):
        r = self.rule
        norm = math.sqrt(sum(float((g * g).sum()) for g in gradients.values()))
        quotient = max(1.0, (norm + 1e-6) / r["gradient_clipping"])
        self.updates += 1
        for name, w in self.weights.items():
            g, m, v = gradients[name] / quotient, self.momentum[name], self.variance[name]
            if w.dim() > 1:
                w.mul_(1 - r["lr"] * r["weight_decay"])
            m.mul_(r["beta1"]).add_((1 - r["beta1"]) * g)
            v.mul_(r["beta2"]).add_((1 - r["beta2"]) * g * g)
            variance = v / (1 - r["beta2"] ** self.updates)
            w.sub_(r["lr"] * (m / (1 - r["beta1"] ** self.updates)) / (variance.sqrt() + r["eps"]))
        return norm


def loss_curve(config, weights):
    """Loss and gradient norm of each step, both before its update."""
    optimizer, losses, norms = AdamW(weights), [], []
    for step in range(CURVE_STEPS):
        streams = range(1 + MICRO_BATCHES * step, 1 + MICRO_BATCHES * (step + 1))
        loss, gradients = mean_and_gradients(config, weights, streams)
        losses.append(loss)
        norms.append(optimizer.step(gradients))
    return {"micro_batches": MICRO_BATCHES, "optimizer": OPTIMIZER, "loss": losses, "norm": norms}


def packed(tensor):
    return base64.b64encode(tensor.numpy().astype("<f8").tobytes()).decode()


def golden(config, with_curve):
    rows = tensors_of(config)
    weights = initial_weights(rows)
    loss, gradients = mean_and_gradients(config, weights, [0])
    result = {
        "made_by": "tools/golden/gpt2_golden.py",
        "config": config,
        "counted_tokens": loss_sum(config, weights, 0)[1],
        "loss": loss,
        "tensors": [dict(zip(("name", "shape", "offset", "amplitude"), row),
                         gradient=packed(gradients[row[0]])) for row in rows],
    }
    if with_curve:
        result["curve"] = loss_curve(config, weights)
    return result


def main():
    tree = pathlib.Path(__file__).resolve().parents[2]
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tree / "tests" / "golden"
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name, config in CONFIGS.items():
        result = golden(config, with_curve=name == "gpt2_a")
        path = out / f"{name}.json"
        path.write_text(json.dumps(result, indent=1) + "\n")
        print(f"{path}: loss {result['loss']!r}, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
