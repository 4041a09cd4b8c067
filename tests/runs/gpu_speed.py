#!/usr/bin/env python3
"""tools/gpu_speed.py measures a training and tells of it, called as gpu_check.sh does; the first
two steps never count. The model is small: on a host build a step of GPT-2 takes seconds."""
import json
import pathlib
import subprocess
import sys

from program import Program, check

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/gpu_speed.py"


# In place of the program: leaves the files of a run that took place, or ends with a status. A step
# of its plan has 2e12 operations.
STAND_IN = """#!/bin/sh
if [ "$1" = plan ]; then echo '{{"forecast": {{"flops": 2e12}}}}'; exit 6; fi
mkdir run && cp {folder}/metrics.jsonl {folder}/summary.json run && exit {status}
"""


def measure(program, model, *options, zeroapp=None):
    # Settings stand behind options, as in gpu_check.sh.
    command = [sys.executable, str(TOOL), str(zeroapp or program.zeroapp), model, "1", "--tokens",
               "1024",
               *options]
    return subprocess.run(command, text=True, capture_output=True, env=program.env, check=False)


def refused(program, word, model, *options):
    result = measure(program, model, *options)
    check(result.returncode != 0 and word in result.stderr, f"{word}: {result.stderr}")


def pretended(program, found, attention, status=0, model="1x64x2"):
    """The status of the tool for a run on a GPU with this library of attention; what it tells."""
    seen = program.folder / "seen"
    seen.mkdir(exist_ok=True)
    step = {"step": 1, "tokens": 1024, "tokens_per_s": 9.0, "step_ms": 1.0, "exposed_ms": 0.0,
            "loss": 9.0}
    (seen / "metrics.jsonl").write_text(f"{json.dumps(step)}\n" * 4)
    device = {"planned_bytes": 1, "allocated_bytes": 1, "used_before_bytes": {"max": 1}}
    summary = {"parameters": 1, "phases": {}, "memory": {"device": device},
               "libraries": {**found["libraries"], "attention": attention}}
    (seen / "summary.json").write_text(json.dumps(summary))
    stand_in = program.folder / "stand_in"
    stand_in.write_text(STAND_IN.format(folder=seen, status=status))
    stand_in.chmod(0o755)
    to = program.folder / "pretended.jsonl"
    to.unlink(missing_ok=True)
    result = measure(program, model, "--steps", "4", "--to", str(to), zeroapp=stand_in)
    check(to.exists() == (result.returncode == 0), f"{attention}: {result.stderr}")
    return result.returncode, json.loads(to.read_text()) if to.exists() else None


def main():
    program = Program()
    to = program.folder / "speed.jsonl"
    result = measure(program, "1x64x2", "--steps", "4", "zero.stage=2",
                     "zero.offload_optimizer.device=cpu", "--to", str(to))
    check(result.returncode == 0, f"it ends with {result.returncode}: {result.stderr}")
    found = json.loads(to.read_text())
    check(found["settings"] == ["zero.stage=2", "zero.offload_optimizer.device=cpu"], found)
    check((found["model"], found["tokens_a_step"], found["steps"]) == ("1x64x2", 1024, 4), found)
    check(found["steps_counted"] == 2, f"the first two are left out: {found}")
    check(found["tokens_per_s"] > 0 and found["mfu"] > 0 and found["first_loss"] > 10, found)
    bytes_of = found["device_bytes"]
    check(bytes_of["planned"] == bytes_of["allocated"] > 0 and bytes_of["before"] is None, found)
    check("tokens/s" in result.stdout, result.stdout)
    trace = program.folder / "trace.json"
    result = measure(program, "1x64x2", "--steps", "4", "--trace", str(trace))
    check(result.returncode == 0 and json.loads(trace.read_text()), f"a trace: {result.stderr}")
    check(found["libraries"]["products"] != "", found)
    check(pretended(program, found, "cuDNN 9.19")[0] == 0, "a GPU with cuDNN's attention")
    check(pretended(program, found, "")[0] == 1, "without it no figure counts")
    check(pretended(program, found, "cuDNN 9.19", status=6)[0] == 77, "what does not fit")
    check(pretended(program, found, "cuDNN 9.19", status=7)[0] == 1, "what fails is")
    _, pairs = pretended(program, found, "cuDNN 9.19", model="t5-large")
    wanted = 2e12 / pairs["tokens_a_step"] * pairs["tokens_per_s"] / 989e12
    check(abs(pairs["mfu"] / wanted - 1) < 1e-9, f"by the plan's operations: {pairs}")
    refused(program, "at least 3 give a figure", "1x64x2", "--steps", "2")
    refused(program, "layers x width x heads", "gpt5", "--steps", "3")
    print("a speed is measured")


main()
