#!/usr/bin/env python3
"""What `zeroapp data` shows, every format of tokens, and what is refused of damaged ones."""
import json
import re
import shutil

import damaged_files
import token_files
from program import Program, check, check_refused

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
[checkpoint]
resume = "never"
"""
LENGTH = 8
IDS = [ord(c) for c in "".join(f"{i} plus {i} is {i + i}.\n" for i in range(40))]
LONGER = f"data.sequence_length={LENGTH}"
STILL = (LONGER, "optimizer.lr=0", "model.dropout=0")  # so every step has the first weights


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
    formats = token_files.all_formats(IDS)
    names = ("tokens16", "llmc16", "llmc32", "nanogpt", "mapped8", "legacy4")
    files = {"ids.txt": {}} | {f"{name}.bin": formats[name] for name in names}
    found = {}
    for path, content in files.items():
        if content:
            write_files(program, path.removesuffix(".bin"), content)
        result = trained(program, LONGER, f"data.train={path}", f"data.validation={path}")
        check(result.finished(), f"{path} trains", result)
        evaluated = re.findall(r"evaluation after step .* tokens", result.out)
        found[path] = [record["loss"] for record in result.metrics] + evaluated
    check(len(found["ids.txt"]) == 3, f"two steps and an evaluation: {found}")
    check(all(losses == found["ids.txt"] for losses in found.values()), f"losses differ: {found}")


def shown_samples_are_the_trained_ones(program):
    result = program.wait(program.start(2, *STILL, "run.steps=3", input_file="data.toml"), "data")
    check(result.finished(), "three steps without a learning rate", result)
    losses = [record["loss"] for record in result.metrics]
    check(min(abs(a - b) for a in losses for b in losses if a is not b) > 1e-5,
          f"batches can be told apart: {losses}")
    for step, loss in enumerate(losses, start=1):
        shown = samples(program, LONGER, "--ranks", "2", steps=str(step))
        require_loss_of(program, shown, loss)


def require_loss_of(program, shown, loss):
    """A step of these samples has this loss, before anything is learnt."""
    ids = [token for sample in shown for token in sample["tokens"]]
    write_files(program, "shown", {".bin": token_files.token_file(ids)})
    alone = trained(program, *STILL, "data.train=shown.bin", "run.steps=1",
                    f"train_batch_size={len(shown)}")
    check(alone.finished(), f"{len(shown)} samples train", alone)
    found = alone.metrics[0]["loss"]
    check(abs(found - loss) < 2e-6, f"step {shown[0]['step']}: {loss}, its samples alone {found}")


def goes_on(program, *settings):
    settings = ("checkpoint.resume=auto", "run.output=runs/on", *settings)
    result = program.wait(program.start(2, *settings, input_file="data.toml"), "on")
    check(result.finished(), f"{settings}", result)
    return result


def samples_follow_on_where_the_batch_changes(program):
    words, drawn = (*STILL, "run.steps=6"), []
    goes_on(program, *words, "run.stop_at=2")
    for batch, first, last in ((16, 3, 4), (4, 5, 6)):
        setting = f"train_batch_size={batch}"
        for step in range(first, last + 1):
            shown = samples(program, LONGER, setting, "--ranks", "2", "--from", "runs/on",
                            steps=str(step))
            drawn.append(shown)
        result = goes_on(program, *words, setting, f"run.stop_at={last}")
        check("the data go on behind the" in result.out, "it says where", result)
    positions = [sample["position"] for shown in drawn for sample in shown]
    check(positions == list(range(16, 16 + 2 * 16 + 2 * 4)), f"all in turn: {positions}")
    for shown, line in zip(drawn, result.metrics[2:], strict=True):
        require_loss_of(program, shown, line["loss"])
    early = program.alone("data", "data.toml", "--from", "runs/on", "--steps", "6")
    check_refused(early, 2, "write 7 or a later one")
    absent = program.alone("data", "data.toml", "--from", "runs/none", "--steps", "6")
    check(absent.status == 3, "no checkpoint to go on from", absent)


def epochs_go_on_where_the_batch_changes(program):
    words = ("run.steps=0", "run.epochs=2", LONGER, "data.max_train_samples=12",
             "scheduler.type=WarmupDecayLR", "scheduler.warmup_num_steps=2")
    shutil.rmtree(program.folder / "runs/on")
    goes_on(program, *words, "run.stop_at=1")
    words = (*words, "train_batch_size=4")
    planned = counts(program, *words, "--from", "runs/on")
    check((planned["steps"], planned["epochs"]) == (5, 2), f"16 samples are left: {planned}")
    result = goes_on(program, *words)
    check("finished step 5 of 5" in result.out, "training takes as many steps", result)
    rates = [line["lr"] for line in result.metrics]
    # After two of five steps it decays in three.
    check(abs(rates[4] / rates[3] - 2 / 3) < 1e-3, f"and the schedule ends with them: {rates}")
    effective = (program.folder / "runs/on/effective.toml").read_text()
    check("derived from run.epochs: 5" in effective, f"as it says: {effective}")
    again = program.wait(program.start(2, *words, "checkpoint.resume=auto", "run.output=runs/on",
                                       input_file="data.toml"), "on")
    check("step 5 of 5 is reached" in again.out, "nothing is left", again)


def texts_are_encoded(program):
    folder = program.folder / "bpe"
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps(token_files.BPE_VOCABULARY), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\np l\npl u\nplu s\n", encoding="utf-8")
    bpe = ("data.tokenizer=bpe",)
    windows = all_windows(program, *bpe)
    ids = [token for sample in sorted(windows) for token in windows[sample]]
    check(set(ids) & {258} and not set(ids) & {256, 257}, "every plus is one token")
    write_files(program, "encoded", {".bin": token_files.token_file(ids, 259)})
    check(all_windows(program, "data.train=encoded.bin") == windows, "a token file of the same")
    shown = samples(program, LONGER, "--decode", *bpe)
    check(all(s["text"] in bytes(IDS).decode() for s in shown), f"text of {shown}")
    before = counts(program, *bpe)["fingerprint"]
    (folder / "merges.txt").write_text("#version: 0.2\np l\npl u\n", encoding="utf-8")
    check(counts(program, *bpe)["fingerprint"] != before, "a fingerprint covers the tokenizer")


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


def blank_lines_at_the_end_are_scored_with_nothing(program):
    program.write("score.texts", "the land is wide here\n\n\n")
    program.write("score.references", "the land is wide here\n")
    for names in (("score.texts", "score.references"), ("score.references", "score.texts")):
        result = program.alone("score", *names, "--json")
        check(result.status == 0 and json.loads(result.out)["lines"] == 1, "one line", result)
        check("score.texts: 2 blank lines at the end are passed over" in result.err, "told", result)
    program.write("score.texts", "the land is wide here\n\nand more\n")
    check_refused(program.alone("score", "score.texts", "score.references"), 3,
                  "score.texts: has 3 lines, and score.references 1")


def main():
    program = Program()
    program.write("data.toml", INPUT)
    (program.folder / "ids.txt").write_bytes(bytes(IDS))
    every_format_holds_the_same_samples(program)
    ranks_share_a_batch(program)
    texts_are_encoded(program)
    text_is_shown(program)
    wrong_steps_are_refused(program)
    blank_lines_at_the_end_are_scored_with_nothing(program)
    damaged_files_are_refused(program)
    what_is_no_file_is_refused(program)
    epochs_become_steps(program)
    samples_follow_on_where_the_batch_changes(program)
    epochs_go_on_where_the_batch_changes(program)
    shown_samples_are_the_trained_ones(program)
    every_format_trains_alike(program)
    print("all data read")


main()
