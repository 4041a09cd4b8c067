#!/usr/bin/env python3
"""Golden weights of a tiny T5 and a tiny BlenderBot after 20 steps of LAMB in float64.

usage: lamb_golden.py [OUTDIR]      writes lamb_*.json, into tests/golden by default
Needs torch (CPU) and transformers in any Python environment; the tests need neither.

Hugging Face's own classes compute loss and gradients as in pairs_golden.py, whose models, weights
and data these are: every step reads the same batch, without dropout. An update is that of
You et al. 2020 (arXiv:1904.00962), algorithm 2, with bias correction, for each tensor w by itself,
as Hugging Face's files store it:
  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
  u = (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps) + decay w,  t = 1, 2, ...
  w -= lr r u,  r = |w| / |u| within [min_coeff, max_coeff], or 1 where either norm is 0
decay is 0.1 for matrices and tables, 0 for biases, norms and T5's relative_attention_bias.

Two models of pairs_golden.py are not taken, because they show the conditioning of float32 beside
the norms: t5_b, whose gradient magnifies errors of weights up to sixty times in its last steps
(PyTorch in float32 ends 9e-6 away, t5_c 5e-7), and blenderbot_b, which has an element whose first
gradient is as small as eps. The gradient of a bias of keys is rounding alone in any precision.

A file holds the final weights as base64 of float32, little-endian: that rounding is 3e-8 of them.
"""
import base64
import json
import pathlib
import sys

import torch
import transformers

from pairs_golden import CASES, loss_of, model_of, pairs

STEPS = 20
OPTIMIZER = {"lr": 1e-2, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.1,
             "min_coeff": 0.01, "max_coeff": 10.0}
NAMES = ("t5_c", "blenderbot_a")


def decays(name, weight):
    return weight.dim() == 2 and "relative_attention_bias" not in name


class Lamb:
    def __init__(self, model):
        self.weights, self.updates = dict(model.named_parameters()), 0
        self.momentum = {name: torch.zeros_like(w) for name, w in self.weights.items()}
        self.variance = {name: torch.zeros_like(w) for name, w in self.weights.items()}

    @torch.no_grad()
    def step(self):
        self.updates += 1
        for name, w in self.weights.items():
            u = self.direction(name, w.grad)
            if decays(name, w):
                u += OPTIMIZER["weight_decay"] * w
            w.sub_(OPTIMIZER["lr"] * trust_ratio(w, u) * u)

    def direction(self, name, g):
        r, m, v = OPTIMIZER, self.momentum[name], self.variance[name]
        m.mul_(r["beta1"]).add_((1 - r["beta1"]) * g)
        v.mul_(r["beta2"]).add_((1 - r["beta2"]) * g * g)
        variance = v / (1 - r["beta2"] ** self.updates)
        return m / (1 - r["beta1"] ** self.updates) / (variance.sqrt() + r["eps"])


def trust_ratio(w, u):
    weight, update = w.norm().item(), u.norm().item()
    if weight == 0 or update == 0:
        return 1.0
    return min(max(weight / update, OPTIMIZER["min_coeff"]), OPTIMIZER["max_coeff"])


def trained(name):
    base, settings, smoothing, lengths = CASES[name]
    model = model_of(base, settings)
    data = pairs(lengths, {**base, **settings})
    lamb = Lamb(model)
    for _ in range(STEPS):
        model.zero_grad()
        loss_of(model, data, smoothing).backward()
        lamb.step()
    return lamb.weights


def packed(weight):
    return base64.b64encode(weight.detach().numpy().astype("<f4").tobytes()).decode()


def main():
    tree = pathlib.Path(__file__).resolve().parents[2]
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tree / "tests" / "golden"
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name in NAMES:
        result = {
            "made_by": "tools/golden/lamb_golden.py",
            "with": f"transformers {transformers.__version__}, torch {torch.__version__}",
            "pairs": name, "steps": STEPS, "optimizer": OPTIMIZER,
            "weights": {tensor: packed(w) for tensor, w in trained(name).items()}}
        path = out / f"lamb_{name}.json"
        path.write_text(json.dumps(result) + "\n")
        print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
