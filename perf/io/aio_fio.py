#!/usr/bin/env python3
"""Our queue beside fio on one file, in turns: reading, writing, and both mixed.

usage: aio_fio.py BUILD [--folder DIR] [--mib N] [--block BYTES] [--depth N] [--pairs N]
                  [--at-least R] [--out FILE.json]

DIR (default: BUILD) is on the disk that is measured; a file of N MiB is made there, written once,
and removed at the end. All programs move the same bytes past the page cache, with the same block
size and depth, as many blocks of memory as are in flight, all of it in huge pages, without fsync. A
pair is a run of ours between runs of fio's engines io_uring and libaio, in another order each time;
the first is not counted. A second row of each has small pages, where a disk is given as many
segments as the kernel's choice of frames leaves: it is not judged. Ends with status 1 if a median
of paired ratios is below R, with 77 where there is no fio or no huge pages for it.
"""
import argparse
import ctypes
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from paired import NOT_JUDGED, compared, judged, summary

OURS, SMALL = "zeroapp", " in small pages"
PR_SET_THP_DISABLE = 41
HUGE_BYTES = 2 << 20
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


def without_huge_pages():
    """Takes huge pages from this process and those it becomes."""
    if ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0:
        raise OSError("the kernel gives huge pages to all who ask")


def settings(small):
    """How to start a process: in a session of its own, as fio is anyway. Kernels with autogroups
    share the cores out among sessions, and whatever else is busy in this one would slow ours
    alone."""
    if small:
        return {"preexec_fn": without_huge_pages, "start_new_session": True}
    return {"env": dict(os.environ, GLIBC_TUNABLES="glibc.malloc.hugetlb=1"),
            "start_new_session": True}


def output_of(command, small=False):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **settings(small))
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def run_ours(args, file, pattern, small=False):
    run = json.loads(output_of([args.build / "perf/perf_io_queue", file, pattern,
                                str(args.mib << 20), str(args.block), str(args.depth)], small))
    if (run["huge_bytes"] > 0) == small:
        sys.exit(f"{run['huge_bytes']} of {run['bytes']} bytes are in huge pages")
    return run["bytes_per_second"]


def fio(args, file, pattern, engine):
    return ["fio", "--name=peer", f"--filename={file}", f"--rw={PATTERNS[pattern]}",
            f"--bs={args.block}", "--direct=1", f"--ioengine={engine}", *ENGINES[engine],
            f"--iodepth={args.depth}", f"--size={args.mib << 20}", "--fallocate=none",
            f"--iomem_align={HUGE_BYTES}", "--overwrite=1", "--end_fsync=0",
            "--output-format=json"]


def huge_bytes_of_fio(args, file, small):
    """At most at a time in a run of a second."""
    command = [*fio(args, file, "read", "libaio"), "--thread", "--time_based", "--runtime=1"]
    found = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, **settings(small)) as process:
        while process.poll() is None:
            try:
                words = pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text().split()
            except ProcessLookupError:  # it has ended since
                break
            found = max([found, *(int(words[i + 1]) << 10 for i, word in enumerate(words)
                                  if word == "AnonHugePages:")])
            time.sleep(0.02)
    return found


def run_fio(args, file, pattern, engine, small=False):
    out = output_of(fio(args, file, pattern, engine), small)
    job = json.loads(out[out.index("{"):])["jobs"][0]
    moved = job["read"]["io_bytes"] + job["write"]["io_bytes"]
    return 1e3 * moved / max(job["read"]["runtime"], job["write"]["runtime"])


def measure(args, file, pattern):
    """{program: [bytes a second]}, without the first round."""
    programs = {}
    for small in (False, True):
        pages_are = SMALL if small else ""
        programs[OURS + pages_are] = lambda small=small: run_ours(args, file, pattern, small)
        for engine in ENGINES:
            programs[engine + pages_are] = lambda engine=engine, small=small: (
                run_fio(args, file, pattern, engine, small))
    names, rates = list(programs), {name: [] for name in programs}
    for turn in range(args.pairs + 1):
        for name in random.Random(turn).sample(names, len(names)):
            rates[name].append(programs[name]())
    return {name: values[1:] for name, values in rates.items()}


def lay_out(args, file):
    """Allocated and written once: a first write to an extent costs more than the next."""
    with open(file, "wb") as made:
        os.posix_fallocate(made.fileno(), 0, args.mib << 20)
    run_ours(args, file, "write")


def compare(args, file):
    result, passed = {"mib": args.mib, "block": args.block, "depth": args.depth}, True
    for pattern in PATTERNS:
        rates = measure(args, file, pattern)
        result[pattern] = {name: summary(values) for name, values in rates.items()}
        for name, row in result[pattern].items():
            print(f"{pattern:5s} {name:24s} {row['median'] / 1e9:6.2f} GB/s "
                  f"({row['min'] / 1e9:.2f} to {row['max'] / 1e9:.2f})")
        for engine in ENGINES:
            for pages_are, bound in ((SMALL, None), ("", args.at_least)):
                name = engine + pages_are
                ratio = compared(rates[OURS + pages_are], rates[name])
                result[pattern][f"ratio_to_{name}"] = ratio
                passed = judged(f"{pattern}, ours to fio's {name}", ratio, bound) and passed
    return result, passed


def main():
    args = arguments()
    if not shutil.which("fio"):
        print("SKIP no fio (Debian: fio): the queue is compared with nothing")
        return NOT_JUDGED
    with tempfile.TemporaryDirectory(dir=args.folder or args.build, prefix="aio-") as folder:
        file = pathlib.Path(folder, "file")
        lay_out(args, file)
        huge, small = (huge_bytes_of_fio(args, file, small) for small in (False, True))
        if huge < args.depth * args.block or small > 0:
            print(f"SKIP fio has {huge} bytes of huge pages with them and {small} without")
            return NOT_JUDGED
        result, passed = compare(args, file)
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
