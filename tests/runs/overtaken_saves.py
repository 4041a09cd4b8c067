#!/usr/bin/env python3
"""Saves beside training of states on disk, whose steps go on meanwhile: nothing of it is copied to
memory, and what is saved is what the save found, byte for byte. SAVES=all in the environment: more
of the homes and precisions that can meet.

usage: overtaken_saves.py ZEROAPP MPIEXEC FAULT_CALLS [room]      room: what they take alone
"""
import errno
import itertools
import json
import os
import re
import shutil
import sys

from faults import merged
from program import Program, check

SAVES = (3, 6, 9)
SETTINGS = ("model.width=192", "run.steps=9", "run.log_interval=1", "checkpoint.interval=3",
            "checkpoint.keep=0", "checkpoint.resume=auto")
STATES, PARAMETERS = "zero.offload_optimizer", "zero.offload_param"
PRECISIONS = {"fp32": (), "bf16": ("bf16.enabled=true",), "fp16": ("fp16.enabled=true",)}
# The homes of states and parameters, with the stage.
HOMES = {"states": (1, "nvme", "none"), "states at 3": (3, "nvme", "none"),
         "parameters": (3, "cpu", "nvme"), "all": (3, "nvme", "nvme")}
CASES = [("states", "fp16", 1), ("states at 3", "bf16", 2), ("parameters", "fp32", 2),
         ("all", "fp32", 2), ("all", "bf16", 1)]
MORE_CASES = [("states", "fp32", 1), ("states", "bf16", 2), ("all", "bf16", 2),
              ("parameters", "bf16", 1)]
EVERYWHERE = os.environ.get("SAVES") == "all"


def settings_of(homes, precision):
    """Where both rest on disk they are striped over two folders."""
    stage, states, parameters = HOMES[homes]
    settings = [f"zero.stage={stage}", *PRECISIONS[precision]]
    for section, home, folder in ((STATES, states, "one"), (PARAMETERS, parameters, "two")):
        settings.append(f"{section}.device={home}")
        settings += [f"{section}.nvme_path={folder}"] if home == "nvme" else []
    return settings


def trained(program, ranks, *settings, **faults):
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    env = {f"FAULT_{k}": str(v) for k, v in {"RANK": 0, **faults}.items()}
    return program.wait(program.start_preloaded(
        ranks, "tiny.toml", *merged((*SETTINGS, *settings)), env=env))


def trained_beside(program, ranks, *settings, **faults):
    """Each save begins by sleeping, unless told otherwise."""
    words = {"UNDER": "/checkpoints", "ONLY": "mkdir", "FROM": ".tmp-step", "CALL": 1,
             "ACTION": -0.5, "REPEATS": 1, **faults}
    return trained(program, ranks, *settings, "checkpoint.async=true", **words)


def require_overtaken(case, result):
    """Steps behind the first two saves are over before these are."""
    for step in SAVES[:2]:
        before = result.out.split(f"saved step {step}\n")[0]
        check(f"step {step + 2}/" in before, f"{case}: steps overtake the save of {step}", result)


def payloads(step):
    """The bytes of each rank's file but for the structure ahead of them, which knows its time."""
    manifest = json.loads((step / "MANIFEST.json").read_text())
    begins = {}
    for piece in manifest["slices"]:
        begins[piece["file"]] = min(piece["offset"], begins.get(piece["file"], piece["offset"]))
    files = [(step / f"rank{rank:05d}.h5").read_bytes() for rank in range(manifest["ranks"])]
    return [file[begins[rank]:] for rank, file in enumerate(files)]


def require_same_bytes(case, steps, runs, others):
    for step in steps:
        name = f"tiny/checkpoints/step{step:08d}"
        found, expected = payloads(runs / name), payloads(others / name)
        check(min(map(len, found)) > 1 << 20, f"{case}: {name} has a payload")
        check(found == expected, f"{case}: {name} is not what a save finds that none overtakes")


def overtaken_saves_are_of_their_step(program, homes, precision, ranks):
    case = f"{homes}, {precision}, {ranks} ranks"
    runs, resting = program.folder / "runs", program.folder / "resting"
    settings = settings_of(homes, precision)
    shutil.rmtree(resting, ignore_errors=True)
    alone = trained(program, ranks, *settings)
    check(alone.finished(), f"{case}: trains and saves", alone)
    runs.rename(resting)
    beside = trained_beside(program, ranks, *settings)
    check(beside.finished(), f"{case}: trains beside its saves", beside)
    check(beside.state() == alone.state(),
          f"{case}: saves beside training change no bit", beside)
    require_overtaken(case, beside)
    require_same_bytes(case, SAVES, runs, resting)
    (runs / "tiny/summary.json").unlink()
    for step in SAVES[1:]:
        shutil.rmtree(runs / f"tiny/checkpoints/step{step:08d}")
    again = program.train(ranks, *SETTINGS, *settings, "checkpoint.async=true")
    check("going on from step 3" in again.out, f"{case}: it goes on", again)
    check(again.state() == alone.state(),
          f"{case}: from what the save found", again)
    print(f"{case}: steps overtake saves, whose bytes are those of their steps")


def failed_saves_are_let_go(program):
    """Behind one that fails the next one reads what it finds."""
    runs, resting = program.folder / "runs", program.folder / "resting"
    settings = (*settings_of("all", "bf16"), "checkpoint.max_failures=1")
    shutil.rmtree(resting, ignore_errors=True)
    check(trained(program, 2, *settings).finished(), "trains and saves")
    runs.rename(resting)
    result = trained_beside(program, 2, *settings, ONLY="fsync", FROM=".tmp-step00000003",
                            ACTION=errno.EIO, REPEATS=0)
    check(result.finished() and "lets the run go on" in result.err, "one save fails", result)
    require_same_bytes("behind a failure", SAVES[1:], runs, resting)


def planned(program, *settings):
    result = program.alone("plan", "tiny.toml", "--json", *SETTINGS, *settings)
    check(result.status == 0, f"{settings}: has a plan", result)
    return json.loads(result.out), program.alone("plan", "tiny.toml", *SETTINGS, *settings).out


def disks_have_room_for_two(program):
    """No part of what a save reads there; a save takes a window of some MiB of host memory."""
    for homes, precision in itertools.product(HOMES, PRECISIONS):
        case = f"{homes}, {precision}"
        settings = settings_of(homes, precision)
        one, words = planned(program, *settings)
        two, more = planned(program, *settings, "checkpoint.async=true")
        on_disk = one["tiers"]["nvme"]["arena_bytes"]
        check(one["checkpoint_slot_bytes"] == 0 and "second slots" not in words,
              f"{case}: one slot is enough: {words}")
        check(two["checkpoint_slot_bytes"] == on_disk and "second slots" in more,
              f"{case}: two slots of {on_disk} bytes: {more}")
        if homes == "all":
            check(0 < two["checkpoint_copy_bytes"] < 13 << 20, f"{case}: no copy: {more}")


def host_memory_holds_no_copy(program):
    """Beside steps and saves of the 12 bytes a parameter of some 14 million that rest on disk."""
    large = ("model.width=768", "model.heads=12", "run.steps=3", "checkpoint.interval=1",
             "model.layers=2", "train_batch_size=1")
    for precision in ("bf16", "fp32") if EVERYWHERE else ("bf16",):
        resident = []
        for background in ("false", "true"):
            result = trained(program, 1, *settings_of("all", precision), *large,
                             f"checkpoint.async={background}")
            check(result.finished(), f"{precision}: a larger model trains", result)
            memory = result.summary["memory"]
            check(memory["nvme"]["planned_bytes"] == memory["nvme"]["allocated_bytes"],
                  f"{precision}: the disk's bytes are planned: {memory}", result)
            steps = result.summary["disk"]["steps"]
            check(steps == {**steps["forecast"], "forecast": steps["forecast"]},
                  f"{precision}: steps move what is planned: {steps}", result)
            resident.append(memory["peak_pss_bytes"]["max"])
        states = memory["nvme"]["planned_bytes"] / 2
        more = resident[1] - resident[0]
        print(f"{precision}: {states / 2**20:.0f} MiB of states on disk, saves beside training "
              f"take {more / 2**20:.1f} MiB of memory more than others")
        check(more < states / 5, f"{precision}: {more} bytes more for {states} on disk", result)


def small_disks_are_refused(program):
    """Before a step, with the room that second slots want."""
    settings = settings_of("all", "fp32")
    room = 3 * planned(program, *settings)[0]["tiers"]["nvme"]["arena_bytes"] // 2
    for background, fits in (("false", True), ("true", False)):
        result = trained(program, 1, *settings, f"checkpoint.async={background}", FREE=room)
        check(result.finished() == fits, f"async {background}: {room} bytes are free", result)
    check(result.status == 6 and re.search(r"on disk, [\d.]+ [KM]iB of it for checkpoint\.async",
                                           result.err), "refused with the reason", result)
    check("checkpoint.async=false" in result.err, "and with what would fit", result)


def disks_that_reserve_nothing_are_filled(program):
    """Both slots are written at the start where a file system gives no room ahead of that."""
    for action, times in ((0, 1), (errno.EOPNOTSUPP, 2)):
        result = trained(program, 1, *settings_of("all", "fp32"), "checkpoint.async=true",
                         "model.width=384", "checkpoint.interval=0", "run.steps=1",
                         ONLY="fallocate", UNDER="/", CALL=1, REPEATS=1, ACTION=action)
        check(result.finished(), f"trains where allocating ends with {action}", result)
        disk = result.summary["disk"]
        both = result.summary["memory"]["nvme"]["planned_bytes"]
        start = disk["all"]["written_bytes"] - disk["steps"]["written_bytes"]
        check(0.95 * times <= 2 * start / both <= times,
              f"{start} bytes are written at the start, {times} times half of {both}", result)


def main():
    program = Program(sys.argv[1:4])
    for folder in ("one", "two"):
        (program.folder / folder).mkdir()
    if sys.argv[4:] == ["room"]:
        disks_have_room_for_two(program)
        small_disks_are_refused(program)
        disks_that_reserve_nothing_are_filled(program)
        host_memory_holds_no_copy(program)
    else:
        for case in CASES + MORE_CASES * EVERYWHERE:
            overtaken_saves_are_of_their_step(program, *case)
        failed_saves_are_let_go(program)
    print("saves read what they found")


if __name__ == "__main__":
    main()
