#!/usr/bin/env python3
"""Training steps of SmolLM2-135M's shape with random weights by Hugging Face transformers and
compiled PyTorch: a peer for decoder.py. Needs what hf_train.py needs; downloads nothing.

usage: hf_decoder.py [--dtype fp32|bf16] [--threads T] [--length S] [--batch N] [--layers N]
                     [--steps N] [--compile 0|1]

Prints what hf_train.py prints, of full rows of random tokens.
"""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from hf_train import shape_arguments, time_steps

CONFIG = {"vocab_size": 49152, "hidden_size": 576, "num_attention_heads": 9,
          "num_key_value_heads": 3, "intermediate_size": 1536, "max_position_embeddings": 8192,
          "rope_parameters": {"rope_type": "default", "rope_theta": 100000.0},
          "rms_norm_eps": 1e-5, "tie_word_embeddings": True, "use_cache": False,
          "attn_implementation": "sdpa"}


def main():
    args = shape_arguments(__doc__.splitlines()[0], length=512, batch=1, layers=30)
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=args.layers, **CONFIG)).train()

    def make_batch():
        ids = torch.randint(CONFIG["vocab_size"], (args.batch, args.length))
        return {"input_ids": ids, "labels": ids}

    time_steps(args, model, make_batch)


if __name__ == "__main__":
    main()
