#!/usr/bin/env python3
"""Texts of a T5 of t5-small's shape with random weights by Hugging Face transformers: a peer for
generate.py --texts. Needs the Python packages torch and transformers; downloads nothing.

usage: hf_texts.py [--dtype fp32|bf16] [--threads T] [--batch N] [--beams N] [--source N]
                   [--tokens N] [--rounds N]

Prints a JSON line with "tps_med": tokens/s of the texts that generate() keeps, its encoder and its
search included, the median of the rounds behind the first.
"""
import argparse
import json
import statistics
import time

import torch
from transformers import T5Config, T5ForConditionalGeneration

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", default="fp32", choices=DTYPES)
    for name, usual in (("threads", 2), ("batch", 8), ("beams", 4), ("source", 64), ("tokens", 48),
                        ("rounds", 3)):
        parser.add_argument("--" + name, type=int, default=usual)
    return parser.parse_args()


def make_model(dtype):
    torch.manual_seed(1)
    # No token ends a text: with random weights the one that does may come at any time.
    return T5ForConditionalGeneration(T5Config(
        vocab_size=32128, d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8,
        decoder_start_token_id=0, eos_token_id=None)).eval().to(dtype)


@torch.inference_mode()
def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    model = make_model(DTYPES[args.dtype])
    model.generation_config.eos_token_id = None
    sources = torch.randint(2, 32000, (args.batch, args.source))
    rates = []
    for _ in range(args.rounds + 1):
        begin = time.perf_counter()
        out = model.generate(sources, attention_mask=torch.ones_like(sources), do_sample=False,
                             num_beams=args.beams, max_new_tokens=args.tokens)
        rates.append(args.batch * args.tokens / (time.perf_counter() - begin))
        assert out.shape[1] == args.tokens + 1
    print(json.dumps({"tps_med": statistics.median(rates[1:])}))


if __name__ == "__main__":
    main()
