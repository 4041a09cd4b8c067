"""Runs of a model and of a peer's command: what they print, and the memory that they take.

Where others share the machine, the variable ALONE may hold a command that runs another one alone,
such as "flock lock": each run by itself is then started through it.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_JUDGED = 77  # the status of a skipped test

Ended = collections.namedtuple("Ended", "status out err peak_bytes")
Run = collections.namedtuple("Run", "lines summary peak_bytes")


def run_parser(description, ranks, threads, length):
    """A parser for what a run and its peer are, with these defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--dtype", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--ranks", type=int, default=ranks)
    parser.add_argument("--threads", type=int, default=threads)
    parser.add_argument("--length", type=int, default=length)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--peer", default=os.environ.get("PEER", ""))
    parser.add_argument("--at-least-peer", type=float)
    parser.add_argument("--out", type=pathlib.Path)
    return parser


def launcher(ranks):
    if ranks == 1:
        return []
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", "-np", str(ranks), "--oversubscribe", "--bind-to", "none", *root]


def finish(command):
    """Runs it to its end. peak_bytes: the most memory that one of its processes held, shared pages
    counted in full, by the kernel's account of what it has waited for."""
    command = [*shlex.split(os.environ.get("ALONE", "")), *command]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (out, err):
            file.seek(0)
        return Ended(process.returncode, out.read(), err.read(), 1024 * usage.ru_maxrss)


def run_program(args, settings):
    """A run of args.steps steps of one sample of args.length tokens a rank, of GPT-2 124M unless
    the settings say another model."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "data.train": "synthetic", "data.validation_fraction": 0, "model.dropout": 0,
            "data.sequence_length": args.length,
            "train_batch_size": args.ranks, "train_micro_batch_size_per_gpu": 1,
            "evaluation.interval": 0, "run.steps": args.steps, "run.threads": args.threads,
            "run.output": f"{folder}/run", "scheduler.warmup_num_steps": 2,
            "bf16.enabled": "true" if args.dtype == "bf16" else "false", **settings}
        command = [*launcher(args.ranks), str(args.build / "src/zeroapp"),
                   str(ROOT / "inputs/gpt2_124m.toml"), *(f"{k}={v}" for k, v in settings.items())]
        done = finish(command)
        summary = pathlib.Path(folder, "run/summary.json")
        if not summary.exists():
            sys.exit(f"{' '.join(command)}\nended with {done.status}:\n{done.out}{done.err}")
        lines = pathlib.Path(folder, "run/metrics.jsonl").read_text().splitlines()
        return Run([json.loads(line) for line in lines], json.loads(summary.read_text()),
                   done.peak_bytes)


def tokens_per_second(run):
    """The median of the steps after the first."""
    return statistics.median(line["tokens_per_s"] for line in run.lines[1:])


def samples_per_second(run, samples):
    """With `samples` a step; the median of the steps after the first."""
    return statistics.median(1e3 * samples / line["step_ms"] for line in run.lines[1:])


def run_peer(args):
    """The JSON line of the peer's command, in which {name} is the option --name; its peak_bytes."""
    names = {**vars(args), "target": args.length}
    command = re.sub(r"\{(\w+)\}", lambda found: str(names[found[1]]), args.peer)
    done = finish(["sh", "-c", command])
    for line in done.out.splitlines():
        if line.startswith("{"):
            # Ranks that print at one time may share a line.
            return json.JSONDecoder().raw_decode(line)[0], done.peak_bytes
    sys.exit(f"{command}\nended with {done.status}:\n{done.out}{done.err}")


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def show(name, row, unit=""):
    print(f"{name:34s} {row['median']:9.3f} {unit}  ({row['min']:.3f} to {row['max']:.3f})")


def samples_run(args, settings):
    """Samples/s with args.batch samples a rank and step, and where the time went,
    {op: ms a step}."""
    samples = args.batch * args.ranks
    run = run_program(args, {"train_batch_size": samples,
                             "train_micro_batch_size_per_gpu": args.batch, **settings})
    shares = {op: 1e3 * row["mean"] / args.steps for op, row in run.summary["regions"].items()}
    return samples_per_second(run, samples), shares


def peak(args):
    """GFLOP/s of the best product of args.ranks processes."""
    binary = args.build / "perf/perf_kernels_peak"
    figure = subprocess.run([binary, str(args.threads), args.dtype], capture_output=True, text=True)
    return float(figure.stdout) * args.ranks


def compare_samples(args, what, settings, other=None, flops=0):
    """Alternates runs with the settings, with `other`, (a word, settings), and the peer's; a status
    of main(). `flops` of a sample: tells the share of the peak of products. The first pair is not
    counted, ratios are taken pair by pair."""
    ours, others, theirs, peaks = [], [], [], [peak(args)] if flops else []
    for pair in range(args.pairs + 1):
        speed, shares = samples_run(args, settings)
        second = samples_run(args, {**settings, **other[1]})[0] if other else None
        peer = run_peer(args)[0]["sps_med"] if args.peer else None
        peaks += [peak(args)] if flops else []
        if pair:
            ours.append(speed)
            others += [second] if other else []
            theirs += [peer] if peer else []
    result = {"what": f"{what}, {args.dtype}, {args.ranks} ranks x {args.threads} threads, "
                      f"{args.batch} samples",
              "samples_per_s": spread(ours)}
    if flops:
        result["share_of_peak"] = spread([flops * speed / 1e9 / max(peaks) for speed in ours])
    if others:
        result[f"{other[0]}_samples_per_s"] = spread(others)
        result["ratio_of_other"] = spread([b / a for a, b in zip(ours, others)])
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
    """1 if a median is below its bound, else NOT_JUDGED if one is unknown, else 0."""
    bounds = {"ratio_to_peer": args.at_least_peer,
              "share_of_peak": getattr(args, "at_least_peak", None),
              "ratio_of_other": getattr(args, "at_least_other", None)}
    status = 0
    for name, bound in bounds.items():
        if bound is None:
            continue
        if name not in result:
            print(f"SKIP no --peer: {name}, at least {bound}, is not judged")
            status = status or NOT_JUDGED
            continue
        passed = result[name]["median"] >= bound
        print(f"{name} {result[name]['median']:.3f}, at least {bound}: "
              f"{'passed' if passed else 'FAILED'}")
        status = status if passed else 1
    return status
