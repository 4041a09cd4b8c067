#!/usr/bin/env python3
"""When a run saves, and beside what: on request, in the background, and its best weights."""
import errno
import json
import math
import pathlib
import re
import shutil

from faults import Faults
from program import BLOCK_BYTES, check, check_refused
from signals import wait_for_steps

EVALUATION = re.compile(r"^evaluation .*?step (\d+).*?loss ([\d.]+)", re.M)
BEST = ("evaluation.interval=2", "checkpoint.best_metric=eval_loss", "optimizer.lr=0.5",
        "run.steps=8")


def saved_steps(faults):
    return sorted(int(path.name[4:]) for path in (faults.runs / "tiny/checkpoints").glob("step0*"))


def steps_done(faults):
    return len((faults.runs / "tiny/metrics.jsonl").read_text().splitlines())


def ask(faults, name):
    (faults.runs / "tiny" / name).touch()


def requests_are_met(faults):
    shutil.rmtree(faults.runs, ignore_errors=True)
    (faults.runs / "tiny").mkdir(parents=True)
    ask(faults, "stop_now")
    process = faults.start(2, "run.steps=1000000", "run.log_interval=1000")
    wait_for_steps(faults, process, 3)
    ask(faults, "checkpoint_now")
    while (faults.runs / "tiny/checkpoint_now").exists():
        wait_for_steps(faults, process, steps_done(faults) + 1)
    # Rank 0 has taken it at the end of a step, and all save before the one after the next.
    wait_for_steps(faults, process, steps_done(faults) + 10)
    first = saved_steps(faults)
    check(len(first) == 1, f"checkpoint_now: one is saved, and training goes on: {first}")
    ask(faults, "stop_now")
    result = faults.wait(process)
    check(result.status == 0 and "stopped by stop_now after step" in result.out,
          "stop_now: ends with 0", result)
    check(saved_steps(faults)[-1] == result.summary["steps"] > first[0], "and saves", result)
    check("stop_now was for an earlier launch" in result.out, "an old request is none", result)


def background_saves_are_the_same(faults):
    settings = (*faults.settings, "checkpoint.async=true", "checkpoint.interval=1",
                "checkpoint.keep=0")
    shutil.rmtree(faults.runs, ignore_errors=True)
    result = faults.train(2, *settings)
    check(result.finished() and result.state() == faults.state,
          "saves in the background change no bit", result)
    check(saved_steps(faults) == [1, 2, 3, 4, 5, 6], f"all are there: {saved_steps(faults)}")
    committed = re.findall(r"^saved step (\d+)$", result.out, re.M)
    check(committed[-1] == "6", f"the last is waited for: {committed}", result)
    (faults.runs / "tiny/summary.json").unlink()
    shutil.rmtree(faults.runs / "tiny/checkpoints/step00000006")
    result = faults.train(2, *faults.settings)
    check("going on from step 5" in result.out and result.state() == faults.state,
          "what was copied is what is loaded", result)


def background_saves_know_homes(faults):
    """States in host memory, which are copied, and on disk, which are not."""
    swap = faults.folder / "swap"
    swap.mkdir(exist_ok=True)
    for device in ("cpu", "nvme"):
        settings = [*faults.settings, "checkpoint.async=true", "checkpoint.interval=1",
                    "checkpoint.keep=0", "zero.stage=3"]
        for states in ("zero.offload_optimizer", "zero.offload_param"):
            settings.append(f"{states}.device={device}")
            settings += [f"{states}.nvme_path={swap}"] if device == "nvme" else []
        shutil.rmtree(faults.runs, ignore_errors=True)
        result = faults.train(2, *settings)
        check(result.finished() and saved_steps(faults) == [1, 2, 3, 4, 5, 6],
              f"{device}: every step is saved: {saved_steps(faults)}", result)
        for step in (4, 5, 6):
            shutil.rmtree(faults.runs / f"tiny/checkpoints/step{step:08d}")
        (faults.runs / "tiny/summary.json").unlink()
        again = faults.train(2, *settings)
        check("going on from step 3" in again.out, f"{device}: it goes on", again)
        check(again.state() == result.state(),
              f"{device}: with the same bytes", again)


def background_saves_hide(faults):
    """A disk that takes a second to sync: steps go on meanwhile, the next save waits."""
    slow = {"FROM": ".tmp-step", "ONLY": "fsync", "CALL": 1, "ACTION": -1}
    for background in (False, True):
        result = faults.run_faulty(f"checkpoint.async={str(background).lower()}",
                                   "checkpoint.interval=5", "run.steps=12", **slow)
        check(result.finished(), "it finishes", result)
        before = result.out.split("saved step 5\n")[0]
        check(("step 6/12" in before) == background, f"async {background}: steps beside a save",
              result)
        check(result.out.index("saved step 5") < result.out.index("saved step 10"),
              "one after the other", result)


def background_errors_surface(faults):
    fault = {"ONLY": "fsync", "CALL": 1, "ACTION": errno.EIO, "FROM": ".tmp-step00000005"}
    settings = ("checkpoint.async=true", "checkpoint.interval=5", "run.steps=1000000")
    result = faults.run_faulty(*settings, rank=1, **fault)
    check(result.status == 5 and len(result.error_lines()) == 1, "a failed save ends the run",
          result)
    check("the checkpoint of step 5 failed: rank 1: " in result.error_lines()[0], "and says why",
          result)
    check(faults.latest() == "step00000004" and not faults.leftovers(), "nothing stays", result)
    result = faults.run_faulty(*settings[:2], "checkpoint.max_failures=1", rank=1, **fault)
    check(result.finished() and "lets the run go on" in result.err, "or is let pass", result)
    check(faults.latest() == "step00000006", "the end is saved", result)


def folders_are_tried_at_the_start(faults):
    fault = {"ONLY": "open", "CALL": 1, "ACTION": errno.EROFS, "FROM": "tmp-step00000000"}
    shutil.rmtree(faults.runs, ignore_errors=True)
    result = faults.run_faulty("checkpoint.interval=5", rank=1, **fault)
    check(result.status == 5 and "checkpoint.dir: " in result.err, "each rank tries it", result)
    check("step 1/" not in result.out, "before the first step", result)


def nothing_is_abandoned_that_was_not_begun(faults):
    fault = {"ONLY": "mkdir", "CALL": 1, "ACTION": errno.EIO, "FROM": "tmp-step00000005"}
    shutil.rmtree(faults.runs, ignore_errors=True)
    result = faults.run_faulty("checkpoint.interval=5", rank=0, **fault)
    check("the checkpoint of step 5 failed: rank 0: " in result.err, "it is told", result)
    check("no temporary folder" not in result.err, "and that alone", result)


def copy_is_planned(faults):
    for settings, there in (((), False), (("checkpoint.async=true",), True)):
        result = faults.alone("plan", "tiny.toml", *settings)
        check(("checkpoint copy" in result.out) == there, f"{settings}: the plan's table", result)
    result = faults.alone("plan", "tiny.toml", "checkpoint.async=true", "memory.device_limit=1MiB")
    check(result.status == 6, "the copy counts", result)


def evaluations_of(result):
    return {int(step): float(loss) for step, loss in EVALUATION.findall(result.out)}


def best_is_kept_and_loaded(faults):
    shutil.rmtree(faults.runs, ignore_errors=True)
    half = faults.train(1, *faults.settings, *BEST, "run.stop_at=4")
    result = faults.train(1, *faults.settings, *BEST, "checkpoint.load_best_at_end=true",
                          "export.at_end=true")
    losses = {**evaluations_of(half), **evaluations_of(result)}
    check(sorted(losses) == [2, 4, 6, 8], f"each saved step is evaluated: {losses}", result)
    times = [int(step) for step, _ in EVALUATION.findall(result.out)]
    check(times == [6, 8], f"and none of them twice: {times}", result)
    best = min(losses, key=losses.get)
    check(best < 6, f"this run's best is an early one: {losses}", result)
    check(saved_steps(faults) == [best, 6, 8], f"it is kept: {saved_steps(faults)}", result)
    check(f"the best weights are loaded: step {best}" in result.out, "and loaded", result)
    check(result.summary["eval_step"] == best, "the summary tells of it", result)
    of_model = faults.alone("eval", "runs/tiny")
    told = f"{result.summary['eval_loss']:.6f}"
    check(told in of_model.out, f"what is exported has its loss, {told}", of_model)
    shard = faults.runs / f"tiny/checkpoints/step{best:08d}/rank00000.h5"
    content = bytearray(shard.read_bytes())
    middle = len(content) // 2
    content[middle] ^= 1
    shard.write_bytes(content)
    result = faults.train(1, *faults.settings, *BEST[:-1], "checkpoint.load_best_at_end=true",
                          "run.steps=10")
    check_refused(result, 4, f"load_best_at_end: the best was of step {best}",
                  f"block {middle // BLOCK_BYTES} ", "the weights of the last step are saved")
    check(10 in saved_steps(faults), "and they are", result)


def end_by_patience(losses, patience):
    """The step of the evaluation that is the last of so many which are no better."""
    best, since = None, 0
    for step, loss in sorted(losses.items()):
        since = 0 if best is None or loss < best else since + 1
        best = loss if since == 0 else best
        if since >= patience:
            return step
    return 8


def patience_ends_a_training(faults):
    settings = (*faults.settings, *BEST, "checkpoint.best_metric=perplexity")
    settings = tuple(s for s in settings if s != "checkpoint.best_metric=eval_loss")
    shutil.rmtree(faults.runs, ignore_errors=True)
    losses = evaluations_of(faults.train(1, *settings))
    for patience in (1, 2):
        end = end_by_patience(losses, patience)
        check(end < 8, f"this run gets no better: {losses}")
        patient = (*settings, f"checkpoint.patience={patience}")
        shutil.rmtree(faults.runs, ignore_errors=True)
        faults.train(1, *patient, f"run.stop_at={end - 1}")
        result = faults.train(1, *patient)
        check(f"finished step {end} of 8 (checkpoint.patience)" in result.out,
              f"what an earlier launch has seen counts: {losses}, {end}", result)
        check(result.status in (0, 1) and steps_done(faults) == end, "and ends well", result)
        again = faults.train(1, *patient)
        check(f"checkpoint.patience = {patience} has ended it" in again.out
              and steps_done(faults) == end, "which it says again", again)
    more = faults.train(1, *settings)
    check("finished step 8 of 8" in more.out, "without it training goes on", more)
    told = [json.loads(line) for line in
            (faults.runs / "tiny/evaluations.jsonl").read_text().splitlines()]
    steps = [line["step"] for line in told]
    check(steps == sorted(set(steps)) and {2, 4, 6, 8} <= set(steps),
          f"each is on record once, with those of launches' ends: {told}")
    check(all(abs(math.log(line["perplexity"]) - line["loss"]) < 1e-9 for line in told), f"{told}")


def synced_and_named(calls):
    """The paths that a rank renames: each, with all that is in it, must be on the disk by then, and
    so must a folder of checkpoints before it gets its next name."""
    made, unsynced, named = set(), set(), []
    for call, path in calls:
        folder = path.rpartition("/")[0]
        if call == "mkdir" and ".tmp" in path:
            made.add(path)
        elif call in ("write", "pwrite", "ftruncate", "fallocate"):
            unsynced |= {path, folder} if folder in made else {path}
        elif call == "fsync":
            unsynced.discard(path)
        elif call == "rename":
            left = [p for p in unsynced if f"{p}/".startswith(f"{path}/")
                    or p == folder and p.endswith("/checkpoints")]
            check(not left, f"{path} gets its name before an fsync of {left}")
            named.append(path)
            unsynced.add(folder)
    left = [path for path in unsynced if "/.tmp-step00000006" in path]
    check(not left, f"another rank names what waits for an fsync of {left}")
    return named


def names_are_of_what_is_on_the_disk(faults):
    """The permissions of every file and folder of a run that another one may find: with the models,
    the samples and the records."""
    settings = ("export.at_end=true", "evaluation.show_samples=1", "checkpoint.permissions=0750")
    named = [synced_and_named(faults.calls(rank, *settings, UNDER="/runs/", FROM=""))
             for rank in range(2)]
    kinds = {path.rpartition("/")[2].split(".tmp")[0] for path in named[0]}
    check(kinds >= {"effective.toml", "summary.json", "sample.txt", "launches.jsonl", "model",
                    "model.safetensors", "config.json"}, f"these are named: {kinds}")
    commits = [path for path in named[0] if "/.tmp-step00000006" in path]
    check(len(commits) == 1 and not named[1], f"and by the first rank alone: {named[1]}")


def main():
    faults = Faults()
    requests_are_met(faults)
    background_saves_are_the_same(faults)
    background_saves_know_homes(faults)
    background_saves_hide(faults)
    background_errors_surface(faults)
    folders_are_tried_at_the_start(faults)
    nothing_is_abandoned_that_was_not_begun(faults)
    copy_is_planned(faults)
    best_is_kept_and_loaded(faults)
    patience_ends_a_training(faults)
    names_are_of_what_is_on_the_disk(faults)
    print("all saves act")


if __name__ == "__main__":
    main()
