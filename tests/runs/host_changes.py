#!/usr/bin/env python3
"""Plans refused for want of the host's memory: the change that is printed makes the plan fit, and
no part of it does."""
import itertools

from changes import BUFFERS, MICRO, OPTIMIZER, PARAMETERS, RATIO, Plan, check_refusal
from program import Program, check, check_refused

# States that exceed the host's memory, with room on the device beside them or hardly any.
HOST_HOMES = {
    "optimizer": ("zero.stage=1", f"{OPTIMIZER}.device=cpu"),
    "parameters": ("zero.stage=3", f"{PARAMETERS}.device=cpu"),
    "both": ("zero.stage=3", f"{OPTIMIZER}.device=cpu", f"{PARAMETERS}.device=cpu"),
    "many buffers": ("zero.stage=3", f"{OPTIMIZER}.device=cpu", f"{BUFFERS}=6"),
    "disk": ("zero.stage=3", f"{OPTIMIZER}.device=nvme", f"{OPTIMIZER}.nvme_path=folder",
             f"{BUFFERS}=6"),
    "copy": ("zero.stage=1", f"{OPTIMIZER}.device=cpu", "checkpoint.async=true"),
}
HOST_SHARES = (0.95, 0.6, 0.3)
ROOMS = (1.02, 3)
LARGE = ("model.layers=12", "model.width=512", "model.heads=8", "bf16.enabled=true")


def check_host_limits(program):
    """How many refusals for want of host memory were changed by which keys."""
    offered = []
    for (name, homes), share, room in itertools.product(HOST_HOMES.items(), HOST_SHARES, ROOMS):
        settings = ["train_batch_size=2", f"{MICRO}=1", *LARGE, *homes, "run.threads=1"]
        need = Plan(program, settings, 1)
        check(need.host_bytes, f"{name} has a plan in host memory", need.result)
        limits = (f"memory.device_limit={int(need.bytes * room)}",
                  f"memory.host_limit={int(need.host_bytes * share)}")
        refused = Plan(program, [*settings, *limits], 1)
        check_refused(refused.result, 6, "of host memory", "(memory.host_limit")
        copy = "of it for checkpoint.async" in refused.result.error_lines()[0]
        check(copy == (name == "copy"), "the copy is named where there is one", refused.result)
        if check_refusal(program, [*settings, *limits], 1) is not None:
            offered.append(" ".join(refused.change()[0]))
    for word in (f"{OPTIMIZER}.device=nvme {OPTIMIZER}.nvme_path=FOLDER", BUFFERS, RATIO,
                 f"{PARAMETERS}.device=nvme", f"{PARAMETERS}.device=none",
                 "checkpoint.async=false"):
        check(any(word in change for change in offered), f"{word} is offered: {offered}")
    check(len(offered) >= 30, f"{len(offered)} of 36 refusals have a change: {offered}")
    print(f"{len(offered)} of 36 refusals for want of host memory have such a change")


check_host_limits(Program())
