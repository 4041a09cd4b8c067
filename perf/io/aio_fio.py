#!/usr/bin/env python3
"""Our queue beside fio on one file, in turns: reading, writing, and both mixed.

usage: aio_fio.py BUILD [--folder DIR] [--mib N] [--block BYTES] [--depth N] [--pairs N]
                  [--at-least R] [--out FILE.json]

DIR (default: BUILD) is on the disk that is measured; a file of N MiB is made there, written once,
and removed at the end. All programs move the same bytes past the page cache, with the same block
size and depth, without fsync. A pair is a run of ours between runs of fio's engines io_uring and
libaio, in another order each time; the first is not counted. Ends with status 1 if a median of
paired ratios is below R, with 77 where fio is not installed.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from paired import NOT_JUDGED, compared, judged, summary

OURS = "zeroapp"
# fio's engines, each with all that it offers of what ours does.
ENGINES = {"io_uring": ("--fixedbufs=1", "--registerfiles=1"), "libaio": ()}
PATTERNS = {"read": "read", "write": "write", "mixed": "rw"}  # as fio calls them


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--block", type=int, default=1 << 20)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--at-least", type=float)
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def output_of(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def run_ours(args, file, pattern):
    out = output_of([args.build / "perf/perf_io_queue", file, pattern, str(args.mib << 20),
                     str(args.block), str(args.depth)])
    return json.loads(out)["bytes_per_second"]


def run_fio(args, file, pattern, engine):
    out = output_of(["fio", "--name=peer", f"--filename={file}", f"--rw={PATTERNS[pattern]}",
                     f"--bs={args.block}", "--direct=1", f"--ioengine={engine}", *ENGINES[engine],
                     f"--iodepth={args.depth}", f"--size={args.mib << 20}", "--fallocate=none",
                     "--overwrite=1", "--end_fsync=0", "--output-format=json"])
    job = json.loads(out[out.index("{"):])["jobs"][0]
    moved = job["read"]["io_bytes"] + job["write"]["io_bytes"]
    return 1e3 * moved / max(job["read"]["runtime"], job["write"]["runtime"])


def measure(args, file, pattern):
    """{program: [bytes a second]}, without the first round."""
    programs = {OURS: lambda: run_ours(args, file, pattern)}
    for engine in ENGINES:
        programs[engine] = lambda engine=engine: run_fio(args, file, pattern, engine)
    names, rates = list(programs), {name: [] for name in programs}
    for turn in range(args.pairs + 1):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            rates[name].append(programs[name]())
    return {name: values[1:] for name, values in rates.items()}


def lay_out(args, file):
    """Allocated and written once: a first write to an extent costs more than the next."""
    with open(file, "wb") as made:
        os.posix_fallocate(made.fileno(), 0, args.mib << 20)
    run_ours(args, file, "write")


def compare(args, file):
    lay_out(args, file)
    result, passed = {"mib": args.mib, "block": args.block, "depth": args.depth}, True
    for pattern in PATTERNS:
        rates = measure(args, file, pattern)
        result[pattern] = {name: summary(values) for name, values in rates.items()}
        for name, row in result[pattern].items():
            print(f"{pattern:5s} {name:8s} {row['median'] / 1e9:6.2f} GB/s "
                  f"({row['min'] / 1e9:.2f} to {row['max'] / 1e9:.2f})")
        for engine in ENGINES:
            ratio = compared(rates[OURS], rates[engine])
            result[pattern][f"ratio_to_{engine}"] = ratio
            passed = judged(f"{pattern}, ours to fio's {engine}", ratio, args.at_least) and passed
    return result, passed


def main():
    args = arguments()
    if not shutil.which("fio"):
        print("SKIP no fio (Debian: fio): the queue is compared with nothing")
        return NOT_JUDGED
    with tempfile.TemporaryDirectory(dir=args.folder or args.build, prefix="aio-") as folder:
        result, passed = compare(args, pathlib.Path(folder, "file"))
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
