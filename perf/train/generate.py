#!/usr/bin/env python3
"""Greedy decoding of GPT-2 124M or another model, or with --texts beams of 4 of a t5-small, beside
a peer, in alternating runs.

usage: generate.py BUILD [--model NAME | --texts] [--dtype fp32|bf16] [--threads T] [--pairs N]
                   [--peer COMMAND] [--at-least-peer R]

BUILD is a build folder with perf_train_decode: 128 tokens behind a prompt of 192, random weights;
or with perf_train_texts: 48 tokens each for 8 sources of 64. COMMAND (default: the variable
DECODE_PEER, or with --texts TEXTS_PEER; PEER is one that trains) is a shell command that decodes
the same model and prints a JSON line with "tps_med" (tokens/s), such as `python3
perf/train/hf_decode.py --model {model} --dtype {dtype} --threads {threads}`, or hf_texts.py;
{model}, {dtype} and {threads} are replaced. The first pair is not counted. Ends with status 1 if
the median of our speed over the peer's is below R, or where recomputing the text without the cache
gives other bits; else with status 77 if R is given but no peer.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

from runs import NOT_JUDGED, run_peer, show, spread


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--model", default="gpt2")
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--dtype", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--peer")
    parser.add_argument("--at-least-peer", type=float)
    args = parser.parse_args()
    args.variable = "TEXTS_PEER" if args.texts else "DECODE_PEER"
    if args.peer is None:
        args.peer = os.environ.get(args.variable, "")
    # A peer's command may name what one that trains may name.
    return argparse.Namespace(**vars(args), length=1024, ranks=1)


def decode(args):
    """What the benchmark says of one round: its fields."""
    program = "perf_train_texts" if args.texts else "perf_train_decode"
    model = [] if args.texts else [args.model]
    command = [str(args.build / "perf" / program), str(args.threads), args.dtype, "1", *model]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def main():
    args = arguments()
    ours, peers = [], []
    for pair in range(args.pairs + 1):
        one = decode(args)
        peer = run_peer(args)[0]["tps_med"] if args.peer else None
        if pair > 0:
            ours.append(one)
            peers += [peer] if peer else []
    what = "t5-small, beams of 4" if args.texts else f"{args.model}, greedy decoding"
    print(f"{what}, {args.dtype}, {args.threads} threads")
    show("tokens/s", spread([one["tps_med"] for one in ours]))
    if not args.texts:
        show("share of the rate of reading", spread([one["share_of_read_rate"] for one in ours]))
        show("tokens/s of the prompt", spread([one["prefill_tps"] for one in ours]))
    if peers:
        show("tokens/s of the peer", spread(peers))
    return judge(args, [one["tps_med"] / peer for one, peer in zip(ours, peers)])


def judge(args, ratios):
    """1 if the median ratio is below its bound, NOT_JUDGED if there is none, else 0."""
    if ratios:
        show("over the peer", spread(ratios))
    bound = args.at_least_peer
    if bound is None:
        return 0
    if not ratios:
        print(f"SKIP no {args.variable}: over the peer, at least {bound}, is not judged")
        return NOT_JUDGED
    passed = statistics.median(ratios) >= bound
    print(f"over the peer, at least {bound}: {'passed' if passed else 'FAILED'}")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
