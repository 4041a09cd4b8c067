#!/usr/bin/env python3
"""A small one of each class of mistake that attack_settings.py, attack_paths.py and
attack_limits.py try by the thousand: its status, one line, and a word of what to change."""
import json
import os
import resource
import sys

import attack
from program import check, check_refused, open_mpi

TRAIN = ("tiny.toml", "run.output=out", "train_micro_batch_size_per_gpu=1")
PLAN = ("plan", *TRAIN)
NVME = ("zero.stage=3", "zero.offload_param.device=nvme")
LONG = "n" * 300
SPACE = 40 << 20
SPACE_OF_THREADS = 72 << 20  # for some of them
# For libraries, not for threads: those of Open MPI 5 take more before main() begins.
SPACE_OF_MPI = (32 if open_mpi(sys.argv[2]) >= 5 else 12) << 20

# What is typed, the status, words of the line; then the environment and limits, where they matter.
MISTAKES = (
    # Paths: no permission, links in a circle, names too long, no text, pipes.
    (("eval", "secret"), 3, "secret/config.json: Permission denied; let this user"),
    (("fsck", "secret/inside"), 3, "secret/inside/checkpoints: Permission denied"),
    (("ls", "loop"), 3, "Too many levels of symbolic links; its links lead in a circle"),
    (("inspect", LONG), 3, "File name too long; name a shorter path"),
    (("export", "loop/inside", "new"), 3, "links lead in a circle"),
    (("import-weights", "model", "loop/inside"), 5, "links lead in a circle"),
    (("import-weights", "epsilon", "new"), 3, ": write above 0 to 1 as in a GPT2"),
    (("import-weights", b"\xff\xfe", "new"), 3, "the name is no UTF-8 text"),
    (("generate", "secret", "--prompt", "a"), 3, "secret/config.json: Permission denied"),
    ((LONG,), 2, "File name too long"),
    (("loop",), 2, "Too many levels of symbolic links"),
    (("unread",), 2, "unread: Permission denied; let this user"),
    (("plan", *TRAIN, "run.machine=/proc/self/mem"), 2, "Input/output error"),
    ((*TRAIN, *NVME, "zero.offload_param.nvme_path=loop"), 2, "nvme_path: loop Too many"),
    ((*TRAIN, *NVME, "zero.offload_param.nvme_path=secret/in"), 2, "Permission denied"),
    ((*TRAIN, "checkpoint.resume=auto", "checkpoint.resume_from=loop"), 4, "symbolic links"),
    ((*TRAIN, "model.init_from=secret"), 3, "secret/config.json: Permission denied"),
    ((*TRAIN[::2], "run.output=secret/in"), 5, "run.output: secret/in: Permission denied"),
    # Numbers that no step and no plan can count.
    ((*PLAN[:3], "train_batch_size=4294967296", "gradient_accumulation_steps=1"), 2,
     "a micro-batch of 4294967296 samples, and the most are 1000000"),
    ((*PLAN, "train_batch_size=4294967296"), 2, "a step of 4294967296 micro-batches"),
    ((*TRAIN, "data.train=synthetic", "data.validation_fraction=0",
      "data.sequence_length=1024", "data.max_train_samples=9000000000000000"), 2,
     "samples of 1024 + 1 tokens are too many"),
    ((*PLAN, "optimizer.eps=1e308"), 2, "out of range; write above 0 to 1"),
    ((*PLAN, "model.dropout=0.9999999999999999"), 2, "out of range; write 0 to below 1"),
    # What libraries would end the program for.
    ((*TRAIN, "run.threads=0"), 2, "OMP_NUM_THREADS=4096: a rank takes 1 to 512 threads",
     {"OMP_NUM_THREADS": "4096"}),
    ((*TRAIN, "run.threads=4096"), 2, "run.threads: 4096 is out of range"),
    (TRAIN, 2, "KOKKOS_NUM_THREADS=0: is no number from 1", {"KOKKOS_NUM_THREADS": "0"}),
    (TRAIN, 2, "KOKKOS_NUM_THREADS=3: a rank here has 1 thread", {"KOKKOS_NUM_THREADS": "3"}),
    (TRAIN, 2, "KOKKOS_PRINT_CONFIGURATION=x: is neither true nor false",
     {"KOKKOS_PRINT_CONFIGURATION": "x"}),
    # What the system refuses.
    (TRAIN, 5, "File too large", {}, ((resource.RLIMIT_FSIZE, 1 << 10),)),
    (TRAIN, 6, "ulimit -s 256", {}, ((resource.RLIMIT_STACK, 64 << 10),)),
    (TRAIN, 5, "the checkpoint of step 2 failed", {}, ((resource.RLIMIT_FSIZE, 40 << 10),)),
    (TRAIN, 5, "files open at one time", {}, ((resource.RLIMIT_NOFILE, 12),)),
    (TRAIN, 6, "the system refuses thread ", {}, ((resource.RLIMIT_DATA, SPACE_OF_THREADS),)),
    ((*TRAIN, "run.threads=2"), 6, "the system refuses thread 1", {"OMP_STACKSIZE": "131072G"}),
    (TRAIN, 6, "the threads that MPI starts", {}, ((resource.RLIMIT_DATA, SPACE_OF_MPI),)),
    (("plan", *TRAIN, "model.width=1024", "memory.host_limit=auto"), 6, "data, ulimit -d", {},
     ((resource.RLIMIT_DATA, SPACE),)),
)


def furnish(place):
    folder = place.folder
    (folder / "secret").mkdir(0o000)
    (folder / "unread").touch(0o000)
    (folder / "loop").symlink_to("loop")


def train_a_model(attacker, place):
    """Copied under a name that is no text, and with an epsilon that no fp32 number has."""
    end = attacker.start(place, (*TRAIN[::2], "run.output=good", "export.at_end=true"))
    check(end.status == 0, "a model is trained", end)
    good, folder = place.folder / "good/model", os.fsencode(place.folder)
    for name in (b"model", b"epsilon", b"\xff\xfe"):
        copy = os.path.join(folder, name)
        os.mkdir(copy)
        os.chmod(copy, 0o755)
        for file in good.iterdir():
            content = file.read_bytes()
            if name == b"epsilon" and file.name == "config.json":
                content = json.dumps(dict(json.loads(content), layer_norm_epsilon=1e308)).encode()
            with open(os.path.join(copy, os.fsencode(file.name)), "wb") as out:
                out.write(content)
    place.keep()


def a_pipe_is_read(attacker, place):
    shell = ("bash", "-c", 'exec "$0" plan <(cat tiny.toml) train_micro_batch_size_per_gpu=1')
    end = attacker.start(place, (), launcher=shell)
    check(end.status == 0, "a command's output is an input file", end)


def main():
    attacker = attack.Attack(furnish)
    place = attacker.places.get()
    train_a_model(attacker, place)
    for words, status, said, *around in MISTAKES:
        env, limits = (*around, *({}, ())[len(around):])
        end = attacker.start(place, words, env=env, limits=limits)
        place.clean()
        check_refused(end, status, said)
    a_pipe_is_read(attacker, place)
    print(f"{len(MISTAKES)} mistakes, each has its status and its sentence")


main()
