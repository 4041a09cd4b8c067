#!/usr/bin/env python3
"""tools/gpu_speed.py measures a training and tells of it, called as gpu_check.sh does; on a host
build a step of GPT-2 takes seconds, so that it is one."""
import json
import pathlib
import subprocess
import sys

from program import Program, check

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/gpu_speed.py"


def main():
    program = Program()
    to = program.folder / "speed.jsonl"
    # Settings stand behind options, as in gpu_check.sh.
    command = [sys.executable, str(TOOL), str(program.zeroapp), "gpt2", "1", "--tokens", "1024",
               "--steps", "1", "zero.stage=2", "zero.offload_optimizer.device=cpu", "--to", str(to)]
    result = subprocess.run(command, text=True, capture_output=True, env=program.env, check=False)
    check(result.returncode == 0, f"it ends with {result.returncode}: {result.stderr}")
    found = json.loads(to.read_text())
    check(found["settings"] == ["zero.stage=2", "zero.offload_optimizer.device=cpu"], found)
    check((found["model"], found["tokens_a_step"], found["steps"]) == ("gpt2", 1024, 1), found)
    check(found["tokens_per_s"] > 0 and found["mfu"] > 0 and found["first_loss"] > 10, found)
    check("tokens/s" in result.stdout, result.stdout)
    print("a speed is measured")


main()
