#!/usr/bin/env python3
"""Training steps of a t5-small with random weights by Hugging Face transformers and compiled
PyTorch: a peer for t5_small.py. Needs the Python packages torch and transformers and a C++
compiler; downloads nothing.

usage: hf_train.py [--dtype fp32|bf16] [--threads T] [--batch N] [--source S] [--target L]
                   [--steps N] [--compile 0|1]

Prints a JSON line with "sps_med": samples/s of the median step behind the first two. bf16 is
autocast over fp32 weights, as PyTorch's own training recipes do it.
"""
import argparse
import json
import statistics
import time

import torch
from transformers import T5Config, T5ForConditionalGeneration

CONFIG = {"d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8,
          "vocab_size": 32128, "dropout_rate": 0.0, "decoder_start_token_id": 0,
          "pad_token_id": 0, "eos_token_id": 1}
UNTIMED = 2  # they compile and allocate


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--source", type=int, default=128)
    parser.add_argument("--target", type=int, default=64)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--compile", type=int, default=1)
    return parser.parse_args()


def shape_arguments(description, length, batch, layers):
    """The arguments of a peer that trains some layers of a shape, with these defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--dtype", default="fp32", choices=["fp32", "bf16"])
    for name, usual in (("threads", 2), ("length", length), ("batch", batch), ("layers", layers),
                        ("steps", 5), ("compile", 1)):
        parser.add_argument("--" + name, type=int, default=usual)
    return parser.parse_args()


def time_steps(args, model, make_batch):
    """Prints the line; make_batch() returns what a step's forward takes."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    run = torch.compile(model) if args.compile else model
    seconds = []
    for _ in range(UNTIMED + args.steps):
        batch = make_batch()
        begin = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.dtype == "bf16"):
            loss = run(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"sps_med": args.batch / statistics.median(seconds[UNTIMED:])}))


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    model = T5ForConditionalGeneration(T5Config(**CONFIG)).train()

    def make_batch():
        return {name: torch.randint(2, CONFIG["vocab_size"], (args.batch, length))
                for name, length in (("input_ids", args.source), ("labels", args.target))}

    time_steps(args, model, make_batch)


if __name__ == "__main__":
    main()
