#!/usr/bin/env python3
"""Greedy decoding of a GPT-2 124M or a SmolLM2-135M with random weights by Hugging Face
transformers: a peer for generate.py. Needs the Python packages torch and transformers; downloads
nothing.

usage: hf_decode.py [--model gpt2|smollm2-135m] [--dtype fp32|bf16] [--threads T] [--prompt N]
                    [--tokens N] [--rounds N]

Prints a JSON line with "tps_med": tokens/s of generate() with its cache on, the prompt not counted
(the time of one token is taken off that of all), the median of the rounds behind the first.
"""
import argparse
import json
import statistics
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

import hf_decoder

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="gpt2", choices=["gpt2", "smollm2-135m"])
    parser.add_argument("--dtype", default="fp32", choices=DTYPES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompt", type=int, default=192)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def make_model(name, dtype):
    torch.manual_seed(1)
    # No token ends a text: with random weights the one that does may come at any time.
    endless = {"eos_token_id": None, "bos_token_id": None}
    if name == "gpt2":
        model = GPT2LMHeadModel(GPT2Config(**endless))
    else:
        shape = {**hf_decoder.CONFIG, "num_hidden_layers": 30, "use_cache": True}
        model = LlamaForCausalLM(LlamaConfig(**shape, **endless))
    return model.eval().to(dtype)


def seconds(model, prompt, tokens):
    begin = time.perf_counter()
    out = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False,
                         max_new_tokens=tokens, use_cache=True)
    took = time.perf_counter() - begin
    assert out.shape[1] == prompt.shape[1] + tokens
    return took


@torch.inference_mode()
def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    model = make_model(args.model, DTYPES[args.dtype])
    prompt = torch.randint(0, model.config.vocab_size, (1, args.prompt))
    rates = []
    for _ in range(args.rounds + 1):
        first = seconds(model, prompt, 1)
        rates.append(args.tokens / (seconds(model, prompt, args.tokens + 1) - first))
    print(json.dumps({"tps_med": statistics.median(rates[1:])}))


if __name__ == "__main__":
    main()
