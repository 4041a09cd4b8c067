#!/usr/bin/env python3
"""GPT-2 124M at stage 3 with all parameters and states on a disk, beside the same in memory and a
peer that keeps everything in memory, in alternating runs.

usage: offload.py BUILD [--dtype fp32|bf16] [--ranks N] [--threads T] [--length L] [--folder DIR]
                  [--pairs N] [--steps N] [--peer COMMAND] [--at-least-peer R]
                  [--less-memory] [--out FILE.json]

As gpt2_124m.py, whose COMMAND serves here too: one sample a rank and step on synthetic tokens, no
dropout, no accumulation. The states lie in a folder of DIR (default: BUILD), on a local disk. The
memory of a run is the most that one of its processes held, shared pages counted in full. The first
round is not counted. Ends with status 1 if the median of our speed over the peer's is below R, or
with --less-memory if a run on disk does not hold less than one in memory; with 77 if R is given
but no peer.
"""
import json
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "io"))
from paired import NOT_JUDGED, compared, judged  # noqa: E402
from runs import run_parser, run_peer, run_program, show, spread, tokens_per_second  # noqa: E402

GIB = 1 << 30


def arguments():
    parser = run_parser(__doc__.splitlines()[0], ranks=2, threads=1, length=256)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--less-memory", action="store_true")
    return parser.parse_args()


def on_disk(folder):
    settings = {"zero.stage": 3}
    for what in ("zero.offload_optimizer", "zero.offload_param"):
        settings.update({f"{what}.device": "nvme", f"{what}.nvme_path": folder})
    return settings


def figures(args, settings):
    """The figures of one run of ours."""
    run = run_program(args, settings)
    steps = run.lines[1:]
    return {"tokens_per_s": tokens_per_second(run), "peak_gib": run.peak_bytes / GIB,
            "exposed_ms": statistics.median(line["exposed_ms"] for line in steps),
            "step_ms": statistics.median(line["step_ms"] for line in steps),
            "ms_a_step": {op: 1e3 * row["mean"] / args.steps
                          for op, row in run.summary["regions"].items()}}


def peer_figures(args):
    row, peak_bytes = run_peer(args)
    return {"tokens_per_s": row["tps_med"], "peak_gib": peak_bytes / GIB}


def measure(args, folder):
    """{who: the figures of each run but the first}"""
    turns = {"on disk": lambda: figures(args, on_disk(folder)),
             "in memory": lambda: figures(args, {"zero.stage": 3})}
    if args.peer:
        turns["peer"] = lambda: peer_figures(args)
    rows = {who: [] for who in turns}
    for _ in range(args.pairs + 1):
        for who, run in turns.items():
            rows[who].append(run())
            print(f"{who}: {rows[who][-1]['tokens_per_s']:.1f} tokens/s", flush=True)
    return {who: runs[1:] for who, runs in rows.items()}


def column(runs, name):
    return [run[name] for run in runs]


def report(args, rows):
    result = {"what": f"GPT-2 124M, {args.dtype}, {args.ranks} ranks x {args.threads} threads, "
                      f"T={args.length}, stage 3, states and parameters on disk"}
    print(result["what"])
    for who, runs in rows.items():
        result[who] = {name: spread(column(runs, name))
                       for name, value in runs[0].items() if not isinstance(value, dict)}
        for name, row in result[who].items():
            show(f"{who}: {name}", row)
        result[who]["runs"] = runs
    ops = {op: statistics.median(run["ms_a_step"][op] for run in rows["on disk"])
           for op in rows["on disk"][0]["ms_a_step"]}
    result["on disk"]["ms_a_step"] = ops
    print("ms a step   " + ", ".join(f"{op} {ms:.1f}" for op, ms in
                                     sorted(ops.items(), key=lambda row: -row[1]) if ms >= 0.05))
    speeds = {who: column(runs, "tokens_per_s") for who, runs in rows.items()}
    for other in list(rows)[1:]:
        result[f"over {other}"] = compared(speeds["on disk"], speeds[other])
    result["share of memory"] = compared(*(column(rows[who], "peak_gib")
                                           for who in ("on disk", "in memory")))
    return result


def judge(args, result):
    """1 if a bound is broken, else NOT_JUDGED if one is unknown, else 0."""
    judged("on disk over in memory", result["over in memory"], None)
    passed = True
    if "over peer" in result:
        passed = judged("on disk over the peer", result["over peer"], args.at_least_peer)
    memory = result["share of memory"]["median"]
    if args.less_memory:
        passed = passed and memory < 1
        print(f"memory over that of a run in memory: {memory:.3f}, below 1: "
              f"{'passed' if memory < 1 else 'FAILED'}")
    unjudged = args.at_least_peer is not None and "over peer" not in result
    if unjudged:
        print(f"SKIP no PEER: over the peer, at least {args.at_least_peer}, is not judged")
    return 1 if not passed else NOT_JUDGED if unjudged else 0


def main():
    args = arguments()
    with tempfile.TemporaryDirectory(dir=args.folder or args.build, prefix="offload-") as folder:
        rows = measure(args, folder)
    result = report(args, rows)
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    return judge(args, result)


if __name__ == "__main__":
    sys.exit(main())
