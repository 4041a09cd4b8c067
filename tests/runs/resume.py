#!/usr/bin/env python3
"""A run that was cut anywhere goes on with the same bytes, at other ranks and stages too.

RESUME=all in the environment: of 40 steps each is stopped at, for every model, stage, home and
number of ranks, with SHARE=K/N the K-th of N parts of these; else one step of each of a few."""
import concurrent.futures
import itertools
import os
import shutil
import signal

from attack import share_of
from program import Program, check, home_settings
from signals import first_rank, wait_for_steps

EVERYWHERE = os.environ.get("RESUME") == "all"
STEPS = 40 if EVERYWHERE else 12
HARD = {
    "fp32, accumulation": (),
    "fp16 that skips": ("fp16.enabled=true", "fp16.initial_scale_power=24", "fp16.hysteresis=1"),
    "bf16": ("bf16.enabled=true",),
    "bf16, recompute": ("bf16.enabled=true", "activation_checkpointing.recompute=full",
                        "model.layers=3", "model.width=96", "model.heads=3"),
}
# Stage, ranks, model, home of the states (at stage 3 of the weights too), step to be stopped at.
SHARE = ((0, 1, "fp16 that skips", "none", 5), (0, 2, "bf16, recompute", "none", 11),
         (1, 1, "bf16", "nvme", 1), (1, 2, "fp16 that skips", "cpu", 6),
         (2, 1, "fp32, accumulation", "cpu", 4), (2, 2, "bf16, recompute", "nvme", 8),
         (3, 1, "fp32, accumulation", "nvme", 3), (3, 2, "fp16 that skips", "cpu", 7))
REPRODUCIBLE = ("numerics.reproducible=true",)


def fresh(program):
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    return program.folder / "runs/tiny"


def going_on(steps):
    return "checkpoint.resume=auto", f"run.steps={steps}"


def train(program, ranks, *settings, steps=STEPS):
    return program.train(ranks, *going_on(steps), *settings)


def straight(program, ranks, *settings, steps=STEPS):
    fresh(program)
    result = train(program, ranks, *settings, steps=steps)
    check(result.finished() and len(result.metrics) == steps, "a straight run finishes", result)
    return result


def require_same(result, wanted, what, steps=STEPS):
    check(result.finished(), f"{what}: finishes", result)
    losses = [[line["loss_hex"] for line in run.metrics] for run in (wanted, result)]
    check(losses[0] == losses[1], f"{what}: the same losses: {losses}", result)
    check([line["step"] for line in result.metrics] == list(range(1, steps + 1)),
          f"{what}: every step once", result)
    check(result.state() == wanted.state(),
          f"{what}: the same state", result)
    seconds = sum(line["step_ms"] for line in result.metrics) / 1000
    check(abs(result.summary["train_seconds"] - seconds) < 0.001 * steps,
          f"{what}: the time of all its steps is {seconds}", result)


def go_on_from(program, ranks, settings, step):
    result = train(program, ranks, *settings)
    check(f"going on from step {step}" in result.out, "it says where it goes on", result)
    return result


def stopped_at(result, step):
    check(result.finished() and f"saved step {step}" in result.out, "the part is saved", result)
    check("to go on: the same command with run.stop_at=0, or a later step\n" in result.out,
          "it says how to go on", result)


def goes_on(program, case, stops, at_each=False):
    """Is stopped once, at each of `stops` in turn; with `at_each`, also at each step of one run."""
    stage, ranks, name, home = case
    settings = (f"zero.stage={stage}", *HARD[name], *home_settings(program, stage, home))
    wanted = straight(program, ranks, *settings)
    what = f"stage {stage}, {ranks} ranks, {name}, {home}"
    for stop in stops:
        fresh(program)
        stopped_at(train(program, ranks, *settings, f"run.stop_at={stop}"), stop)
        result = go_on_from(program, ranks, settings, stop)
        require_same(result, wanted, f"{what}, {stop}")
    if at_each:
        fresh(program)
        stopped_at(train(program, ranks, *settings, "run.stop_at=1"), 1)
        for stop in range(2, STEPS):
            stopped_at(go_on_from(program, ranks, (*settings, f"run.stop_at={stop}"), stop - 1),
                       stop)
        result = go_on_from(program, ranks, settings, STEPS - 1)
        require_same(result, wanted, f"{what}, each step")
    if name == "fp16 that skips":
        check(any(line["skipped"] for line in wanted.metrics[:5]), "a step is skipped", wanted)


def every_stop():
    """Cases run side by side, one a core, each in a folder of its own."""
    cases = [case for case in itertools.product(range(4), (1, 2), HARD, ("none", "cpu", "nvme"))
             if case[0] > 0 or case[3] == "none"]
    shared = share_of(list(enumerate(cases)))

    def one(numbered):
        number, case = numbered
        alone = 1 + number % (STEPS - 1)
        goes_on(Program(), case, (alone, STEPS - alone), at_each=True)
        stage, ranks, name, home = case
        print(f"stopped at each of {STEPS - 1} steps of one run, at {alone} and {STEPS - alone} "
              f"alone: stage {stage}, {ranks} ranks, {name}, homes {home}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, shared))
    return len(shared)


def saves_change_no_bit(program):
    wanted = straight(program, 2, "zero.stage=2")
    fresh(program)
    often = train(program, 2, "zero.stage=2", "checkpoint.interval=1", "checkpoint.keep=0")
    require_same(often, wanted, "a save after each step")
    kept = sorted(path.name for path in (program.folder / "runs/tiny/checkpoints").glob("step*"))
    check(len(kept) == STEPS, f"all are kept: {kept}")


def other_ranks_and_stages(program, precision, others):
    """`others`: ranks, stage and batch of those that go on."""
    wanted = straight(program, 1, *REPRODUCIBLE, precision, "train_micro_batch_size_per_gpu=1")
    folder = fresh(program)
    first = train(program, 2, *REPRODUCIBLE, precision, "zero.stage=3", "run.stop_at=5")
    state = first.state()
    shutil.rmtree(program.folder / "saved", ignore_errors=True)
    shutil.copytree(folder, program.folder / "saved", symlinks=True)
    for ranks, stage, batch in others:
        fresh(program)
        shutil.copytree(program.folder / "saved", folder, symlinks=True)
        # Sums of three ranks are no balanced tree.
        sums = f"numerics.reproducible={'false' if ranks == 3 else 'true'}"
        settings = (sums, precision, f"zero.stage={stage}", f"train_batch_size={batch}")
        (folder / "summary.json").unlink()  # so that the end is reached again, without a step
        loaded = train(program, ranks, *settings, "run.stop_at=5")
        check(loaded.finished() and loaded.state() == state,
              f"2 ranks, stage 3 to {ranks}, {stage}: the same state", loaded)
        result = train(program, ranks, *settings)
        if batch == 8:
            require_same(result, wanted, f"2 ranks, stage 3 to {ranks}, {stage}")
        check(result.finished(), f"{ranks} ranks go on", result)


def killed_run_goes_on(program):
    steps = 200  # so that it does not end before it is killed
    settings = ("zero.stage=2", "checkpoint.interval=2")
    wanted = straight(program, 2, *settings, steps=steps)
    fresh(program)
    process = program.start(2, *going_on(steps), *settings, "run.log_interval=1")
    wait_for_steps(program, process, 7)
    os.kill(first_rank(program), signal.SIGKILL)
    killed = program.wait(process)
    check(not killed.finished() and killed.summary is None, "it is killed before its end", killed)
    result = train(program, 2, *settings, steps=steps)
    check("going on from step" in result.out, "it says where it goes on", result)
    require_same(result, wanted, "killed", steps)


def main():
    if EVERYWHERE:
        print(f"the same bytes after every step of {every_stop()} runs")
        return
    program = Program()
    for *case, stop in SHARE:
        goes_on(program, case, (stop,))
    saves_change_no_bit(program)
    other_ranks_and_stages(program, "bf16.enabled=false",
                           ((1, 0, 8), (2, 1, 8), (3, 1, 9), (4, 2, 8)))
    other_ranks_and_stages(program, "bf16.enabled=true", ((1, 1, 8),))
    killed_run_goes_on(program)
    print("the same bytes")


if __name__ == "__main__":
    main()
