#!/usr/bin/env python3
"""Odd names, as bytes that lead nowhere, in a circle, to what may not be read or is no file, and
names that are hardly text but lead to something good: each in every place of every command that
takes one."""
import os
import pathlib
import shutil
import socket
import stat

import attack

SEED = 1
LONG = b"deep/" * 900 + b"end"
# What they lead to is made by odd_things(); "good" names a copy of what the place wants.
NAMES = (b"", b" ", b".", b"..", b"/", b"missing", b"missing/deeper", b"text.txt/inside", b"folder",
         b"loop", b"loop/inside", b"dangling", b"pipe", b"socket", b"/dev/null", b"/dev/zero",
         b"/proc/self/mem", b"secret", b"secret/inside", b"unread", b"sparse", b"n" * 300, LONG)
GOOD = (b"\xff\xfe", b"caf\xe9", b"new\nline", b"\x1b[31mred", b"-dash", b"quo\"te'\\", b"a b=c",
        "\u00fc \u2603".encode())
DEEPSPEED = '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}'

TRAIN = (b"tiny.toml", b"run.output=out", b"train_micro_batch_size_per_gpu=1")
NVME = (b"zero.stage=3", b"zero.offload_param.device=nvme", b"zero.offload_param.nvme_path=%s")
# The words of each command, with %s for the name, and what is good there: a file of tiny.toml's
# folder, "" where a new name is wanted, None where something good would only take its time.
COMMANDS = (
    ((b"%s", *TRAIN[1:]), "tiny.toml"),
    ((b"%s", b"--dry-run", *TRAIN[1:]), "tiny.toml"),
    ((b"plan", b"%s", *TRAIN[1:]), "tiny.toml"),
    ((b"plan", *TRAIN, b"--machine", b"%s"), "machine.toml"),
    ((b"plan", *TRAIN, b"run.machine=%s"), "machine.toml"),
    ((*TRAIN, b"run.machine=%s"), "machine.toml"),
    ((*TRAIN, b"data.train=%s"), "text.txt"),
    ((*TRAIN, b"data.validation_fraction=0", b"data.validation=%s"), "text.txt"),
    ((*TRAIN, b"data.tokenizer=%s"), "folder"),
    ((*TRAIN, b"model.init_from=%s"), "good"),
    ((*TRAIN[::2], b"run.output=%s"), ""),
    ((*TRAIN, b"checkpoint.dir=%s"), ""),
    ((*TRAIN, b"checkpoint.resume=auto", b"checkpoint.resume_from=%s"), "good"),
    ((*TRAIN, b"zero.stage=2", b"zero.offload_optimizer.device=nvme",
      b"zero.offload_optimizer.nvme_path=%s"), "folder"),
    ((*TRAIN, *NVME), "folder"),
    ((b"plan", *TRAIN, *NVME), "folder"),
    ((*TRAIN, b"activation_checkpointing.recompute=full",
      b"activation_checkpointing.offload=nvme", b"activation_checkpointing.nvme_path=%s"),
     "folder"),
    ((b"data", b"%s", *TRAIN[1:]), "tiny.toml"),
    ((b"data", *TRAIN, b"data.train=%s", b"--json"), "text.txt"),
    ((b"data", *TRAIN, b"--steps", b"1", b"--from", b"%s"), "good"),
    ((b"doctor", b"--scratch", b"%s"), "folder"),
    ((b"doctor", b"--nvme", b"%s", b"--json"), "folder"),
    ((b"calibrate", b"--out", b"%s/file"), None),
    ((b"calibrate", b"--nvme", b"%s/missing"), None),
    ((b"eval", b"%s"), "good"),
    ((b"eval", b"good/model", b"data.validation=%s"), "text.txt"),
    ((b"generate", b"%s", b"--prompt", b"a", b"--tokens", b"3"), "good"),
    ((b"generate", b"good", b"--prompt-file", b"%s", b"--tokens", b"3"), "tiny.toml"),
    ((b"ls", b"%s", b"--json"), "good"),
    ((b"ls", b"%s"), "good/checkpoints"),
    ((b"fsck", b"%s"), "good"),
    ((b"inspect", b"%s"), "good"),
    ((b"inspect", b"good", b"%s", b"--json"), "good/model"),
    ((b"export", b"%s", b"exported"), "good"),
    ((b"export", b"good", b"%s"), ""),
    ((b"export", b"good", b"%s", b"--format", b"hdf5"), ""),
    ((b"import-weights", b"%s", b"imported"), "good/model"),
    ((b"import-weights", b"good/model", b"%s"), ""),
    ((b"import-deepspeed", b"%s"), "ds.json"),
    ((b"import-deepspeed", b"ds.json", b"-o", b"%s"), ""),
)


def odd_things(place):
    folder = place.folder
    (folder / "folder").mkdir()
    os.chmod(folder / "folder", 0o777)
    (folder / "secret").mkdir(0o000)
    (folder / "unread").touch(0o000)
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("nowhere")
    os.mkfifo(folder / "pipe", 0o666)
    bound = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(folder)  # the name of a socket is short
    bound.bind("socket")
    os.chdir(here)
    bound.close()
    (folder / "sparse").touch(0o644)
    os.truncate(folder / "sparse", 64 << 20)
    (folder / "ds.json").write_text(DEEPSPEED)


def train_something(attacker):
    """In each place a run with a checkpoint and a model, and a machine's file."""
    words = ("tiny.toml", "run.output=good", "train_micro_batch_size_per_gpu=1",
             "export.at_end=true")
    machine = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "machine.toml"
    for _ in range(attacker.workers):
        place = attacker.places.get()
        end = attacker.start(place, words)
        if end.status != 0:
            raise SystemExit(f"failed: something good is trained: {end.out} {end.err}")
        if machine.exists():
            shutil.copy(machine, place.folder / "machine.toml")
        place.keep()
        attacker.places.put(place)


def copy_to(place, good, name):
    source, target = os.fsencode(place.folder / good), os.fsencode(place.folder) + b"/" + name
    if not os.path.exists(source):
        return
    if stat.S_ISDIR(os.stat(source).st_mode):
        shutil.copytree(source, target)
        os.chmod(target, 0o777)
    else:
        shutil.copy(source, target)


def attacked(attacker):
    def one(place, case):
        name, (words, good) = case
        if name in GOOD and good:
            copy_to(place, good, name)
        yield attacker.start(place, [word.replace(b"%s", name) for word in words])

    return one


def main():
    attacker = attack.Attack(odd_things)
    train_something(attacker)
    names = (*NAMES, *GOOD)
    cases = attack.drawn([(name, command) for name in names for command in COMMANDS
                          if name not in GOOD or command[1] is not None], SEED)
    tally = attacker.run(cases, attacked(attacker))
    tally.finish(f"{len(names)} names x {len(COMMANDS)} places of commands, seed {SEED}")


if __name__ == "__main__":
    main()
