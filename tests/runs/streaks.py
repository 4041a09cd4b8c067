#!/usr/bin/env python3
"""Runs that diverge keep a checkpoint from which training goes on, and the next start finds it."""
import json
import shutil

from program import Program, check, check_refused

EACH = ("checkpoint.resume=auto", "checkpoint.interval=1", "numerics.max_bad_steps=4")
STEPS = ("run.steps=12",)
WILD = ("optimizer.lr=1000",)
# A loss scale that is never lowered, under which every gradient of fp16 overflows.
OVERFLOWS = ("fp16.enabled=true", "fp16.loss_scale=1e9")


def train(program, *settings, ranks=1):
    return program.train(ranks, *EACH, *STEPS, *settings)


def kept(program):
    folder = program.folder / "runs/tiny/checkpoints"
    return sorted(int(path.name[4:]) for path in folder.glob("step*"))


def aside(program):
    return sorted(path.name for path in (program.folder / "runs/tiny/checkpoints").glob("streak-*"))


def losses(result):
    return [(line["step"], line["loss_hex"]) for line in result.metrics]


def diverged(program):
    """Four steps, then one of a rate that breaks the weights: no step is finite any more."""
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    check(train(program, "run.stop_at=4").finished(), "four steps")
    result = train(program, *WILD)
    check_refused(result, 7, "5 steps in a row were not finite, up to step 10")
    steps = kept(program)
    check(steps == [4, 8, 9], f"the newest from which a step was finite stays: {steps}")


def listing_shows_it(program):
    out = program.alone("ls", "runs/tiny").out
    check("verifies, in a streak of 4 skipped steps\n" in out, f"ls shows the streak: {out}")
    check("a run goes on from step 4: step 9 lies in a streak of 4 skipped steps" in out,
          f"and what a run does: {out}")
    found = json.loads(program.alone("ls", "runs/tiny", "--json").out)
    check([step["healthy"] for step in found["steps"]] == [True, False, False], f"{found}")


def other_rate_trains_on(program, wanted):
    result = train(program)
    check(result.finished() and losses(result) == wanted, "as if no step had been wild", result)
    check("going on from step 4, " in result.out and "going on from step 9" not in result.out,
          "it says from where", result)
    why = "a streak of 4 skipped steps, which the changed settings do not end: step 4 is"
    check(why in result.out, "and why", result)
    check(kept(program) == [11, 12], f"retention is what it was: {kept(program)}")
    check(aside(program) == ["streak-1-step00000008", "streak-1-step00000009"],
          f"the streak is set aside: {aside(program)}")
    check("LEFTOVER" in program.alone("fsck", "runs/tiny").out, "and fsck names it")


def same_settings_go_back_too(program):
    diverged(program)
    result = train(program, *WILD)
    check_refused(result, 7, "up to step 10")
    check("going on from step 4, " in result.out, "it goes back", result)
    check("learning rate, clipping and data are unchanged: step 4 is" in result.out, "why", result)


def change_that_helps_goes_on_from_the_newest(program):
    """Where what has changed makes the next step finite, nothing is trained again."""
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    result = train(program, *OVERFLOWS, "run.stop_at=3", ranks=2)
    check(result.finished() and kept(program) == [2, 3], "all in a streak", result)
    result = train(program, *OVERFLOWS, "run.stop_at=4", ranks=2)
    check("going on from step 3, " in result.out, "there is no other to go back to", result)
    check("there is no healthy checkpoint" in result.out, "which it says", result)
    result = train(program, "fp16.enabled=true", "fp16.loss_scale=8", "optimizer.lr=1e-3", ranks=2)
    check(result.finished() and "going on from step 4, " in result.out, "from the newest", result)
    check("step 4 lies in a streak of 4 skipped steps, whose count begins anew" in result.out,
          "it says so", result)
    check([line["skipped"] for line in result.metrics] == [True] * 4 + [False] * 8,
          "and trains", result)


def ended_run_stays_ended(program):
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    result = train(program, *WILD, "run.stop_at=4")
    check(result.finished(), "a run may end in a streak", result)
    again = train(program, *WILD, "run.stop_at=4")
    check("step 4 of 12 is reached" in again.out, "and is not trained again", again)


def main():
    program = Program()
    straight = train(program)
    check(straight.finished(), "a straight run", straight)
    diverged(program)
    listing_shows_it(program)
    other_rate_trains_on(program, losses(straight))
    same_settings_go_back_too(program)
    change_that_helps_goes_on_from_the_newest(program)
    ended_run_stays_ended(program)
    print("every streak is left")


if __name__ == "__main__":
    main()
