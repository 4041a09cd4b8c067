#!/usr/bin/env python3
"""What a run finds in the folder that it goes on in: damaged or missing checkpoints, a finished
run, other settings; and what is asked of it."""
import shutil

from program import Program, check, check_refused
from resume import fresh, require_same, straight, train


def damaged(program, folder, step):
    path = folder / f"checkpoints/step{step:08d}/rank00000.h5"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def damaged_checkpoint_is_passed_over(program):
    wanted = straight(program, 1)
    folder = fresh(program)
    train(program, 1, "checkpoint.interval=2", "run.stop_at=6")
    damaged(program, folder, 6)
    result = train(program, 1)
    check("step 6 does not verify" in result.err and "going on from step 4" in result.out,
          "it falls back with a warning", result)
    require_same(result, wanted, "from the one before")
    for path in list((folder / "checkpoints").glob("step*")):
        damaged(program, folder, int(path.name[4:]))
    result = train(program, 1)
    check(result.status == 4 and "none of its checkpoints verifies" in result.err,
          "none verifies: status 4", result)


def advice_works(program):
    """Where checkpoints lie in a folder of their own, resume = "never" would not begin anew."""
    fresh(program)
    shutil.rmtree(program.folder / "kept", ignore_errors=True)
    result = train(program, 1, "checkpoint.dir=kept")
    check(result.finished(), "it saves elsewhere", result)
    again = train(program, 1, "checkpoint.dir=kept")
    check("begin anew with another checkpoint.dir" in again.out, "it says what works", again)
    for path in (program.folder / "kept").glob("step*/MANIFEST.json"):
        path.unlink()
    check_refused(train(program, 1, "checkpoint.dir=kept"), 4,
                  "begin anew with another checkpoint.dir, which keeps them")
    result = train(program, 1, "checkpoint.dir=new")
    check(result.finished() and "going on" not in result.out, "and it does", result)


def gone_checkpoints_are_missed(program):
    """Those that `latest` remembers."""
    folder = fresh(program)
    train(program, 1, "run.stop_at=5")
    shutil.rmtree(folder / "checkpoints/step00000005")
    link = "runs/tiny/checkpoints/latest"
    for result in (train(program, 1), program.train(1, "checkpoint.resume=require")):
        check_refused(result, 4, "not there", f"remove {link} to begin anew")
    listed = program.alone("ls", "runs/tiny")
    check("it would end with status 4" in listed.out, "ls says the same", listed)
    (program.folder / link).unlink()
    result = train(program, 1)
    check(result.finished() and "going on" not in result.out, "and what it says works", result)


def finished_folder_says_so(program):
    folder = fresh(program)
    train(program, 1)
    before = (folder / "summary.json").read_text()
    again = train(program, 2)
    check(again.status == 0 and "step 12 of 12 is reached" in again.out
          and "run.steps=24" in again.out, "finished: says so", again)
    check((folder / "summary.json").read_text() == before, "and changes nothing")
    longer = program.train(1, "checkpoint.resume=auto", "run.steps=14")
    check(longer.finished() and len(longer.metrics) == 14, "it goes further", longer)
    check("changed since: run.steps = 12, now 14" in longer.out, "and says what changed", longer)


def changes_are_listed_or_refused(program):
    fresh(program)
    train(program, 1, "run.stop_at=5")
    for setting in ("model.width=32", "data.sequence_length=16"):
        result = train(program, 1, setting)
        check(result.status == 3 and len(result.error_lines()) == 1, f"{setting}: refused", result)
    result = train(program, 1, "optimizer.lr=0.02", "zero.stage=1")
    check(result.finished() and "changed since: optimizer.lr = 0.01, now 0.02" in result.out,
          "another rate is listed", result)
    check(result.out.count("changed since") == 1,
          "another stage is not", result)


def demands_are_met(program):
    fresh(program)
    result = program.train(1, "checkpoint.resume=require")
    check(result.status == 4, "require without any: status 4", result)
    train(program, 1, "run.stop_at=5")
    wanted = program.folder / "runs/tiny"
    result = train(program, 1, "checkpoint.resume_from=runs/tiny", "run.output=runs/other")
    check("going on from step 5, runs/tiny/checkpoints" in result.out, "begins there", result)
    result = program.train(1)
    check(result.finished() and (wanted / "old-1/checkpoints").exists(),
          "never begins anew, and keeps what was there", result)


def main():
    program = Program()
    damaged_checkpoint_is_passed_over(program)
    advice_works(program)
    gone_checkpoints_are_missed(program)
    finished_folder_says_so(program)
    changes_are_listed_or_refused(program)
    demands_are_met(program)
    print("the folder decides")


if __name__ == "__main__":
    main()
