#!/usr/bin/env python3
"""Every key of inputs/keys.md with values that nobody should write, planned and, unless plan could
not read them, started: the seed is 1; CASES and SHARE take some of them, as attack.py says."""
import os
import pathlib
import resource
import zlib

import attack

SEED = 1
USAGE, STARTED_ALL_THE_SAME = 2, 8
KEYS = pathlib.Path(__file__).resolve().parents[2] / "inputs" / "keys.md"

INTEGERS = ("0", "1", "-1", "2", "3", "7", "64", "255", "1000", "4097", "65536", "1_000_000",
            "16777217", "2147483647", "2147483648", "4294967296", "1000000000000",
            "4611686018427387904", "9223372036854775807", "9223372036854775808",
            "-9223372036854775808")
REALS = ("0.0", "-0.0", "0.5", "0.9999999999999999", "1e-8", "5e-324", "1e-400", "1e30", "3.5e38",
         "1e308", "1e309", "nan", "inf", "-inf")
WORDS = ('""', "auto", "max", "none", "cpu", "nvme", "bf16", "gpt2", "synthetic", "require",
         "never", "LAMB", "24GiB", '"1e9GiB"', '"99:59:59"', "full", "true", "false", "True")
PATHS = ("text.txt", "missing", "folder", ".", "/", "/dev/null", "/dev/zero", "/proc/self/mem",
         "loop", "pipe", "secret", "secret/inside", "n" * 300, "deep/" * 180 + "d", "a" * 1001,
         "\u00fc \u2603")
OTHERS = ("[]", "[0]", "[0, 1]", "[0.9, 0.999]", "[1e308, -1]", "[[0]]", "{a = 1}", '"open', "# 1",
          "[9223372036854775807]", '"a\\nb"')
VALUES = (*INTEGERS, *REALS, *WORDS, *PATHS, *OTHERS)

# What makes a key act: the first line whose beginning it has.
ACTING = (
    ("fp16.loss_scale", "fp16.enabled=true"),
    ("fp16.enabled", ""),
    ("fp16.", "fp16.enabled=true"),
    ("bf16.", "bf16.enabled=true"),
    ("zero.stage3", "zero.stage=3"),
    ("zero.offload_optimizer.device", "zero.stage=2", "zero.offload_optimizer.nvme_path=folder"),
    ("zero.offload_optimizer.", "zero.stage=2", "zero.offload_optimizer.device=nvme",
     "zero.offload_optimizer.nvme_path=folder"),
    ("zero.offload_param.device", "zero.stage=3", "zero.offload_param.nvme_path=folder"),
    ("zero.offload_param.", "zero.stage=3", "zero.offload_param.device=nvme",
     "zero.offload_param.nvme_path=folder"),
    ("aio.", "zero.stage=2", "zero.offload_optimizer.device=nvme",
     "zero.offload_optimizer.nvme_path=folder"),
    ("zero.", "zero.stage=2"),
    ("scheduler.warmup_min_ratio", "scheduler.type=WarmupCosineLR"),
    ("scheduler.cos_min_ratio", "scheduler.type=WarmupCosineLR"),
    ("scheduler.", "scheduler.type=WarmupDecayLR"),
    ("optimizer.momentum", "optimizer.type=SGD"),
    ("optimizer.dampening", "optimizer.type=SGD", "optimizer.momentum=0.9"),
    ("optimizer.nesterov", "optimizer.type=SGD", "optimizer.momentum=0.9"),
    ("optimizer.m", "optimizer.type=LAMB"),
    ("optimizer.adam_w_mode", "optimizer.type=Adam"),
    ("activation_checkpointing.recompute", ""),
    ("activation_checkpointing.", "activation_checkpointing.recompute=full",
     "activation_checkpointing.offload=nvme", "activation_checkpointing.nvme_path=folder"),
    ("checkpoint.best_metric", "evaluation.interval=1", "checkpoint.interval=1"),
    ("checkpoint.load_best_at_end", "evaluation.interval=1", "checkpoint.interval=1",
     "checkpoint.best_metric=eval_loss"),
    ("checkpoint.keep_every", "checkpoint.interval=1"),
    ("data.max_validation_samples", "evaluation.interval=1"),
    ("run.epochs", "run.steps=0", "run.stop_at=2"),
    ("run.steps", "run.stop_at=1"),
)


def keys():
    """The first column of the table."""
    rows = KEYS.read_text().splitlines()
    names = [row.split("|")[1].strip() for row in rows if row.startswith("| ")]
    return [name for name in names if name != "key"]


def furnish(place):
    """What odd paths lead to."""
    (place.folder / "folder").mkdir()
    os.chmod(place.folder / "folder", 0o777)
    (place.folder / "secret").mkdir(0o000)
    (place.folder / "loop").symlink_to("loop")
    os.mkfifo(place.folder / "pipe", 0o666)


def settings_of(key, value):
    acting = next((words for start, *words in ACTING if key.startswith(start)), [])
    batch = [] if "batch" in key else ["train_micro_batch_size_per_gpu=1"]
    if key == "gradient_accumulation_steps":
        batch = ["train_micro_batch_size_per_gpu=1"]
    words = ["run.output=out", *batch, *filter(None, acting)]
    return [word for word in words if not word.startswith(key + "=")] + [f"{key}={value}"]


def planned_and_started(attacker):
    limits = ((resource.RLIMIT_AS, attack.ADDRESS_SPACE),)

    def one(place, case):
        settings = settings_of(*case)
        planned = attacker.start(place, ["plan", "tiny.toml", *settings], limits=limits)
        yield planned
        # A start reads them likewise, which some of the refused ones show.
        if planned.status != USAGE or zlib.crc32(settings[-1].encode()) % STARTED_ALL_THE_SAME == 0:
            yield attacker.start(place, ["tiny.toml", *settings], limits=limits)

    return one


def main():
    attacker = attack.Attack(furnish)
    attacker.env.update(OMPI_MCA_btl="self", OMPI_MCA_pml="ob1")
    cases = attack.drawn([(key, value) for key in keys() for value in VALUES], SEED)
    tally = attacker.run(cases, planned_and_started(attacker))
    tally.finish(f"{len(cases)} settings, {len(keys())} keys x {len(VALUES)} values, seed {SEED}")


if __name__ == "__main__":
    main()
