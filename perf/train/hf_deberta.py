#!/usr/bin/env python3
"""Training steps of a few layers of DeBERTa-v2-xlarge's shape with random weights by Hugging Face
transformers and compiled PyTorch: a peer for deberta.py. Needs what hf_train.py needs; downloads
nothing.

usage: hf_deberta.py [--dtype fp32|bf16] [--threads T] [--length S] [--batch N] [--layers N]
                     [--steps N] [--compile 0|1]

Prints what hf_train.py prints, of samples with two classes without padding or dropout.
"""
import torch
from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

from hf_train import shape_arguments, time_steps

CONFIG = {"vocab_size": 128100, "hidden_size": 1536, "num_attention_heads": 24,
          "intermediate_size": 6144, "hidden_dropout_prob": 0.0, "pooler_dropout": 0.0,
          "attention_probs_dropout_prob": 0.0, "relative_attention": True, "position_buckets": 256,
          "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"],
          "position_biased_input": False, "type_vocab_size": 0, "conv_kernel_size": 3,
          "conv_act": "gelu", "pooler_hidden_act": "gelu", "num_labels": 2}
FIRST_WORD = 4  # behind the special tokens


def main():
    args = shape_arguments(__doc__.splitlines()[0], length=128, batch=8, layers=2)
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    config = DebertaV2Config(num_hidden_layers=args.layers, **CONFIG)
    model = DebertaV2ForSequenceClassification(config).train()

    def make_batch():
        ids = torch.randint(FIRST_WORD, CONFIG["vocab_size"], (args.batch, args.length))
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids),
                "labels": torch.randint(2, (args.batch,))}

    time_steps(args, model, make_batch)


if __name__ == "__main__":
    main()
