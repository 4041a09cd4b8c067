#!/usr/bin/env python3
"""What an audit costs: steps of 8 micro-batches on two ranks, every tenth audited, against those
beside it in the same run. usage: audit_cost.py BUILD [STEPS]"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

LIMIT, INTERVAL, LEAST = 0.015, 10, 60
MODEL = """
train_batch_size = 16
train_micro_batch_size_per_gpu = 1
[model]
layers = 6
width = 384
heads = 6
[data]
train = "synthetic"
sequence_length = 256
[run]
threads = 1
[zero]
stage = {stage}
[bf16]
enabled = {bf16}
"""


def step_times(build, stage, bf16, steps):
    """[(step, ms)], without the first, which makes the libraries ready."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "audit.toml"
        path.write_text(MODEL.format(stage=stage, bf16=bf16))
        subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                        "-np", "2", build / "src/zeroapp", path, f"run.steps={steps}",
                        f"run.audit_interval={INTERVAL}", "run.state_hash=false"],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
        lines = (pathlib.Path(folder) / "runs/audit/metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines[1:]]
    return [(row["step"], row["step_ms"]) for row in rows]


def cost_of(times):
    """Each audited step beside the middle of its neighbours, over all steps of an interval."""
    by_step = dict(times)
    shares = []
    for step in range(2 * INTERVAL, max(by_step) - 4, INTERVAL):
        beside = [by_step[step + at] for at in (-4, -3, -2, -1, 2, 3, 4)]
        shares.append((by_step[step] / statistics.median(beside) - 1) / INTERVAL)
    return statistics.median(shares), shares


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else LEAST
    worst = 0
    for stage, bf16 in ((0, "false"), (3, "true")):
        cost, shares = cost_of(step_times(build, stage, bf16, steps))
        print(f"stage {stage}, bf16 {bf16}: an audit in {INTERVAL} steps of 8 micro-batches costs "
              f"{100 * cost:.2f} % ({len(shares)} audits, {100 * min(shares):.2f} to "
              f"{100 * max(shares):.2f}), at most {100 * LIMIT} %", flush=True)
        worst = max(worst, cost)
    sys.exit(worst > LIMIT)


main()
