#!/usr/bin/env python3
"""Steps of runs are taken again on other ranks, stages and homes, and a flipped bit is found.

usage: replay.py ZEROAPP MPIEXEC RESEAL
"""
import json
import re
import shutil
import signal
import subprocess
import sys
import time

from program import Program, check, check_refused, home_settings

STEPS = 12
RUN = "runs/tiny"
ANY = ("checkpoint.interval=2", "checkpoint.keep=0", "checkpoint.resume=auto")
TRAIN = (*ANY, f"run.steps={STEPS}", "run.digest_interval=1", "numerics.reproducible=true")


def fresh(program):
    shutil.rmtree(program.folder / "runs", ignore_errors=True)


def train(program, ranks, *settings, always=TRAIN):
    result = program.train(ranks, *always, *settings)
    check(result.finished(), f"{settings} on {ranks} ranks trains", result)
    return result


def replay(program, ranks, *words):
    line = program.launch_line(ranks) if ranks > 1 else [str(program.zeroapp)]
    return program.wait(program.popen([*line, "replay", RUN, *words]))


def same(program, ranks, *words):
    result = replay(program, ranks, *words)
    check("the same: steps " in result.out and not result.error_lines(),
          f"{words} on {ranks} ranks: the same", result)
    return result.out


def differs(program, ranks, *words):
    """The step, and all that is said of it."""
    result = replay(program, ranks, *words)
    check_refused(result, 12, "differs from its replay")
    found = re.search(r"step (\d+) differs from its replay(.*)", result.err)
    return int(found[1]), found[2]


def files_of(program):
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes())
            for path in (program.folder / RUN).rglob("*") if path.is_file()}


def digests(program):
    return (program.folder / RUN / "digests.jsonl").read_text()


def digests_are_those_of_any_run(program):
    seen = []
    for ranks, stage, home in ((1, 0, "none"), (2, 3, "nvme"), (2, 1, "cpu")):
        fresh(program)
        train(program, ranks, f"zero.stage={stage}", *home_settings(program, stage, home))
        seen.append(digests(program))
    check(seen[0] == seen[1] == seen[2], "ranks, stages and homes have the same digests")
    head, *lines = map(json.loads, seen[0].splitlines())
    check("XXH3" in head["digests"], f"the file says what they are: {head}")
    units = [line["unit"] for line in lines if line["step"] == 1]
    check(len(lines) == STEPS * len(units), f"a line for each unit and step: {len(lines)}")
    check(set(lines[0]) == {"step", "unit", "weights", "momentum", "variance"}, f"{lines[0]}")
    values = {line[name] for line in lines for name in ("weights", "momentum", "variance")}
    check(len(values) == 3 * len(lines), "each state of each step has its own")


def lines_beyond_a_stop_go(program):
    whole = digests(program)
    fresh(program)
    train(program, 1, "run.stop_at=5")
    with open(program.folder / RUN / "digests.jsonl", "a") as file:
        file.write('{"step": 6, "unit": "of a killed launch"}\n{"step": 7, "un')
    train(program, 2, "zero.stage=1")
    check(digests(program) == whole, "lines of steps that are run again go")
    train(program, 1, f"run.steps={STEPS + 2}", "numerics.reproducible=true", always=ANY)
    check(digests(program) == whole, "and no launch adds any without being asked")
    fresh(program)
    train(program, 2, "zero.stage=1")


def a_signal_leaves_each_step_once(program):
    """A launch that a signal ends saves first, and then takes the digests of its last step."""
    fresh(program)
    steps = ("checkpoint.resume=auto", "run.digest_interval=1", "run.steps=1000000")
    process = program.start(1, *steps)
    metrics = program.folder / RUN / "metrics.jsonl"
    while process.poll() is None and not (metrics.exists() and metrics.read_text().count("\n") > 2):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    last = program.wait(process).metrics[-1]["step"] + 2
    train(program, 1, f"run.stop_at={last}", always=steps)
    seen = [json.loads(line)["step"] for line in digests(program).splitlines()[1:]]
    check(seen == [step for step in range(1, last + 1) for _ in range(3)],
          f"each of {last} steps has the digests of 3 units once: {seen}")


def any_ranks_stages_and_homes_are_the_same(program):
    before = files_of(program)
    out = same(program, 2, "--from", "4")
    check(f"steps 5 to {STEPS}" in out and "8 losses and norms, states after 8 steps" in out, out)
    same(program, 1, "--from", "10", "--to", "11", "zero.stage=0")
    same(program, 2, "--from", "2", "--to", "4", "zero.stage=3",
         *home_settings(program, 3, "nvme"))
    same(program, 4, "--from", "8", "--bisect", "zero.stage=2")
    check(files_of(program) == before, "and no file of the run has changed")


def flipped(program, reseal):
    """The run goes on from a checkpoint with one other bit; returns the tensor that has it."""
    shutil.rmtree(program.folder / "right", ignore_errors=True)
    fresh(program)
    train(program, 1, "run.stop_at=6")
    folder = program.folder / RUN / "checkpoints/step00000006"
    shutil.copytree(folder, program.folder / "right/step00000006")
    path = folder / "rank00000.h5"
    good = path.read_bytes()
    for part in range(1, 16):
        content = bytearray(good)
        content[(len(good) * part // 16 & ~3) + 2] ^= 0x40  # a rounding may lose a last bit
        path.write_bytes(content)
        subprocess.run([reseal, folder], check=True)
        said = program.alone("inspect", "right/step00000006", str(folder), "--json")
        tensor, = json.loads(said.out)["differing"]
        if tensor["name"].startswith("optimizer/"):  # the others are for people
            break
    check(tensor["elements"] == 1, f"one element of the states differs: {tensor}")
    train(program, 2, "zero.stage=1")
    return tensor["name"]


def a_flipped_bit_is_found(program, reseal):
    name = flipped(program, reseal)
    for words in (("--from", "2"), ("--from", "4", "--to", "11"), ("--from", "2", "--bisect")):
        step, said = differs(program, 1, *words)
        check(step == 7, f"the bit of {name} was flipped after step 6, not before {step}: {said}")
        check(re.search(r"states of [123] of 3 units, ", said), f"a unit is named: {said}")
    same(program, 1, "--from", "2", "--to", "6")
    # From the checkpoint with the bit the rest is as the run had it.
    same(program, 2, "--from", "6")
    replays = int(re.search(r"found by (\d+) replays", differs(program, 2, "--from", "2",
                                                               "--bisect")[1])[1])
    check(replays <= 5, f"10 steps are halved: {replays} replays")


def damage_hides_nothing(program):
    """A checkpoint that cannot be loaded costs what it would tell, and no finding."""
    path = program.folder / RUN / "checkpoints/step00000008/rank00000.h5"
    file = program.folder / RUN / "digests.jsonl"
    content, kept = path.read_bytes(), file.read_text()
    path.write_bytes(content[:-1])
    file.write_text(re.sub(r'(?m)^({"step": 8, .*"weights": ")\w+', r"\g<1>0123456789abcdef", kept))
    result = replay(program, 1, "--from", "6", "--to", "8")
    check_refused(result, 12, "step 8 differs", "states of 3 of 3 units")
    check("no values are compared" in result.err, "a warning says so", result)
    file.write_text(re.sub(r'(?m)^{"step": 8, .*\n', "", kept))
    result = replay(program, 1, "--from", "6", "--to", "8")
    check("the same: steps 7 to 8" in result.out and "its state is not compared" in result.err,
          "the losses are compared", result)
    path.write_bytes(content)
    file.write_text(kept)


def changed_settings_are_named(program):
    """The last launch writes effective.toml anew."""
    path = program.folder / RUN / "effective.toml"
    kept = path.read_text()
    path.write_text(re.sub(rf"(?m)^steps = {STEPS}\b", f"steps = {STEPS + 1}", kept))
    check("may have" not in replay(program, 1, "--from", "10").err, "no rate depends on the steps")
    path.write_text(re.sub(r"(?m)^lr = \S+", "lr = 0.5", kept))
    result = replay(program, 1, "--from", "10")
    check_refused(result, 2, "step 11 differs", "changed since, which may be why: optimizer.lr = ")
    path.write_text(kept)


def values_are_told(program):
    """Without digests, the state of a checkpoint is compared."""
    (program.folder / RUN / "digests.jsonl").unlink()
    metrics = program.folder / RUN / "metrics.jsonl"
    kept = metrics.read_text()
    lines = [line for line in kept.splitlines(True) if json.loads(line)["step"] in (5, 6, 12)]
    metrics.write_text("".join(lines))
    step, said = differs(program, 1, "--from", "4", "--to", "8")
    check(step == 8 and " ulp apart" in said, f"elements are compared: {said}")
    check("losses" not in said, said)
    metrics.write_text(kept)


def a_loss_of_another_step_is_found(program):
    metrics = program.folder / RUN / "metrics.jsonl"
    kept = metrics.read_text()
    lines = kept.splitlines(True)
    line = json.loads(lines[8])
    wrong = f"{int(line['loss_hex'], 16) + 3:016x}"
    lines[8] = lines[8].replace(line["loss_hex"], wrong)
    metrics.write_text("".join(lines))
    step, said = differs(program, 1, "--from", "8")
    check(step == 9 and "3 ulp apart" in said and "loss " in said, said)
    lines[8] = "{\"step\": 9, \"loss\": 1}\n"
    metrics.write_text("".join(lines))
    check_refused(replay(program, 1, "--from", "8"), 3, "metrics.jsonl:9: no run writes such")
    metrics.write_text(kept)


def what_cannot_be_replayed_is_refused(program):
    for words, status, what in (
            (("--from", "3"), 4, "has no checkpoint of step 3 to replay from; there are: 2, 4, 6"),
            ((), 2, "no --from"),
            (("--from", "4", "--to", "99"), 2, "has no steps 5 to 99; the last one is 12"),
            (("--from", "4", "--to", "4"), 2, "has no steps 5 to 4"),
            (("--from", "4", "optimizer.lr=1"), 2, "takes what is computed from the run"),
            (("--from", "x"), 2, "--from")):
        check_refused(replay(program, 1, *words), status, what)
    result = program.alone("replay", "nowhere", "--from", "2")
    check_refused(result, 3, "nowhere: is no run, as it has no effective.toml")
    path = program.folder / RUN / "checkpoints/step00000010/rank00000.h5"
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    check_refused(replay(program, 1, "--from", "10"), 4, "rank00000.h5")
    path.write_bytes(content)
    (program.folder / RUN / "digests.jsonl").unlink(missing_ok=True)
    check_refused(replay(program, 1, "--from", "6", "--to", "7", "--bisect"), 2, "has no digests")


def other_launches_are_told(program):
    fresh(program)
    steps = (*ANY, f"run.steps={STEPS}", "run.digest_interval=2")
    train(program, 2, "zero.stage=1", "run.stop_at=10", always=steps)
    train(program, 1, always=steps)
    out = same(program, 2, "--from", "4", "zero.stage=0")
    check("steps 5 to 10 alone: a later launch took step 11" in out, out)
    check_refused(replay(program, 2, "--from", "4", "--to", "11", "zero.stage=0"), 2,
                  "a later one took step 11", "write --to 10 at most")
    same(program, 1, "--from", "10")
    for ranks, words, what in ((1, (), "its launch had 2 ranks, this one 1"),
                               (2, ("zero.stage=2",), "its zero.stage was 1, this one is 2"),
                               (2, ("run.threads=2",), "1 threads a rank, now ")):
        check_refused(replay(program, ranks, "--from", "4", "--to", "9", *words), 2, what)


def main():
    reseal = sys.argv.pop()
    program = Program()
    digests_are_those_of_any_run(program)
    lines_beyond_a_stop_go(program)
    any_ranks_stages_and_homes_are_the_same(program)
    a_flipped_bit_is_found(program, reseal)
    damage_hides_nothing(program)
    changed_settings_are_named(program)
    values_are_told(program)
    a_loss_of_another_step_is_found(program)
    what_cannot_be_replayed_is_refused(program)
    a_signal_leaves_each_step_once(program)
    other_launches_are_told(program)
    print("every step is as it was")


if __name__ == "__main__":
    main()
