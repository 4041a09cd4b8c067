#!/usr/bin/env python3
"""A tiny T5 and a tiny BlenderBot go through the commands: every stage and rank count trains the
same bytes, a folder for Transformers holds every tensor under its name and comes back, texts are
written for sources, and what neither can do yet is refused by name."""
import json
import struct
import subprocess

from program import FOUR_STEPS, OFFLOADED, PAIRS, Program, check, check_refused, shared

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 2
[model]
layers = 1
decoder_layers = 2
width = 16
heads = 2
inner = 24
%s
label_smoothing = 0.1
""" + PAIRS + FOUR_STEPS + """
[checkpoint]
resume = "never"
[generation]
num_beams = 4
suppress_tokens = [7, 9]
"""
MODELS = {
    "t5": 'family = "t5"\nhead_width = 12\n',
    "flan": 'family = "t5"\nhead_width = 12\nfeed_forward = "gated-gelu"\nclassifier = "untied"\n',
    "blenderbot": 'family = "blenderbot"\nmax_positions = 40\n',
}
T5_IDS = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
IDS = {"t5": T5_IDS, "flan": T5_IDS,
       "blenderbot": {"decoder_start_token_id": 1, "pad_token_id": 0, "eos_token_id": 2}}


def trained(program, name, ranks, *settings):
    run = f"{name}_{ranks}_{len(settings)}"
    result = program.wait(program.start(ranks, *settings, f"run.output=runs/{run}",
                                        input_file=f"{name}.toml"), run=run)
    check(result.finished(), f"{name}: {ranks} ranks with {settings}", result)
    check(f'generate runs/{run} --prompt "In the beginning"' in result.out, "what to try", result)
    return result


def trains_alike_at_every_stage(program, name):
    hashes, losses = set(), set()
    cases = [(1, 0, ()), (2, 1, ()), (4, 2, ()), (2, 3, OFFLOADED)]
    for ranks, stage, more in cases:
        summary = trained(program, name, ranks, f"zero.stage={stage}", *more).summary
        hashes.add(summary["state_sha256"])
        losses.add(summary["eval_loss"])
    check(len(hashes) == 1 and len(losses) == 1, f"{name}: one state and not {hashes}, {losses}")


def names_in(folder):
    data = (folder / "model.safetensors").read_bytes()
    header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
    return {tensor: row["shape"] for tensor, row in header.items() if tensor != "__metadata__"}


def comes_back_from_a_folder(program, name, some):
    """`some` of the tensors with their extents, as Transformers has them."""
    run = f"{name}_1_1"
    stored = names_in(program.folder / f"runs/{run}/model")
    for tensor, shape in some.items():
        check(stored.get(tensor) == shape, f"{name}: {tensor} is {stored.get(tensor)}")
    program.alone("import-weights", f"runs/{run}/model", f"{name}_imported")
    program.alone("export", f"{name}_imported", f"{name}_again")
    said = [json.loads((program.folder / place / "generation_config.json").read_text())
            for place in (f"runs/{run}/model", f"{name}_again")]
    wanted = {**IDS[name], "num_beams": 4, "suppress_tokens": [7, 9]}
    check(said == [wanted, wanted], f"{name}: what [generation] says goes along: {said}")
    # Folders say nothing of [numerics], which the run has.
    data = ("data.train=pairs.tsv", "data.validation_fraction=0.2", "data.source_length=20",
            "data.target_length=12", "numerics.reproducible=true")
    losses = {json.loads(program.alone("eval", model, *data, "--json").out)["loss_hex"]
              for model in (f"runs/{run}", f"runs/{run}/model", f"{name}_imported")}
    check(len(losses) == 1, f"{name}: one loss of what was exported and imported: {losses}")


def lines_of(program, model, name, *options):
    """The bytes that generate writes for the lines of a file."""
    result = program.alone("generate", model, "--input", "sources.txt", "--output", name, *options)
    check(result.status == 0 and result.out == "", f"{name}: writes lines", result)
    return (program.folder / name).read_bytes().split(b"\n")


def writes_texts(program, name):
    """Each source has its own text, whatever others it is written with."""
    model = f"runs/{name}_1_1/model"
    sources = [f"{i} times {i + 1}"[:3 + i % 8] for i in range(11)]
    program.write("sources.txt", "".join(source + "\n" for source in sources))
    beams = ("--num-beams", "3", "--no-repeat-ngram-size", "2", "--tokens", "9")
    together = lines_of(program, model, f"{name}_8.txt", *beams)
    check(len(together) == len(sources) + 1 and together[-1] == b"", f"a line each: {together}")
    check(b"\0" not in b"".join(together), f"{name}: ids around texts are shown: {together}")
    ids = [[int(id) for id in line.split()]
           for line in lines_of(program, model, f"{name}_ids.txt", *beams, "--ids")[:-1]]
    spoken = [bytes(32 if id in b"\r\n" else id for id in line if id not in IDS[name].values())
              for line in ids]
    check(spoken == together[:-1], f"{name}: {ids} of {together}")
    check(together == lines_of(program, model, f"{name}_1.txt", *beams, "--batch", "1"),
          f"{name}: texts depend on their batch")
    check(together == lines_of(program, f"runs/{name}_1_1", f"{name}_run.txt", *beams),
          f"{name}: a run's newest model is another one")
    drawn = ("--num-beams", "1", "--temperature", "0.9", "--min-new-tokens", "4", "--tokens", "6")
    first, second = (lines_of(program, model, f"{name}_{seed}_drawn.txt", *drawn, "--seed", seed)
                     for seed in ("3", "4"))
    check(first != second, f"{name}: a seed draws others")


def ranks_write_together(program, name):
    """Ranks that hold a shard of the weights each write what one process writes: of lines, of which
    two ranks have none at last, and of a prompt."""
    model = f"runs/{name}_1_1/model"
    for case, rules in (("beams", ("--num-beams", "3", "--tokens", "9")),
                        ("drawn", ("--num-beams", "1", "--temperature", "0.9", "--tokens", "7"))):
        alone = lines_of(program, model, f"{name}_{case}_alone.txt", *rules)
        output = f"{name}_{case}_together.txt"
        result = program.together(3, "generate", model, "--input", "sources.txt",
                                  "--output", output, *rules)
        check(result.status in (0, 1) and not result.error_lines(), f"{name}: three ranks", result)
        written = (program.folder / output).read_bytes().split(b"\n")
        check(written == alone, f"{name}: {case}", result)
    asked = ("generate", model, "--prompt", "3", "--tokens", "6", "--suppress-tokens",
             ",".join(map(str, range(128, 256))))
    check(program.together(2, *asked).out == program.alone(*asked).out, f"{name}: of a prompt")
    check_refused(program.together(2, "generate", model, "--input", "absent.txt"), 3, "absent.txt")


def samples_are_answers(program, name):
    """Each behind its source, as any ranks write them."""
    files = []
    for ranks, more in ((1, ()), (2, ("zero.stage=3", *OFFLOADED))):
        result = trained(program, name, ranks, "evaluation.show_samples=3", "run.steps=2", *more)
        check("samples     3 answers after the last step, which take of each rank " in result.out,
              "said at the start", result)
        run = f"{name}_{ranks}_{2 + len(more)}"
        files.append((program.folder / f"runs/{run}/sample.txt").read_text())
    check(files[0] == files[1], f"{name}: {files}")
    blocks = [block.split("\n") for block in files[0].removesuffix("\n").split("\n\n")]
    pairs = (program.folder / "pairs.tsv").read_text().splitlines()[-60:]
    sources = {pair.split("\t")[0] for pair in pairs}
    check(len(blocks) == 3 and all(len(block) == 2 and block[0] in sources for block in blocks),
          f"{name}: {blocks}")


def talk(program, model, persona, said, ranks=1):
    launch = program.launch_line(ranks) if ranks > 1 else [str(program.zeroapp)]
    return subprocess.run(
        [*launch, "generate", model, "--chat", "--persona", persona, "--tokens", "5",
         "--min-new-tokens", "3", "--suppress-tokens", ",".join(map(str, [10, *range(128, 256)])),
         "--encoder-no-repeat-ngram-size", "1"],
        input=said, capture_output=True, text=True, cwd=program.folder, timeout=60,
        env=program.env)


def talks(program, model):
    """No answer has a letter of what is read for it, which is all that was said: 40 tokens."""
    done = talk(program, model, "I", "1\n2\n")
    check(done.returncode == 0 and done.stdout.count("\n") == 2, f"answers each line: {done}")
    check(done.stderr == "", f"nothing is to be said of it: {done}")
    first, second = done.stdout.splitlines()
    check(not set(second) & {"1", "2", *first}, f"it reads what was said before: {done}")
    ranks = talk(program, model, "I", "1\n2\n", ranks=2)
    check(ranks.stdout == done.stdout, f"two ranks talk as one: {ranks}")
    more = talk(program, model, "I", "1\n" + 40 * second + "\n2\n")
    check(more.returncode == 0 and more.stdout == done.stdout, f"{more} goes on as {done}")
    check(more.stderr.count("\n") == 1 and "219 tokens" in more.stderr, f"it was too long: {more}")
    mute = talk(program, model, 200 * "x", "1\n")
    check(mute.returncode == 2 and "write a shorter one" in mute.stderr, f"no room to talk: {mute}")


def goes_by_the_models_file(program, name):
    """As if its generation_config.json had been written as options; what is written wins."""
    program.alone("export", f"runs/{name}_1_1", f"{name}_said")
    program.alone("export", f"runs/{name}_1_1", f"{name}_silent")
    said, silent = f"{name}_said", f"{name}_silent"
    (program.folder / silent / "generation_config.json").unlink()
    (program.folder / said / "generation_config.json").write_text(json.dumps(
        {**IDS[name], "num_beams": 3, "max_length": 9, "length_penalty": 2.0,
         "no_repeat_ngram_size": 2, "suppress_tokens": [32, 101]}))
    rules = ("--num-beams", "3", "--max-length", "9", "--length-penalty", "2",
             "--no-repeat-ngram-size", "2", "--suppress-tokens", "32,101")
    texts = lines_of(program, said, f"{name}_said.txt")
    check(texts == lines_of(program, silent, f"{name}_written.txt", *rules),
          f"{name}: the file's rules are options: {texts}")
    check(texts != lines_of(program, silent, f"{name}_greedy.txt", "--max-length", "9"),
          f"{name}: the file changes texts: {texts}")
    wins = ("--num-beams", "1", "--max-length", "5", "--no-repeat-ngram-size", "0",
            "--suppress-tokens", "")
    check(lines_of(program, said, f"{name}_wins.txt", *wins) ==
          lines_of(program, silent, f"{name}_plain.txt", "--max-length", "5"),
          f"{name}: what is written wins")
    check_refused(program.alone("generate", said, "--prompt", "3", "--temperature", "1"), 2,
                  "num_beams = 3", "write --num-beams 1 as well")


def refuses_what_is_not_made(program, name):
    model = f"runs/{name}_1_1/model"
    check_refused(program.alone("generate", model, "--input", "sources.txt", "--prompt", "3"), 2,
                  "--input FILE")
    check_refused(program.alone("generate", model, "--prompt", "3", "--num-beams", "1",
                                "--length-penalty", "2"), 2, "--num-beams 4")
    check_refused(program.alone("generate", model, "--prompt", "3", "--suppress-tokens", "300"), 2,
                  "command line: --suppress-tokens: id 300 is beyond the model's vocabulary")
    check_refused(program.alone("generate", model, "--prompt", "3", "--num-beams", "2",
                                "--temperature", "1"), 2, "beams draw nothing")
    check_refused(program.alone("generate", model, "--prompt", "3", "--tokens", "3",
                                "--max-length", "4"), 2, "write one of them")
    check_refused(program.alone("generate", model, "--prompt", "3", "--suppress-tokens", "3,x"), 2,
                  "no list of ids")
    check_refused(program.alone("generate", model, "--prompt", "3", "--persona", "x"), 2, "--chat")
    check_refused(program.alone("generate", model, "--prompt", "3", "--batch", "2"), 2, "--input")
    check_refused(program.alone("generate", model, "--prompt", "3", "--output", "x"), 2, "--input")


def main():
    program = Program()
    program.write_pairs(50)
    for name, model in MODELS.items():
        program.write(f"{name}.toml", shared(INPUT % model))
        trains_alike_at_every_stage(program, name)
    comes_back_from_a_folder(program, "t5", {
        "shared.weight": [256, 16], "encoder.block.0.layer.0.SelfAttention.k.weight": [24, 16],
        "decoder.block.1.layer.1.EncDecAttention.o.weight": [16, 24],
        "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": [32, 2]})
    comes_back_from_a_folder(program, "flan", {
        "lm_head.weight": [256, 16],
        "encoder.block.0.layer.1.DenseReluDense.wi_1.weight": [24, 16]})
    comes_back_from_a_folder(program, "blenderbot", {
        "final_logits_bias": [1, 256], "model.decoder.layers.1.encoder_attn.v_proj.bias": [16]})
    for name in MODELS:
        writes_texts(program, name)
        ranks_write_together(program, name)
        samples_are_answers(program, name)
    goes_by_the_models_file(program, "blenderbot")
    refuses_what_is_not_made(program, "t5")
    refuses_what_is_not_made(program, "blenderbot")
    talks(program, "runs/blenderbot_1_1/model")
    program.write("sources.txt", "x" * 200 + "\n")
    check_refused(program.alone("generate", "runs/blenderbot_1_1", "--input", "sources.txt"), 3,
                  "line 1", "positions")
    print("encoder-decoders go all ways")


main()
