#!/usr/bin/env python3
"""Checkpoints of a GPT-2 of 107 million parameters in bf16 at stage 3, 1.5 GB: how long a save, its
copy and a load take, in turns with what they are held against.

usage: checkpoint.py BUILD [--folder DIR] [--rounds N] [save | ranks | stall | load | reshard] ...

All of them without a word; DIR (default: BUILD) is on the disk that is measured.

  save     one rank, fsync included, at 0.95 of as many bytes written and synced, past the page
           cache or through it, whichever is faster; at 0.98 of torch.save with fsync, at 2 x
           torch.distributed.checkpoint (DCP)
  ranks    two ranks save in no more time than one
  stall    checkpoint.async keeps the steps waiting for 1.1 x a memcpy at most; DCP's async_save
  load     warm, with every digest checked, 2 GB/s a rank, on one rank and on two; a save passes
           the page cache by, so that each load's files are read once before its time begins
  reshard  what two ranks have saved loads on one and on three in no more time than on two

save and load hold at most 256 MiB beside the plan. The peers are the command in SAVE_PEER, such as
`python3 perf/train/torch_checkpoint.py {how} {folder} {bytes}`; without it what is relative to them
is not judged: status 77. "In no more time" is judged by the upper end of the ratio's interval. Ends
with status 1 where a bound does not hold.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "io"))
from runs import launcher  # noqa: E402
from paired import NOT_JUDGED, compared, judged  # noqa: E402

RAW_RATIO, SAVE_RATIO, DCP_RATIO = 0.95, 0.98, 2.0
STALL_RATIO = 1 / 1.1
LOAD_RATE = 2e9
BESIDE_MIB = 256
CORES = 2
REST_SECONDS = 0.5
INPUT = """
train_micro_batch_size_per_gpu = 1
[model]
layers = 12
width = 768
heads = 12
vocab_size = 28672
[data]
train = "synthetic"
sequence_length = 64
[run]
steps = 1000
[bf16]
enabled = true
[zero]
stage = 3
[checkpoint]
interval = 1
keep = 0
"""


class Partner:
    """A process that does one thing at each line on its stdin and answers with a line of JSON."""

    def __init__(self, command, word="", shell=False, env=None):
        self.command, self.word, self.beside = command, word, 0
        self.process = subprocess.Popen(command, shell=shell, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**os.environ, **(env or {})})

    def ask(self):
        """Seconds."""
        self.process.stdin.write(self.word + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer.startswith("{"):
            sys.exit(f"{self.command}: no answer to {self.word!r} but {answer!r}")
        self.last = json.loads(answer)
        self.beside = max(self.beside, self.last.get("beside_plan_bytes", 0))
        return self.last["seconds"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Bench:
    """Starts partners, which end with it."""

    def __init__(self, args, folder, ends):
        self.args, self.folder, self.ends, self.number = args, pathlib.Path(folder), ends, 0
        (self.folder / "input.toml").write_text(INPUT)
        self.failed, self.unjudged = [], []

    def kept(self, partner):
        self.ends.callback(partner.end)
        return partner

    def ours(self, word, ranks=1, **settings):
        """perf_train_checkpoint with a folder of its own, all cores shared out to its ranks."""
        self.number += 1
        run = self.folder / f"run{self.number}"
        run.mkdir()
        settings = {"run.output": run, "run.threads": max(1, CORES // ranks), **settings}
        line = [*launcher(ranks), str(self.args.build / "perf/perf_train_checkpoint"),
                str(self.folder / "input.toml"),
                *(f"{key.replace('__', '.')}={value}" for key, value in settings.items())]
        partner = self.kept(Partner(line, word, env={"OMPI_MCA_mpi_yield_when_idle": "1"}))
        partner.run = run
        return partner

    def peer(self, how, size):
        names = {"how": how, "folder": self.folder, "bytes": size}
        command = re.sub(r"\{(\w+)\}", lambda found: str(names[found[1]]), self.args.peer)
        return self.kept(Partner(command, shell=True))

    def asked(self, partner):
        """Seconds, on a disk that has done with what was written and removed before: a file system
        that tells its disk which room is free does so with a later commit, which would be that of
        whoever comes next."""
        os.sync()
        time.sleep(REST_SECONDS)
        return partner.ask()

    def in_turns(self, partners):
        """{name: seconds}, without the first round. Each round has another order, so that nobody
        comes behind the same partner each time: what that one leaves to the disk differs."""
        names, seconds = list(partners), {name: [] for name in partners}
        for turn in range(self.args.rounds + 1):
            for name in random.Random(turn).sample(names, len(names)):
                seconds[name].append(self.asked(partners[name]))
        seconds = {name: values[1:] for name, values in seconds.items()}
        for name, values in seconds.items():
            print(f"  {name:24s} {statistics.median(values):7.3f} s "
                  f"({min(values):.3f} to {max(values):.3f})")
        return seconds

    def judge(self, name, ours, theirs, bound):
        """By the median of their time over ours, pair by pair."""
        row = compared([1 / value for value in ours], [1 / value for value in theirs])
        if not judged(name, row, bound):
            self.failed.append(name)

    def no_slower(self, name, ours, theirs):
        row = compared([1 / value for value in ours], [1 / value for value in theirs])
        passed = row["high"] >= 1
        print(f"{name}: {row['median']:.3f} (95 %: {row['low']:.3f} to {row['high']:.3f}), not "
              f"below 1: {'passed' if passed else 'FAILED'}")
        if not passed:
            self.failed.append(name)

    def require(self, name, value, passed):
        print(f"{name}: {value}: {'passed' if passed else 'FAILED'}")
        if not passed:
            self.failed.append(name)

    def require_memory(self, name, partner):
        mib = partner.beside / (1 << 20)
        self.require(f"{name}: beside the plan, at most {BESIDE_MIB} MiB", f"{mib:.0f} MiB",
                     mib <= BESIDE_MIB)

    def skip(self, what):
        print(f"SKIP no SAVE_PEER: {what} is not judged")
        self.unjudged.append(what)


def bytes_of(partner):
    partner.ask()
    return int(partner.last["bytes"])


def measure_save(bench):
    raw = {"write and fsync": "raw", "the same past the cache": "direct"}
    partners = {"ours": bench.ours("save"), **{name: bench.ours(raw[name]) for name in raw}}
    size = bytes_of(partners["ours"])
    if bench.args.peer:
        partners.update({how: bench.peer(how, size) for how in ("save", "dcp")})
    seconds = bench.in_turns(partners)
    fastest = min(raw, key=lambda name: statistics.median(seconds[name]))
    for name in raw:
        bench.judge(f"{name} over it", seconds["ours"], seconds[name],
                    RAW_RATIO if name == fastest else None)
    if bench.args.peer:
        bench.judge("torch.save and fsync over it", seconds["ours"], seconds["save"], SAVE_RATIO)
        bench.judge("DCP over it", seconds["ours"], seconds["dcp"], DCP_RATIO)
    else:
        bench.skip(f"a save at {SAVE_RATIO} of torch.save and {DCP_RATIO} x DCP")
    bench.require_memory("save", partners["ours"])


def measure_ranks(bench):
    partners = {"two ranks": bench.ours("save", ranks=2), "one rank": bench.ours("save")}
    seconds = bench.in_turns(partners)
    bench.no_slower("a save on one rank over two", *seconds.values())
    bench.require_memory("save on two ranks", partners["two ranks"])


def measure_stall(bench):
    partners = {"stall": bench.ours("save", checkpoint__async="true"), "copy": bench.ours("copy")}
    size = bytes_of(partners["stall"])
    if bench.args.peer:
        partners["async_save of DCP"] = bench.peer("dcp_async", size)
    seconds = bench.in_turns(partners)
    bench.judge("memcpy over the stall", seconds["stall"], seconds["copy"], STALL_RATIO)
    if bench.args.peer:
        bench.judge("async_save of DCP over the stall", seconds["stall"],
                    seconds["async_save of DCP"], 1.0)
    else:
        bench.skip("the stall beside async_save of DCP")
    bench.require_memory("save in the background", partners["stall"])


def measure_load(bench):
    for ranks in (1, 2):
        saver = bench.ours("save", ranks)
        share = bytes_of(saver) / ranks
        saver.word = "load"
        seconds = bench.in_turns({f"load on {ranks}": saver})[f"load on {ranks}"]
        rate = share / statistics.median(seconds)
        bench.require(f"load on {ranks}, at least {LOAD_RATE / 1e9} GB/s a rank",
                      f"{rate / 1e9:.2f} GB/s", rate >= LOAD_RATE)
        bench.require_memory(f"load on {ranks}", saver)


def measure_reshard(bench):
    saver = bench.ours("save", 2)
    saver.ask()
    saved = saver.run / "checkpoints"
    partners = {f"on {ranks}": bench.ours("load", ranks, checkpoint__resume_from=saved)
                for ranks in (2, 1, 3)}
    seconds = bench.in_turns(partners)
    for ranks in (1, 3):
        bench.no_slower(f"2 ranks' checkpoint, its load on 2 over {ranks}",
                        seconds[f"on {ranks}"], seconds["on 2"])


MEASURES = {"save": measure_save, "ranks": measure_ranks, "stall": measure_stall,
            "load": measure_load, "reshard": measure_reshard}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("wanted", nargs="*", choices=[*MEASURES, []])
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peer", default=os.environ.get("SAVE_PEER", ""))
    return parser.parse_args()


def main():
    args = arguments()
    args.build = args.build.resolve()
    failed, unjudged = [], []
    for name in args.wanted or MEASURES:
        with tempfile.TemporaryDirectory(dir=args.folder or args.build) as folder, \
                contextlib.ExitStack() as ends:
            bench = Bench(args, folder, ends)
            print(f"{name}:", flush=True)
            MEASURES[name](bench)
            failed, unjudged = failed + bench.failed, unjudged + bench.unjudged
    return 1 if failed else NOT_JUDGED if unjudged else 0


if __name__ == "__main__":
    sys.exit(main())
