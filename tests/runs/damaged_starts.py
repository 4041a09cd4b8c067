#!/usr/bin/env python3
"""Checkpoints with a flipped bit, found as they are loaded: a launch goes on from an older one, or
is refused and leaves all that earlier launches have written as it was."""
import json
import shutil

from program import BLOCK_BYTES, Program, check, check_refused

SETTINGS = ("checkpoint.interval=2", "checkpoint.keep=0", "zero.stage=1", "export.at_end=true")
KEPT = ("summary.json", "effective.toml", "metrics.jsonl", "model/model.safetensors")


def train(program, *settings, resume="auto", run="damaged"):
    process = program.start(2, *SETTINGS, f"checkpoint.resume={resume}", f"run.output=runs/{run}",
                            *settings)
    return program.wait(process, run)


def files_of(program, step):
    return sorted((program.folder / f"runs/damaged/checkpoints/step{step:08d}").glob("rank*"))


def flip(path, share):
    """The bit at this share of a file; the number of its block."""
    content = bytearray(path.read_bytes())
    place = int(share * len(content))
    content[place] ^= 8
    path.write_bytes(content)
    return place // BLOCK_BYTES


def kept(program):
    return [(program.folder / "runs/damaged" / name).read_bytes() for name in KEPT]


def last_launches(program, count):
    lines = (program.folder / "runs/damaged/launches.jsonl").read_text().splitlines()
    return [(line.get("resumed_from_step"), line["ended"])
            for line in map(json.loads, lines[-count:])]


def state(result):
    return result.state()


def whole_run(program):
    result = train(program)
    check(result.finished() and len(files_of(program, 6)) == 2, "the run", result)
    return state(result)


def what_is_refused_leaves_all_as_it_was(program):
    before = kept(program)
    block = flip(files_of(program, 6)[1], 0.7)
    result = train(program, "run.steps=9", resume="require")
    check_refused(result, 4, f"step00000006/rank00001.h5: block {block} ",
                  'checkpoint.resume = "auto"')
    check(kept(program) == before, "required: nothing was touched", result)
    check([how for _, how in last_launches(program, 1)] == ["error E0400"],
          f"and the launch is on record: {last_launches(program, 2)}", result)
    for step in (2, 4):
        flip(files_of(program, step)[0], 0.6)
    result = train(program, "run.steps=9")
    check_refused(result, 4, "none of its checkpoints verifies", "step00000006/rank00001.h5")
    check(result.err.count("does not verify and is passed over") == 3, "each is named", result)
    check(kept(program) == before, "none verifies: nothing was touched", result)
    check([how for _, how in last_launches(program, 1)] == ["error E0400"],
          f"the last word is the error: {last_launches(program, 3)}", result)
    for step in (2, 4):
        flip(files_of(program, step)[0], 0.6)


def an_older_one_is_gone_on_from(program, wanted):
    """Also where the end was reached already, and wherever the damage is."""
    pristine = program.folder / "pristine"
    flip(files_of(program, 6)[1], 0.7)
    shutil.copytree(program.folder / "runs/damaged", pristine, symlinks=True)
    for rank, share in ((0, 0.001), (0, 0.3), (1, 0.5), (1, 0.999)):
        shutil.rmtree(program.folder / "runs/damaged")
        shutil.copytree(pristine, program.folder / "runs/damaged", symlinks=True)
        flip(files_of(program, 6)[rank], share)
        result = train(program)
        check(result.finished() and result.out.count("going on from step 4") == 1,
              f"{rank} at {share}: from step 4", result)
        check("going on from step 6" not in result.out, "and no other is said", result)
        check("what the earlier end left moved to" in result.out, "with what it had left", result)
        check(state(result) == wanted, f"{rank} at {share}: the same state", result)
        aside = list((program.folder / "runs/damaged/checkpoints").glob("damaged-*step00000006"))
        check(len(aside) == 1, f"the damaged one is kept: {aside}", result)


def it_is_so_before_the_end_too(program):
    flip(files_of(program, 6)[0], 0.5)
    result = train(program, "run.steps=8")
    check(result.finished() and "going on from step 4" in result.out, "from step 4", result)
    check(last_launches(program, 2) == [(6, "step 6 does not verify"), (4, "finished step 8 of 8")],
          f"both are on record: {last_launches(program, 3)}", result)


def another_run_is_gone_on_from_its_older_one(program):
    flip(files_of(program, 8)[1], 0.5)
    wanted = train(program, "checkpoint.resume_from=runs/damaged", "run.steps=10", run="other")
    check(wanted.finished() and "going on from step 6" in wanted.out, "of another run", wanted)
    check("warning: step 8 does not verify" in wanted.err, "which is said", wanted)
    for step in (2, 4, 6):
        flip(files_of(program, step)[0], 0.5)
    result = train(program, "checkpoint.resume_from=runs/damaged", "run.steps=10", run="another")
    check_refused(result, 4, "go on from others with checkpoint.resume_from")


def main():
    program = Program()
    wanted = whole_run(program)
    what_is_refused_leaves_all_as_it_was(program)
    an_older_one_is_gone_on_from(program, wanted)
    it_is_so_before_the_end_too(program)
    another_run_is_gone_on_from_its_older_one(program)
    print("no damage is trained on")


if __name__ == "__main__":
    main()
