#!/usr/bin/env python3
"""GPT-2 774M on one machine of 24 GiB with 2 GiB of host memory for states: refused with states in
memory, trained with states on disk, within the memory and with the bytes of its plan. Writes 50 GB;
tests/campaigns.txt starts it, on a disk of which NVME names a folder."""
import os
import pathlib
import tempfile

from program import Program, check, check_refused

INPUT = str(pathlib.Path(__file__).resolve().parents[2] / "inputs/gpt2_nvme.toml")
SETTINGS = ("data.train=synthetic", "data.validation_fraction=0", "data.tokenizer=bytes",
            "data.sequence_length=64", "run.steps=3", "zero.stage3_max_reuse_distance=0",
            "zero.offload_optimizer.buffer_count=2", "zero.offload_optimizer.ratio=0.95",
            "memory.device_limit=4GiB", "memory.host_limit=2GiB")
OPTIMIZER, PARAMETERS = "zero.offload_optimizer", "zero.offload_param"
MIB, LONGEST = 1 << 20, 3600


def main():
    program = Program()
    on_host = [f"{section}.{key}" for section in (OPTIMIZER, PARAMETERS)
               for key in ("device=cpu", "nvme_path=")]
    refused = program.alone("plan", INPUT, *SETTINGS, *on_host)
    check_refused(refused, 6, "of host memory a rank of 2.00 GiB (memory.host_limit")
    folder = os.path.abspath(os.environ.get("NVME", "."))
    with tempfile.TemporaryDirectory(dir=folder, prefix="disk-") as disk:
        paths = [f"{section}.nvme_path={disk}" for section in (OPTIMIZER, PARAMETERS)]
        line = [*program.launch_line(1), INPUT, *SETTINGS, *paths]
        result = program.wait(program.popen(line), run="gpt2_nvme", timeout=LONGEST)
        check(result.finished(), "trains with states on disk", result)
        check(not os.listdir(disk), "and leaves nothing there")
    memory, moved = result.summary["memory"], result.summary["disk"]
    planned = sum(memory[tier]["planned_bytes"] for tier in ("device", "host"))
    peak = memory["peak_pss_bytes"]["max"]
    check(peak <= 1.05 * planned + 200 * MIB,
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
