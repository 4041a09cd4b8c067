#!/usr/bin/env python3
"""The file system fails under a save: all ranks give it up, nothing half-written stays, and the
run ends with 5 or goes on. FAULTS=all in the environment: every call of each rank, every errno."""
import errno
import os
import shutil
import signal

from faults import Faults
from kill_save import naming
from program import check, check_refused, side_by_side
from signals import first_rank, wait_for_steps

ERRORS = (errno.ENOSPC, errno.EIO, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP)
SHORT = (("pwrite", 0, errno.ENOSPC), ("fallocate", 1, errno.ENOSPC), ("fsync", 1, errno.EIO),
         ("mkdir", 0, errno.EOPNOTSUPP), ("open", 1, errno.EINVAL), ("symlink", 0, errno.ENOLCK))
# A write that does nothing but read back, or whose result can be no news, is not among them.
SAVING = {"open", "pwrite", "pread", "write", "fsync", "fallocate", "ftruncate", "mkdir", "rename",
          "symlink"}
# So many of a rank's reads fail, spread over all.
READS = 40


def numbers_of(calls, name):
    return [number for number, call in enumerate(calls, 1) if call[0] == name]


def fails(faults, rank, call, number, error, **others):
    """One failing call; True if the save was given up, False if it found another way."""
    what = f"{call} {number} on rank {rank} fails with {errno.errorcode[error]}, {others}"
    result = faults.run_faulty(rank=rank, CALL=number, ACTION=error, **others)
    names = [name for name, _ in faults.logged()]
    check("fsync-again" not in names, f"{what}: no fsync is repeated", result)
    left = faults.leftovers()
    # An old checkpoint's removal may wait for the next save, where that is said.
    if result.finished() and "warning: old checkpoints stay: " in result.err:
        left = [name for name in left if not name.startswith(".del-")]
    left = [name for name in left if not (name.startswith(".del-") and name in result.err)]
    check(not left, f"{what}: nothing stays: {left}", result)
    if result.finished():
        check(faults.latest() == "step00000006", f"{what}: another way was found", result)
        return False
    check(result.status == 5 and len(result.error_lines()) == 1, f"{what}: status 5", result)
    line = result.error_lines()[0]
    named = f"rank {rank}: " in line and os.strerror(error) in line and "/checkpoints" in line
    check(named, f"{what}: rank, place and reason are named: {line}")
    return True


def every_call_may_fail(faults, **others):
    given_up = 0
    for rank in range(2):
        calls = faults.calls(rank, **others)
        for number, (name, _) in enumerate(calls, 1):
            for error in ERRORS if name in SAVING else ():
                given_up += fails(faults, rank, name, number, error, **others)
                faults.require_nothing_lost(faults.go_on(), f"{name} {number} on rank {rank}")
    print(f"{given_up} saves were given up", flush=True)


def some_calls_fail(faults):
    calls = [faults.calls(rank) for rank in range(2)]
    for name, rank, error in SHORT:
        number = numbers_of(calls[rank], name)[0]
        check(fails(faults, rank, name, number, error), f"{name}: the save is given up")
    faults.require_nothing_lost(faults.go_on(), "after the last of them")


def no_index_fits(faults):
    calls = faults.calls(0)
    writes = numbers_of(calls, "write")
    for name in ("checkpoint.h5", "MANIFEST.json"):
        number = next(n for n in writes if calls[n - 1][1].endswith(name))
        check(fails(faults, 0, "write", number, errno.ENOSPC), f"{name}: given up")


def names_are_given_back(faults):
    """Where RENAME_NOREPLACE is unknown, a step's name is taken and then renamed to."""
    unknown = {"NO_NOREPLACE": 1}
    calls = faults.calls(0, **unknown)
    taken = naming(calls)
    check(calls[taken][0] == "rename", f"it is renamed to: {calls[taken]}")
    for number, error in ((taken, errno.ENOSPC), (taken + 1, errno.EIO)):
        check(fails(faults, 0, calls[number - 1][0], number, error, **unknown), "given up")
        faults.require_nothing_lost(faults.go_on("checkpoint.resume=require"), "required")


def rename_has_another_way(faults):
    number = numbers_of(faults.calls(0), "rename")[0]
    check(not fails(faults, 0, "rename", number, errno.EINVAL), "without RENAME_NOREPLACE")


def room_is_found_later(faults):
    number = numbers_of(faults.calls(1), "fallocate")[0]
    check(not fails(faults, 1, "fallocate", number, errno.EOPNOTSUPP), "no room is set aside")


def page_cache_is_another_way(faults):
    """A file system that will not have it passed by. Ranks' files are of more than a MiB here."""
    wide = ("run.output=runs/wide", "checkpoint.resume=never", "model.width=128")
    result = faults.wait(faults.start_faulty(*wide, NO_DIRECT=1), run="wide")
    check(result.finished(), "saves go through the page cache", result)
    told = result.err.count("goes through the page cache")
    check(told == 1, f"which one warning says for 3 saves of 2 ranks, not {told}", result)
    checked = faults.alone("fsck", "runs/wide")
    check(checked.status == 0 and checked.out.count("verified") >= 2, "all verify", checked)


def training_may_go_on(faults):
    result = faults.run_faulty("checkpoint.max_failures=1", rank=1, ONLY="fsync", CALL=1,
                               ACTION=errno.EIO)
    check(result.finished() and "lets the run go on" in result.err, "one failure may be", result)
    check(faults.latest() == "step00000006", "and the end is saved", result)
    result = faults.run_faulty("checkpoint.max_failures=1", rank=1, ONLY="fsync", CALL=1,
                               REPEATS=1, ACTION=errno.EIO)
    check(result.status == 5, "two are not", result)
    check(faults.latest() == "step00000004" and not faults.leftovers(), "and leave nothing", result)


def end_must_be_saved(faults):
    """checkpoint.max_failures is for saves that others follow."""
    settings = ("checkpoint.max_failures=9", "checkpoint.interval=0")
    for background in ("false", "true"):
        result = faults.run_faulty(*settings, f"checkpoint.async={background}", rank=1,
                                   ONLY="fsync", CALL=1, ACTION=errno.ENOSPC)
        check_refused(result, 5, "finished step 6 of 6, but the checkpoint of step 6 failed: "
                      "rank 1: ", "No space left on device syncing the file; step 4 was saved last")
        check(result.summary["steps"] == 6, "what can be told of the run is told", result)
        check(faults.latest() == "step00000004" and not faults.leftovers(), "nothing stays", result)
    faults.require_nothing_lost(result, "the last step was not saved")
    process = faults.start_faulty(*settings, "run.steps=1000000", "run.log_interval=1000000",
                                  UNDER="rank00000.h5", FROM=".tmp-step", ONLY="fsync", CALL=2,
                                  REPEATS=1, ACTION=errno.ENOSPC)
    wait_for_steps(faults, process, 6)
    os.kill(first_rank(faults), signal.SIGTERM)
    result = faults.wait(process)
    check_refused(result, 5, "stopped by SIGTERM", "after step", "step 4 was saved last")
    launches = (faults.runs / "tiny/launches.jsonl").read_text().splitlines()
    check('"ended":"error E0500' in launches[-1], f"the launch's end is told: {launches[-1]}")


def last_syncs_are_not_repeated(faults):
    """Those of the folder of checkpoints, when the step has its name, and when it is the latest."""
    folder = str(faults.runs / "tiny/checkpoints")
    syncs = [path for name, path in faults.calls(0) if name == "fsync"]
    first = syncs.index(folder) + 1
    result = faults.run_faulty(ONLY="fsync", CALL=first + 1, ACTION=errno.EIO)
    check_refused(result, 5, "runs/tiny/checkpoints: Input/output error syncing")
    left = sorted(path.name for path in (faults.runs / "tiny/checkpoints").glob("*step*"))
    check(left == ["step00000002", "step00000004"], f"nothing of step 6 stays: {left}")
    check(faults.latest() == "step00000004", "latest points where it did", result)
    for number in (first, first + 1):
        what = f"sync {number} of {folder}"
        result = faults.run_faulty("checkpoint.max_failures=1", ONLY="fsync", CALL=number,
                                   ACTION=errno.EIO)
        check(result.finished() and "lets the run go on" in result.err, f"{what}: let pass", result)
        check("fsync-again" not in [name for name, _ in faults.logged()],
              f"{what}: no descriptor is asked again", result)
        check(faults.latest() == "step00000006", f"{what}: the end is saved anew", result)


def cannot_read(faults, rank, number, error):
    """One call fails by which a rank opens or reads the newest checkpoint. True if that ended the
    run: a save that only asks whether the one before is healthy goes on without."""
    name, path = faults.reading[rank][number - 1]
    what = f"{name} of {path} on rank {rank} fails with {errno.errorcode[error]}"
    result = faults.run_faulty(rank=rank, UNDER="step00000004", FROM="", CALL=number, ACTION=error)
    if result.finished():
        told = "kept as healthy: runs/tiny/checkpoints/step00000004" in result.err
        check(told and os.strerror(error) in result.err, f"{what}: that is said", result)
        check(faults.latest() == "step00000006", f"{what}: the save goes on", result)
        return False
    check(result.status == 5 and len(result.error_lines()) == 1, f"{what}: status 5", result)
    line = result.error_lines()[0]
    named = f"[rank {rank} " in line and "step00000004" in line and os.strerror(error) in line
    check(named, f"{what}: rank, place and reason are named: {line}")
    left = sorted(path.name for path in (faults.runs / "tiny/checkpoints").glob("*step*"))
    check(left == ["step00000002", "step00000004"], f"{what}: nothing is renamed: {left}", result)
    check(faults.latest() == "step00000004", f"{what}: latest points where it did", result)
    return True


def unread_is_not_damaged(faults, everywhere):
    """A disk that does not read says nothing of what it holds."""
    faults.reading = []
    for rank in range(2):
        result = faults.run_faulty(rank=rank, UNDER="step00000004", FROM="")
        check(result.finished(), "a watched run finishes", result)
        faults.reading.append(faults.logged())
    for rank, calls in enumerate(faults.reading):
        opens, reads = numbers_of(calls, "open"), numbers_of(calls, "pread")
        check(len(opens) >= 4 and len(reads) >= 3, f"rank {rank} opens and reads: {calls}")
        # Whether a folder is empty may stay unknown.
        opens = opens if rank else opens[1:]
        # There are thousands of a few bytes, all by one function.
        reads = reads[::max(1, len(reads) // READS)] if everywhere else reads[-rank:][:1]
        opens = opens if everywhere else opens[rank:rank + 1]
        ended = [cannot_read(faults, rank, number, errno.EIO) for number in reads]
        ended += [cannot_read(faults, rank, number, (errno.EMFILE, errno.EACCES)[number % 2])
                  for number in opens]
        print(f"rank {rank}: {sum(ended)} of {len(ended)} failing reads and opens end a run",
              flush=True)
        check(sum(ended) >= len(ended) - 4 * everywhere, "but for those of an older one's health")
    faults.require_nothing_lost(faults.go_on(), "after the last of them")


def files_need_no_locks(faults):
    for error in (errno.ENOLCK, errno.EOPNOTSUPP):
        result = faults.run_faulty(FROM="", ONLY="flock", CALL=1, REPEATS=1, ACTION=error)
        check(result.finished(), f"flock: {errno.errorcode[error]}", result)


def little_room_is_said(faults):
    result = faults.run_faulty(FREE=100000)
    check(result.finished() and "97.66 KiB are free, checkpoints will take" in result.err,
          "a full disk is foreseen", result)
    result = faults.run_faulty(FREE=10**9)
    check(result.finished() and "are free" not in result.err, "room enough is no news", result)


def folder_must_be_shared(faults):
    """Two hosts with a disk each: two working folders."""
    for folder in ("one", "two"):
        shutil.rmtree(faults.folder / folder, ignore_errors=True)
        (faults.folder / folder).mkdir()
    settings = (str(faults.folder / "tiny.toml"), f"data.train={faults.folder}/text.txt",
                "checkpoint.dir=checkpoints", f"run.output={faults.folder}/runs/unshared")
    line = [str(faults.zeroapp), *settings]
    ranks = [(faults.folder / folder, line) for folder in ("one", "two")]
    for there in (False, True):
        if there:
            (faults.folder / "two/checkpoints").mkdir()
        result = faults.wait(faults.apart(*ranks), run="unshared")
        check(result.status == 5 and len(result.error_lines()) == 1, "two disks: status 5", result)
        error = result.error_lines()[0]
        check("rank 1 host " in error and "all hosts share" in error, f"rank and host: {error}")
        check(not result.metrics, "before step 1", result)


def given_up_or_found_another_way(faults, everywhere):
    if everywhere:
        every_call_may_fail(faults)
        every_call_may_fail(faults, NO_NOREPLACE=1)
    else:
        some_calls_fail(faults)
        no_index_fits(faults)
    names_are_given_back(faults)
    rename_has_another_way(faults)
    room_is_found_later(faults)
    last_syncs_are_not_repeated(faults)


def gone_on_from(faults, everywhere):
    unread_is_not_damaged(faults, everywhere)
    page_cache_is_another_way(faults)
    training_may_go_on(faults)
    end_must_be_saved(faults)
    files_need_no_locks(faults)
    little_room_is_said(faults)
    folder_must_be_shared(faults)


def main():
    everywhere = os.environ.get("FAULTS") == "all"
    faults = Faults()
    beside = Faults(like=faults)
    side_by_side(lambda: given_up_or_found_another_way(faults, everywhere),
                 lambda: gone_on_from(beside, everywhere))
    print("no fault is hidden")


if __name__ == "__main__":
    main()
