#!/usr/bin/env python3
"""A tiny T5 and a tiny BlenderBot answer their validation sets while they train: with the same
texts and figures at any rank count and stage, which eval and score find too; the best answers'
checkpoint is the best one, and what a model's folder says of generation holds where the input file
says nothing."""
import json
import os
import shutil

from program import Program, advised_change, check, check_refused

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 4
[model]
layers = 1
decoder_layers = 1
width = 32
heads = 2
inner = 48
%s
[data]
train = "pairs.tsv"
source_length = 12
target_length = 26
validation_fraction = 0.2
[run]
steps = 120
threads = 1
[optimizer]
lr = 5e-3
[numerics]
reproducible = true
[evaluation]
generate = true
interval = 40
[checkpoint]
interval = 40
resume = "never"
"""
MODELS = {"t5": 'family = "t5"\nhead_width = 12', "blenderbot": 'family = "blenderbot"'}
BEAMS = ("generation.num_beams=3", "generation.no_repeat_ngram_size=4")
OFFLOADED = ("zero.stage=3", "zero.offload_optimizer.device=cpu", "zero.offload_param.device=nvme",
             "zero.offload_param.nvme_path=.")
EXPECTED = 12  # pairs that are held out


def pairs():
    """The letter in a source says which target it has."""
    targets = ("she ate a red apple", "he had green pears")
    kinds = [i * i % 7 % 2 for i in range(60)]
    return "source\ttarget\n" + "".join(f"{i} {'rg'[kind]}\t{targets[kind]}\n"
                                        for i, kind in enumerate(kinds))


def trained(program, name, run, ranks, *settings):
    result = program.wait(program.start(ranks, *settings, f"run.output=runs/{run}",
                                        input_file=f"{name}.toml"), run=run)
    check(result.finished(), f"{name}: {ranks} ranks with {settings}", result)
    return result


def evaluations(program, run):
    """What evaluations.jsonl tells, without times."""
    lines = (program.folder / "runs" / run / "evaluations.jsonl").read_text().splitlines()
    return [{key: value for key, value in json.loads(line).items() if "seconds" not in key}
            for line in lines]


def texts(program, run):
    folder = program.folder / "runs" / run / "generated"
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def answers_alike_at_any_rank_count(program, name):
    one = trained(program, name, f"{name}_1", 1, *BEAMS)
    two = trained(program, name, f"{name}_2", 2, *BEAMS, *OFFLOADED)
    check(one.state() == two.state(), f"{name}: both train the same model")
    for verb, row in two.summary["sent"].items():
        made = {key: row[key] for key in row["forecast"]}
        check(made == row["forecast"], f"{name}: {verb} sends what plans of texts say too: {row}")
    check("answers     12 texts an evaluation, which take of each rank " in two.out, "room", two)
    told, generated = evaluations(program, f"{name}_1"), texts(program, f"{name}_1")
    check(told == evaluations(program, f"{name}_2"), f"{name}: the same figures: {told}", two)
    check(generated == texts(program, f"{name}_2"), f"{name}: the same texts: {generated}")
    check([line["step"] for line in told] == [40, 80, 120], f"one line each: {told}")
    check(list(generated) == ["step00000040.txt", "step00000080.txt", "step00000120.txt",
                              "targets.txt"], f"a file each: {list(generated)}")
    check(all(len(lines.splitlines()) == EXPECTED for lines in generated.values()),
          f"a line a pair that is held out: {generated}")
    check(told[-1]["bleu"] > 20 and told[-1]["texts"] == EXPECTED, f"{name} has learnt: {told}")
    summary = {key: one.summary[f"eval_{key}"] for key in ("bleu", "exact_match", "texts")}
    check(summary == {key: told[-1][key] for key in summary}, f"the summary has them: {summary}")


def eval_finds_the_same(program, run, ranks=1, *settings):
    last = evaluations(program, run)[-1]
    again = program.wait(program.popen([*program.launch_line(ranks), "eval", f"runs/{run}",
                                        "--json", *settings]))
    figures = ("bleu", "exact_match", "texts", "loss_hex")
    found = json.loads(again.out)
    check({key: found[key] for key in figures} == {key: last[key] for key in figures},
          f"eval of {run}: {found}, not {last}", again)
    return last


def others_find_the_same(program, run):
    last, folder = eval_finds_the_same(program, run), f"runs/{run}"
    made, targets = f"{folder}/generated/step00000120.txt", f"{folder}/generated/targets.txt"
    scored = program.alone("score", made, targets, "--json").out
    check(json.loads(scored)["bleu"] == last["bleu"], f"score of the files: {scored}")
    pipe = program.folder / "pipe"
    os.mkfifo(pipe)
    process = program.popen([str(program.zeroapp), "score", "pipe", targets, "--json"])
    pipe.write_text((program.folder / made).read_text())
    check(program.wait(process).out == scored, f"a pipe is scored as a file is: {scored}")


def a_text_may_have_an_empty_reference(program):
    """sacreBLEU 2.6 gives 93.9540."""
    program.write("with.texts", "the land is wide here now\nfoo bar\nyes it is so indeed here\n")
    program.write("with.references", "the land is wide here now\n\nyes it is so indeed here\n")
    scored = program.alone("score", "with.texts", "with.references", "--json")
    check(scored.status == 0 and abs(json.loads(scored.out)["bleu"] - 93.954) < 1e-4,
          "an empty reference is scored", scored)


def so_it_does_from_weights_of_16_bits(program, name):
    trained(program, name, "half", 2, *BEAMS, "fp16.enabled=true", "fp16.initial_scale_power=8",
            "zero.stage=2", "zero.offload_optimizer.device=cpu")
    last = eval_finds_the_same(program, "half")
    check(last["bleu"] > 20, f"it has learnt: {last}")


def so_it_does_where_weights_find_no_room_on_the_device(program, run):
    """Between what it takes with the weights there and with those beside it as the run had them."""
    eval_finds_the_same(program, run, 2)
    limit = f"memory.device_limit={700 << 10}"
    check_refused(program.wait(program.popen([
        *program.launch_line(2), "eval", f"runs/{run}", limit,
        "zero.offload_param.device=none"])), 6, "the evaluation needs",
        "of it for the texts of evaluation.generate")
    eval_finds_the_same(program, run, 2, limit)


def first_samples_alone(program, run):
    few = json.loads(program.alone("eval", f"runs/{run}", "evaluation.generate_samples=5",
                                   "--json").out)
    check(few["texts"] == 5, f"the first five: {few}")


def best_answers_are_kept(program, name):
    """Nothing matches exactly in the first two evaluations, which two launches make: with patience
    they end the training, and the first one stays the best. By BLEU it then goes on, and has other
    best answers."""
    settings = ("checkpoint.load_best_at_end=true", "checkpoint.resume=auto")
    exact = (*settings, "checkpoint.best_metric=exact_match", "checkpoint.patience=1")
    trained(program, name, "best", 1, *exact, "run.stop_at=40")
    result = trained(program, name, "best", 1, *exact)
    told = evaluations(program, "best")
    check([line["exact_match"] for line in told] == [0, 0], f"such is this data: {told}", result)
    check("finished step 80 of 120 (checkpoint.patience)" in result.out, f"{told}", result)
    check("the best weights are loaded: step 40," in result.out, f"of equals the first: {told}",
          result)
    result = trained(program, name, "best", 1, *settings, "checkpoint.best_metric=bleu")
    told = evaluations(program, "best")
    best = max(told, key=lambda line: line["bleu"])
    check([line["step"] for line in told] == [40, 80, 120] and told[0]["bleu"] < best["bleu"],
          f"such is this data: {told}", result)
    loaded = f"the best weights are loaded: step {best['step']}," in result.out
    check(loaded == (best["step"] != 120) and "loaded: step 40," not in result.out,
          f"the highest BLEU is the best: {told}", result)


def folder_says_what_is_open(program, name):
    """Also when its model began the run, and is gone."""
    exported = program.folder / "start"
    program.alone("export", f"runs/{name}_1", "start")
    said = json.loads((exported / "generation_config.json").read_text())
    check(said["num_beams"] == 3 and said["no_repeat_ngram_size"] == 4, f"{said}")
    (exported / "generation_config.json").write_text(json.dumps({**said, "max_length": 6}))
    more = ("model.init_from=start", "run.steps=4", "evaluation.interval=2",
            "checkpoint.interval=2", "checkpoint.resume=auto")
    words = ("generation.max_length=6", *BEAMS)
    told = [[line for line in program.alone("plan", f"{name}.toml", *settings).out.splitlines()
             if line.startswith("  texts ")] for settings in (more, (*more, *words), more[1:])]
    check(told[0] == told[1] != told[2], f"a plan knows it: {told}")
    trained(program, name, "written", 1, *more, *words)
    trained(program, name, "open", 1, *more, "run.stop_at=2")
    shutil.rmtree(exported)
    trained(program, name, "open", 1, *more)
    check(texts(program, "open") == texts(program, "written") and
          evaluations(program, "open") == evaluations(program, "written"),
          f"{texts(program, 'open')}, not {texts(program, 'written')}")
    longest = max(map(len, texts(program, "open")["step00000004.txt"].splitlines()))
    check(longest <= 5, f"max_length counts the start: {longest}")


def texts_without_a_token_end(program, name):
    """After one letter the rules leave none; the training goes on."""
    others = [i for i in range(256) if i != ord("a")]
    result = trained(program, name, "stuck", 2, "run.steps=2", "evaluation.interval=2",
                     "generation.no_repeat_ngram_size=1", f"generation.suppress_tokens={others}")
    check("texts of 12 ended where the rules of [generation] left no token" in result.err,
          "it is told", result)
    check(texts(program, "stuck")["step00000002.txt"] == EXPECTED * "a\n", "the letter", result)


def a_change_gives_texts_their_room(program, name, settings, arena):
    told = json.loads(program.alone("plan", f"{name}.toml", "--json", *settings).out)
    limit = f"memory.device_limit={arena + told['text_bytes']['evaluation.generate'] // 2}"
    refused = program.alone(f"{name}.toml", *settings, limit)
    check_refused(refused, 6, "texts of evaluation.generate", "cheapest change that fits: ",
                  "evaluation.micro_batch_size")
    words = advised_change(refused)
    check(program.alone(f"{name}.toml", *settings, limit, *words).status == 0, f"{words} fit")


def refuses_what_cannot_be(program, name, run):
    few = ("run.output=runs/none", "run.steps=1")
    check_refused(program.alone(f"{name}.toml", *few, "generation.suppress_tokens=[300]"), 2,
                  "suppress_tokens: id 300 is beyond the model's vocabulary")
    check_refused(program.alone("eval", f"runs/{run}", "generation.do_sample=true"), 2,
                  "write do_sample = false")
    summary = json.loads((program.folder / f"runs/{run}/summary.json").read_text())
    arena = summary["memory"]["device"]["planned_bytes"]
    # What steps leave free holds the caches of a few beams, and not of so many.
    limit = (f"memory.device_limit={arena}", "generation.num_beams=500")
    fits = program.alone("plan", f"{name}.toml", *few, limit[0])
    check(fits.status == 0 and ", 0 B of it beside the plan" in fits.out,
          "texts are written where steps leave memory free", fits)
    for args in ((f"{name}.toml", *few, *limit), ("plan", f"{name}.toml", *few, *limit),
                 (f"{name}.toml", "--dry-run", *few, *limit)):
        check_refused(program.alone(*args), 6, "of it for the texts of evaluation.generate, a rank",
                      "evaluation.generate = false and zeroapp eval RUN")
    a_change_gives_texts_their_room(program, name, (*few, limit[1]), arena)
    check_refused(program.alone("eval", f"runs/{run}", "memory.device_limit=1024"), 6,
                  "the evaluation needs", "evaluation.generate = false")


def main():
    program = Program()
    program.write("pairs.tsv", pairs())
    for name, model in MODELS.items():
        program.write(f"{name}.toml", INPUT % model)
        answers_alike_at_any_rank_count(program, name)
    others_find_the_same(program, "t5_1")
    a_text_may_have_an_empty_reference(program)
    so_it_does_from_weights_of_16_bits(program, "t5")
    so_it_does_where_weights_find_no_room_on_the_device(program, "t5_2")
    first_samples_alone(program, "t5_1")
    best_answers_are_kept(program, "t5")
    folder_says_what_is_open(program, "t5")
    texts_without_a_token_end(program, "t5")
    refuses_what_cannot_be(program, "t5", "t5_1")
    print("answers are the same everywhere")


main()
