#!/usr/bin/env python3
"""A stored model continues a text: the same one for the same seed, the likeliest without any."""
import json
import resource
import shutil
import signal
import subprocess
import time

import token_files
from program import Program, check, check_refused

PROMPT = "3 times 3 "


def generate(program, *words):
    result = program.alone("generate", *words)
    check(result.status == 0 and not result.error_lines(), f"generate {words}", result)
    check(len(result.err.splitlines()) == 1 and "tokens/s" in result.err,
          f"one line about it, not {result.err!r}")
    return result.out


def refused(program, status, word, *words):
    result = program.alone("generate", *words)
    check_refused(result, status, word)
    check(result.out == "", "a refusal generates nothing", result)


def texts_repeat(program):
    run, prompt = "runs/tiny", ("--prompt", PROMPT)
    greedy = generate(program, run, *prompt, "--tokens", "100")
    check(greedy.startswith(PROMPT) and len(greedy) > len(PROMPT), f"it goes on: {greedy!r}")
    check(greedy == generate(program, run, *prompt, "--tokens", "100", "--temperature", "0"),
          "greedy is temperature 0")
    check(greedy == generate(program, run, *prompt, "--tokens", "100", "--temperature", "3",
                             "--top-k", "1"), "greedy is the likeliest one of one")
    draw = (run, *prompt, "--tokens", "100", "--temperature", "0.9", "--seed")
    check(generate(program, *draw, "7") == generate(program, *draw, "7"), "a seed repeats")
    check(generate(program, *draw, "7") != generate(program, *draw, "8"), "another does not")
    short = generate(program, run, *prompt, "--tokens", "5")
    check(greedy.startswith(short[:-1]), f"{short!r} begins {greedy!r}")


def prompts_come_from_files_and_models_travel(program):
    (program.folder / "prompt.txt").write_text(PROMPT)
    (program.folder / "long.txt").write_text(PROMPT * 20)
    shutil.copytree(program.folder / "runs/tiny/model", program.folder / "moved")
    ours = generate(program, "runs/tiny", "--prompt", PROMPT)
    check(ours == generate(program, "moved", "--prompt-file", "prompt.txt"), "the same text")
    end = (PROMPT * 20)[-32:]
    long = generate(program, "moved", "--prompt-file", "long.txt", "--tokens", "50")
    seen = generate(program, "moved", "--prompt", end, "--tokens", "50")
    check(long.removeprefix(PROMPT * 20) == seen.removeprefix(end), "the end of a long one is seen")


def lines_are_continued(program):
    """As each prompt alone, in any batch; with beams, too."""
    prompts = [PROMPT, "7 ", "12 times 5 is"]
    (program.folder / "lines.txt").write_text("".join(prompt + "\n" for prompt in prompts))
    lines = ("runs/tiny", "--input", "lines.txt", "--tokens", "8")
    greedy = program.alone("generate", *lines)
    alone = [generate(program, "runs/tiny", "--prompt", prompt, "--tokens", "8")
             for prompt in prompts]
    check(greedy.out == "".join(text[:-1].replace("\n", " ") + "\n" for text in alone),
          f"{greedy.out!r} and not {alone!r}", greedy)
    beams = [program.alone("generate", *lines, "--num-beams", "4", "--batch", batch).out
             for batch in ("1", "8")]
    check(beams[0] == beams[1] and beams[0].count("\n") == 3, f"beams in any batch: {beams}")
    refused(program, 2, "answers none", "runs/tiny", "--chat")


def piped(program, text, option):
    """What is generated of a pipe, in place of a file."""
    line = [str(program.zeroapp), "generate", "runs/tiny", option, "/dev/stdin"]
    done = subprocess.run(line, input=text, capture_output=True, text=True, cwd=program.folder,
                          env=program.env, timeout=60)
    check(done.returncode == 0, f"{option} of a pipe: {done}")
    return done.stdout


def pipes_are_read(program):
    written = generate(program, "runs/tiny", "--prompt", PROMPT)
    check(piped(program, PROMPT, "--prompt-file") == written, "a prompt of a pipe")
    (program.folder / "one.txt").write_text(PROMPT)
    written = program.alone("generate", "runs/tiny", "--input", "one.txt").out
    check(piped(program, PROMPT, "--input") == written != "", "lines of a pipe")


def killed_behind_texts(program, line, first):
    """What a generate leaves that is killed when some of its texts are there."""
    process = program.popen([str(program.zeroapp), *line, "--first-line", str(first)])
    left = program.folder / f"drawn.tmp-{process.pid}.{first}"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if left.exists() and left.read_bytes().count(b"\n") >= 3:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate()
    check(left.exists(), f"killed at its work: {sorted(program.folder.iterdir())}")
    return left.read_bytes().split(b"\n")[:-1]


def texts_come_as_they_are_done_and_go_on_behind_a_kill(program):
    count = 400
    program.write("many.txt", "".join(f"{i} times " + "\n" for i in range(count)))
    line = ("generate", "runs/tiny", "--input", "many.txt", "--output", "drawn", "--tokens", "20",
            "--temperature", "0.9", "--seed", "5", "--batch", "4")
    begun = killed_behind_texts(program, line, 1)
    second = len(begun) + 1
    more = killed_behind_texts(program, line, second)
    third = second + len(more)
    rest = program.alone(*line, "--first-line", str(third))
    check(rest.status == 0, "what killed ones have left blocks nothing", rest)
    for first, left, then in ((1, begun, second), (second, more, third)):
        words = (f"holds {len(left)} texts of a generate that was ended, from line {first} on; "
                 f"--first-line {then} goes on behind them")
        check(words in rest.err, f"{words!r} is said", rest)
    last = (program.folder / "drawn").read_bytes().split(b"\n")[:-1]
    (program.folder / "drawn").unlink()
    whole = program.alone(*line)
    texts = (program.folder / "drawn").read_bytes().split(b"\n")[:-1]
    check(len(texts) == count and texts == begun + more + last, "the parts are the whole", whole)
    check(len(set(texts[-6:])) > 1, f"and each another: {texts[-6:]}")
    for left in program.folder.glob("drawn*"):
        left.unlink()


def a_full_disk_leaves_whole_texts(program):
    program.write("few.txt", "1 \n" * 100)
    line = ("generate", "runs/tiny", "--input", "few.txt", "--output", "full", "--tokens", "20")
    process = program.popen([str(program.zeroapp), *line],
                            before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300)))
    error = process.communicate(timeout=60)[1]
    left = (program.folder / f"full.tmp-{process.pid}.1").read_bytes()
    count = left.count(b"\n")
    check(process.returncode == 5 and left.endswith(b"\n") and 250 < len(left) < 300,
          f"{left!r}: {error}")
    check(f"holds the {count} texts that were written before; --first-line {count + 1} goes on"
          in error, error)


def ids_stand_for_texts(program):
    asked = ("runs/tiny", "--prompt", PROMPT, "--tokens", "12")
    text, ids = (generate(program, *asked, *more) for more in ((), ("--ids",)))
    check(bytes(int(id) for id in ids.split()).decode() == text[:-1], f"{ids!r} of {text!r}")
    program.write("one.txt", PROMPT)
    lines = ("generate", "runs/tiny", "--input", "one.txt", "--tokens", "12", "--ids")
    check(program.alone(*lines).out == ids, f"{ids!r} of a line, too")
    refused(program, 2, "a talk is of texts", "runs/tiny", "--chat", "--ids")
    refused(program, 2, "only a file has lines", *asked, "--first-line", "2")
    refused(program, 2, "one.txt has 1 line", *lines[1:], "--first-line", "2")


def lines_are_as_long_as_alone(program):
    """Without a word of a length each goes on to the model's end, whatever else is there."""
    prompts = [PROMPT * 2 + "\n", "3 \n", PROMPT + "\n"]
    (program.folder / "lines.txt").write_text("".join(prompts))
    together = program.alone("generate", "runs/tiny", "--input", "lines.txt")
    alone = [piped(program, prompt, "--input") for prompt in prompts]
    check(together.out == "".join(alone), f"{together.out!r} and not {alone}", together)
    check([len(text) for text in alone] == 3 * [32 + 1 + 1], f"one more than positions: {alone}")


def rules_hold_for_a_prompt(program):
    asked = ("runs/tiny", "--prompt", PROMPT, "--tokens", "8")
    last = generate(program, *asked, "--forced-eos-token-id", str(ord("A")))
    check(last.removesuffix("\n").endswith("A"), f"{last!r} ends with A")
    new = generate(program, *asked, "--encoder-no-repeat-ngram-size", "1")[len(PROMPT):-1]
    check(new and not set(new) & set(PROMPT), f"{new!r} has nothing of {PROMPT!r}")
    short = generate(program, "runs/tiny", "--prompt", PROMPT, "--max-length", str(len(PROMPT) + 3))
    check(short == generate(program, *asked)[:len(PROMPT) + 3] + "\n", f"{short!r}: three more")


def a_runs_rule_of_the_source_holds_for_a_prompt(program):
    result = program.train(1, "run.steps=2", "generation.encoder_no_repeat_ngram_size=1",
                           "generation.max_new_tokens=8", "export.at_end=true",
                           "run.output=runs/said")
    check(result.finished(), "trains", result)
    new = generate(program, "runs/said", "--prompt", PROMPT)[len(PROMPT):-1]
    check(new and not set(new) & set(PROMPT), f"{new!r} has nothing of {PROMPT!r}")


def the_models_file_is_gone_by(program):
    """generation_config.json holds where nothing is written, whether texts are shown as they come
    or not."""
    asked, file = ("moved", "--prompt", PROMPT), program.folder / "moved/generation_config.json"
    most = len(PROMPT) + 6
    for said, written in (
            ({"max_length": most}, ("--max-length", str(most))),
            ({"do_sample": True, "temperature": 0.9, "top_k": 9, "max_new_tokens": 30},
             ("--temperature", "0.9", "--top-k", "9", "--tokens", "30"))):
        wanted = generate(program, *asked, *written)
        file.write_text(json.dumps(said))
        check(generate(program, *asked) == wanted != generate(program, *asked, "--tokens", "3",
                                                              "--temperature", "0"), f"{said}")
        file.unlink()
    greedy = generate(program, *asked, "--tokens", "30")
    end = greedy[len(PROMPT) + 4]
    file.write_text(json.dumps({"eos_token_id": ord(end)}))
    short = generate(program, *asked, "--tokens", "30")
    check(short == PROMPT + greedy[len(PROMPT):].partition(end)[0] + end + "\n", f"{short!r}")
    longer = generate(program, *asked, "--tokens", "30", "--min-new-tokens", "20")
    check(len(longer) > len(PROMPT) + 20, f"{longer!r}: no end before")
    refused(program, 2, "write --tokens 201 as well", *asked, "--min-new-tokens", "201")
    file.unlink()
    beams = ("--num-beams", "3", "--max-length", str(most))
    wanted = program.alone("generate", *asked, *beams).out
    file.write_text(json.dumps({"num_beams": 3, "max_length": most}))
    check(program.alone("generate", *asked).out == wanted, f"beams of the file: {wanted!r}")
    refused(program, 2, "write --tokens N", "moved", "--num-beams", "1", "--prompt", PROMPT * 2)
    refused(program, 2, "write --num-beams 1 as well", *asked, "--temperature", "0.5")
    file.unlink()


def texts_have_known_tokens_and_no_special_end(program):
    """The tokenizer knows 257 of 300 ids; the last of these is its end."""
    result = program.train(1, "export.at_end=true", "run.steps=2", "model.vocab_size=300",
                           "run.output=runs/words")
    check(result.finished(), "trains", result)
    model = program.folder / "runs/words/model"
    config = json.loads((model / "config.json").read_text())
    del config["zeroapp"]["tokenizer"]
    (model / "config.json").write_text(json.dumps(config))
    letters = [*list(token_files.BPE_VOCABULARY)[:256], "<|end|>"]
    (model / "vocab.json").write_text(json.dumps({text: i for i, text in enumerate(letters)}))
    (model / "merges.txt").write_text("#version: 0.2\n")
    roles = model / "special_tokens_map.json"
    roles.write_text(json.dumps({"eos_token": "<|end|>"}))
    asked, drawn = (str(model), "--prompt", "ab"), ("--temperature", "100", "--tokens", "28")
    program.write("two.txt", "ab\nab\n")
    lines = program.alone("generate", str(model), "--input", "two.txt", "--output", "texts", *drawn)
    check(lines.status == 0, "knows all of its tokens", lines)
    last = (*asked, "--max-length", "5", "--forced-eos-token-id", "256")
    ended = generate(program, *last)
    check("<|end|>" not in ended, f"{ended!r}: the tokenizer's end is that of a model without one")
    roles.write_text("{}")
    shown = generate(program, *last)
    check(shown.endswith("<|end|>\n"), f"{shown!r}: a token like any other")
    (model / "generation_config.json").write_text(json.dumps({"eos_token_id": 256}))
    roles.write_text(json.dumps({"eos_token": "<|end|>"}))
    check(generate(program, *last) == ended == shown.replace("<|end|>", ""),
          f"{ended!r} ends without a word of it")
    others = ",".join(str(i) for i in range(300) if i != 256)
    only = ("--tokens", "9", "--suppress-tokens", others)
    forced = generate(program, *asked, *only)
    check(forced == "ab\n", f"{forced!r}: the end at once")
    (model / "generation_config.json").unlink()
    forced = generate(program, *asked, *only)
    check(forced == "ab\n", f"{forced!r}: the tokenizer's end, too")


def ranks_continue_together(program):
    """Each holds a shard of the weights; the first one is fed and shows."""
    for options in (("--tokens", "40"), ("--tokens", "40", "--temperature", "0.8", "--seed", "2"),
                    ("--tokens", "9", "--num-beams", "3")):
        asked = ("generate", "runs/tiny", "--prompt", PROMPT, *options)
        ranks = program.together(2, *asked)
        check(ranks.out == program.alone(*asked).out != "", f"two ranks with {options}", ranks)
    program.write("three.txt", f"{PROMPT}\n3\n3 times\n")
    asked = ("generate", "runs/tiny", "--input", "three.txt", "--tokens", "12")
    ranks = program.together(4, *asked)
    check(ranks.out == program.alone(*asked).out != "", "more ranks than lines", ranks)


def what_cannot_be_generated_is_refused(program):
    refused(program, 2, "--prompt TEXT", "moved")
    refused(program, 2, "temperature 0", "moved", "--prompt", "x", "--seed", "3")
    refused(program, 2, "temperature 0", "moved", "--prompt", "x", "--top-p", "0.5")
    refused(program, 2, "temperature 0", "moved", "--prompt", "x", "--top-k", "3")
    for least in ("--min-length", "--min-new-tokens"):
        refused(program, 2, "name an eos_token_id", "moved", "--prompt", "x", least, "3")
    refused(program, 2, "no number from", "moved", "--prompt", "x", "--temperature", "-1")
    refused(program, 2, "takes no settings", "moved", "--prompt", "x", "run.seed=3")
    refused(program, 3, "is not there", "absent", "--prompt", "x")
    config = program.folder / "moved/config.json"
    whole = config.read_text()
    config.write_text(whole.replace('"bytes"', '"of another program"'))
    refused(program, 3, "has no tokenizer; copy the tokenizer.json", "moved", "--prompt", "x")
    (program.folder / "moved/tokenizer.json").write_text("{}")
    refused(program, 3, "moved/tokenizer.json: model: is no object", "moved", "--prompt", "x")
    config.write_text(whole)
    weights = program.folder / "moved/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    refused(program, 3, "model.safetensors", "moved", "--prompt", "x")


def main():
    program = Program()
    result = program.train(1, "export.at_end=true", "run.steps=60", "bf16.enabled=true")
    check(result.finished(), "trains", result)
    texts_repeat(program)
    prompts_come_from_files_and_models_travel(program)
    lines_are_continued(program)
    pipes_are_read(program)
    texts_come_as_they_are_done_and_go_on_behind_a_kill(program)
    a_full_disk_leaves_whole_texts(program)
    ids_stand_for_texts(program)
    lines_are_as_long_as_alone(program)
    rules_hold_for_a_prompt(program)
    a_runs_rule_of_the_source_holds_for_a_prompt(program)
    the_models_file_is_gone_by(program)
    texts_have_known_tokens_and_no_special_end(program)
    ranks_continue_together(program)
    what_cannot_be_generated_is_refused(program)
    print("every text repeats")


main()
