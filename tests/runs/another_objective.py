#!/usr/bin/env python3
"""An objective, its kind of data and its head that the program does not know go through all
commands where main hands them in: argv[3] is such a program, objectives/main.cpp. A sample is a
text with one of three moods, which its last letter decides; the head stands on a decoder's
trunk."""
import json
import random
import sys

from program import Program, check, check_refused, read_safetensors

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 1
[model]
layers = 2
width = 64
heads = 2
dropout = 0.1
[data]
train = "texts.moods"
validation_fraction = 0.25
sequence_length = 12
[run]
steps = 12
threads = 1
[optimizer]
lr = 3e-3
[numerics]
reproducible = true
[evaluation]
interval = 3
[checkpoint]
interval = 3
keep = 0
best_metric = "hit_rate"
[export]
at_end = true
"""
LINES, HELD_OUT = 80, 20
OFFLOADED = (
    ("zero.offload_optimizer.device=cpu",),
    ("zero.offload_optimizer.device=nvme", "zero.offload_optimizer.nvme_path=.",
     "zero.offload_param.device=nvme", "zero.offload_param.nvme_path=."))
METRICS = ("hit_rate", "macro_f1")


def texts():
    """Texts of 4 to 11 letters; y stands for two moods, of which one is seldom."""
    draw = random.Random(7)
    for _ in range(LINES):
        mood = draw.choice((0, 0, 1, 1, 2))
        letters = "".join(draw.choice("abcdefg ") for _ in range(draw.randint(3, 10)))
        yield f"{mood}\t{letters}{'xyz'[mood] if draw.random() > 0.1 else 'y'}\n"


def trained(program, name, ranks, *settings):
    result = program.wait(program.start(ranks, *settings, f"run.output=runs/{name}",
                                        "activation_checkpointing.recompute=[1]",
                                        input_file="moods.toml"), run=name)
    check(result.finished(), f"{name}: {ranks} ranks with {settings}", result)
    return result


def lines_of(program, name, file):
    text = (program.folder / "runs" / name / file).read_text()
    return [json.loads(line) for line in text.splitlines()]


def measured(line):
    return tuple(line[name] for name in ("step", "loss_hex", *METRICS, "samples"))


def trains_alike_at_every_stage(program):
    states, evaluations = set(), set()
    stages = [(ranks, stage, ()) for ranks in (1, 2, 4) for stage in (0, 1, 2, 3)]
    for ranks, stage, more in (*((2, 3, home) for home in OFFLOADED), *stages):
        name = f"r{ranks}s{stage}{len(more)}"
        result = trained(program, name, ranks, f"zero.stage={stage}", *more)
        states.add(result.summary["state_sha256"])
        evaluations.add(tuple(map(measured, lines_of(program, name, "evaluations.jsonl"))))
    check(len(states) == 1, f"one state and not {states}")
    check(len(evaluations) == 1, f"one row of evaluations and not {evaluations}")


def logs_what_it_measures(program):
    told = lines_of(program, "r1s00", "evaluations.jsonl")
    check([line["step"] for line in told] == [3, 6, 9, 12], f"each evaluation: {told}")
    keys = ["step", "loss", "loss_hex", *METRICS, "samples", "seconds"]
    check(all(list(line) == keys and line["samples"] == HELD_OUT for line in told), f"{told}")
    check(all((line["hit_rate"] * HELD_OUT) % 1 == 0 for line in told), f"of {HELD_OUT}: {told}")
    check(told[-1]["hit_rate"] >= 0.8 and told[-1]["hit_rate"] > told[0]["hit_rate"],
          f"it has learnt: {told}")
    check(0 < told[-1]["macro_f1"] < told[-1]["hit_rate"] + 0.2, f"another number: {told}")
    step = lines_of(program, "r1s00", "metrics.jsonl")[0]
    check(step["samples"] == 8 and "samples_per_s" in step and "tokens" not in step, f"{step}")
    summary = json.loads((program.folder / "runs/r1s00/summary.json").read_text())
    check(summary["eval_hit_rate"] == told[-1]["hit_rate"] and summary["eval_samples"] == HELD_OUT,
          f"the last is in the summary: {summary}")


def chooses_by_hit_rate(program):
    told = {line["step"]: line["hit_rate"]
            for line in lines_of(program, "r1s00", "evaluations.jsonl")}
    best = max(told, key=told.get)  # the first of equal ones
    facts = program.alone("inspect", "runs/r1s00/checkpoints/step00000012").out
    check(f"best.hit_rate: {told[best]}" in facts or str(told[best]) in facts, "a fact", None)
    result = trained(program, "best", 2, "checkpoint.load_best_at_end=true", "checkpoint.keep=2")
    if best < 12:
        check(f"the best weights are loaded: step {best}" in result.out, "loaded", result)
    check(result.summary["eval_hit_rate"] == told[best], f"the best of {told}", result)
    steps = sorted(path.name for path in (program.folder / "runs/best/checkpoints").glob("step*"))
    check(f"step{best:08d}" in steps, f"the best is kept: {steps}, {best}")


def goes_on_on_another_rank_count(program):
    whole = json.loads((program.folder / "runs/r2s30/summary.json").read_text())
    for ranks, stop in ((2, 5), (4, 8), (1, 12)):
        result = trained(program, "parts", ranks, "zero.stage=1", f"run.stop_at={stop}")
    check(result.summary["state_sha256"] == whole["state_sha256"], "the same bytes", result)


def is_looked_at(program):
    for words, found in ((("plan", "moods.toml", "--ranks", "4"), "parameters"),
                         (("data", "moods.toml"), "a text and its mood"),
                         (("eval", "runs/parts"), f"macro F1 "),
                         (("eval", "runs/parts"), "nats a sample"),
                         (("inspect", "runs/parts"), "a head for moods"),
                         (("export", "runs/parts", "exported"), "step 12"),
                         (("import-weights", "exported", "imported"), "init_from=imported"),
                         (("inspect", "exported", "imported"), "29 tensors equal, 0 differ")):
        result = program.alone(*words)
        check(result.status == 0 and found in result.out, f"{words}: {found!r}", result)
    told = lines_of(program, "parts", "evaluations.jsonl")[-1]
    # The number of threads is a choice of arithmetic: products may split sums by it.
    data = ("data.train=texts.moods", "data.validation_fraction=0.25", "run.threads=1")
    for model in ("runs/parts", "exported", "imported"):
        evaluated = json.loads(program.alone("eval", model, *data, "--json").out)
        check(all(evaluated[key] == told[key] for key in ("loss_hex", *METRICS, "samples")),
              f"{model}: {evaluated} and {told}")


def tensors_of(path):
    rows, content = read_safetensors(path)
    return {name: (row["shape"], content[name]) for name, row in rows.items()}


def is_exported_with_its_head(program):
    folders = [program.folder / name for name in ("exported", "runs/parts/model")]
    first, second = (tensors_of(folder / "model.safetensors") for folder in folders)
    check(first == second, "the same tensors of a run and of its checkpoint")
    heads = [name for name in first if name.endswith("score.weight")]
    check(len(heads) == 1 and first[heads[0]][0] == [3, 64], f"a head of three rows: {heads}")


def begins_on_a_stored_trunk(program):
    own = ("data.train=text.txt", "checkpoint.best_metric=validation_loss")
    trained(program, "letters", 2, *own, "zero.stage=3", "run.steps=3")
    states, source = set(), "model.init_from=runs/letters"
    check_refused(program.alone("plan", "moods.toml", source), 3,
                  'write model.reinit = ["score.*"] to draw it anew')
    for i, (ranks, stage, home) in enumerate(((1, 0, ()), (2, 3, OFFLOADED[0]), (4, 2, ()))):
        for kind in ("", "/model", "/checkpoints"):
            result = trained(program, f"trunk{i}{kind[1:]}", ranks, source + kind,
                             'model.reinit=["score.*"]', f"zero.stage={stage}", *home)
            states.add(result.summary["state_sha256"])
    check("drawn anew  1 parameter: score.weight" in result.out, "it is counted", result)
    check(len(states) == 1, f"one state and not {states}")
    back = trained(program, "back", 1, *own, "model.init_from=runs/parts/checkpoints")
    check("passed over 1 tensor of other heads: score.weight" in back.out, "back to texts", back)


def others_are_refused(program):
    check_refused(program.alone("plan", "moods.toml", "checkpoint.best_metric=bleu"), 2,
                  '"bleu" is a number of texts', 'best_metric = "validation_loss"')
    check_refused(program.alone("plan", "moods.toml", "checkpoint.best_metric=f2"), 2,
                  '"macro_f1"')
    check_refused(program.alone("plan", "moods.toml", "data.train=text.txt"), 2,
                  '"hit_rate" is a number of moods', 'best_metric = "validation_loss"')
    idle = program.alone("plan", "moods.toml", "evaluation.generate=true")
    check("evaluation.generate: true has no effect" in idle.err, "moods write no texts", idle)
    check_refused(program.alone("generate", "runs/parts", "--prompt", "ab"), 2,
                  "with a head for moods writes no texts")
    check_refused(program.alone("moods.toml", "run.output=runs/parts", "data.train=text.txt",
                                "checkpoint.best_metric=perplexity", "run.steps=14"), 3,
                  "a head for moods there and gpt2 of 2 layers")
    program.write("odd.moods", "0\tfine\n7\tno mood\n")
    check_refused(program.alone("data", "moods.toml", "data.train=odd.moods"), 3, "line 2")


def main():
    program = Program([sys.argv[3], sys.argv[2]])
    program.write("moods.toml", INPUT)
    program.write("texts.moods", "".join(texts()))
    trains_alike_at_every_stage(program)
    logs_what_it_measures(program)
    chooses_by_hit_rate(program)
    goes_on_on_another_rank_count(program)
    is_looked_at(program)
    is_exported_with_its_head(program)
    begins_on_a_stored_trunk(program)
    others_are_refused(program)
    print("another objective goes all ways")


main()
