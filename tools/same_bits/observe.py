"""What one program makes of one run: a flat table of names and values that must not change."""
import dataclasses
import fnmatch
import hashlib
import json
import pathlib
import sys

from cases import INPUT, NAME

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/runs"))
from program import Program  # noqa: E402 (found by the line above)

OF_A_STEP = ("loss_hex", "grad_norm", "lr", "loss_scale", "skipped", "tokens")
OF_A_RUN = ("state_sha256", "eval_loss", "eval_tokens", "steps", "updates", "homes", "batch")
OF_AN_EVALUATION = ("loss_hex", "tokens")
REFUSED = "status 2:"  # the end of a run whose settings a program does not take
OF_TWINS = ("end", "loss_hex.*", "state_sha256", "eval_loss", "tensor.*")
SECONDS = 600  # of one launch on a machine that does much else


def flat(value, name):
    """(name.key.index, value) of everything inside."""
    if not isinstance(value, (dict, list)):
        yield name, value
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from flat(inner, f"{name}.{key}")


def tensors(folder, name):
    """Name, type, shape and bytes of each tensor of model.safetensors, and the description."""
    data = (folder / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    for tensor, facts in json.loads(data[8:start]).items():
        if tensor == "__metadata__":
            continue
        first, last = facts["data_offsets"]
        digest = hashlib.sha256(data[start + first:start + last]).hexdigest()
        yield f"{name}.{tensor}", f"{facts['dtype']} {facts['shape']} {digest}"
    yield f"{name}.config.json", (folder / "config.json").read_text()


def of_training(result, folder):
    """Every step, the state at the end, and the exported model."""
    for line in result.metrics:
        for key in OF_A_STEP:
            yield f"{key}.{line['step']}", line.get(key)
    if result.summary["state_sha256"] is None:
        sys.exit("same_bits: a run has no hash of its state; run.state_hash = true takes it")
    for key in OF_A_RUN:
        yield from flat(result.summary.get(key), key)
    yield from tensors(folder / "model", "tensor")
    if (folder / "sample.txt").exists():
        yield "sample.txt", (folder / "sample.txt").read_text(errors="replace")


def of_command(program, field, words):
    result = program.wait(program.popen([str(program.zeroapp), *words]), timeout=SECONDS)
    if result.status != 0:
        yield f"{field}.end", f"status {result.status}: {' '.join(result.error_lines())}"
    elif field == "eval":
        found = json.loads(result.out)
        yield from ((f"eval.{key}", found.get(key)) for key in OF_AN_EVALUATION)
    elif field.startswith("export"):
        yield from tensors(program.folder / words[2], field)
    else:
        yield field, result.out


def of_plan(program, run):
    words = ("plan", f"{NAME}.toml", "--json", "--machine", "host", "--ranks", str(run.ranks))
    result = program.wait(program.popen([str(program.zeroapp), *words, *run.settings]),
                          timeout=SECONDS)
    if result.status == 0:
        yield from flat(json.loads(result.out), "plan")
    else:
        yield "plan.end", f"status {result.status}: {' '.join(result.error_lines())}"


def launch(program, ranks, settings, env):
    process = program.start(ranks, *settings, env=env, input_file=f"{NAME}.toml")
    run = next((s.rpartition("/")[2] for s in settings if s.startswith("run.output=")), NAME)
    return program.wait(process, run, SECONDS), program.folder / "runs" / run


def end_of(result):
    if result.finished():
        return "finished"
    return f"status {result.status}: {' '.join(result.error_lines()) or result.err[-200:]}"


def observe(zeroapp, base, mpiexec, run):
    """Everything about `run` that `zeroapp` makes; where it has a beginning, `base` makes that."""
    program = Program([base if run.begin else zeroapp, mpiexec])
    program.write(f"{NAME}.toml", INPUT)
    (program.folder / "disk").mkdir()
    seen = {}
    if run.begin:
        ranks, settings = run.begin
        result, _ = launch(program, ranks, settings, run.env)
        seen["begin"] = end_of(result)
        program.zeroapp = pathlib.Path(zeroapp).resolve()
    result, folder = launch(program, run.ranks, run.settings, run.env)
    seen["end"] = end_of(result)
    if seen["end"] == "finished":
        seen.update(of_training(result, folder))
        for field, words in run.commands:
            seen.update(of_command(program, field, words))
    seen.update(of_plan(program, run))
    program.place.cleanup()
    return seen


def observe_twin(zeroapp, mpiexec, run):
    ranks, settings = run.twin
    twin = dataclasses.replace(run, ranks=ranks, settings=settings, commands=())
    return observe(zeroapp, zeroapp, mpiexec, twin)


def what_twins_share(seen):
    """Without plans and sums of squares, which other ranks and stages have in other ways."""
    return {field: value for field, value in seen.items()
            if any(fnmatch.fnmatchcase(field, name) for name in OF_TWINS)}
