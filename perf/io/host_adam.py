#!/usr/bin/env python3
"""The host optimizer beside a peer, in alternating runs, and beside the machine's stream rate.

usage: host_adam.py BUILD [--parameters N] [--threads T] [--pairs N] [--peer COMMAND]
                    [--at-least-peer R] [--at-least-stream S] [--out FILE.json]

Ours takes a bf16 gradient, keeps a split master and leaves a bf16 weight, 26 bytes a parameter.
COMMAND (default: the variable ADAM_PEER) is a shell command that does the same its own way, casts
included, and prints a JSON line with "parameters_per_s"; {parameters} and {threads} are replaced.
perf/io/torch_adam.py is one, of PyTorch and DeepSpeed. "all" in that line has the speeds of those
that ran, "missing" those that did not, with the reason. The first pair is not counted. Ends with
status 1 if a median is below its bound, with 77 if a bound relative to the peer has no peer, or not
all of it.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

from paired import NOT_JUDGED, compared, judged, summary


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--parameters", type=int, default=100_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--peer", default=os.environ.get("ADAM_PEER", ""))
    parser.add_argument("--at-least-peer", type=float)
    parser.add_argument("--at-least-stream", type=float)
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def json_of(command, shell=False):
    done = subprocess.run(command, shell=shell, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            return json.loads(line)
    sys.exit(f"{command}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")


def run_ours(args):
    return json_of([str(args.build / "perf/perf_io_host_adam"), str(args.parameters),
                    str(args.threads)])


def run_peer(args):
    names = {"parameters": args.parameters, "threads": args.threads}
    command = re.sub(r"\{(\w+)\}", lambda found: str(names[found[1]]), args.peer)
    return json_of(command, shell=True)


def show(name, row):
    print(f"{name:22s} {row['median']:8.3f}  ({row['min']:.3f} to {row['max']:.3f})")


def compare_with_peer(args, ours, theirs, result):
    """Whether ours reaches its bound; adds to `result`."""
    rates = [[run["parameters_per_s"] for run in runs] for runs in (ours, theirs)]
    result["peer"] = {"which": sorted({run.get("which", args.peer) for run in theirs}),
                      "ran": sorted({name for run in theirs for name in run.get("all", {})}),
                      **summary([rate / 1e9 for rate in rates[1]])}
    show("peer: " + ", ".join(result["peer"]["which"]), result["peer"])
    result["ratio_to_peer"] = compared(*rates)
    return judged("ratio to the peer", result["ratio_to_peer"], args.at_least_peer)


def why_unjudged(args, theirs):
    """"" or what the bound relative to the peer lacks."""
    if args.at_least_peer is None:
        return ""
    if not theirs:
        return "no ADAM_PEER"
    missing = {name: why for run in theirs for name, why in run.get("missing", {}).items()}
    return "; ".join(f"the peer ran without {name}: {why}" for name, why in missing.items())


def main():
    args = arguments()
    ours, theirs = [], []
    for _ in range(args.pairs + 1):
        ours.append(run_ours(args))
        theirs += [run_peer(args)] if args.peer else []
    ours, theirs = ours[1:], theirs[1:]
    result = {"parameters": args.parameters, "threads": args.threads,
              "gparameters_per_s": summary([run["parameters_per_s"] / 1e9 for run in ours]),
              "share_of_stream": summary([run["share_of_stream"] for run in ours])}
    for name in ("gparameters_per_s", "share_of_stream"):
        show(name, result[name])
    passed = not result["share_of_stream"]["median"] < (args.at_least_stream or 0)
    if not passed:
        print(f"share_of_stream, at least {args.at_least_stream}: FAILED")
    if theirs:
        passed = compare_with_peer(args, ours, theirs, result) and passed
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    unjudged = why_unjudged(args, theirs)
    if unjudged:
        print(f"SKIP ratio_to_peer, at least {args.at_least_peer}, is not judged: {unjudged}")
    return 1 if not passed else NOT_JUDGED if unjudged else 0


if __name__ == "__main__":
    sys.exit(main())
