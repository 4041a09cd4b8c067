#!/usr/bin/env python3
"""GPT-2 124M on 1024 tokens with two threads: what a process holds beside its arena. Too heavy for
every change; tests/campaigns.txt starts it."""
import pathlib
import resource

from program import Program, check

INPUT = str(pathlib.Path(__file__).resolve().parents[2] / "inputs/gpt2_124m.toml")
SETTINGS = ("data.train=synthetic", "data.validation_fraction=0", "train_batch_size=2",
            "train_micro_batch_size_per_gpu=1", "run.steps=3", "run.threads=2",
            "checkpoint.resume=never")
PRECISIONS = {"fp32": "bf16.enabled=false", "bf16": "bf16.enabled=true"}
MIB = 1 << 20
OUTSIDE_MIB = 200


def main():
    program = Program()
    arenas = []
    for name, precision in PRECISIONS.items():
        line = [*program.launch_line(1), INPUT, *SETTINGS, precision]
        result = program.wait(program.popen(line), run="gpt2_124m", timeout=1800)
        check(result.finished(), f"{name}: trains to the end", result)
        memory = result.summary["memory"]
        arenas.append(memory["device"]["allocated_bytes"])
        check(memory["device"]["planned_bytes"] == arenas[-1], f"{name}: allocated as planned")
        outside = (memory["peak_pss_bytes"]["max"] - arenas[-1]) / MIB
        check(0 < outside <= OUTSIDE_MIB, f"{name}: {outside:.1f} MiB outside the arena")
        print(f"{name}: arena {arenas[-1] / MIB:.1f} MiB, outside {outside:.1f} MiB", flush=True)
    check(arenas[0] > arenas[1], f"activations of bf16 take less: {arenas}")
    # Shared pages counted in full, start-up included.
    peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    outside = (peak - max(arenas)) / MIB
    check(0 < outside <= OUTSIDE_MIB, f"{outside:.1f} MiB at the peak of a whole run")
    print(f"at the peak of its life a process holds {outside:.1f} MiB outside its arena")


main()
