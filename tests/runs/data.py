#!/usr/bin/env python3
"""What `zeroapp data` shows, every format of tokens, and what is refused of damaged ones."""
import json

import damaged_files
import token_files
from program import Program, check

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 2
[model]
layers = 1
width = 16
heads = 2
vocab_size = 1000
[data]
train = "ids.txt"
sequence_length = 1
[run]
steps = 2
threads = 1
"""
LENGTH = 8
IDS = [ord(c) for c in "".join(f"{i} plus {i} is {i + i}.\n" for i in range(40))]
LONGER = f"data.sequence_length={LENGTH}"


def samples(program, *words, steps="1..2"):
    result = program.alone("data", "data.toml", "--json", "--steps", steps, *words)
    check(result.status == 0, f"data {words} ends with 0", result)
    return [json.loads(line) for line in result.out.splitlines()]


def counts(program, *words):
    result = program.alone("data", "data.toml", "--json", *words)
    check(result.status == 0, f"data {words} ends with 0", result)
    return json.loads(result.out)


def trained(program, *settings):
    return program.wait(program.start(1, *settings, input_file="data.toml"), run="data")


def all_windows(program, *words):
    """sample -> tokens, of one epoch."""
    samples_in_all = counts(program, LONGER, *words)["train"]["samples"]
    steps = f"1..{-(-samples_in_all // 8)}"
    found = samples(program, LONGER, *words, steps=steps)
    return {s["sample"]: s["tokens"] for s in found if s["epoch"] == 1}


def write_files(program, stem, files):
    for suffix, content in files.items():
        (program.folder / (stem + suffix)).write_bytes(content)
    return stem + (".bin" if ".bin" in files else next(iter(files)))


def every_format_holds_the_same_samples(program):
    window = LENGTH + 1
    wanted = {i: IDS[i * window:(i + 1) * window] for i in range(len(IDS) // window)}
    check(all_windows(program) == wanted, "the samples are the text, window by window")
    for name, files in token_files.all_formats(IDS).items():
        train = "data.train=" + write_files(program, name, files)
        check(all_windows(program, train) == wanted, f"{name} holds the same samples")
        capped = all_windows(program, train, "data.max_train_samples=5")
        check(capped == {i: wanted[i] for i in range(5)}, f"{name} is cut to 5 samples")


def every_format_trains_alike(program):
    losses = {}
    for name, files in {"text": {".txt": bytes(IDS)}, **token_files.all_formats(IDS)}.items():
        if name[-1] in "1235":
            continue  # read as mapped8 and legacy4 are
        train = "data.train=" + write_files(program, name, files)
        result = trained(program, LONGER, train, "data.validation=ids.txt")
        check(result.finished(), f"{name} trains", result)
        losses[name] = [record["loss"] for record in result.metrics if "loss" in record]
    check(len(losses) >= 6 and len(losses["text"]) == 2, f"six formats, two steps each: {losses}")
    check(all(found == losses["text"] for found in losses.values()), f"losses differ: {losses}")


def ranks_share_a_batch(program):
    alone, together = samples(program, LONGER), samples(program, LONGER, "--ranks", "2")
    check([s["sample"] for s in alone] == [s["sample"] for s in together],
          "a batch is the same for any number of ranks")
    for number, sample in enumerate(together):
        micro = number % 8 // 2
        place = (sample["position"], sample["step"], sample["rank"], sample["micro_batch"])
        check(place == (number, number // 8 + 1, micro % 2, micro // 2), f"place {place}")


def text_is_shown(program):
    result = program.alone("data", "data.toml", LONGER, "--steps", "1", "--decode")
    check(result.status == 0, "data --decode ends with 0", result)
    first = samples(program, LONGER, "--decode", steps="1")[0]
    check(first["text"] == "".join(map(chr, first["tokens"])), f"text of {first}")
    check(json.dumps(first["text"]) in result.out, "the text stands on the console", result)
    result = program.alone("data", "data.toml", "data.train=nanogpt.bin", "--decode")
    check(result.status == 2 and "data.tokenizer=FOLDER" in result.err,
          "ids beyond bytes want a tokenizer", result)


def epochs_become_steps(program):
    words = ("run.steps=0", "run.epochs=2", LONGER, "data.max_train_samples=9")
    found = counts(program, *words)
    check((found["steps"], found["epochs"]) == (3, 24 / 9), f"2 epochs of 9 samples: {found}")
    result = trained(program, *words)
    check(result.finished() and "finished step 3 of 3" in result.out, "training does as many",
          result)
    planned = program.alone("plan", "data.toml", *words)
    check(planned.status == 0 and "zeroapp data" in planned.out,
          "a plan says where the steps come from", planned)
    late = trained(program, *words, "run.stop_at=4")
    check(late.status == 2 and "run.stop_at" in late.err, "a stop behind the end", late)


def refused(program, name, train, *words):
    result = program.alone("data", "data.toml", f"data.train={train}")
    lines = result.error_lines()
    check(result.status == 3 and len(lines) == 1, f"{name}: status 3 and one line", result)
    for word in words:
        check(word in lines[0], f"{name}: {word!r} in {lines[0]!r}", result)


def damaged_files_are_refused(program):
    count = 0
    for name, (content, words) in damaged_files.bin_files().items():
        refused(program, name, write_files(program, "bad", {".bin": content}), "bad.bin", words)
        count += 1
    for name, (body, index, words) in damaged_files.pairs().items():
        files = {".bin": body, ".idx": index}
        refused(program, name, write_files(program, "pair", files), "pair.", words)
        count += 1
    for name, (content, words) in damaged_files.texts().items():
        refused(program, name, write_files(program, "bad", {".txt": content}), "bad.txt", words)
        count += 1
    check(count >= 60, f"60 damaged files, not {count}")


def what_is_no_file_is_refused(program):
    (program.folder / "folder.bin").mkdir()
    refused(program, "a folder", "folder.bin", "folder.bin: is no regular file")
    (program.folder / "loop.bin").symlink_to("loop.bin")
    refused(program, "a loop", "loop.bin", "loop.bin: Too many levels")
    refused(program, "below a file", "ids.txt/a.bin", "ids.txt/a.bin: Not a directory")
    refused(program, "missing", "no.bin", "tools/data/make_tokens.sh no.txt no.bin")
    (program.folder / "index.bin").write_bytes(token_files.nanogpt(IDS))
    (program.folder / "index.idx").mkdir()
    refused(program, "a folder for an index", "index.bin", "index.idx: is no regular file")


def wrong_steps_are_refused(program):
    for word in ("0", "3..1", "1..", "..2", "x", "1..2..3", "-1"):
        result = program.alone("data", "data.toml", "--steps", word)
        check(result.status == 2 and "--steps" in result.err, f"--steps {word}", result)


def main():
    program = Program()
    program.write("data.toml", INPUT)
    (program.folder / "ids.txt").write_bytes(bytes(IDS))
    every_format_holds_the_same_samples(program)
    ranks_share_a_batch(program)
    text_is_shown(program)
    wrong_steps_are_refused(program)
    damaged_files_are_refused(program)
    what_is_no_file_is_refused(program)
    epochs_become_steps(program)
    every_format_trains_alike(program)
    print("all data read")


main()
