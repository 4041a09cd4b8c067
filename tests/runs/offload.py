#!/usr/bin/env python3
"""Homes of optimizer states and parameters, of whole runs: they change no bit, leave nothing on the
disk, take the bytes that are planned, and are refused by name where they cannot work.

usage: offload.py ZEROAPP MPIEXEC [PRECISION RANKS | others]

With a precision and ranks: every stage with every home there, in reproducible mode, all with the
bits of stage 0 on one rank. With "others": all but that and the pairs of homes. With none: some
pairs of homes, and every stage in bf16 on four ranks with states on disk. Where SHARE_DEVICE is set
all is reproducible, since products of a GPU otherwise go by what was measured. OFFLOAD=all in the
environment: every pair of homes in every precision.
"""
import itertools
import json
import os
import sys
import tempfile

from program import Program, check, check_refused

STEPS = 10
PRECISIONS = {
    "fp32": (),
    "bf16": ("bf16.enabled=true",),
    "fp16": ("fp16.enabled=true", "fp16.initial_scale_power=24"),
}
OPTIMIZER, PARAMETERS = "zero.offload_optimizer", "zero.offload_param"
ACTIVATIONS = "activation_checkpointing"
HOMES = ("none", "cpu", "nvme")
REPRODUCIBLE = "numerics.reproducible=true"


def home(section, device, disk):
    if device == "none":
        return ()
    path = (f"{section}.nvme_path={disk}",) if device == "nvme" else ()
    return (f"{section}.device={device}", *path)


def activations(device, disk):
    path = (f"{ACTIVATIONS}.nvme_path={disk}",) if device == "nvme" else ()
    return (f"{ACTIVATIONS}.recompute=full", f"{ACTIVATIONS}.offload={device}", *path)


def outcome(result):
    return ([line["loss_hex"] for line in result.metrics], result.state(),
            result.summary["eval_loss"])


def check_memory(case, result, *homes):
    memory = result.summary["memory"]
    for tier in ("device", "host", "nvme"):
        planned, allocated = (memory[tier][f"{which}_bytes"] for which in ("planned", "allocated"))
        check(planned == allocated, f"{case}: {tier} takes {allocated} bytes of {planned}", result)
    uses_disk = "nvme" in homes
    check((memory["nvme"]["planned_bytes"] > 0) == uses_disk, f"{case}: {memory['nvme']}", result)
    on_gpu = "device_bytes_peak" in result.metrics[-1]
    before = memory["device"]["used_before_bytes"]
    check((before is not None) == on_gpu, f"{case}: before the arenas {before} bytes", result)
    return memory["device"]["planned_bytes"]


def pairs(precision, ranks, stage):
    """Homes of the optimizer states and of the parameters, none first: one in the home of each of
    the other, or all pairs."""
    if stage != 3:
        return [(home, "none") for home in HOMES]
    if os.environ.get("OFFLOAD") == "all":
        return list(itertools.product(HOMES, repeat=2))
    turn = list(PRECISIONS).index(precision) + ranks
    return [("none", "none"), *((home, HOMES[(i + turn) % 3]) for i, home in enumerate(HOMES))]


def homes_change_no_bit(program, disk):
    """Stage 3 with pairs of homes at two ranks, in every precision."""
    cases = [("fp32", 2, 3), ("bf16", 2, 3), ("fp16", 2, 3), ("bf16", 2, 1)]
    if os.environ.get("OFFLOAD") == "all":
        cases.append(("bf16", 1, 3))
    for name, ranks, stage in cases:
        expected = None
        for optimizer, parameters in pairs(name, ranks, stage):
            case = f"{name}, {ranks} ranks, stage {stage}, {optimizer}, {parameters}"
            result = program.train(ranks, *PRECISIONS[name], f"run.steps={STEPS}",
                                   f"zero.stage={stage}", *home(OPTIMIZER, optimizer, disk),
                                   *home(PARAMETERS, parameters, disk))
            check(result.finished(), f"{case}: trains to the end", result)
            expected = expected or outcome(result)
            check(outcome(result) == expected, f"{case}: the bits without homes", result)
            check_memory(case, result, optimizer, parameters)
            check(not os.listdir(disk), f"{case}: nothing is left in {disk}")
        if name == "fp16":
            check(any(line["skipped"] for line in result.metrics), "fp16 skips by itself", result)


def places(homes):
    """(stage, home of the optimizer states, home of the parameters)"""
    yield 0, "none", "none"
    yield from itertools.product((1, 2), homes, ("none",))
    yield from itertools.product((3,), homes, homes)


def stages_and_homes_change_no_bit(program, disk, precision, ranks, homes=HOMES):
    common = (*PRECISIONS[precision], f"run.steps={STEPS}", REPRODUCIBLE)
    first = program.train(1, *common)
    check(first.finished(), f"{precision}: one rank trains to the end", first)
    for stage, optimizer, parameters in places(homes):
        case = f"{precision}, {ranks} ranks, stage {stage}, {optimizer}, {parameters}"
        result = program.train(ranks, *common, f"zero.stage={stage}",
                               *home(OPTIMIZER, optimizer, disk),
                               *home(PARAMETERS, parameters, disk))
        check(result.finished(), f"{case}: trains to the end", result)
        check(outcome(result) == outcome(first), f"{case}: the bits of one rank", result)
        check_memory(case, result, optimizer, parameters)
        check(not os.listdir(disk), f"{case}: nothing is left in {disk}")


def activations_change_no_bit(program, disk):
    """Alone in host memory, and with all states on disk; less of the device is planned and taken
    than with recompute alone."""
    everything = (*home(OPTIMIZER, "nvme", disk), *home(PARAMETERS, "nvme", disk))
    cases = (("cpu", 1, "bf16", (), ()), ("nvme", 2, "fp16", ("zero.stage=3",), everything))
    for device, ranks, name, settings, states in cases:
        case = f"{name}, {ranks} ranks, activations on {device}"
        common = ("model.layers=5", f"run.steps={STEPS}", *PRECISIONS[name], *settings)
        plain = program.train(ranks, *common)
        moved = program.train(ranks, *common, *states, *activations(device, disk))
        check(moved.finished() and outcome(moved) == outcome(plain), f"{case}: same bits", moved)
        taken = check_memory(case, moved, device)
        planned = program.alone("plan", "tiny.toml", "--json", "--ranks", str(ranks), *common,
                                *states, *activations("none", disk))
        kept = json.loads(planned.out)["arena_bytes"]
        check(taken < kept, f"{case}: {taken} bytes of the device, not {kept}", moved)
        check(not os.listdir(disk), f"{case}: nothing is left in {disk}")
        skipped = any(line["skipped"] for line in moved.metrics)
        check(skipped == (name == "fp16"), f"{case}: fp16 skips by itself", moved)


def a_share_of_the_units_moves(program, disk):
    common = ("bf16.enabled=true", "zero.stage=2", "model.layers=6")
    plain = program.train(2, *common)
    half = program.train(2, *common, *home(OPTIMIZER, "nvme", disk), f"{OPTIMIZER}.ratio=0.5",
                         f"{OPTIMIZER}.buffer_count=1")
    check(half.finished() and outcome(half) == outcome(plain), "half of the units: same bits", half)
    memory = [result.summary["memory"]["device"]["planned_bytes"] for result in (half, plain)]
    check(memory[0] < memory[1], f"and less of the device: {memory}", half)
    loose = program.train(2, *common, *home(OPTIMIZER, "cpu", disk),
                          f"{OPTIMIZER}.pin_memory=false")
    check(loose.finished() and outcome(loose) == outcome(plain), "unpinned: same bits", loose)
    vain = f"{OPTIMIZER}.pin_memory: false changes nothing" in loose.err
    check(vain != bool(os.environ.get("SHARE_DEVICE")), "which a host build says is vain", loose)


def a_model_from_homes_is_evaluated_without_them(program, disk):
    result = program.train(1, "zero.stage=3", "export.at_end=true", *home(OPTIMIZER, "nvme", disk),
                           *home(PARAMETERS, "nvme", disk))
    loss = result.summary["eval_loss"]
    evaluated = program.alone("eval", "runs/tiny", "--json")
    check(evaluated.status == 0, "a run with states on disk is evaluated", evaluated)
    check(json.loads(evaluated.out)["loss"] == loss, f"with its digits, {loss}", evaluated)


def runs_go_on_under_other_homes(program, disk):
    """Half of the steps on disk and half in memory are all."""
    common = ("bf16.enabled=true", f"run.steps={STEPS}", "checkpoint.resume=auto")
    program.write("whole.toml", (program.folder / "tiny.toml").read_text())
    whole = program.wait(program.start(1, *common, "zero.stage=1", input_file="whole.toml"),
                         "whole")
    for first, second in (("nvme", "none"), ("cpu", "nvme")):
        name = f"{first}_{second}"
        program.write(f"{name}.toml", (program.folder / "tiny.toml").read_text())
        parts = []
        for device, stop in ((first, STEPS // 2), (second, 0)):
            parts.append(program.wait(program.start(
                1, *common, "zero.stage=1", f"run.stop_at={stop}", *home(OPTIMIZER, device, disk),
                input_file=f"{name}.toml"), name))
            check(parts[-1].finished(), f"{device} of {name} trains to its end", parts[-1])
        check(parts[1].state() == whole.state(),
              f"{name}: the bits of one launch", parts[1])


def what_cannot_work_is_refused_by_name(program, disk):
    check_refused(program.alone("tiny.toml", "zero.stage=1", f"{OPTIMIZER}.device=nvme"), 2,
                  f"{OPTIMIZER}.nvme_path", "write the folder")
    absent = program.alone("tiny.toml", "zero.stage=3", *home(PARAMETERS, "nvme", "absent"))
    check_refused(absent, 2, f"{PARAMETERS}.nvme_path", "absent", "nothing is created")
    check(not (program.folder / "absent").exists(), "nothing is created")
    check_refused(program.alone("tiny.toml", f"{OPTIMIZER}.device=cpu"), 2,
                  "zero.stage = 1, 2 or 3")
    check_refused(program.alone("tiny.toml", "zero.stage=2", f"{PARAMETERS}.device=cpu"), 2,
                  "zero.stage = 3")
    check_refused(program.alone("tiny.toml", f"{ACTIVATIONS}.offload=cpu"), 2,
                  f"{ACTIVATIONS}.offload", 'write recompute = "full"')
    absent = program.alone("tiny.toml", "model.layers=3", *activations("nvme", "absent"))
    check_refused(absent, 2, f"{ACTIVATIONS}.nvme_path", "absent", "nothing is created")
    check_refused(program.alone("tiny.toml", *activations("cpu", disk)), 2,
                  f"{ACTIVATIONS}.offload", "write buffer_count = 1")


def check_others(program, disk):
    what_cannot_work_is_refused_by_name(program, disk)
    activations_change_no_bit(program, disk)
    a_share_of_the_units_moves(program, disk)
    a_model_from_homes_is_evaluated_without_them(program, disk)
    runs_go_on_under_other_homes(program, disk)


def check_bits(program, disk):
    homes_change_no_bit(program, disk)
    stages_and_homes_change_no_bit(program, disk, "bf16", 4, homes=("nvme",))


def main():
    chosen = sys.argv[3:]
    del sys.argv[3:]
    program = Program()
    if os.environ.get("SHARE_DEVICE"):
        tiny = (program.folder / "tiny.toml").read_text()
        program.write("tiny.toml", f"{tiny}\n[numerics]\nreproducible = true\n")
    with tempfile.TemporaryDirectory(dir=os.getcwd(), prefix="disk-") as disk:
        if not chosen:
            check_bits(program, disk)
        elif chosen == ["others"]:
            check_others(program, disk)
        else:
            precision, ranks = chosen
            stages_and_homes_change_no_bit(program, disk, precision, int(ranks))
    print("every home the same bytes")


main()
