#!/usr/bin/env python3
"""A checkpoint of every format version that was ever written loads, to the bit; one of a version to
come is refused with status 4, which names both.

A sample is a checkpoint of two ranks, with the summary of the run that saved it. MAKE=FILE in the
environment: writes the one of this version, once, when the version is new."""
import hashlib
import json
import os
import pathlib
import tarfile

from program import Program, check, check_refused, state_of

SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "golden"
INPUT = """
train_batch_size = 4
train_micro_batch_size_per_gpu = 1
bf16.enabled = true

[model]
layers = 1
width = 14
heads = 1
vocab_size = 16

[data]
train = "synthetic"
sequence_length = 8

[run]
steps = 3
threads = 1
output = "runs/sample"

[checkpoint]
resume = "auto"
interval = 3
"""
FILES = ("summary.json", "checkpoints/latest", "checkpoints/step00000003")


def run(program, *settings):
    program.write("sample.toml", INPUT)
    return program.wait(program.start(2, *settings, input_file="sample.toml"), "sample")


def make(program, path):
    result = run(program, "zero.stage=1")
    check(result.finished(), "the run of a sample", result)
    with tarfile.open(path, "w:xz") as out:
        for name in FILES:
            out.add(program.folder / "runs/sample" / name, name)
    print(f"{path}: {path.stat().st_size} bytes")


def loads(program, sample):
    folder = program.folder / "runs/sample"
    folder.mkdir(parents=True)
    with tarfile.open(sample) as packed:
        packed.extractall(folder)
    was = json.loads((folder / "summary.json").read_text())
    program.write("sample.toml", INPUT)
    result = program.alone("fsck", "runs/sample")
    check(result.status == 0 and "verified, structure not compared: " in result.out,
          f"{sample.name}: verifies", result)
    counted = program.alone("data", "sample.toml", "train_batch_size=8", "--json", "--steps", "4",
                            "--from", "runs/sample")
    position = json.loads(counted.out.splitlines()[0])["position"]
    check(position == 12, f"{sample.name}: samples of its batch: {position}", counted)
    (program.folder / "tokens.bin").write_bytes(bytes([1, 0, 2, 0, 3, 0, 4, 0] * 9))
    evaluated = program.alone("eval", "runs/sample", "data.train=tokens.bin",
                              "data.validation=tokens.bin")
    check(evaluated.status == 0 and "loss" in evaluated.out, f"{sample.name}: evaluated", evaluated)
    (folder / "summary.json").unlink()  # so that the end is reached again, without a step
    result = run(program, "zero.stage=3")
    check("step 3 of 3 is reached" in result.out or "going on from step 3" in result.out,
          f"{sample.name}: is gone on from", result)
    check(result.state() == state_of(was), f"{sample.name}: to the bit",
          result)
    result = run(program, "run.steps=5", "zero.stage=3")
    check(result.finished() and "going on from step 3" in result.out, f"{sample.name}: trains on",
          result)


def versions_to_come_are_refused(program):
    """Whatever else they say."""
    manifest = program.folder / "runs/sample/checkpoints/step00000005/MANIFEST.json"
    members = json.loads(manifest.read_text())
    del members["sha256"]
    ours = members["format_version"]
    members = {"format_version": ours + 1, "parts": [], **dict(list(members.items())[1:])}
    text = json.dumps(members)[:-1]
    digest = hashlib.sha256(text.encode()).hexdigest()
    manifest.write_text(f'{text},\n"sha256": "{digest}"}}\n')
    words = f"is of format version {ours + 1}; this program reads versions 1 to {ours}"
    check_refused(program.alone("export", "runs/sample", "out"), 4, words)
    check_refused(run(program, "run.steps=6"), 4, words)
    listed = program.alone("ls", "runs/sample")
    check("step 5 was written by a newer release" in listed.out, "and ls says so", listed)
    return ours


def main():
    program = Program()
    if os.environ.get("MAKE"):
        return make(program, pathlib.Path(os.environ["MAKE"]).absolute())
    samples = sorted(SAMPLES.glob("checkpoint_v*.tar.xz"))
    for sample in samples:
        program = Program()
        loads(program, sample)
    newest = versions_to_come_are_refused(program)
    check(len(samples) == newest, f"a sample of each version up to {newest}")
    print("every format loads")
    return None


if __name__ == "__main__":
    main()
