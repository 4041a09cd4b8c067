#!/usr/bin/env python3
"""Steps of runs are taken again on other ranks, stages and homes, and a flipped bit is found.

usage: replay.py ZEROAPP MPIEXEC RESEAL
"""
import json
import re
import shutil
import subprocess
import sys

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
    train(program, 2, "zero.stage=1", f"run.steps={STEPS}", "run.digest_interval=2", always=ANY)
    same(program, 2, "--from", "4", "--to", "9", "zero.stage=0")
    for ranks, words, what in ((1, (), "its launch had 2 ranks, this one 1"),
                               (2, ("zero.stage=2",), "its zero.stage was 1, this one is 2"),
                               (2, ("run.threads=2",), "1 threads a rank, now ")):
        check_refused(replay(program, ranks, "--from", "4", *words), 2, what)


def main():
    reseal = sys.argv.pop()
    program = Program()
    digests_are_those_of_any_run(program)
    lines_beyond_a_stop_go(program)
    any_ranks_stages_and_homes_are_the_same(program)
    a_flipped_bit_is_found(program, reseal)
    values_are_told(program)
    a_loss_of_another_step_is_found(program)
    what_cannot_be_replayed_is_refused(program)
    other_launches_are_told(program)
    print("every step is as it was")


if __name__ == "__main__":
    main()
