#!/usr/bin/env python3
"""ls, fsck, inspect, export and import-weights on checkpoints of runs of any ranks and stage."""
import json
import os
import pathlib
import shutil
import struct

from program import Program, check, check_refused, python_with_h5py
from tensor_files import safetensors

SEEN = pathlib.Path(__file__).with_name("seen_by_h5py.py").resolve()
SETTINGS = ("checkpoint.resume=auto", "checkpoint.interval=2", "checkpoint.keep=0")
# Runs with checkpoints of steps 2, 4 and 6: their ranks and settings.
RUNS = {
    "fp32": (1, ("zero.stage=0",)),
    "bf16": (2, ("zero.stage=3", "bf16.enabled=true")),
    "fp16": (4, ("zero.stage=3", "fp16.enabled=true", "fp16.initial_scale_power=4")),
}
# Rows of the table of a model that is several times as large as what an export of it may take.
ROWS = 800_000
BYTES_MORE = 24 << 20
HF_TYPES = {"fp32": "F32", "bf16": "BF16", "fp16": "F16"}


def run_of(name):
    return f"runs/{name}"


def trained(program):
    for name, (ranks, settings) in RUNS.items():
        result = program.train(ranks, *SETTINGS, *settings, f"run.output={run_of(name)}")
        check(result.finished(), f"{name} trains", result)
        check(f"export {run_of(name)} {run_of(name)}/model" in result.out,
              f"{name}: the command of its export is said", result)


def succeeds(program, *words):
    result = program.alone(*words)
    check(result.status == 0 and not result.error_lines(), f"{words}", result)
    return result.out


def refused(program, status, word, *words):
    result = program.alone(*words)
    check_refused(result, status, word)
    return result


def flip(path, offset):
    content = bytearray(path.read_bytes())
    content[offset] ^= 4
    path.write_bytes(content)


def steps_are_listed(program):
    out = succeeds(program, "ls", run_of("bf16"))
    check("a run goes on from step 6: it is the newest" in out, f"ls says which: {out}")
    found = json.loads(succeeds(program, "ls", f"{run_of('bf16')}/checkpoints", "--json"))
    check([step["step"] for step in found["steps"]] == [2, 4, 6], f"all steps: {found}")
    for step in found["steps"]:
        check(step["verifies"] and step["ranks"] == 2 and step["stage"] == "3"
              and step["compute"] == "bf16" and step["bytes"] > 100000, f"what is in it: {step}")
    check(found["latest"] == 6 and found["resume"] == 6, f"{found}")
    one = json.loads(succeeds(program, "ls", f"{run_of('bf16')}/checkpoints/step00000004", "--json",
                              "--quick"))
    check([step["step"] for step in one["steps"]] == [4], f"one step: {one}")
    refused(program, 3, "is not there", "ls", "runs/absent")
    away = program.train(1, "checkpoint.dir=kept/here", "run.output=runs/away", "run.steps=1")
    check(away.finished(), "checkpoints elsewhere", away)
    check("kept/here" in succeeds(program, "fsck", "runs/away"), "are found from the run")


def damage_is_named(program):
    copy = program.folder / "damaged"
    shutil.copytree(program.folder / run_of("bf16"), copy, symlinks=True)
    out = succeeds(program, "fsck", "damaged")
    check(out.count("verified") == 3, f"all verify: {out}")
    check("LEFTOVER" not in out, f"and nothing else lies there: {out}")
    unfinished = copy / "checkpoints" / f".tmp-step00000008-{'a' * 32}"
    unfinished.mkdir()
    out = succeeds(program, "fsck", "damaged")
    check(f'LEFTOVER: "damaged/checkpoints/{unfinished.name}": a save that did not end - the next '
          "launch that saves here removes it" in out, f"what a kill leaves is named: {out}")
    flip(copy / "checkpoints/step00000006/rank00001.h5", 70000)
    result = refused(program, 3, "1 of 3", "fsck", "damaged")
    check("rank00001.h5: block 0" in result.out and result.out.count("verified") == 2,
          "the block is named", result)
    check("goes on from step 4: step 6 does not verify" in succeeds(program, "ls", "damaged"),
          "ls says why")
    # A resume does what ls says.
    again = (*SETTINGS[1:], *RUNS["bf16"][1], "run.output=damaged", "run.steps=7")
    demanded = program.train(2, *again, "checkpoint.resume=require")
    check_refused(demanded, 4, "rank00001.h5: block 0", 'checkpoint.resume = "auto"')
    resumed = program.train(2, *again, "checkpoint.resume=auto")
    check("going on from step 4" in resumed.out, "a resume takes it", resumed)
    check("warning: step 6 does not verify and is passed over" in resumed.err, "with a warning",
          resumed)
    check(not unfinished.exists(), "and removes what a kill left", resumed)
    launches = [json.loads(line) for line in (copy / "launches.jsonl").read_text().splitlines()]
    told = [(one.get("resumed_from_step"), one["ended"]) for one in launches[-2:]]
    check(told == [(6, "step 6 does not verify"), (4, "finished step 7 of 7")], f"launches: {told}")
    for path in copy.glob("checkpoints/step*/MANIFEST.json"):
        flip(path, 100)
    refused(program, 4, "none of its checkpoints verifies", "fsck", "damaged")
    empty = program.folder / "empty"
    empty.mkdir()
    refused(program, 4, "holds no checkpoint", "fsck", "empty")
    refused(program, 4, "is the folder of no run, and holds no checkpoint", "ls", "empty")
    (empty / "checkpoints").mkdir()
    check("begin anew" in succeeds(program, "ls", "empty"), "ls of a run that has saved nothing")


def passing_over_is_said(program):
    """By all who take the newest checkpoint of a run, once."""
    short = program.folder / "short"
    shutil.copytree(program.folder / run_of("bf16"), short, symlinks=True)
    (short / "checkpoints/step00000006/rank00001.h5").unlink()
    begun = program.train(2, "model.init_from=short", "run.output=runs/begun", "run.steps=1")
    check("beginning with the weights of short/checkpoints/step00000004" in begun.out,
          "a training begins with an older one", begun)
    for result in (begun, program.alone("inspect", "short"), program.alone("eval", "short"),
                   program.alone("export", "short", "short-model")):
        check(result.status in (0, 1) and not result.error_lines(), "an older one is taken", result)
        told = result.err.count("warning: step 6 does not verify and is passed over: short/")
        check(told == 1, f"and the newer one named once, not {told} times", result)


def tensors_are_shown(program):
    out = succeeds(program, "inspect", run_of("fp32"))
    for word in ("model/", "optimizer/variance/", "transformer.wte.weight", "[256, 64]", "std"):
        check(word in out, f"{word} in {out}")
    found = json.loads(succeeds(program, "inspect", run_of("fp32"), "--json"))
    check(found["facts"]["step"] == "6" and len(found["tensors"]) == 4 * 28, "all tensors")
    check(all(t["non_finite"] == 0 and t["min"] <= t["mean"] <= t["max"] for t in found["tensors"]),
          "their statistics")
    steps = [f"{run_of('fp32')}/checkpoints/step{step:08d}" for step in (4, 6)]
    same = json.loads(succeeds(program, "inspect", steps[0], steps[0], "--json"))
    check(same["equal"] == 4 * 28 and not same["differing"], f"equal to itself: {same}")
    other = json.loads(succeeds(program, "inspect", *steps, "--json"))
    check(other["equal"] == 0 and len(other["differing"]) == 4 * 28, "a step changes everything")
    check("28 tensors equal" in succeeds(program, "inspect", "out/fp32", steps[1]),
          "an export holds the weights")


def exports_are_the_weights(program):
    (program.folder / "out").mkdir()
    for name, (ranks, settings) in RUNS.items():
        out = program.folder / "out" / name
        succeeds(program, "export", run_of(name), f"out/{name}")
        # What export.at_end writes of the same training is byte for byte the same.
        again = program.train(ranks, *settings, "export.at_end=true", f"run.output=at_end/{name}")
        check(again.finished(), f"{name} again", again)
        for file in ("model.safetensors", "config.json"):
            check((out / file).read_bytes() ==
                  (program.folder / "at_end" / name / "model" / file).read_bytes(),
                  f"{name}: {file} of export and of export.at_end")
        tensors = safetensors(out / "model.safetensors")
        check({dtype for dtype, _, _ in tensors.values()} == {HF_TYPES[name]}, f"{name}: dtype")
        check(tensors["transformer.wte.weight"][1] == [256, 64] and "lm_head.weight" not in tensors,
              "no padding, and a tied head")
        refused(program, 5, "never overwritten", "export", run_of(name), f"out/{name}")
    for dtype, word in HF_TYPES.items():
        succeeds(program, "export", run_of("bf16"), f"out/as_{dtype}", "--dtype", dtype)
        tensors = safetensors(program.folder / f"out/as_{dtype}/model.safetensors")
        check({kind for kind, _, _ in tensors.values()} == {word}, f"--dtype {dtype}")
    refused(program, 2, "fp32, bf16, fp16", "export", run_of("bf16"), "out/x", "--dtype", "int8")
    refused(program, 2, "no OUT", "export", run_of("bf16"))
    refused(program, 3, "name a run", "export", "out", "out/x")


def exports_are_cut(program):
    succeeds(program, "export", run_of("fp32"), "out/cut", "--max-shard-size", "200KB")
    folder = program.folder / "out/cut"
    files = sorted(folder.glob("*.safetensors"))
    check(len(files) > 1 and all(path.stat().st_size < 210_000 for path in files), f"{files}")
    joined = {}
    for path in files:
        joined.update(safetensors(path))
    check(joined == safetensors(program.folder / "out/fp32/model.safetensors"), "the same tensors")
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    check(set(index["weight_map"]) == set(joined), "the index names them")
    refused(program, 2, "is no size", "export", run_of("fp32"), "out/x", "--max-shard-size", "5")
    # The same loss, told by the same digits.
    losses = {evaluated(program, place) for place in ("out/cut", "out/fp32", run_of("fp32"))}
    check(len(losses) == 1, f"{losses}")


def evaluated(program, place):
    words = ("data.validation=text.txt", "data.max_validation_samples=5", "--json")
    result = program.wait(program.popen([*program.launch_line(2), "eval", place, *words]))
    check(result.status in (0, 1) and not result.error_lines(), f"eval {place}", result)
    return json.loads(result.out)["loss_hex"]


def checkpoints_are_used_as_models(program):
    for name in RUNS:
        whole = run_of(name)
        places = (whole, f"{whole}/checkpoints", f"{whole}/checkpoints/step00000006")
        check(len({evaluated(program, place) for place in (*places, f"out/{name}")}) == 1,
              f"{name}: one loss wherever it is read from")
        check(evaluated(program, f"{whole}/checkpoints/step00000002") !=
              evaluated(program, whole), f"{name}: another step, another loss")
    prompt = ("--prompt", "3 times 3 ", "--tokens", "20")
    texts = {succeeds(program, "generate", place, *prompt)
             for place in (run_of("bf16"), f"{run_of('bf16')}/checkpoints", "out/bf16")}
    check(len(texts) == 1, f"one text wherever it is read from: {texts}")


def imports_come_back(program):
    for name in RUNS:
        succeeds(program, "import-weights", f"out/{name}", f"in/{name}")
        check("weights alone" in succeeds(program, "ls", f"in/{name}"), "ls knows it")
        succeeds(program, "fsck", f"in/{name}")
        succeeds(program, "export", f"in/{name}", f"out/{name}_again")
        for file in ("model.safetensors", "config.json"):
            check((program.folder / f"out/{name}_again/{file}").read_bytes() ==
                  (program.folder / f"out/{name}/{file}").read_bytes(), f"{name}: {file} again")
        refused(program, 5, "never overwritten", "import-weights", f"out/{name}", f"in/{name}")
    mismatches_are_listed(program)
    what_fp16_cannot_hold_is_refused(program)


def what_fp16_cannot_hold_is_refused(program):
    shutil.copytree(program.folder / "out/fp32", program.folder / "large")
    weights = program.folder / "large/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + struct.pack("<f", 70000.0))
    succeeds(program, "import-weights", "large", "in/large")
    refused(program, 3, "proj.bias: holds 70000", "export", "in/large", "out/y", "--dtype", "fp16")
    check(not list((program.folder / "out").glob("y*")), "and nothing is made")
    succeeds(program, "export", "in/large", "out/y", "--dtype", "bf16")


def mismatches_are_listed(program):
    broken = program.folder / "broken"
    shutil.copytree(program.folder / "out/fp32", broken)
    config = broken / "config.json"
    config.write_text(config.read_text().replace('"n_layer": 2', '"n_layer": 1'))
    result = program.alone("import-weights", "broken", "in/broken")
    check(result.status == 3 and result.err.count("expected nothing") == 5,
          "five tensors are listed", result)
    check(not (program.folder / "in/broken").exists(), "and nothing is made")


def large_model(program):
    """The one of fp32, with more rows: 205 MB, nearly all of them holes of its file."""
    folder = program.folder / "wide"
    shutil.copytree(program.folder / "out/fp32", folder)
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"vocab_size": 256', f'"vocab_size": {ROWS}'))
    header, end = {}, 0
    for name, (dtype, shape, content) in safetensors(folder / "model.safetensors").items():
        wide = name == "transformer.wte.weight"
        begin, end = end, end + (4 * ROWS * shape[1] if wide else len(content))
        header[name] = {"dtype": dtype, "shape": [ROWS, shape[1]] if wide else shape,
                        "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.truncate(8 + len(text) + end)
    return folder.name, end


def bytes_taken(program, *words):
    """At most, by a command that succeeds."""
    process = program.popen([str(program.zeroapp), *words])
    status, usage = os.wait4(process.pid, 0)[1:]
    process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"{words}")
    return 1024 * usage.ru_maxrss


def exports_take_little_memory(program):
    wide, size = large_model(program)
    kinds = {"st": (), "h5": ("--format", "hdf5"), "bf": ("--dtype", "bf16")}
    few = bytes_taken(program, "import-weights", "out/fp32", "in/few")
    many = bytes_taken(program, "import-weights", wide, "in/many")
    check(many - few < BYTES_MORE < size / 3, f"import-weights takes {many - few} bytes more")
    for kind, words in kinds.items():
        few = bytes_taken(program, "export", "in/few", f"out/few_{kind}", *words)
        many = bytes_taken(program, "export", "in/many", f"out/many_{kind}", *words)
        check(many - few < BYTES_MORE, f"export {words} of {size} bytes takes {many - few} more")
        shutil.rmtree(program.folder / f"out/many_{kind}")


def h5py_reads_what_safetensors_hold(program):
    python = python_with_h5py()
    if not python:
        print("SKIP h5py: it is not installed (Debian: python3-h5py)")
        return
    for name, (ranks, _) in RUNS.items():
        succeeds(program, "export", run_of(name), f"out/{name}_h5", "--format", "hdf5")
        succeeds(program, "export", run_of(name), f"out/{name}_fp32", "--dtype", "fp32")
        files = (f"{run_of(name)}/checkpoints/latest/checkpoint.h5", f"out/{name}_h5/model.h5",
                 f"out/{name}_fp32/model.safetensors")
        seen = program.wait(program.popen([python, str(SEEN), *files]))
        check(seen.status == 0 and "all equal" in seen.out, f"{name} of {ranks} ranks", seen)


def main():
    program = Program()
    trained(program)
    steps_are_listed(program)
    damage_is_named(program)
    passing_over_is_said(program)
    exports_are_the_weights(program)
    tensors_are_shown(program)
    exports_are_cut(program)
    checkpoints_are_used_as_models(program)
    imports_come_back(program)
    exports_take_little_memory(program)
    h5py_reads_what_safetensors_hold(program)
    print("looked at, exported, imported")


main()
