#!/usr/bin/env python3
"""GPT-2 trained by compiled PyTorch on one GPU: a peer for tools/gpu_speed.py at the same sizes.

usage: torch_gpt2.py MODEL MICRO_BATCH [--tokens N] [--steps N] [--to FILE]

Weights, the sums along the layers and AdamW's moments are fp32 and the rest bf16 by autocast, as
PyTorch's own recipes do it. The model is compiled whole, attention is what
scaled_dot_product_attention chooses by itself, whose gradient adds in any order, unlike zeroapp's.
AdamW is the fused one, and gradients are clipped. Tokens are drawn, of length 1024; --tokens is of
a step, by default one micro-batch. A figure is the median of the steps behind the first two, which
compile and take one micro-batch. --to gets a JSON line, in which torch_bytes is the most that
PyTorch's allocator held. Runs on a processor too, for its code's sake; a model may be written
LAYERSxWIDTHxHEADS.
"""
import argparse
import json
import pathlib
import re
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

PEAK = 989e12
LENGTH, VOCABULARY, UNTIMED = 1024, 50304, 2
SHAPES = {"gpt2": (12, 768, 12), "gpt2-medium": (24, 1024, 16), "gpt2-large": (36, 1280, 20),
          "gpt2-xl": (48, 1600, 25)}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        samples, length, width = x.shape
        split = self.qkv(self.norms[0](x)).view(samples, length, 3, self.heads, -1)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(mixed.transpose(1, 2).reshape(samples, length, width))
        return x + self.down(functional.gelu(self.up(self.norms[1](x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, layers, width, heads):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, width)
        self.position = nn.Parameter(torch.empty(LENGTH, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens):
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        x = self.token(inputs) + self.position
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x), self.token.weight)
        return functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def step(run, optimizer, samples, micro_batches):
    """Its seconds, and the mean loss."""
    begin, total = time.perf_counter(), 0.0
    for _ in range(micro_batches):
        tokens = torch.randint(VOCABULARY, (samples, LENGTH + 1), device=DEVICE)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = run(tokens) / micro_batches
        loss.backward()
        total = total + loss.detach()
    nn.utils.clip_grad_norm_((p for g in optimizer.param_groups for p in g["params"]), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    synchronize()
    return time.perf_counter() - begin, float(total)


def measure(options, shape):
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    model = GPT2(*shape).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    micro_batches = max(1, (options.tokens or 0) // (options.micro * LENGTH))
    run = torch.compile(model)
    steps = []
    for number in range(options.steps):
        untimed = number < UNTIMED
        steps.append(step(run, optimizer, options.micro, 1 if untimed else micro_batches))
        print(f"step {number + 1}: {steps[-1][0]:.3f} s, loss {steps[-1][1]:.4f}", flush=True)
    return model, micro_batches * options.micro * LENGTH, steps


def figures(options, shape, model, tokens, steps):
    layers, width, _ = shape
    parameters = sum(parameter.numel() for parameter in model.parameters())
    rates = [tokens / seconds for seconds, _ in steps[UNTIMED:]]
    rate = statistics.median(rates)
    flops = 6 * parameters + 6 * layers * width * LENGTH
    return {"model": options.model, "micro_batch": options.micro, "dtype": "bf16",
            "tokens_a_step": tokens, "steps_counted": len(rates), "tokens_per_s": round(rate, 1),
            "least": round(min(rates), 1), "most": round(max(rates), 1), "mfu": rate * flops / PEAK,
            "first_loss": steps[0][1], "last_loss": steps[-1][1],
            "torch_bytes": torch.cuda.max_memory_allocated() if DEVICE == "cuda" else None,
            "torch": torch.__version__}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("micro", type=int)
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--to", type=pathlib.Path)
    options = parser.parse_args()
    if options.steps <= UNTIMED:
        parser.error(f"--steps {options.steps}: at least {UNTIMED + 1} give a figure")
    extents = re.fullmatch(r"(\d+)x(\d+)x(\d+)", options.model)
    if options.model not in SHAPES and not extents:
        parser.error(f"model '{options.model}': one of {list(SHAPES)}, or LAYERSxWIDTHxHEADS")
    return options, SHAPES.get(options.model) or tuple(map(int, extents.groups()))


def main():
    options, shape = parse()
    found = figures(options, shape, *measure(options, shape))
    print(json.dumps(found))
    if options.to:
        with options.to.open("a") as out:
            out.write(json.dumps(found) + "\n")


main()
