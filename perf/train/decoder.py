#!/usr/bin/env python3
"""SmolLM2-135M's training speed beside a peer, in alternating runs.

usage: decoder.py BUILD [--dtype fp32|bf16] [--threads T] [--length S] [--batch N] [--layers N]
                  [--pairs N] [--steps N] [--peer COMMAND] [--at-least-peer R] [--out FILE.json]

One process trains the shape on full rows of synthetic tokens; --layers takes fewer of its 30
layers. A run's figure is the median step after the first. COMMAND (default: the variable
DECODER_PEER) is a shell command that trains the same and prints a JSON line with "sps_med"
(samples/s); {dtype}, {threads}, {batch}, {length} and {layers} are replaced. Ends with status 1 if
the median ratio is below its bound, with 77 if there is no peer to judge by.
"""
import os
import sys

from runs import compare_samples, run_parser

SHAPE = {"model.name": "", "model.family": "llama", "model.width": 576, "model.heads": 9,
         "model.key_heads": 3, "model.inner": 1536, "model.vocab_size": 49152,
         "model.max_positions": 8192, "model.rope_theta": 1e5, "model.classifier": "tied"}


def arguments():
    parser = run_parser(__doc__.splitlines()[0], ranks=1, threads=2, length=512)
    parser.set_defaults(peer=os.environ.get("DECODER_PEER", ""))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--layers", type=int, default=30)
    return parser.parse_args()


def main():
    args = arguments()
    return compare_samples(args, f"{args.layers} layers of SmolLM2-135M, {args.length} tokens",
                           {**SHAPE, "model.layers": args.layers})


if __name__ == "__main__":
    sys.exit(main())
