#!/usr/bin/env python3
"""Training speed of a few layers of DeBERTa-v2-xlarge's shape beside a peer, in alternating runs.

usage: deberta.py BUILD [--dtype fp32|bf16] [--threads T] [--length S] [--batch N] [--layers N]
                  [--pairs N] [--steps N] [--peer COMMAND] [--at-least-peer R] [--out FILE.json]

One process trains the shape, with its convolution and its whole table of tokens, on synthetic
samples of two classes without padding or dropout; a run's figure is the median step after the
first. COMMAND (default: the variable DEBERTA_PEER) is a shell command that trains the same and
prints a JSON line with "sps_med" (samples/s); {dtype}, {threads}, {batch}, {length} and {layers}
are replaced. Ends with status 1 if the median ratio is below its bound, with 77 if there is no peer
to judge by.
"""
import os
import sys

from runs import compare_samples, run_parser

TOKENS = 1024  # of a step, unless --batch says another number of samples
SHAPE = {"model.name": "", "model.family": "deberta", "model.width": 1536, "model.heads": 24,
         "model.vocab_size": 128100, "model.convolution": "gelu"}


def arguments():
    parser = run_parser(__doc__.splitlines()[0], ranks=1, threads=2, length=128)
    parser.set_defaults(peer=os.environ.get("DEBERTA_PEER", ""))
    parser.add_argument("--batch", type=int)
    parser.add_argument("--layers", type=int, default=2)
    args = parser.parse_args()
    args.batch = args.batch or max(1, TOKENS // args.length)
    return args


def main():
    args = arguments()
    return compare_samples(args, f"{args.layers} layers of DeBERTa-v2-xlarge, {args.length} tokens",
                           {**SHAPE, "model.layers": args.layers})


if __name__ == "__main__":
    sys.exit(main())
