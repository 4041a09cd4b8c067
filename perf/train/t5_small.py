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
import json
import os
import sys

from runs import NOT_JUDGED, run_parser, run_peer, run_program, samples_per_second, show, spread


def arguments():
    parser = run_parser(__doc__.splitlines()[0], ranks=1, threads=2, length=64)
    parser.set_defaults(peer=os.environ.get("T5_PEER", ""))
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--source", type=int, default=128)
    parser.add_argument("--target", dest="length", type=int)
    return parser.parse_args()


def train(args):
    """Samples/s of one run, and where its time went: {op: ms a step}."""
    run = run_program(args, {"model.name": "t5-small", "data.source_length": args.source,
                             "train_batch_size": args.batch,
                             "train_micro_batch_size_per_gpu": args.batch})
    shares = {op: 1e3 * row["mean"] / args.steps for op, row in run.summary["regions"].items()}
    return samples_per_second(run, args.batch), shares


def main():
    args = arguments()
    ours, theirs = [], []
    for pair in range(args.pairs + 1):
        speed, shares = train(args)
        peer = run_peer(args)[0]["sps_med"] if args.peer else None
        if pair:
            ours.append(speed)
            theirs += [peer] if peer else []
    result = {"what": f"t5-small, {args.dtype}, {args.threads} threads, {args.batch} samples of "
                      f"{args.source} and {args.length} tokens", "samples_per_s": spread(ours)}
    if theirs:
        result["peer_samples_per_s"] = spread(theirs)
        result["ratio_to_peer"] = spread([a / b for a, b in zip(ours, theirs)])
    result["ms_a_step"] = shares
    report(result)
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    return judge(args, result)


def report(result):
    print(result["what"])
    for name, row in result.items():
        if isinstance(row, dict) and "median" in row:
            show(name, row)
    rows = sorted(result["ms_a_step"].items(), key=lambda row: -row[1])
    print("ms a step   " + ", ".join(f"{op} {ms:.1f}" for op, ms in rows if ms >= 0.05))


def judge(args, result):
    if args.at_least_peer is None:
        return 0
    if "ratio_to_peer" not in result:
        print(f"SKIP no T5_PEER: ratio_to_peer, at least {args.at_least_peer}, is not judged")
        return NOT_JUDGED
    ratio = result["ratio_to_peer"]["median"]
    passed = ratio >= args.at_least_peer
    print(f"ratio_to_peer {ratio:.3f}, at least {args.at_least_peer}: "
          f"{'passed' if passed else 'FAILED'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
