#!/usr/bin/env python3
"""Homes "auto": the plan fills the fastest tier first, alike on all ranks, says what it chose and
why, changes no bit, goes on under other limits, and is refused with a change that works."""
import json
import os
import re
import tempfile

from program import Program, advised_change, check, check_refused

OPTIMIZER, PARAMETERS = "zero.offload_optimizer", "zero.offload_param"
ONE_BUFFER = f"{OPTIMIZER}.buffer_count=1"
AUTO = ("zero.stage=3", f"{OPTIMIZER}.device=auto", f"{PARAMETERS}.device=auto", ONE_BUFFER)
# Large enough that a disk needs less host memory, for its window, than states there do.
MODEL = ("model.layers=6", "model.width=192", "bf16.enabled=true", "run.steps=4")


def limits(device, host):
    return (f"memory.device_limit={device}", f"memory.host_limit={2 * host}")


def paths(disk):
    return tuple(f"{section}.nvme_path={disk}" for section in (OPTIMIZER, PARAMETERS))


def on_disk(disk):
    return ("zero.stage=3", f"{OPTIMIZER}.device=nvme", f"{PARAMETERS}.device=nvme", ONE_BUFFER,
            *paths(disk))


def bytes_of(program, *settings):
    """Bytes of device and host, as a plan for two ranks has them."""
    result = program.alone("plan", "tiny.toml", "--json", "--ranks", "2", *MODEL, *settings)
    check(result.status == 0, f"plans {settings}", result)
    tiers = json.loads(result.out)["tiers"]
    return tiers["device"]["arena_bytes"], tiers["host"]["arena_bytes"]


def outcome(result):
    check(result.finished(), "trains to the end", result)
    return [line["loss_hex"] for line in result.metrics], result.state()


def homes_of(result):
    homes = result.summary["homes"]
    return homes["optimizer"], homes["parameters"], homes["optimizer_share"]


def check_told(program, result, *words):
    """Beside the plan and in effective.toml, which stays an input file that asks the same."""
    check(f"{OPTIMIZER}.device = \"auto\" is {words[0]}" in result.out, "the head tells", result)
    written = (program.folder / "runs" / "tiny" / "effective.toml").read_text()
    for word in words:
        check(f"chosen: {word}" in written, f"effective.toml tells {word}: {written}")
    again = program.alone("plan", "runs/tiny/effective.toml", "--ranks", "2")
    check(again.status == 0 and "\"auto\" is" in again.out, "and can be used again", again)


def tiers_are_filled_from_the_fastest_on(program, disk):
    """The smaller the limits, the slower the homes; the bits stay."""
    auto = (*MODEL, *AUTO, *paths(disk))
    expected = outcome(program.train(2, *MODEL, "zero.stage=3"))
    plain, _ = bytes_of(program, "zero.stage=3")
    half, half_host = bytes_of(program, "zero.stage=3", f"{OPTIMIZER}.device=cpu",
                               f"{OPTIMIZER}.ratio=0.5")
    slow, slow_host = bytes_of(program, *on_disk(disk))
    cases = ((limits(plain, half_host), ("device", "device"), ("\"none\"", "\"none\"")),
             (limits(half, half_host), ("host", "device"), ("\"cpu\" with ratio", "\"none\"")),
             (limits(slow, slow_host), ("nvme", "nvme"), ("\"nvme\"", "\"nvme\"")))
    for limit, homes, words in cases:
        result = program.train(2, *auto, *limit)
        check(outcome(result) == expected, f"{homes}: the bits without homes", result)
        *chosen, share = homes_of(result)
        check(tuple(chosen) == homes, f"{homes}, not {chosen}", result)
        check(homes[0] != "host" or 0 < share <= 0.5, f"a share of {share} moves", result)
        check_told(program, result, *words)
        dry = program.alone("plan", "tiny.toml", *auto, *limit, "--ranks", "2", "--json")
        check(json.loads(dry.out)["homes"] == result.summary["homes"], "as the plan says", dry)
    check(not os.listdir(disk), f"nothing is left in {disk}")


def runs_go_on_under_other_limits(program, disk):
    common = (*MODEL, "zero.stage=1", f"{OPTIMIZER}.device=auto", f"{OPTIMIZER}.nvme_path={disk}",
              "checkpoint.resume=auto")
    whole = program.train(2, *MODEL, "zero.stage=1")
    tight, host = bytes_of(program, "zero.stage=1", f"{OPTIMIZER}.device=cpu")
    program.write("parts.toml", (program.folder / "tiny.toml").read_text())
    chosen = []
    for stop, limit in ((2, limits(2 * tight, host)), (0, limits(tight, host))):
        result = program.wait(program.start(2, *common, *limit, f"run.stop_at={stop}",
                                            input_file="parts.toml"), "parts")
        check(result.finished(), f"trains under {limit}", result)
        chosen.append(homes_of(result)[0])
    check(chosen == ["device", "host"], f"other limits, other homes: {chosen}")
    check(outcome(result) == outcome(whole), "the bits of one launch", result)


def what_does_not_fit_is_refused_with_what_works(program, disk):
    """A change of the batch, or a folder where none is named."""
    plan = ("plan", "tiny.toml", "--ranks", "2", *MODEL, *AUTO, "train_batch_size=64",
            *limits(12_000_000, 10**9))
    micro = "train_micro_batch_size_per_gpu"
    refused = program.alone(*plan, f"{micro}=32")
    check_refused(refused, 6, "the plan needs ", "a rank of 11.44 MiB (memory.device_limit)",
                  "cheapest change that fits: ")
    check("does not fit: \"cpu\" and parameters \"cpu\" needs " in refused.out, "all are told",
          refused)
    change = advised_change(refused)
    told = refused.err.split(" (in place of ")[-1]
    check(f"{micro}=32)" in told, "what it replaces is told", refused)
    check(any(word.startswith(micro) for word in change), f"a smaller micro-batch: {change}")
    fitting = program.alone(*plan, *change)
    check(fitting.status == 0, f"{change} fits", fitting)

    slow, host = bytes_of(program, *on_disk(disk))
    small = ("tiny.toml", "--ranks", "2", *MODEL, *AUTO, "activation_checkpointing.recompute=full",
             *limits(slow, host))
    check_refused(program.alone("plan", *small), 6, f"{OPTIMIZER}.nvme_path=FOLDER")
    absent = program.alone("plan", *small, *paths("absent"))
    check_refused(absent, 2, "nvme_path", "absent", "nothing is created")


def chosen_buffers(result):
    found = re.search(r'buffer_count = "auto" is (\d+)', result.out)
    check(result.status == 0 and found, "tells how many buffers", result)
    return int(found[1])


def buffers_are_as_many_as_hide_the_disk_and_fit(program, disk):
    """With states of seven units on disk."""
    states = ("zero.stage=1", f"{OPTIMIZER}.device=nvme", f"{OPTIMIZER}.nvme_path={disk}")
    whole = program.train(2, *MODEL, *states)
    check(chosen_buffers(whole) > 4, "more than the least where memory is plenty", whole)
    written = (program.folder / "runs" / "tiny" / "effective.toml").read_text()
    check(f'= "auto"  # default; chosen: {chosen_buffers(whole)}' in written, written, whole)
    device, host = bytes_of(program, *states, f"{OPTIMIZER}.buffer_count=2")
    short = program.train(2, *MODEL, *states, *limits(device, host))
    check(chosen_buffers(short) == 2, "as many as fit", short)
    check(outcome(short) == outcome(whole), "their number changes no bit", short)


def main():
    program = Program()
    with tempfile.TemporaryDirectory(dir=os.getcwd(), prefix="disk-") as disk:
        tiers_are_filled_from_the_fastest_on(program, disk)
        runs_go_on_under_other_limits(program, disk)
        buffers_are_as_many_as_hide_the_disk_and_fit(program, disk)
        what_does_not_fit_is_refused_with_what_works(program, disk)
    print("the fastest homes that fit")


main()
