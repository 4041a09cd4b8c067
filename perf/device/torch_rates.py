#!/usr/bin/env python3
"""What PyTorch's libraries do with the shapes of perf_device_rates on this machine: a ceiling.

usage: torch_rates.py [FILE] [--rows ROWS]

Products, attention in both directions, layer norm, GELU and copies of GPT-2's shapes in bf16, under
the names that perf_device_rates gives them. A figure is work over the time of as many calls as
fill 20 ms, behind two that are not counted. FILE gets a JSON line a figure. Runs on a processor
too, for its code's sake.
"""
import argparse
import json
import pathlib
import time

import torch
from torch.nn import functional

LENGTH = 1024
MODELS = (("gpt2", 768, 12), ("gpt2-medium", 1024, 16), ("gpt2-large", 1280, 20),
          ("gpt2-xl", 1600, 25), ("gpt2_10b", 4096, 32))
ON_DEVICE = torch.cuda.is_available()
DEVICE = "cuda" if ON_DEVICE else "cpu"
SECONDS, MOST_CALLS = 0.02, 1000


def seconds_of(work, calls):
    if not ON_DEVICE:
        start = time.perf_counter()
        for _ in range(calls):
            work()
        return time.perf_counter() - start
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(calls):
        work()
    end.record()
    end.synchronize()
    return 1e-3 * begin.elapsed_time(end)


def seconds_of_one(work):
    seconds_of(work, 1)
    calls = int(min(MOST_CALLS, SECONDS / seconds_of(work, 1))) + 1
    return seconds_of(work, calls) / calls


class Rates:
    def __init__(self, path):
        self.path = path

    def add(self, name, amount, unit, work):
        """A library that refuses a shape is told, and the next one measured."""
        try:
            seconds = seconds_of_one(work)
        except RuntimeError as error:
            print(f"{name}: {str(error).splitlines()[0]}", flush=True)
            return
        rate = amount / seconds * (1e-9 if unit == "GB/s" else 1e-12)
        print(f"{name:<44} {1e6 * seconds:10.1f} us {rate:9.1f} {unit}", flush=True)
        if self.path:
            with self.path.open("a") as out:
                line = {"what": name, "microseconds": round(1e6 * seconds, 2),
                        "rate": round(rate, 2), "unit": unit}
                out.write(json.dumps(line) + "\n")


def drawn(*shape):
    return torch.randn(*shape, device=DEVICE, dtype=torch.bfloat16)


def products(rates, model, width, rows):
    for layer, inner, outer in (("qkv", width, 3 * width), ("proj", width, width),
                                ("up", width, 4 * width), ("down", 4 * width, width)):
        x, weight, bias = drawn(rows, inner), drawn(inner, outer), drawn(outer)
        dy = drawn(rows, outer)
        flops = 2 * rows * inner * outer
        name = f"product {model} {layer}"
        rates.add(f"{name} forward with bias", flops, "TFLOP/s",
                  lambda: torch.addmm(bias, x, weight))
        rates.add(f"{name} dx", flops, "TFLOP/s", lambda: dy @ weight.T)
        rates.add(f"{name} dw", flops, "TFLOP/s", lambda: x.T @ dy)


def attention(rates, model, width, heads, rows):
    length = min(rows, LENGTH)
    qkv = drawn(rows // length, length, 3, heads, width // heads)
    q, k, v = (part.transpose(1, 2).requires_grad_() for part in qkv.unbind(2))
    flops = 2.0 * rows * length * width
    y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    dy = torch.randn_like(y)

    def forward():
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    def both():
        torch.autograd.grad(forward(), (q, k, v), dy)
    with torch.no_grad():
        rates.add(f"attention {model} forward", flops, "TFLOP/s", forward)
    rates.add(f"attention {model} forward and backward", 3.5 * flops, "TFLOP/s", both)
    torch.use_deterministic_algorithms(True)
    rates.add(f"attention {model} both, deterministic", 3.5 * flops, "TFLOP/s", both)
    torch.use_deterministic_algorithms(False)


def elementwise(rates, model, width, rows):
    x, wide, dy = drawn(rows, width), drawn(rows, 4 * width), drawn(rows, width)
    weight, bias = drawn(width), drawn(width)
    size = 2.0 * rows * width
    rates.add(f"layernorm {model}", 2 * size, "GB/s",
              lambda: functional.layer_norm(x, (width,), weight, bias))
    rates.add(f"gelu {model}", 8 * size, "GB/s",
              lambda: functional.gelu(wide, approximate="tanh"))
    rates.add(f"residual added {model}", 3 * size, "GB/s", lambda: torch.add(x, dy))
    rates.add(f"column sums {model}", size, "GB/s", lambda: dy.sum(0))


def copies(rates):
    size = 64 << 20
    host = torch.empty(size, dtype=torch.uint8, pin_memory=ON_DEVICE)
    device, other = (torch.empty(size, dtype=torch.uint8, device=DEVICE) for _ in range(2))
    rates.add("copy from host to device", size, "GB/s", lambda: device.copy_(host, True))
    rates.add("copy from device to host", size, "GB/s", lambda: host.copy_(device, True))
    rates.add("copy within the device, read and written", 2 * size, "GB/s",
              lambda: device.copy_(other, True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, nargs="?")
    parser.add_argument("--rows", type=int, default=16384)
    options = parser.parse_args()
    print(f"torch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN "
          f"{torch.backends.cudnn.version() if ON_DEVICE else None}")
    rates = Rates(options.file)
    copies(rates)
    for model, width, heads in reversed(MODELS):
        products(rates, model, width, options.rows)
        attention(rates, model, width, heads, options.rows)
        elementwise(rates, model, width, options.rows)


main()
