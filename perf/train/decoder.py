#!/usr/bin/env python3
"""SmolLM2-135M's training speed beside a peer, in alternating runs, and beside the machine's peak.

usage: decoder.py BUILD [--dtype fp32|bf16] [--ranks N] [--threads T] [--length S] [--batch N]
                  [--layers N] [--also-stage S | --packed] [--pairs N] [--steps N] [--peer COMMAND]
                  [--at-least-peer R] [--at-least-peak S] [--at-least-other R] [--out FILE.json]

A run trains the shape on full rows of synthetic tokens, N samples a step; --layers takes fewer of
its 30 layers. Its figure is the median step after the first. Beside it runs stage S, or, with
--packed, rows of whole documents of 200 tokens in the mean, of the lengths that chats have; R of
--at-least-other is their speed over that of the first run. COMMAND (default: the variable
DECODER_PEER) is a shell command that trains the same and prints a JSON line with "sps_med"
(samples/s); {dtype}, {threads}, {batch}, {length} and {layers} are replaced. Ends with status 1 if
a median is below its bound, with 77 if there is no peer to judge by.
"""
import json
import os
import pathlib
import random
import sys
import tempfile

from runs import compare_samples, run_parser

SHAPE = {"model.name": "", "model.family": "llama", "model.width": 576, "model.heads": 9,
         "model.key_heads": 3, "model.inner": 1536, "model.vocab_size": 49152,
         "model.max_positions": 8192, "model.rope_theta": 1e5, "model.classifier": "tied"}
PRODUCT_WEIGHTS_A_LAYER = 576 * (576 + 2 * 192 + 576 + 3 * 1536)
DOCUMENTS, MEAN = 4000, 200


def arguments():
    parser = run_parser(__doc__.splitlines()[0], ranks=1, threads=2, length=512)
    parser.set_defaults(peer=os.environ.get("DECODER_PEER", ""))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--also-stage", type=int)
    parser.add_argument("--packed", action="store_true")
    parser.add_argument("--at-least-peak", type=float)
    parser.add_argument("--at-least-other", type=float)
    args = parser.parse_args()
    if args.at_least_other and args.also_stage is None and not args.packed:
        parser.error("--at-least-other wants --also-stage or --packed")
    return args


def flops_of_row(args):
    """Three times those of the forward pass: products, the table's as classifier, attention."""
    weights = PRODUCT_WEIGHTS_A_LAYER * args.layers + SHAPE["model.vocab_size"] * 576
    return (6 * weights + 6 * args.layers * 576 * args.length) * args.length


def write_documents(path, length):
    """Records of ids whose lengths are spread as those of chats, by a long tail."""
    random.seed(1)
    with path.open("w") as out:
        for _ in range(DOCUMENTS):
            count = min(length, 1 + int(random.expovariate(1 / MEAN)))
            ids = [random.randrange(SHAPE["model.vocab_size"]) for _ in range(count)]
            out.write(json.dumps({"input_ids": ids}) + "\n")


def main():
    args = arguments()
    other = None
    with tempfile.TemporaryDirectory() as folder:
        if args.also_stage is not None:
            other = f"stage_{args.also_stage}", {"zero.stage": args.also_stage}
        if args.packed:
            path = pathlib.Path(folder, "documents.jsonl")
            write_documents(path, args.length)
            other = "packed", {"data.train": path, "data.packing": "documents",
                               "data.tokenizer": "bytes"}
        return compare_samples(args, f"{args.layers} layers of SmolLM2-135M, {args.length} tokens",
                               {**SHAPE, "model.layers": args.layers}, other, flops_of_row(args))


if __name__ == "__main__":
    sys.exit(main())
