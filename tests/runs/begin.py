#!/usr/bin/env python3
"""A training begins with the weights, or goes on with the state, of another one, or is refused."""
import json
import re
import shutil
import struct

import torch_file
from program import Program, check, state_of

GO_ON = "checkpoint.resume=auto"
# Nothing is updated, so that what a run ends with is what it began with.
STILL = ("run.steps=1", "optimizer.lr=0.0")


def weights(program, place):
    """The fp32 weights that a checkpoint holds, as one text of bytes."""
    out = program.folder / "exported"
    shutil.rmtree(out, ignore_errors=True)
    result = program.alone("export", place, "exported", "--dtype", "fp32")
    check(result.status == 0, f"export {place}", result)
    raw = (out / "model.safetensors").read_bytes()
    return raw[8 + struct.unpack("<Q", raw[:8])[0]:]


def source(program):
    """A run at stage 3 of two ranks, whose model is exported too."""
    result = program.train(2, GO_ON, "zero.stage=3", "bf16.enabled=true", "run.output=runs/source",
                           "checkpoint.interval=3", "export.at_end=true")
    check(result.finished(), "the source trains", result)


def began(program, ranks, name, *settings):
    output = f"runs/{name}"
    result = program.train(ranks, GO_ON, f"run.output={output}", *settings)
    check(result.finished(), f"{name} trains", result)
    return result, output


def weights_are_taken_at_any_ranks_and_stage(program):
    wanted = weights(program, "runs/source")
    for stage, ranks in ((0, 1), (1, 2), (2, 2), (3, 2)):
        result, output = began(program, ranks, f"from-{stage}", *STILL, "bf16.enabled=true",
                               f"zero.stage={stage}", "model.init_from=runs/source/checkpoints")
        check("beginning with the weights of runs/source/checkpoints/step00000006" in result.out,
              "it says where they are from", result)
        check(weights(program, output) == wanted, f"stage {stage}: the same masters")
    _, output = began(program, 1, "step", *STILL,
                      "model.init_from=runs/source/checkpoints/step00000003")
    check(weights(program, output) == weights(program, "runs/source/checkpoints/step00000003"),
          "another step, another precision: the same masters")
    _, output = began(program, 1, "folder", *STILL, "model.init_from=runs/source/model")
    check(weights(program, output) != wanted, "a model folder holds bf16 alone")
    imported = program.alone("import-weights", "runs/source/model", "imported")
    check("model.init_from=imported" in imported.out, "import says what to do next", imported)
    _, other = began(program, 2, "imported", *STILL, "zero.stage=3", "model.init_from=imported")
    check(weights(program, output) == weights(program, other), "as its import does")


def a_file_of_pytorch_does_as_its_twin(program):
    """pytorch_model.bin with the tensors of a model.safetensors, one of them under two names."""
    twin = program.folder / "twin"
    shutil.copytree(program.folder / "runs/source/model", twin)
    torch_file.of_safetensors(twin / "model.safetensors", twin / "pytorch_model.bin",
                              tied=[("transformer.wte.weight", "lm_head.weight")])
    both, _ = began(program, 1, "both", *STILL, "model.init_from=twin")
    check("the weights of twin/model.safetensors;" in both.out, "safetensors come first", both)
    (twin / "model.safetensors").unlink()
    for ranks in (1, 2):
        result, output = began(program, ranks, f"twin-{ranks}", *STILL, "model.init_from=twin")
        check("the weights of twin/pytorch_model.bin;" in result.out, "it says so", result)
        check(weights(program, output) == weights(program, "runs/both"), f"{ranks}: same masters")
    imported = program.alone("import-weights", "twin", "imported-twin")
    check(imported.status == 0, "it is imported", imported)
    compared = program.alone("inspect", "imported", "imported-twin")
    check(" tensors equal, 0 differ, 0 only in " in compared.out, "the same tensors", compared)


def a_training_goes_on_by_itself(program):
    settings = ("model.init_from=runs/source/checkpoints", "bf16.enabled=true")
    began(program, 1, "own", *settings, "run.stop_at=2")
    again, _ = began(program, 1, "own", *settings)
    check("going on from step 2" in again.out and "beginning with" not in again.out,
          "its own checkpoint comes first", again)


def refused(program, status, words, *settings):
    result = program.train(1, GO_ON, "run.output=runs/refused", *settings)
    lines = result.error_lines()
    check(result.status == status and len(lines) == 1, f"{settings}: status {status}", result)
    for word in words:
        check(word in result.err, f"{settings}: {word!r} in {result.err}", result)
    return result


def what_does_not_fit_is_refused(program):
    source_of = "model.init_from=runs/source"
    refused(program, 3, ["holds another model than [model] says", "layers = 2", "command line: 1"],
            source_of, "model.layers=1")
    refused(program, 3, ["is not there"], "model.init_from=runs/absent")
    refused(program, 2, ["init_from", "resume_from"], source_of,
            "checkpoint.resume_from=runs/source")
    refused(program, 4, ["weights alone", 'model.init_from = "imported/step00000000"'],
            "checkpoint.resume_from=imported")
    refused(program, 4, ["is not there"], "checkpoint.resume_from=runs/absent")
    check(not (program.folder / "runs/refused").exists(), "a refused start leaves nothing")


def bare(program):
    """The input file without a number of the model."""
    lines = (program.folder / "tiny.toml").read_text().splitlines(keepends=True)
    numbers = ("layers", "width", "heads", "dropout")
    program.write("bare.toml", "".join(line for line in lines if not line.startswith(numbers)))
    return "bare.toml"


def dropout_of(program, rates, *settings, output="runs/rates"):
    """A training by a folder whose config.json has these rates."""
    folder = program.folder / "rates"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(program.folder / "runs/source/model", folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | rates))
    return program.train(1, f"run.output={output}", "run.steps=1", "model.init_from=rates",
                         *settings, input_file=bare(program))


def a_folder_says_the_numbers(program):
    settings = ("run.steps=4", "model.init_from=here")
    own = ("run.output=runs/bare", *settings)
    shutil.copytree(program.folder / "runs/source/model", program.folder / "here")
    first = program.train(2, GO_ON, *own, "run.stop_at=2", input_file=bare(program))
    said = "of here/model.safetensors; dropout 0.1, as it says"
    check(first.finished() and said in first.out, "all", first)
    effective = (program.folder / "runs/bare/effective.toml").read_text()
    for line in ("layers = 2  # derived from model.init_from", "dropout = 0.1", "heads = 2  #"):
        check(line in effective, f"{line!r} in {effective}")
    shutil.rmtree(program.folder / "here")
    rest = program.train(2, GO_ON, *own, input_file=bare(program))
    check(rest.finished() and "going on from step 2" in rest.out, "its checkpoint says them", rest)
    gone = program.train(1, GO_ON, *settings, "run.output=runs/gone", input_file=bare(program))
    check(gone.status == 2 and "which would say it, is not there" in gone.err, "missed", gone)

    none = {name: 0.0 for name in ("embd_pdrop", "attn_pdrop", "resid_pdrop")}
    check("dropout 0, as it says" in dropout_of(program, none).out, "the folder's rate acts")
    other = dropout_of(program, none, "model.dropout=0.2")
    check("dropout 0.2, as model.dropout says" in other.out, "or another one, if written", other)
    odd = dropout_of(program, none | {"layer_norm_epsilon": 1e-06}, "export.at_end=true", GO_ON,
                     output="runs/odd")
    there = json.loads((program.folder / "runs/odd/model/config.json").read_text())
    check(odd.finished() and there["layer_norm_epsilon"] == 1e-06, f"its epsilon too: {there}", odd)
    for place in ("runs/odd", "runs/odd/checkpoints", "rates"):
        held_out = program.alone("eval", place, "data.validation=text.txt")
        check(held_out.status == 0, f"is evaluated by {place}", held_out)
    lost = program.train(1, GO_ON, "run.output=runs/odd", "run.steps=2", "model.dropout=0.0")
    check(lost.status == 3 and ", epsilon 1e-06" in lost.err, "none is changed silently", lost)
    mixed = dropout_of(program, {"attn_pdrop": 0.0})
    check(mixed.status == 3 and "write model.dropout" in mixed.err, "no single rate says it", mixed)
    kept = program.alone("import-weights", "rates", "kept")
    said = "attn_pdrop 0, of which the checkpoint keeps the first; write model.dropout"
    check(kept.status == 0 and said in kept.err, "an import says what it keeps", kept)


def state_of_another_run_goes_on(program):
    wanted, _ = began(program, 1, "straight", "run.steps=8")
    began(program, 1, "half", "run.steps=8", "run.stop_at=5")
    result, _ = began(program, 1, "rest", "run.steps=8", "checkpoint.resume_from=runs/half")
    check("going on from step 5, runs/half" in result.out, "it says from where", result)
    states = [state_of(json.loads((program.folder / f"runs/{name}/summary.json").read_text()))
              for name in ("straight", "rest")]
    check(states[0] == states[1], f"the same bytes: {states}", wanted)
    refused(program, 3, ["architecture"], "run.steps=8", "model.width=32",
            "checkpoint.resume_from=runs/half")


def other_data_must_be_allowed(program):
    (program.folder / "other.txt").write_text("".join(f"{i} and {i + 1}.\n" for i in range(2000)))
    settings = ("run.steps=8", "checkpoint.resume_from=runs/half", "data.train=other.txt")
    result = refused(program, 3, ["data is", "data.changed = true"], *settings)
    was, now = re.search(r"data is (.+) there and (.+) now", result.err).groups()
    check(re.fullmatch(r"text\.txt, fingerprint [0-9a-f]{16}", was), f"file and number: {was}")
    shown = json.loads(program.alone("data", "tiny.toml", *settings[2:], "--json").out)
    check(now == f"other.txt, fingerprint {shown['fingerprint']}", f"as data shows it: {now}")
    inspected = program.alone("inspect", "runs/half").out
    check(was.split()[-1] in inspected, f"inspect shows it in this form: {inspected}")
    result, _ = began(program, 1, "changed", *settings, "data.changed=true")
    check(f"changed since: data: {was}, now {now}" in result.out
          and "changed since: data.train" in result.out, "both are listed", result)


def weights_alone_are_no_state(program):
    result, output = began(program, 2, "light", "zero.stage=2", "checkpoint.weights_only=true",
                           "run.stop_at=3")
    whole, _ = began(program, 2, "heavy", "zero.stage=2", "run.stop_at=3")
    check(weights(program, output) == weights(program, "runs/heavy"), "the same weights", result)
    sizes = [sum(path.stat().st_size for path in (program.folder / f"runs/{name}/checkpoints")
                 .glob("step*/rank*")) for name in ("light", "heavy")]
    check(sizes[0] < 0.4 * sizes[1], f"few of the bytes: {sizes}", whole)
    again = program.train(2, GO_ON, "zero.stage=2", f"run.output={output}")
    check(again.status == 4 and "model.init_from" in again.err, "no resume of it", again)
    result, _ = began(program, 1, "from-light", *STILL, f"model.init_from={output}")
    check(weights(program, "runs/from-light") == weights(program, output), "it can be begun with")


def main():
    program = Program()
    source(program)
    weights_are_taken_at_any_ranks_and_stage(program)
    a_file_of_pytorch_does_as_its_twin(program)
    a_training_goes_on_by_itself(program)
    what_does_not_fit_is_refused(program)
    a_folder_says_the_numbers(program)
    state_of_another_run_goes_on(program)
    other_data_must_be_allowed(program)
    weights_alone_are_no_state(program)
    print("all begun as they should")


main()
