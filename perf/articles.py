#!/usr/bin/env python3
"""The tables of the articles that made ZeRO known beside what zeroapp plans for the same cards.

usage: perf/articles.py BUILD [--only WORD]     tables whose title has the word

A row is a way to train: the largest batch of a card and the seconds of an epoch that the article
measured, and the largest batch that `zeroapp plan` accepts and the seconds that its forecast, by
the card's data sheet, gives an epoch in the article's batches. The last columns are of evaluations:
the article's batch and seconds, most of which go into writing texts, and which of that batch and
its next three doublings is the largest that is accepted beside the training. Below DeBERTa's rows
stand the accuracy and F1 that the article reached, and why no larger batch is accepted. Ends with
status 1 where a batch of the articles does not fit here, or where one fits that the articles say
cannot without ZeRO.
"""
import argparse
import collections
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOES_NOT_FIT = 6

# batch: of a card; 0: the article says that not even 1 fits. seconds: of an epoch of training, and
# eval_seconds of the evaluation after it, in batches of eval_batch if the article tells them.
# reached: what it says of the trained model.
Row = collections.namedtuple(
    "Row", "method settings batch seconds eval_batch eval_seconds host_gb reached",
    defaults=(None, None, None, None, None))
Table = collections.namedtuple("Table", "title input machine ranks samples rows")

PLAIN = ("zero.stage=0", "zero.offload_optimizer.device=none")
NO_OFFLOAD = ("zero.offload_optimizer.device=none",)
FP32 = ("fp16.enabled=false",)
TABLES = (
    Table("t5-large, English to Romanian, two Titan RTX", "t5_large_en_ro", "titan_rtx_24g", 2,
          2000,
          (Row("DDP", PLAIN + FP32, 16, 30.9458, 16, 56.3310),
           Row("DDP, fp16", PLAIN, 20, 21.4943, 20, 53.4675),
           Row("sharded_ddp", NO_OFFLOAD + FP32, 30, 25.9085, 30, 47.5589),
           Row("sharded_ddp, fp16", NO_OFFLOAD, 30, 17.3838, 30, 45.6593),
           Row("DeepSpeed", NO_OFFLOAD, 40, 10.4007, 40, 34.9289),
           Row("DeepSpeed, optimizer on the CPU", (), 50, 20.9706, 50, 32.1409))),
    Table("t5-3b, English to Romanian, one RTX 3090", "t5_3b_en_ro", "rtx_3090_24g", 1, 60,
          (Row("without ZeRO", PLAIN, 0),
           Row("optimizer on the CPU", (), 20, 8.8511, 20, 3.5329, host_gb=71))),
    Table("DeBERTa-v2-xlarge-mnli on MRPC, two Titan RTX", "deberta_xlarge_mrpc", "titan_rtx_24g",
          2, 3668,
          (Row("DDP", ("zero.stage=0",), 8, 103.57, None, 2.04, reached="accuracy 0.904, F1 0.931"),
           Row("ZeRO stage 2", (), 40, 28.98, None, 1.79, reached="accuracy 0.912, F1 0.936"))),
    Table("BlenderBot-400M, two Titan RTX", "blenderbot_400m", "titan_rtx_24g", 2, 10_000,
          (Row("DDP", ("zero.stage=0",), 100, 27.36, 50, 48.41),
           Row("ZeRO stage 2", (), 200, 19.06, 100, 39.27))),
    Table("gpt2-xl, one Titan RTX", "gpt2_xl_zero3_offload", "titan_rtx_24g", 1, None,
          (Row("DDP", PLAIN + ("zero.offload_param.device=none",), 0),
           Row("stage 3, all on the CPU", (), 16, 6608.35))),
)


def plan(zeroapp, table, row, *more):
    words = [str(zeroapp), "plan", str(ROOT / f"inputs/{table.input}.toml"), "--ranks",
             str(table.ranks), "--machine", table.machine, *row.settings, *more]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (0, DOES_NOT_FIT):
        sys.exit(f"{' '.join(words)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def batch_words(row, evaluates):
    return (f"train_micro_batch_size_per_gpu={row.batch}",
            f"evaluation.micro_batch_size={evaluates}")


def largest(zeroapp, table, row):
    done = plan(zeroapp, table, row, "--max-batch")
    return int(done.stdout.split("=")[1]) if done.returncode == 0 else 0


def largest_evaluation(zeroapp, table, row):
    """The article's batch, of training where it tells no other, or one of its next three doublings;
    0: not even that fits."""
    most = 0
    for doublings in range(4):
        batch = (row.eval_batch or row.batch) << doublings
        if plan(zeroapp, table, row, *batch_words(row, batch)).returncode != 0:
            break
        most = batch
    return most


def limit_words(zeroapp, table, row, most):
    """Why no larger batch is accepted."""
    larger = plan(zeroapp, table, row, f"train_micro_batch_size_per_gpu={most + 1}", "--json")
    made = json.loads(larger.stdout)
    used, limit = made["arena_bytes"], made["limit_bytes"]
    parts = sorted(made["bytes"].items(), key=lambda part: -part[1])[:2]
    told = " and ".join(f"{name} {size / 2**30:.2f}" for name, size in parts)
    return (f"{most + 1} take {used / 2**30:.2f} GiB ({told}) of {limit / 2**30:.2f} GiB, "
            "of which --max-batch leaves a sixteenth free")


def seconds_words(row, made, table):
    """There, and by forecast; of how many samples an epoch is may not be known."""
    there = f"{row.seconds:.1f}" if row.seconds else ""
    here = ""
    if row.seconds and table.samples:
        steps = math.ceil(table.samples / (row.batch * table.ranks))
        here = f"{steps * made['forecast']['step_seconds']:.1f}"
    return there, here


def compare(zeroapp, table, row):
    """What is printed of a row, and whether it is as it must be."""
    most = largest(zeroapp, table, row)
    if row.batch == 0:
        return ("does not fit", "", most or "does not fit", "", "", ""), most == 0
    done = plan(zeroapp, table, row, *batch_words(row, row.eval_batch or row.batch), "--json")
    made = json.loads(done.stdout)
    host = made["tiers"]["host"]["arena_bytes"] / 1e9
    fits = done.returncode == 0 and most >= row.batch
    there, here = seconds_words(row, made, table)
    if row.host_gb:
        there, here = f"{there}, {row.host_gb} GB", f"{here}, {host:.0f} GB"
        fits = fits and host <= row.host_gb
    evaluated = f"{row.eval_seconds:.1f} s" if row.eval_seconds else ""
    if row.eval_batch:
        evaluated = f"{row.eval_batch}, {evaluated}"
    evaluates = largest_evaluation(zeroapp, table, row) if evaluated else ""
    return (row.batch, there, most, here, evaluated, evaluates), fits and evaluates != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    layout, holds = "{:34} {:>12} {:>13} {:>12} {:>13} {:>13} {:>9}", True
    tables = [table for table in TABLES if args.only.lower() in table.title.lower()]
    if not tables:
        parser.error(f"no table's title has {args.only}: " + "; ".join(t.title for t in TABLES))
    for table in tables:
        print(f"\n{table.title}")
        print(layout.format("", "batch there", "s there", "batch here", "s by forecast",
                            "evaluated", "here"))
        for row in table.rows:
            cells, as_there = compare(args.build / "src/zeroapp", table, row)
            print(layout.format(row.method, *map(str, cells)), "" if as_there else "  FEWER HERE")
            if row.reached:
                print(f"    there {row.reached}; here",
                      limit_words(args.build / "src/zeroapp", table, row, cells[2]))
            holds = holds and as_there
    print("\nevery batch of the articles fits" if holds else "\nnot as in the articles")
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
