#!/usr/bin/env python3
"""What other programs show of a run: event files hold what metrics.jsonl holds, across launches, a
kill and half a record; DeepSpeed's CSV files; neither changes a bit of the training.

MONITORS=tensorboard in the environment: TensorBoard's own reader is asked too (pip install
tensorboard), of a run that is killed KILLS times (500 unless said)."""
import csv
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

from program import Program, check
from signals import first_rank, wait_for_steps

ASKS_TENSORBOARD = os.environ.get("MONITORS") == "tensorboard"
ASKS_PROMETHEUS = os.environ.get("MONITORS") == "prometheus"
KILLS = int(os.environ.get("KILLS", "500"))
ROOT = pathlib.Path(__file__).resolve().parents[2]
GOES_ON = "checkpoint.resume=auto"
CURVES = {"train/loss": "loss", "train/grad_norm": "grad_norm", "train/lr": "lr"}
ROUNDED = {"speed/step_ms": "step_ms", "time/forward_ms": "forward_ms"}


def single(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a message: an integer, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def records(path):
    """Each whole record of an event file."""
    data, at = path.read_bytes(), 0
    while len(data) - at >= 16:
        size = struct.unpack_from("<Q", data, at)[0]
        if len(data) - at < size + 16:
            return
        yield data[at + 12:at + 12 + size]
        at += size + 16


def read_folder(folder):
    """{tag: {step: value}} as TensorBoard shows it: a launch drops what stood from its step on."""
    curves = {}
    for path in sorted(folder.iterdir()):
        for number, record in enumerate(records(path)):
            event = list(fields(record))
            step = dict(event).get(2, 0)
            check(number > 0 or dict(event).get(3) == b"brain.Event:2", f"{path}: a version")
            check(number != 1 or dict(event).get(7) == b"\x08\x01", f"{path}: a session's start")
            if 7 in dict(event):
                for curve in curves.values():
                    for late in [at for at in curve if at >= step]:
                        del curve[late]
            for value in (value for key, value in event if key == 5):
                for _, one in fields(value):
                    parts = dict(fields(one))
                    if 2 not in parts:
                        continue
                    curve = curves.setdefault(parts[1].decode(), {})
                    check(step not in curve, f"{path}: step {step} of {parts[1]} once")
                    curve[step] = struct.unpack("<f", parts[2])[0]
    return curves


def read_by_tensorboard(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    reader = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    reader.Reload()
    return {tag: {event.step: event.value for event in reader.Scalars(tag)}
            for tag in reader.Tags()["scalars"]}


def require_metrics(result, curves, what):
    steps = [line["step"] for line in result.metrics]
    check(steps == list(range(1, len(steps) + 1)), f"{what}: every step in metrics.jsonl", result)
    for tag, name in CURVES.items():
        wanted = {line["step"]: single(line[name]) for line in result.metrics}
        check(curves.get(tag) == wanted, f"{what}: {tag}: {curves.get(tag)}, not {wanted}", result)
    for tag, name in ROUNDED.items():
        apart = [abs(line[name] - curves[tag][line["step"]]) for line in result.metrics]
        check(max(apart) < 1e-3, f"{what}: {tag}: {curves[tag]}", result)


def read_prometheus(text):
    """{name: value} of one run's file; MONITORS=prometheus: as the reader of Prometheus' own client
    has it (pip install prometheus_client)."""
    if ASKS_PROMETHEUS:
        from prometheus_client.parser import text_string_to_metric_families
        samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
        print(f"prometheus_client reads {len(samples)} metrics")
        return {one.name: one.value for one in samples if one.labels == {"run": "runs/tiny"}}
    values, declared = {}, None
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            declared = re.fullmatch(r"# TYPE ([a-z_]+) (gauge|counter)", line)[1]
            continue
        name, value = re.fullmatch(r'([a-z_]+)\{run="runs/tiny"\} (\S+)', line).groups()
        check(name == declared and name not in values, f"{name} once, behind its type: {text}")
        values[name] = float(value)
    return values


def require_prometheus(text, result):
    values, last = read_prometheus(text), result.metrics[-1]
    wanted = {"step": last["step"], "steps": 6, "running": 0, "train_loss": last["loss"],
              "train_grad_norm": last["grad_norm"], "skipped_steps_total": 0, "eval_step": 6,
              "rejected_steps_total": 0}
    for name, value in wanted.items():
        check(values.get("zeroapp_" + name) == value, f"{name} is {value}: {text}", result)
    check(abs(values["zeroapp_speed_step_ms"] - last["step_ms"]) < 1e-3, text, result)
    check(abs(values["zeroapp_time_seconds"] - time.time()) < 600, text, result)


def folder_of(program):
    return program.folder / "runs/tiny/tensorboard"


def shows_every_step(program):
    result = program.train(2, "evaluation.interval=2")
    check(result.finished(), "a run with event files finishes", result)
    curves = read_folder(folder_of(program))
    require_metrics(result, curves, "a run")
    check(sorted(curves["eval/loss"]) == [2, 4, 6], f"evaluations: {curves['eval/loss']}", result)
    check("eval/perplexity" in curves, "perplexity is a curve")
    files = list(folder_of(program).iterdir())
    check(len(files) == 1 and b"effective.toml" in files[0].read_bytes(), f"one file: {files}")
    return result


def changes_nothing(program, wanted):
    result = program.train(2, "evaluation.interval=2", "tensorboard.enabled=false")
    check(result.finished() and not folder_of(program).exists(), "no event files", result)
    check(result.state() == wanted.state(), "the same state without event files", result)
    result = program.train(2, "evaluation.interval=2", "csv_monitor.enabled=true",
                           "csv_monitor.output_path=curves", "csv_monitor.job_name=a b",
                           "train_batch_size=auto", "gradient_accumulation_steps=4",
                           "tensorboard.output_path=curves", "tensorboard.deepspeed_tags=true",
                           "run.prometheus=curves/tiny.prom")
    check(result.state() == wanted.state(), "the same state with all monitors", result)
    with open(program.folder / "curves/a b/Train_Samples_train_loss.csv", newline="") as file:
        text = file.read()
    check(text.startswith("step,train_loss\r\n8,"), f"DeepSpeed's CSV: {text!r}")
    rows = list(csv.reader(text.splitlines()))[1:]
    check([(int(step), float(loss)) for step, loss in rows] ==
          [(8 * line["step"], line["loss"]) for line in result.metrics], f"its rows: {rows}")
    require_prometheus((program.folder / "curves/tiny.prom").read_text(), result)
    events = [path for path in (program.folder / "curves").iterdir() if "tfevents" in path.name]
    check(len(events) == 1 and b"Train/Samples/train_loss" in events[0].read_bytes(),
          f"DeepSpeed's curves: {events}")


def goes_on(program):
    shutil.rmtree(program.folder / "runs")
    result = program.train(1, GOES_ON, "checkpoint.interval=2", "run.stop_at=3")
    check(result.finished(), "the first launch", result)
    shutil.rmtree(program.folder / "runs/tiny/checkpoints/step00000003")
    result = program.train(1, GOES_ON, "checkpoint.interval=2")
    check(result.finished(), "the second launch", result)
    check(len(list(folder_of(program).iterdir())) == 2, "a file for each launch")
    require_metrics(result, read_folder(folder_of(program)), "two launches")


def kill(program, steps):
    lock = program.folder / "runs/tiny/lock"
    before = lock.read_text() if lock.exists() else ""
    process = program.start(1, GOES_ON, "checkpoint.interval=2", "run.steps=100000",
                            "run.state_hash=false")
    # Lines of the launch before may be as many.
    while not lock.exists() or lock.read_text() in ("", before):
        check(process.poll() is None, "it begins", None)
        time.sleep(0.02)
    wait_for_steps(program, process, steps)
    os.kill(first_rank(program), signal.SIGKILL)
    program.wait(process)


def survives_kills(program, count):
    """A killed launch, and a file that is cut anywhere, leave what is whole readable."""
    shutil.rmtree(program.folder / "runs")
    chance = random.Random(7)
    steps = 0
    for _ in range(count):
        steps += chance.randint(3, 9)
        kill(program, steps)
        last = sorted(folder_of(program).iterdir())[-1]
        os.truncate(last, last.stat().st_size - chance.randint(0, 40))
    stop = steps + 3
    result = program.train(1, GOES_ON, "checkpoint.interval=2", "run.steps=100000",
                           f"run.stop_at={stop}")
    check(result.finished(), "it goes on", result)
    curves = read_folder(folder_of(program))
    wanted = {line["step"]: single(line["loss"]) for line in result.metrics}
    shown = curves["train/loss"]
    check(all(wanted[step] == loss for step, loss in shown.items()), "losses as in metrics.jsonl")
    check(len(shown) >= len(wanted) - 2 * count, f"{len(shown)} of {len(wanted)} steps are shown")
    if ASKS_TENSORBOARD:
        theirs = read_by_tensorboard(folder_of(program))
        check(theirs == curves, "TensorBoard shows the same curves")
        print(f"TensorBoard: {len(theirs)} curves of {len(shown)} steps in {count + 1} launches")


FAKE_WANDB = """
import json, pathlib
def init(**options):
    say({"id": options["id"], "steps": options["config"]["run.steps"]})
    return Run()
def say(line):
    with open("sent.jsonl", "a") as file:
        file.write(json.dumps(line) + chr(10))
class Run:
    def log(self, numbers, step):
        say([step, numbers])
        if pathlib.Path("dies").exists():
            __import__("os")._exit(9)
    def finish(self):
        say("end")
"""


def is_sent_elsewhere(program):
    """tools/monitor.py sends each row once, also where it was killed."""
    result = program.train(1, "evaluation.interval=3")
    program.write("wandb.py", FAKE_WANDB)
    line = [sys.executable, str(ROOT / "tools/monitor.py"), "runs/tiny", "wandb"]

    def sent(*options):
        (program.folder / "sent.jsonl").unlink(missing_ok=True)
        process = subprocess.run([*line, *options], cwd=program.folder, capture_output=True,
                                 text=True, env={**os.environ, "PYTHONPATH": str(program.folder)})
        text = (program.folder / "sent.jsonl").read_text()
        return process, [json.loads(one) for one in text.splitlines()]

    program.write("dies", "")
    process, first = sent("--follow")
    check(process.returncode == 9 and len(first) == 2, f"killed at its first row: {first}")
    (program.folder / "dies").unlink()
    process, rest = sent("--follow")
    check(process.returncode == 0 and rest[-1] == "end", f"it ends with the run: {process.stderr}")
    check(rest[0] == first[0] and rest[0]["steps"] == 6, f"the same run goes on: {rest[0]}")
    rows = [row for row in first[1:] + rest[1:-1]]
    losses = [row[1]["train/loss"] for row in rows if "train/loss" in row[1]]
    check(losses == [line["loss"] for line in result.metrics], f"each step once: {rows}")
    check([row[0] for row in rows if "eval/loss" in row[1]] == [3, 6], f"evaluations: {rows}")
    check(len(sent()[1]) == 2, "a second time nothing is new")
    process = subprocess.run([*line[:2], "text.txt", "wandb"], cwd=program.folder,
                             capture_output=True, text=True)
    check(process.returncode == 2 and "name the folder of a run" in process.stderr,
          process.stderr)


def main():
    program = Program()
    changes_nothing(program, shows_every_step(program))
    goes_on(program)
    survives_kills(program, KILLS if ASKS_TENSORBOARD else 2)
    is_sent_elsewhere(program)
    print("every step is shown once")


if __name__ == "__main__":
    main()
