#!/usr/bin/env python3
"""Sends a run's steps and evaluations to a service that draws curves. It reads the run's folder and
goes on where it stopped, which RUN/monitor/SERVICE.json says. A row is sent once: the one that was
under way when this was killed may be missing there.

usage: tools/monitor.py RUN wandb|trackio|comet|mlflow [--project NAME] [--follow] [--offline]
The service's package must be installed, and its account set up by its own means."""
import argparse
import importlib
import json
import os
import pathlib
import time
import tomllib
import uuid

FILES = {"metrics.jsonl": "train", "evaluations.jsonl": "eval"}
PACKAGES = {"wandb": "wandb", "trackio": "trackio", "comet": "comet_ml", "mlflow": "mlflow"}


def flat(table, prefix=""):
    """{"section.key": value} of the tables of TOML."""
    settings = {}
    for key, value in table.items():
        is_table = isinstance(value, dict)
        settings.update(flat(value, f"{prefix}{key}.") if is_table else {prefix + key: value})
    return settings


def new_records(path, places):
    """The records of whole lines behind those read before; all, where a launch has cut the file."""
    text = path.read_bytes() if path.exists() else b""
    begin = places.get(path, 0) if len(text) >= places.get(path, 0) else 0
    places[path] = text.rfind(b"\n") + 1
    try:
        return [json.loads(line) for line in text[begin:places[path]].splitlines()]
    except ValueError:  # it was cut, and has grown since
        places[path] = 0
        return []


def new_rows(run, state, places):
    """(step, file, numbers) that were not sent, in the order of their steps."""
    rows = []
    for name, group in FILES.items():
        for record in new_records(run / name, places):
            if record["step"] > state["sent"].get(name, 0):
                numbers = {f"{group}/{key}": value for key, value in record.items()
                           if key != "step" and isinstance(value, (bool, int, float))}
                rows.append((record["step"], name, numbers))
    return sorted(rows, key=lambda row: row[:2])


def opened(service, run, state, options):
    """A function that sends (numbers, step), and one that ends."""
    library = importlib.import_module(PACKAGES[service])
    settings = flat(tomllib.loads((run / "effective.toml").read_text()))
    if service in ("wandb", "trackio"):
        more = {"id": state["id"]} if service == "wandb" else {}
        if service == "wandb" and options.offline:
            more["mode"] = "offline"
        one = library.init(project=options.project, name=run.name, resume="allow", config=settings,
                           **more)
        return (lambda numbers, step: one.log(numbers, step=step)), one.finish
    if service == "comet":
        one = library.start(project_name=options.project, experiment_key=state["id"],
                            online=not options.offline)
        one.log_parameters(settings)
        return (lambda numbers, step: one.log_metrics(numbers, step=step)), one.end
    if options.offline:
        library.set_tracking_uri(pathlib.Path("mlruns").resolve().as_uri())
    library.set_experiment(options.project)
    one = library.start_run(run_id=state.get("mlflow_run"), run_name=run.name)
    if "mlflow_run" not in state:
        state["mlflow_run"] = one.info.run_id
        library.log_params({key: str(value)[:500] for key, value in settings.items()})
    return (lambda numbers, step: library.log_metrics(
        {key: float(value) for key, value in numbers.items()}, step=step)), library.end_run


def keep(path, state):
    path.with_suffix(".tmp").write_text(json.dumps(state))
    os.replace(path.with_suffix(".tmp"), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("service", choices=PACKAGES)
    parser.add_argument("--project", default="zeroapp")
    parser.add_argument("--follow", action="store_true", help="until the run has ended")
    parser.add_argument("--offline", action="store_true",
                        help="into files to send later: wandb sync, comet upload, ./mlruns")
    options = parser.parse_args()
    run = options.run
    if not (run / "metrics.jsonl").exists():
        parser.error(f"{run}/metrics.jsonl: no such file; name the folder of a run that has begun")
    kept = run / "monitor" / f"{options.service}.json"
    kept.parent.mkdir(exist_ok=True)
    state = (json.loads(kept.read_text()) if kept.exists()
             else {"id": uuid.uuid4().hex, "sent": {}})
    try:
        send, end = opened(options.service, run, state, options)
    except ModuleNotFoundError as error:
        parser.error(f"{error}; pip install {PACKAGES[options.service]}")
    places = {}
    while True:
        has_ended = (run / "summary.json").exists() or (run / "error.json").exists()
        for step, name, numbers in new_rows(run, state, places):
            state["sent"][name] = step
            keep(kept, state)
            send(numbers, step)
        if has_ended or not options.follow:
            break
        time.sleep(2)
    end()


if __name__ == "__main__":
    main()
