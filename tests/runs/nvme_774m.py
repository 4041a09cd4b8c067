#!/usr/bin/env python3
"""GPT-2 774M on one machine of 24 GiB with 2 GiB of host memory for states: refused with states in
memory; trained with the change that the refusal prints, within the memory and with the bytes of its
plan. Writes 50 GB; tests/campaigns.txt starts it, on a disk of which NVME names a folder.

Not all states rest on disk there: 1.44 GiB of gradients wait on the host for their norm, and a
unit's states are staged whole: 0.61 GiB of the embedding and head, whose weights take 0.12 GiB.
Both do not fit in 2 GiB, so the change leaves the states of that unit on the device (ratio below
1), which has the room; without that part it is refused."""
import os
import pathlib
import resource
import tempfile

from program import Program, advised_change, check, check_refused

INPUT = str(pathlib.Path(__file__).resolve().parents[2] / "inputs/gpt2_nvme.toml")
SETTINGS = ("data.train=synthetic", "data.validation_fraction=0", "data.tokenizer=bytes",
            "data.sequence_length=64", "run.steps=3", "zero.stage3_max_reuse_distance=0",
            "memory.device_limit=4GiB", "memory.host_limit=2GiB")
SECTIONS = ("zero.offload_optimizer", "zero.offload_param")
RATIO = "zero.offload_optimizer.ratio"
SHORT = "of host memory a rank of 2.00 GiB (memory.host_limit"
MIB, LONGEST = 1 << 20, 3600


def advised(refused):
    """The settings of the change, of which each home names a disk and a folder."""
    change = dict(word.split("=") for word in advised_change(refused) if "=" in word)
    for section in SECTIONS:
        check(change.get(f"{section}.device") == "nvme"
              and change.get(f"{section}.nvme_path") == "FOLDER", f"{section} to disk: {change}")
    check(float(change.get(RATIO, 1)) < 1, f"some states stay on the device: {change}")
    return change


def line_of(change, disk):
    return [f"{key}={value.replace('FOLDER', disk)}" for key, value in change.items()]


def main():
    program = Program()
    on_host = [f"{section}.{key}" for section in SECTIONS for key in ("device=cpu", "nvme_path=")]
    refused = program.alone("plan", INPUT, *SETTINGS, *on_host)
    check_refused(refused, 6, SHORT, "(FOLDER: ")
    change = advised(refused)
    folder = os.path.abspath(os.environ.get("NVME", "."))
    with tempfile.TemporaryDirectory(dir=folder, prefix="disk-") as disk:
        whole = line_of({key: change[key] for key in change if key != RATIO}, disk)
        check_refused(program.alone("plan", INPUT, *SETTINGS, *whole), 6, SHORT)
        line = [*program.launch_line(1), INPUT, *SETTINGS, *line_of(change, disk)]
        result = program.wait(program.popen(line), run="gpt2_nvme", timeout=LONGEST)
        check(result.finished(), "trains with states on disk", result)
        check(not os.listdir(disk), "and leaves nothing there")
    memory, moved = result.summary["memory"], result.summary["disk"]
    planned = sum(memory[tier]["planned_bytes"] for tier in ("device", "host"))
    check(memory["host"]["planned_bytes"] <= 2048 * MIB, "2 GiB of host memory by plan", result)
    # The kernel's high-water mark of the one rank, shared pages counted in full.
    peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check(memory["peak_pss_bytes"]["max"] <= peak <= 1.05 * planned + 200 * MIB,
          f"{peak / MIB:.0f} MiB at the peak, planned {planned / MIB:.0f} MiB", result)
    steps, forecast = (dict(moved["steps"]), moved["steps"]["forecast"])
    del steps["forecast"]
    check(steps == forecast, f"steps move {steps}, planned {forecast}", result)
    for way in ("read_bytes", "written_bytes"):
        kernel, ours = moved["kernel"][way], moved["all"][way]
        check(ours <= kernel <= 1.02 * ours, f"{way}: {kernel} by the kernel, {ours} by us", result)
    print(f"peak {peak / MIB:.0f} MiB of {planned / MIB:.0f} planned; "
          f"{memory['host']['planned_bytes'] / MIB:.0f} MiB of host memory, "
          f"{memory['nvme']['planned_bytes'] / MIB:.0f} MiB on disk")
    told = [line for line in result.out.splitlines() if line.startswith(("disk", "step"))]
    print("\n".join(told))


main()
