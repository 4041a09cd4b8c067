#!/usr/bin/env python3
"""T5-small's training speed beside a peer, in alternating runs.

usage: t5_small.py BUILD [--dtype fp32|bf16] [--threads T] [--batch N] [--source S] [--target L]
                   [--pairs N] [--steps N] [--peer COMMAND] [--at-least-peer R] [--out FILE.json]

One process trains t5-small's shape on synthetic pairs without padding or dropout; a run's figure is
the median step after the first. COMMAND (default: the variable T5_PEER) is a shell command that
trains the same and prints a JSON line with "sps_med" (samples/s); {dtype}, {threads}, {batch},
{source} and {target} are replaced. The first pair is not counted, ratios are taken pair by pair.
Ends with status 1 if the median ratio is below its bound, with 77 if there is no peer to judge by.
"""
import os
import sys

from runs import compare_samples, run_parser


def arguments():
    parser = run_parser(__doc__.splitlines()[0], ranks=1, threads=2, length=64)
    parser.set_defaults(peer=os.environ.get("T5_PEER", ""))
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--source", type=int, default=128)
    parser.add_argument("--target", dest="length", type=int)
    return parser.parse_args()


def main():
    args = arguments()
    return compare_samples(args, f"t5-small, {args.source} and {args.length} tokens",
                           {"model.name": "t5-small", "data.source_length": args.source})


if __name__ == "__main__":
    sys.exit(main())
