#!/usr/bin/env python3
"""What an end was ordered to leave and could not is made by the same command later; what a killed
export has left goes away, and import-weights removes nothing but what it made."""
import json
import os
import signal
import shutil
import subprocess
import time

from folder import mounted, release
from program import Program, check, check_refused
from token_files import BPE_VOCABULARY

ENDS = ("checkpoint.resume=auto", "export.at_end=true", "run.steps=3", "evaluation.show_samples=1")
PAIRS = 8


def train(program, *settings, ranks=2):
    return program.train(ranks, *ENDS, *settings)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def made_later(program, folder, what):
    result = train(program)
    check(result.finished() and "going on from step 3, " in result.out, f"{what}: later", result)
    check((folder / "model/model.safetensors").exists(), f"{what}: the model is there", result)
    check((folder / "sample.txt").exists(), f"{what}: with what else an end leaves", result)
    check(not list(folder.glob("model.tmp*")), f"{what}: and no half of it", result)
    check(not (folder / "error.json").exists(), f"{what}: nor the old error", result)
    before = (folder / "model/model.safetensors").stat().st_mtime_ns
    (folder / "error.json").write_text("{}")
    again = train(program)
    check(again.status in (0, 1) and "step 3 of 3 is reached" in again.out, f"{what}: once", again)
    check((folder / "model/model.safetensors").stat().st_mtime_ns == before, f"{what}: only once")
    check(not (folder / "error.json").exists(), f"{what}: an old error goes when all is there")


def failed_export_is_made_later(program):
    """As a launch leaves it that has written its summary and no more."""
    folder = program.folder / "runs/tiny"
    first = train(program)
    check(first.finished(), "a run that exports", first)
    wanted = (folder / "model/model.safetensors").read_bytes()
    shutil.rmtree(folder / "model")
    (folder / "sample.txt").unlink()
    made_later(program, folder, "after it was lost")
    check((folder / "model/model.safetensors").read_bytes() == wanted, "it is the same model")
    for left in (f"model.tmp-{os.getpid()}", "model.tmp-1", "model.tmp-4194303"):
        (folder / left / "half").mkdir(parents=True)
    shutil.rmtree(folder / "model")
    made_later(program, folder, "after a kill")


def ordered_afterwards(program):
    """An export that is ordered when the last step is reached already."""
    shutil.rmtree(program.folder / "runs")
    plain = program.train(1, "checkpoint.resume=auto", "run.steps=3")
    check(plain.finished(), "a run without an export", plain)
    made_later(program, program.folder / "runs/tiny", "ordered afterwards")


def full_disk_is_made_room_on(program):
    place = mounted(program, "full", "size=3500k")
    if place is None:
        return
    settings = ("run.output=runs/full", "checkpoint.dir=elsewhere")
    (place / "filler").write_bytes(bytes(3200 << 10))
    failed = train(program, *settings, ranks=1)
    check_refused(failed, 5, "No space left on device", "runs/full/model")
    check((place / "summary.json").exists() and not (place / "model").exists(), "without a model",
          failed)
    (place / "filler").unlink()
    result = train(program, *settings, ranks=1)
    check(result.status in (0, 1) and (place / "model/model.safetensors").exists(), "made later",
          result)
    check(not (place / "error.json").exists(), "and nothing is said to have failed", result)
    release(place)


def killed_in_an_export(program):
    """At the moment when the half of it is there."""
    source = program.folder / "runs/tiny"
    out = program.folder / "out"
    out.mkdir()
    for _ in range(3):
        process = program.popen([str(program.zeroapp), "export", str(source), "out/model"])
        deadline = time.monotonic() + 30
        while process.poll() is None and not names(out) and time.monotonic() < deadline:
            pass
        process.send_signal(signal.SIGKILL)
        process.communicate()
        shutil.rmtree(out / "model", ignore_errors=True)
    result = program.alone("export", str(source), "out/model")
    check(result.status == 0 and names(out) == ["model"], f"what kills leave goes: {names(out)}",
          result)


def imports_at_once_lose_nothing(program):
    """One of two into one folder wins, and the other removes nothing of it."""
    line = [str(program.zeroapp), "import-weights", "out/model"]
    for pair in range(PAIRS):
        both = [program.popen([*line, f"in/{pair}"]) for _ in range(2)]
        ended = [(process.communicate(timeout=60), process.returncode) for process in both]
        statuses = sorted(status for _, status in ended)
        check(statuses in ([0, 5], [0, 0]) and statuses[0] == 0, f"pair {pair}: {ended}")
        check(statuses == [0, 5], f"pair {pair}: one of them: {ended}")
        found = subprocess.run([str(program.zeroapp), "fsck", f"in/{pair}"], cwd=program.folder,
                               capture_output=True, text=True)
        check(found.returncode == 0 and "verified" in found.stdout, f"pair {pair}: {found}")
    check(names(program.folder / "in") == [str(pair) for pair in range(PAIRS)], "and nothing else")


def a_tokenizer_that_is_left_out_is_told_at_the_end(program):
    tokenizer, private = program.folder / "tokenizer", program.folder / "private"
    tokenizer.mkdir()
    private.write_text(json.dumps(BPE_VOCABULARY))
    (tokenizer / "vocab.json").symlink_to(private)
    (tokenizer / "merges.txt").write_text("#version: 0.2\np l\npl u\nplu s\n")
    result = program.train(1, "export.at_end=true", "run.steps=2", "model.vocab_size=300",
                           "data.tokenizer=tokenizer", "run.output=runs/words")
    words = "before it writes: copy tokenizer/vocab.json to runs/words/model; try: "
    check(result.finished() and words in result.out, words, result)
    check("eval runs/words\n" in result.out.partition(words)[2], "no command that fails", result)


def main():
    program = Program()
    failed_export_is_made_later(program)
    ordered_afterwards(program)
    killed_in_an_export(program)
    imports_at_once_lose_nothing(program)
    full_disk_is_made_room_on(program)
    a_tokenizer_that_is_left_out_is_told_at_the_end(program)
    print("what was ordered is done")


if __name__ == "__main__":
    main()
