#!/usr/bin/env python3
"""tools/gpu_speed.py measures a training and tells of it, called as gpu_check.sh does; the first
two steps never count. The model is small: on a host build a step of GPT-2 takes seconds."""
import json
import pathlib
import subprocess
import sys

from program import Program, check

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/gpu_speed.py"


def measure(program, model, *options):
    # Settings stand behind options, as in gpu_check.sh.
    command = [sys.executable, str(TOOL), str(program.zeroapp), model, "1", "--tokens", "1024",
               *options]
    return subprocess.run(command, text=True, capture_output=True, env=program.env, check=False)


def refused(program, word, model, *options):
    result = measure(program, model, *options)
    check(result.returncode != 0 and word in result.stderr, f"{word}: {result.stderr}")


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
    refused(program, "at least 3 give a figure", "1x64x2", "--steps", "2")
    refused(program, "layers x width x heads", "gpt5", "--steps", "3")
    print("a speed is measured")


main()
