#!/usr/bin/env python3
"""tools/same_bits.sh tells of one changed digit, of every kind of change in what a program makes,
and of changes that were listed and did not come. Scripts around the program make the changes."""
import pathlib
import re
import subprocess

from program import Program, check

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/same_bits.sh"
# The last digit of the last step's loss.
ONE_DIGIT = """sed -i -E '$ s/("loss_hex": *"[0-9a-f]{15})./\\1x/' runs/bits/metrics.jsonl"""
LEARNS_FASTER = 'case "$1" in bits.toml) set -- "$@" optimizer.lr=2e-2 ;; esac'
PLANS_FOR_LESS = 'case "$1" in plan) set -- "$@" memory.device_limit=2GiB ;; esac'
STOPS = 'case "$*" in *stop_at*) ;; bits.toml*) set -- "$@" zero.stag=1 ;; esac'


def script(program, name, before="", after=""):
    """The program, with something done before or after each start."""
    path = program.folder / name
    path.write_text(f"#!/bin/sh\n{before}\n{program.zeroapp} \"$@\" || exit\n{after}\n")
    path.chmod(0o755)
    return path


def compared(program, head, only, meant=""):
    """Status and lines of a comparison of this program, as BASE, with `head`."""
    program.write("meant.txt", meant)
    done = subprocess.run([TOOL, program.zeroapp, head, "--only", only, "--mpiexec",
                           program.mpiexec, "--meant", program.folder / "meant.txt"],
                          env=program.env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=600, check=False)
    return done.returncode, done.stdout.splitlines()


def expect(seen, status, *patterns):
    """The status, and a line for each pattern."""
    for pattern in patterns:
        check(any(re.search(pattern, line) for line in seen[1]), f"{pattern!r} in {seen}")
    check(seen[0] == status, f"status {status}, not {seen}")


def one_digit_is_found_or_was_meant(program):
    run = "fp32, stage 0"
    changed = script(program, "one_digit", after=f'case "$1" in bits.toml) {ONE_DIGIT} ;; esac')
    listed = "# why\nfp32, stage ? | loss_hex.6 | the last digit is another one\n"
    expect(compared(program, program.zeroapp, run), 0, r"^same_bits: 1 runs, \d+ .*, all equal$")
    expect(compared(program, changed, run), 1, r"^DIFFERS fp32, stage 0: loss_hex.6: BASE \w{16}, ",
           r"^same_bits: 1 runs, \d+ comparisons, 1 wrong$")
    expect(compared(program, changed, run, listed), 0, "^MEANT .*: 1 values: the last digit",
           "all equal but 1 that were meant to differ$")
    expect(compared(program, program.zeroapp, run, listed), 1, "^EQUAL, BUT LISTED meant.txt:2: ",
           "1 wrong$")
    expect(compared(program, changed, run, "fp32 | loss_hex.6\n"), 1, "^meant.txt:1: write: run")


def every_kind_of_change_is_found(program):
    kinds = ("loss_hex.", "grad_norm.", "state_sha256", "eval_loss", "eval.loss_hex", "text.",
             "tensor.", "export_", "plan.limit_bytes")
    other = script(program, "other", f"{LEARNS_FASTER}\n{PLANS_FOR_LESS}")
    expect(compared(program, other, "commands, fp32"), 1,
           "^DIFFERS commands, fp32: lr.1: ", "and [0-9]+ more: ")
    listed = "".join(f"commands, fp32 | {kind}* | {kind} is another\n" for kind in kinds)
    found = compared(program, other, "commands, fp32", listed + "* | lr.* | it learns faster\n")
    expect(found, 0, *(f"^MEANT .* {re.escape(kind)}\\*: [1-9]" for kind in kinds))


def an_end_is_found(program):
    stops = script(program, "stops", STOPS)
    expect(compared(program, stops, "resumed, fp16"), 1,
           "^DIFFERS resumed, fp16: end: BASE finished, HEAD status 2: .*zero.stag")
    expect(compared(program, "absent", "resumed, fp16"), 2, "absent: no program")


def main():
    program = Program()
    one_digit_is_found_or_was_meant(program)
    every_kind_of_change_is_found(program)
    an_end_is_found(program)
    print("every changed bit is told")


main()
