#!/usr/bin/env python3
"""Checkpoints and models that an enemy wrote, with digests that hold: ls, fsck, inspect, export, a
resume and import-weights refuse each in one line that names the file and what is wrong, within a
second and 64 MiB more than a good one takes. What is forged in HDF5's structure alone only fsck
refuses, and the others read the payloads beside it."""
import concurrent.futures
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import forge
from program import Program, Result, check, python_with_h5py

STEP = "step00000002"
SECONDS, BYTES, PATIENCE = 1.0, 64 << 20, 20
SEAL = ',\n"sha256": "{}"}}\n'
SETTINGS = ("model.layers=1", "model.width=16", "model.heads=1", "run.steps=2",
            "checkpoint.resume=auto")
# The words of each command, with a place and a name of its own, and the status of a refusal.
COMMANDS = {
    "ls": (("ls", "{place}"), 0),
    "fsck": (("fsck", "{place}"), 4),
    "fsck of structure": (("fsck", "{place}"), 3),
    "inspect": (("inspect", "{place}"), 3),
    "export": (("export", "{place}", "out-{name}"), 3),
    "resume": (("tiny.toml", *SETTINGS, "checkpoint.resume_from={place}",
                "run.output=runs/{name}"), 4),
    "resume of a model": (("tiny.toml", *SETTINGS, "checkpoint.resume_from={place}",
                           "run.output=runs/{name}"), 3),
}
ALL = ("ls", "fsck", "inspect", "export", "resume")
IMPORT = (("import-weights", "{place}", "in-{name}"), 3)


class Hostile(Program):
    """A checkpoint of one rank, of which every case has a copy, and a model likewise."""

    def __init__(self):
        super().__init__()
        result = self.alone("tiny.toml", *SETTINGS, "run.output=runs/good")
        check(result.finished(), "a run saves a checkpoint", result)
        self.good, self.model = self.folder / "runs/good/checkpoints" / STEP, self.folder / "model"
        result = self.alone("export", "runs/good", "model")
        check(result.status == 0, "and its model is exported", result)
        self.bytes_of_good = {}
        for name, (words, _) in dict(COMMANDS, imported=IMPORT).items():
            place = "model" if name == "imported" else "runs/good/checkpoints"
            result, bytes_taken, _ = self.measured(words, place, f"good-{name}")
            check(result.status == 0, f"{name} of a good one", result)
            self.bytes_of_good[words[0]] = bytes_taken

    def measured(self, words, place, name):
        """Result, peak of bytes and seconds of the processor that a command takes."""
        line = [str(self.zeroapp), *(word.format(place=place, name=name) for word in words)]
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            process = subprocess.Popen(line, cwd=self.folder, env=self.env, stdout=out, stderr=err)
            ended, status, usage = 0, 0, None
            end = time.monotonic() + PATIENCE
            while not ended and time.monotonic() < end:
                time.sleep(0.005)
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if not ended:
                process.kill()
                sys.exit(f"failed: {line} takes more than {PATIENCE} s")
            process.returncode = os.waitstatus_to_exitcode(status)
            texts = [file.seek(0) or file.read() for file in (out, err)]
        seconds = usage.ru_utime + usage.ru_stime
        result = Result(process.returncode, *texts, self.folder / "none")
        return result, usage.ru_maxrss * 1024, seconds

    def copy(self, case):
        """A folder of checkpoints, or a model's, of its own."""
        place = self.folder / "cases" / case
        shutil.copytree(self.good, place / STEP)
        return place

    def reseal(self, cases):
        folders = [str(self.folder / "cases" / case / STEP) for case in cases]
        subprocess.run([str(self.library), *folders], check=True)

    def refuses(self, case, words, commands):
        for command in commands:
            line, status = COMMANDS.get(command, IMPORT)
            name = "".join(letter if letter.isalnum() else "-" for letter in case)
            self.refuses_one(f"{case}: {command}", status, words,
                             self.measured(line, f"cases/{case}", name), line[0])

    def takes(self, case):
        for command in ("ls", "inspect", "export", "resume"):
            words = COMMANDS[command][0]
            name = "taken-" + "".join(letter if letter.isalnum() else "-" for letter in case)
            self.refuses_one(f"{case}: {command}", 0, [],
                             self.measured(words, f"cases/{case}", name), words[0])

    def refuses_one(self, what, status, words, measured, command):
        result, taken, seconds = measured
        check(result.status == status, f"{what}: status {result.status}, not {status}", result)
        said = result.out if status == 0 else "".join(result.error_lines())
        for word in words:
            check(word in said, f"{what}: {word!r} in {said!r}", result)
        check(len(result.error_lines()) == (status != 0), f"{what}: one line", result)
        check(seconds < SECONDS, f"{what}: takes {seconds} s", result)
        more = taken - self.bytes_of_good[command]
        check(more < BYTES, f"{what}: takes {more} bytes more than a good one", result)


def structures_are_forged(program, python):
    """What HDF5's library would follow, join, unpack or allocate. Nothing here reads it, so only
    fsck minds, which knows what this program writes."""
    for case, forge_bytes in forge.PATCHED.items():
        path = program.copy(case) / STEP / forge.RANK
        raw = bytearray(path.read_bytes())
        forge_bytes(raw)
        path.write_bytes(raw)
    cases = {case: forge.RANK for case in forge.PATCHED}
    if python:
        for case, (file, _) in forge.OPENED.items():
            program.copy(case)
            cases[case] = file
        subprocess.run([python, forge.__file__, str(program.folder / "cases")], check=True)
    else:
        print("SKIP what h5py forges: it is not installed (Debian: python3-h5py)")
    program.reseal(cases)
    for case, file in cases.items():
        words = [f"{STEP}/{file}: ", "may see what is not in the checkpoint"]
        yield case, words, ("fsck of structure",)


def sealed(manifest):
    text = json.dumps(manifest)[:-1]
    return text + SEAL.format(hashlib.sha256(text.encode()).hexdigest())


def forge_manifest(program, case, change):
    path = program.copy(case) / STEP / "MANIFEST.json"
    manifest = json.loads(path.read_text())
    del manifest["sha256"]
    change(manifest)
    path.write_text(sealed(manifest))


def manifests_are_refused(program):
    """Names that lead elsewhere, numbers beyond the files."""
    for case, (_, change) in forge.MANIFESTS.items():
        forge_manifest(program, case, change)
    forge_manifest(program, "much of all", forge.much_of_all)
    sparse = program.copy("sparse manifest") / STEP / "MANIFEST.json"
    os.truncate(sparse, 1 << 40)
    for case, (words, _) in forge.MANIFESTS.items():
        yield case, [f"{STEP}/MANIFEST.json: ", words], ALL
    yield "much of all", [f"{STEP}/rank00001.h5: ", "No such file"], ALL
    long = program.copy("manifest of 200 MiB") / STEP / "MANIFEST.json"
    os.truncate(long, 200 << 20)
    yield "manifest of 200 MiB", ["has 209715200 bytes, at most 671"], ALL
    yield "sparse manifest", ["has 1099511627776 bytes"], ALL


def descriptions_are_refused(program):
    """Models that the tensors, or the run that saved them, are not of."""
    for case, (words, change) in forge.DESCRIPTIONS.items():
        forge_manifest(program, case, change)
        yield case, [STEP, 'fact "model": describes ', words], ("export", "resume of a model")


def files_are_refused(program):
    """Files of kinds that no checkpoint has."""
    kinds = {"symbolic link": lambda path: path.symlink_to(program.good / path.name),
             "2 links": lambda path: path.hardlink_to(program.folder / "text.txt"),
             "no regular file": os.mkfifo,
             "bytes, the manifest says": lambda path: path.touch() or os.truncate(path, 1 << 40)}
    for words, make in kinds.items():
        for file in (forge.RANK, "MANIFEST.json"):
            if file == "MANIFEST.json" and words.startswith("bytes"):
                continue
            path = program.copy(f"{words}, {file}") / STEP / file
            path.unlink()
            make(path)
            yield f"{words}, {file}", [f"{STEP}/{file}: ", words], ALL


def models_are_refused(program):
    """Headers of safetensors, pickles and an index of files, as import-weights reads them."""
    for case, (words, forge_model) in forge.MODELS.items():
        place = program.folder / "cases" / case
        shutil.copytree(program.model, place)
        forge_model(place)
        yield case, [words], ("import",)


def main():
    program = Hostile()
    forged = [*structures_are_forged(program, python_with_h5py())]
    cases = [*forged, *manifests_are_refused(program), *files_are_refused(program),
             *descriptions_are_refused(program), *models_are_refused(program)]
    # Each is one process that mostly starts.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for _ in pool.map(lambda case: program.refuses(*case), cases):
            pass
        for _ in pool.map(program.takes, [case for case, *_ in forged]):
            pass
    print(f"{len(cases)} hostile checkpoints and models, none is taken for good")


if __name__ == "__main__":
    main()
