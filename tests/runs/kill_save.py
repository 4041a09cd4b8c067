#!/usr/bin/env python3
"""A rank is killed at file system calls of a save, or stopped, or told to end: no acknowledged
checkpoint is lost. KILL=all in the environment: at every call, and at 40 moments by chance."""
import os
import random
import re
import shutil
import signal
import time

from faults import Faults
from program import check, side_by_side
from signals import children_of, parent_of, wait_for_steps


def places(calls):
    """Numbers of calls to be killed at: one amid the writing and one behind a renaming."""
    renames = [number for number, (name, _) in enumerate(calls, 1) if name == "rename"]
    return [len(calls) // 3, *(number + 1 for number in renames[:1])]


def naming(calls, step="step00000006"):
    """The call that takes a step's name where RENAME_NOREPLACE is unknown; a renaming follows."""
    return next(number for number, (name, path) in enumerate(calls, 1)
                if name == "mkdir" and path.endswith("/" + step))


def killed_at_calls(faults, choose, ranks=(0, 1), **others):
    """`choose` picks of a rank's calls."""
    killed = 0
    for rank in ranks:
        calls = faults.calls(rank, **others)
        for call in choose(calls):
            what = f"rank {rank} killed at call {call} of {len(calls)}, {calls[call - 1]}, {others}"
            broken = faults.run_faulty(rank=rank, CALL=call, ACTION="kill", **others)
            check(not broken.finished(), f"{what}: it is killed", broken)
            faults.require_nothing_lost(broken, what)
            killed += 1
    print(f"killed at {killed} calls of a save, nothing is lost {others or ''}", flush=True)


def killed_between_name_and_files(faults):
    """Where a step has its name before its files, and nobody knows RENAME_NOREPLACE."""
    between = naming(faults.calls(0, NO_NOREPLACE=1)) + 1
    broken = faults.run_faulty(CALL=between, ACTION="kill", NO_NOREPLACE=1)
    check(faults.leftovers().count("step00000006") == 1, "an empty folder has the name", broken)
    result = faults.go_on("checkpoint.resume=require")
    check(result.finished() and "going on from step 4" in result.out,
          "which keeps nobody from what is required", result)
    first = {"FROM": "step00000002", "NO_NOREPLACE": 1}
    between = naming(faults.calls(0, "run.output=runs/new", **first), "step00000002") + 1
    broken = faults.run_faulty("run.output=runs/new", CALL=between, ACTION="kill", **first)
    check(list((faults.runs / "new/checkpoints").glob("step*")), "so has one of the first", broken)
    result = faults.wait(faults.start(2, *faults.settings, "run.output=runs/new"), run="new")
    check(result.finished() and result.state() == faults.state,
          "nor from beginning", result)


def acknowledged(result):
    """The last step that a run said it had saved or gone on from; a launcher that ends at once may
    lose the last lines."""
    return int(re.findall(r"(?:saved|going on from) step (\d+)", result.out)[-1])


def killed_at_moments(faults, times):
    """Saves after each step, so that most moments fall into one."""
    chance = random.Random(1)
    settings = ("checkpoint.interval=1", "run.steps=1000000", "run.log_interval=1000")
    for i in range(times):
        faults.restore()
        process = faults.start(2, *faults.settings, *settings)
        wait_for_steps(faults, process, 7)
        time.sleep(chance.uniform(0, 0.5))
        ranks = sorted(children_of(process.pid)) or sorted(children_of(parent_of(process.pid)))
        os.kill(chance.choice(ranks), signal.SIGKILL)
        broken = faults.wait(process)
        last = acknowledged(broken)
        newest = max(last, int(faults.latest().removeprefix("step")))
        result = faults.train(2, *faults.settings, *settings, f"run.stop_at={newest + 2}")
        what = f"killed at moment {i}, step {last} acknowledged"
        check(result.finished(), f"{what}: it goes on", result)
        check("does not verify" not in result.err, f"{what}: no folder is damaged", result)
        begun = int(result.out.split("going on from step ")[1].split(",")[0])
        check(begun >= last, f"{what}: from step {begun}", result)
    if times:
        print(f"killed at {times} moments, nothing is lost", flush=True)


def stopped_rank_moves_no_latest(faults):
    calls = [name for name, _ in faults.calls(1)]
    broken = faults.run_faulty("run.watchdog=2", rank=1, CALL=calls.index("fsync") + 1,
                               ACTION="stop")
    check(broken.status == 10, f"a rank stopped in mid-save ends all with 10: {broken.status}",
          broken)
    check(faults.latest() == "step00000004", "latest has not moved", broken)
    faults.require_nothing_lost(broken, "rank 1 stopped")


def lone_rank_ends_too():
    """One rank, whose disk does not come back from a sync: nobody else is there to miss it."""
    alone = Faults(ranks=1)
    broken = alone.run_faulty("run.watchdog=1", ONLY="fsync", CALL=1, ACTION=-100)
    check(broken.status == 10, f"a lone rank that hangs ends with 10: {broken.status}", broken)
    check("is at the save of a checkpoint" in broken.error_lines()[0], "and says where", broken)
    alone.require_nothing_lost(broken, "a lone rank that hangs")


def slow_disks_are_waited_for(faults):
    """Each sync of a rank takes longer than the watchdog waits for one that says nothing."""
    for rank, background in ((1, "false"), (0, "true")):
        # The last one of rank 0, in the name of all.
        syncs = [path for name, path in faults.calls(0) if name == "fsync"]
        number = 1 if rank else syncs.index(str(faults.runs / "tiny/checkpoints")) + 1
        result = faults.run_faulty("run.watchdog=1", f"checkpoint.async={background}", rank=rank,
                                   ONLY="fsync", CALL=number, ACTION=-1.6)
        check(result.finished(), f"rank {rank}: a slow disk is no rank that hangs", result)
        check(f"rank {rank} has been at the save of a checkpoint for 1 s" in result.err,
              f"rank {rank}: it is said who is slow", result)
        check(faults.latest() == "step00000006", f"rank {rank}: the save is committed", result)


def interrupt_commits(faults):
    """Ctrl-C, with a disk that takes 3 s to sync a file. The launcher waits as long as it is told
    before it sends SIGTERM, and again before it kills: 1 s each unless told. That of Open MPI 5
    waits for nothing, so there it is a signal that is passed on."""
    faults.env["OMPI_MCA_odls_base_sigkill_timeout"] = "5"
    process = faults.start_faulty("run.steps=1000000", "run.log_interval=1000000",
                                  "checkpoint.interval=0", UNDER="rank00000.h5",
                                  FROM=".tmp-step", ONLY="fsync", CALL=2,
                                  ACTION=-3)
    wait_for_steps(faults, process, 6)
    process.send_signal(signal.SIGUSR1 if faults.open_mpi() >= 5 else signal.SIGINT)
    result = faults.wait(process)
    check("saved step " in result.out, "Ctrl-C: the slow save is committed", result)
    check(len(faults.logged()) == 2, "the file of the trial and the slow one were synced", result)
    step = int(result.out.split("saved step ")[-1].split()[0])
    check(faults.latest() == f"step{step:08d}", "and is the latest", result)


def killed(faults, everywhere):
    if everywhere:
        for others in ({}, {"NO_NOREPLACE": 1}):
            killed_at_calls(faults, lambda calls: range(1, len(calls) + 1), **others)
    else:
        killed_at_calls(faults, places)
        killed_at_calls(faults, lambda calls: [naming(calls) + i for i in range(3)], ranks=(0,),
                        NO_NOREPLACE=1)
    killed_between_name_and_files(faults)
    killed_at_moments(faults, 40 if everywhere else 0)


def waited_for(faults):
    stopped_rank_moves_no_latest(faults)
    slow_disks_are_waited_for(faults)
    interrupt_commits(faults)


def main():
    faults = Faults()
    beside = Faults(like=faults)
    side_by_side(lambda: killed(faults, os.environ.get("KILL") == "all"),
                 lambda: waited_for(beside), lone_rank_ends_too)
    print("no acknowledged checkpoint is lost")


if __name__ == "__main__":
    main()
