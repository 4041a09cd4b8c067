#!/usr/bin/env python3
"""GPT-2 124M training speed beside a peer, in alternating runs, and beside the machine's peak.

usage: gpt2_124m.py BUILD [--dtype fp32|bf16] [--ranks N] [--threads T] [--length L] [--stage S]
                    [--also-stage S2] [--pairs N] [--steps N] [--peer COMMAND] [--out FILE.json]
                    [--at-least-peer R] [--at-least-peak S [--or-peak]] [--at-least-stage R]
                    [--also-at-least-peer R]

BUILD is a build folder. A run is `--steps` steps of one sample a rank on synthetic tokens, no
dropout; its figure is the median step after the first. COMMAND (default: the variable PEER) is a
shell command that trains the same model with the same batch and prints a JSON line with "tps_med"
(tokens/s); {dtype}, {length}, {threads} and {ranks} are replaced. The first pair is not counted.
Ratios are taken pair by pair. Ends with status 1 if a median is below its bound: our speed over the
peer's, our share of the peak, the speed at S2 over that at S and over the peer's. With --or-peak
only the share of the peak decides where R x the peer's speed would be above 75 % of the peak. Ends
with status 77 if none is below its bound but one could not be judged: one over a peer without one.
"""
import json
import statistics
import sys

from runs import (NOT_JUDGED, peak, run_parser, run_peer, run_program, show, spread,
                  tokens_per_second)

PARAMETERS, LAYERS, WIDTH = 124_439_808, 12, 768
NEAR_PEAK = 0.75  # nobody needs to be faster than this share of the peak


def arguments():
    parser = run_parser(__doc__.splitlines()[0], ranks=1, threads=2, length=1024)
    parser.add_argument("--stage", type=int, default=0)
    parser.add_argument("--also-stage", type=int)
    parser.add_argument("--at-least-peak", type=float)
    parser.add_argument("--or-peak", action="store_true")
    parser.add_argument("--at-least-stage", type=float)
    parser.add_argument("--also-at-least-peer", type=float)
    args = parser.parse_args()
    if args.or_peak and args.at_least_peak is None:
        parser.error("--or-peak wants --at-least-peak")
    if (args.at_least_stage or args.also_at_least_peer) and args.also_stage is None:
        parser.error("--at-least-stage and --also-at-least-peer want --also-stage")
    return args


def train(args, stage):
    """Tokens/s of one run, and where its time went: {op: ms a step}."""
    run = run_program(args, {"zero.stage": stage})
    share = {op: 1e3 * row["mean"] / args.steps for op, row in run.summary["regions"].items()}
    return tokens_per_second(run), share


def main():
    args = arguments()
    peaks, ours, theirs, others, shares = [peak(args)], [], [], [], []
    for pair in range(args.pairs + 1):
        speed, share = train(args, args.stage)
        other = train(args, args.also_stage)[0] if args.also_stage is not None else None
        peer = run_peer(args)[0]["tps_med"] if args.peer else None
        if pair == 0:
            continue
        peaks.append(peak(args))
        ours.append(speed)
        shares.append(share)
        theirs += [peer] if peer else []
        others += [other] if other else []
    flops = 6 * PARAMETERS + 6 * LAYERS * WIDTH * args.length
    result = {
        "what": f"GPT-2 124M, {args.dtype}, {args.ranks} ranks x {args.threads} threads, "
                f"T={args.length}, stage {args.stage}",
        "tokens_per_s": spread(ours),
        "peak_gflops": max(peaks),
        "share_of_peak": spread([flops * speed / 1e9 / max(peaks) for speed in ours]),
    }
    if theirs:
        result["peer_tokens_per_s"] = spread(theirs)
        result["ratio_to_peer"] = spread([a / b for a, b in zip(ours, theirs)])
    if others:
        result[f"stage_{args.also_stage}_tokens_per_s"] = spread(others)
        result[f"stage_{args.also_stage}_to_{args.stage}"] = spread(
            [b / a for a, b in zip(ours, others)])
        if theirs:
            result[f"stage_{args.also_stage}_ratio_to_peer"] = spread(
                [b / c for b, c in zip(others, theirs)])
    result["ms_a_step"] = {op: statistics.median(s[op] for s in shares) for op in shares[0]}
    report(result)
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    return judge(args, result)


def is_excused(args, result):
    """True if the peer's speed times its bound would be nearer to the peak than anybody must be."""
    of_one = result["share_of_peak"]["median"] / result["tokens_per_s"]["median"]
    wanted = args.at_least_peer * result["peer_tokens_per_s"]["median"] * of_one
    return args.or_peak and wanted > NEAR_PEAK


def judge(args, result):
    """1 if a median is below its bound, else NOT_JUDGED if one is unknown, else 0."""
    bounds = {"share_of_peak": args.at_least_peak, "ratio_to_peer": args.at_least_peer,
              f"stage_{args.also_stage}_to_{args.stage}": args.at_least_stage,
              f"stage_{args.also_stage}_ratio_to_peer": args.also_at_least_peer}
    failed = skipped = False
    for name, bound in bounds.items():
        if bound is None:
            continue
        if name not in result:
            print(f"SKIP no PEER: {name}, at least {bound}, is not judged")
            skipped = True
            continue
        median, verdict = result[name]["median"], "passed"
        if name == "ratio_to_peer" and median < bound and is_excused(args, result):
            verdict = f"no verdict, it would be above {NEAR_PEAK} of the peak"
        elif median < bound:
            failed, verdict = True, "FAILED"
        print(f"{name} {median:.3f}, at least {bound}: {verdict}")
    return 1 if failed else NOT_JUDGED if skipped else 0


def report(result):
    print(result["what"])
    print(f"{'peak of products':34s} {result['peak_gflops']:9.1f} GFLOP/s")
    for name, row in result.items():
        if isinstance(row, dict) and "median" in row:
            show(name, row)
    rows = sorted(result["ms_a_step"].items(), key=lambda row: -row[1])
    print("ms a step   " + ", ".join(f"{op} {ms:.1f}" for op, ms in rows if ms >= 0.05))


if __name__ == "__main__":
    sys.exit(main())
