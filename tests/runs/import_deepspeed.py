#!/usr/bin/env python3
"""Configurations of articles on DeepSpeed: imported, planned on their cards, and trained."""
import pathlib
import shutil
import subprocess

from program import Program, check

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures/deepspeed"
WORD = "import-deepspeed"
RUN = ("data.train=text.txt", "run.steps=3", "data.sequence_length=32")
SIZE = ("model.layers=2", "model.width=64", "model.heads=2", *RUN)
BATCH = ("train_micro_batch_size_per_gpu=2",)
CLIPPED = ("gradient_clipping=1.0", "optimizer.lr=1e-3", "optimizer.weight_decay=0.01",
           "scheduler.warmup_num_steps=2")
SCRIPT = (*CLIPPED, "optimizer.betas=[0.9, 0.999]", "optimizer.eps=1e-8", "bf16.enabled=true")
# What the training script of each article gives on its command line.
ARTICLES = {
    "fit_more_one_gpu.json": BATCH,
    "fit_more_two_gpus.json": BATCH,
    "transformers_stage1.json": BATCH + SCRIPT,
    "transformers_stage2.json": BATCH + SCRIPT,
    "transformers_stage3.json": BATCH + SCRIPT,
    "transformers_lamb.json": (),
    "transformers_nvme.json": (),
    "accelerate_plugin.yaml": BATCH + ("optimizer.lr=1e-3",),
    "accelerate_stage2.json": BATCH + CLIPPED,
    "accelerate_stage2.yaml": BATCH + CLIPPED,
    "accelerate_stage3.json": BATCH + CLIPPED,
    "accelerate_stage3.yaml": BATCH + CLIPPED,
    "tutorial_1.5b.json": (),
    "tutorial_10b.json": (),
}


# Published configurations of trainers, whose scripts decide the rest.
TRAINERS = ("axolotl_*.json", "llama_factory_z?.json", "llama_factory_*offload.json",
            "llama_factory_z3_fp8.json", "transformers_old*.json", "transformers_auto_*.json",
            "fsdp*.yaml", "multi_gpu.yaml", "accelerate_default.json", "accelerate_old.yaml")


def imported(program, fixture, *words):
    """Its input file is imported.toml, if it has one."""
    result = program.alone(WORD, fixture, *words)
    program.write("imported.toml", result.out)
    return result


def planned(program, *words):
    return program.alone("plan", "imported.toml", *words)


def every_article_is_imported(program):
    for fixture, script in ARTICLES.items():
        result = imported(program, fixture, *SIZE, *script)
        check(result.status == 0, f"{fixture} is imported", result)
        check("unsupported" not in result.err and "needs" not in result.err,
              f"{fixture} has nothing unsupported or open", result)
        plan = planned(program, "--ranks", "2")
        check(plan.status == 0, f"{fixture} has a plan", plan)


def every_trainers_file_is_imported(program):
    fixtures = [path.name for pattern in TRAINERS for path in sorted(FIXTURES.glob(pattern))]
    check(len(fixtures) >= 20, f"only {fixtures}")
    for fixture in fixtures:
        result = imported(program, fixture, *SIZE, "--hf-defaults")
        check(result.status == 0, f"{fixture} is imported", result)
        check("unsupported" not in result.err and "needs" not in result.err,
              f"{fixture} has nothing unsupported or open", result)
        plan = planned(program, "--ranks", "2")
        check(plan.status == 0, f"{fixture} has a plan", plan)
    tensors = imported(program, "llama_factory_z2_autotp.json", *SIZE, "--hf-defaults")
    check(tensors.status == 2 and "autotp_size: unsupported: a model is cut by ZeRO" in tensors.err,
          "tensors cut over ranks are refused by a sentence", tensors)


def a_launch_line_fills_what_is_open(program):
    result = imported(program, "transformers_auto_zero2.json", *SIZE, "run.output=runs/tiny",
                      "run.threads=1", "--", "deepspeed", "--num_gpus", "2", "run_clm.py",
                      "--deepspeed", "ds.json", "--bf16", "--learning_rate", "2e-3",
                      "--weight_decay=0.1",
                      "--adam_beta2", "0.95", "--adam_epsilon", "1e-9", "--warmup_steps", "2",
                      "--max_grad_norm", "0.5", "--per_device_train_batch_size", "2")
    check(result.status == 0 and "needs" not in result.err, "a launch line is enough", result)
    check("nothing to set: is the file that is imported" in result.err, "tells of each", result)
    for line in ("lr = 0.002 ", "betas = [0.9, 0.95] ", "eps = 1e-09 ", "weight_decay = 0.1 ",
                 "gradient_clipping = 0.5 ", "warmup_num_steps = 2 "):
        check("\n" + line in result.out, f"{line} in {result.out}")
    run = program.train(2, input_file="imported.toml")
    check(run.finished() and len(run.metrics) == 3, "and trains", run)
    shutil.rmtree(program.folder / "runs")


def article_errors_are_named(program):
    printed = imported(program, "accelerate_stage2_as_printed.json", *SIZE, *BATCH, *CLIPPED)
    check(printed.status == 0 and "\n[fp16]\nenabled = true" in printed.out,
          "a quoted true is taken", printed)
    check("warning: accelerate_stage2_as_printed.json:3: fp16.enabled: \"true\" is a string"
          in printed.err, "with a warning that names its line", printed)
    late = imported(program, "accelerate_stage2.json", *SIZE, *BATCH, *CLIPPED,
                    "scheduler.warmup_num_steps=100")
    check(late.status == 2 and "stands twice" in late.err, "a setting given twice", late)
    late = imported(program, "accelerate_stage2.json", *SIZE, *BATCH,
                    *(s for s in CLIPPED if "warmup" not in s), "scheduler.warmup_num_steps=100")
    check(late.status == 0 and "warning" in late.err and "warmup_num_steps" in late.err,
          "a warm-up longer than the run is named", late)
    one_bit = imported(program, "transformers_onebit.json", *SIZE)
    check(one_bit.status == 2 and "optimizer.type: unsupported" in one_bit.err,
          "1-bit Adam is refused", one_bit)
    rest = imported(program, "transformers_onebit.json", *SIZE, "--leave-out-unsupported")
    check(rest.status == 0 and planned(program).status == 0, "or left out", rest)


def articles_fit_their_machines(program):
    data = ("data.train=synthetic", "run.steps=1000", "data.sequence_length=1024")
    v100 = ("--machine", "v100_32g", "--ranks")
    imported(program, "tutorial_1.5b.json", "model.name=gpt2_1.5b", *data)
    plan = planned(program, *v100, "8")
    check(plan.status == 0, "1.5 B at stage 1 fits 8 V100", plan)
    imported(program, "tutorial_10b.json", "model.name=gpt2_10b", *data,
             "activation_checkpointing.recompute=full")
    plan = planned(program, *v100, "32")
    check(plan.status == 0 and "10279239680 parameters" in plan.out,
          "10 B at stage 2 with recompute fits 32 V100", plan)
    plan = planned(program, *v100, "32", "zero.stage=1")
    check(plan.status == 6, "and at stage 1 does not", plan)


def offload_makes_articles_fit_one_card_of_24_gb(program):
    home = "zero.offload_optimizer.device=none"
    one = ("--ranks", "1", "--machine")
    # Stage 3 with all on the host holds a batch of 16; without ZeRO not even one sample fits.
    imported(program, "accelerate_stage3.json", "model.name=gpt2-xl", "data.train=synthetic",
             "run.steps=100", "data.sequence_length=128", "train_micro_batch_size_per_gpu=16",
             *CLIPPED)
    plan = planned(program, *one, "titan_rtx_24g")
    check(plan.status == 0 and " on host" in plan.out, "gpt2-xl fits with offload", plan)
    plain = planned(program, *one, "titan_rtx_24g", home, "zero.offload_param.device=none",
                    "zero.stage=0", "train_micro_batch_size_per_gpu=1")
    check(plain.status == 6, "and does not without", plain)
    # A GPT-2 of t5-3b's size stands in for it: stage 2 with the optimizer on the host.
    imported(program, "fit_more_one_gpu.json", "model.layers=36", "model.width=2560",
             "model.heads=20", "data.train=synthetic", "run.steps=100", "data.sequence_length=128",
             "train_micro_batch_size_per_gpu=20")
    plan = planned(program, *one, "rtx_3090_24g")
    check(plan.status == 0 and " on host" in plan.out, "3 B at stage 2 fits with offload", plan)
    plain = planned(program, *one, "rtx_3090_24g", home, "train_micro_batch_size_per_gpu=1")
    check(plain.status == 6, "and does not without", plain)


def two_cards_of_24_gb_hold_batches_of_40(program):
    # A GPT-2 of t5-large's size stands in for it, with and without the optimizer on the host.
    imported(program, "fit_more_two_gpus.json", "model.name=gpt2-large", "data.train=synthetic",
             "run.steps=100", "data.sequence_length=128", "train_micro_batch_size_per_gpu=40")
    two = ("--machine", "titan_rtx_24g", "--ranks", "2")
    for home in ("none", "cpu"):
        plan = planned(program, *two, f"zero.offload_optimizer.device={home}")
        check(plan.status == 0, f"774 M at stage 2 fits two cards, optimizer home {home}", plan)
    plain = planned(program, *two, "zero.stage=0", "zero.offload_optimizer.device=none",
                    "train_micro_batch_size_per_gpu=160")
    check(plain.status == 6, "four times the batch at stage 0 does not", plain)


def buckets_follow_the_width(program):
    imported(program, "accelerate_stage3.json", "model.name=gpt2-xl", *RUN, *BATCH, *CLIPPED)
    text = (program.folder / "imported.toml").read_text()
    for line in ("reduce_bucket_size = 2560000 ", "stage3_prefetch_bucket_size = 2304000 ",
                 "stage3_param_persistence_threshold = 16000 ", 'warmup_type = "log" '):
        check("\n" + line in text, f"{line} in {text}")


def imported_runs_train(program):
    for fixture, script in (("accelerate_plugin.yaml", BATCH + ("optimizer.lr=1e-3",)),
                            ("transformers_stage2.json", BATCH + SCRIPT)):
        result = imported(program, fixture, *SIZE, *script, "run.output=runs/tiny",
                          "run.threads=1", "data.validation_fraction=0.1")
        check(result.status == 0, f"{fixture} is imported for a training", result)
        if fixture.endswith(".yaml"):
            check(" -n 2 ./zeroapp INPUT.toml" in result.err, "with its launch line",
                  result)
        run = program.train(2, input_file="imported.toml")
        check(run.finished() and len(run.metrics) == 3, f"{fixture} trains three steps", run)
        shutil.rmtree(program.folder / "runs")


def open_values_stop_a_run(program):
    result = imported(program, "transformers_stage1.json")
    check(result.status == 0 and "needs optimizer.lr=..." in result.err, "needs are named", result)
    plan = planned(program)
    check(plan.status == 2 and "optimizer.lr" in plan.err, "and hold a run up", plan)
    script = [word for word in SCRIPT if not word.startswith("optimizer.lr")]
    half = program.alone(WORD, "transformers_stage1.json", *SIZE, *BATCH, *script, "-o",
                         "half.toml")
    check(half.status == 0 and " is written" not in half.err, "no plan of half a file", half)
    said = next(line for line in half.err.splitlines() if line.startswith("write them"))
    again = said.split(", or: ")[1].replace("optimizer.lr=...", "optimizer.lr=0.1")
    done = subprocess.run(again, shell=True, cwd=program.folder, capture_output=True, text=True,
                          check=False)
    check(done.returncode == 0 and "half.toml is written" in done.stderr,
          f"the command that is said fills it: {again}: {done.stderr}")


def files_are_not_overwritten(program):
    words = ("tutorial_1.5b.json", "model.name=gpt2", *RUN, "-o", "new.toml")
    check(program.alone(WORD, *words).status == 0, "a new file is written")
    before = (program.folder / "new.toml").read_text()
    again = program.alone(WORD, *words, "--leave-out-unsupported")
    check(again.status == 2 and "new.toml: exists" in again.err, "a second time it is not", again)
    check((program.folder / "new.toml").read_text() == before and "stage = 1" in before,
          "and stays as it was")
    lost = program.alone(WORD, *words[:-1], "absent/new.toml")
    check(lost.status == 5 and "absent/new.toml" in lost.err, "a missing folder is named", lost)


def main():
    program = Program()
    for fixture in FIXTURES.iterdir():
        shutil.copy(fixture, program.folder)
    every_article_is_imported(program)
    every_trainers_file_is_imported(program)
    a_launch_line_fills_what_is_open(program)
    article_errors_are_named(program)
    articles_fit_their_machines(program)
    offload_makes_articles_fit_one_card_of_24_gb(program)
    two_cards_of_24_gb_hold_batches_of_40(program)
    buckets_follow_the_width(program)
    imported_runs_train(program)
    open_values_stop_a_run(program)
    files_are_not_overwritten(program)
    print("all articles imported")


main()
