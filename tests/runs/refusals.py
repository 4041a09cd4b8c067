#!/usr/bin/env python3
"""What the program refuses: one line, one status, nothing touched."""
import json
import os

from program import Program, check, check_refused


def unknown_key_names_its_line(program):
    program.write("typo.toml", "train_batch_size = 8\n[zero]\nstagee = 1\n")
    check_refused(program.train(2, input_file="typo.toml"), 2, "typo.toml:3", "zero.stagee",
                  'did you mean zero.stage?')
    check(not (program.folder / "runs").exists(), "a refused configuration makes no folder")


def wrong_override_names_the_command_line(program):
    check_refused(program.train(2, "run.stepz=3"), 2, "command line: run.stepz")


def quoted(setting):
    key, value = setting.split(" = ")
    return setting if value.isdigit() or value == "true" else f'{key} = "{value}"'


def placed(program, *settings):
    """Writes the input file of all tests with settings more at the end of its top level, and gives
    the number of the last one's line."""
    keys = tuple(setting.split("=")[0] for setting in settings)
    model = (program.folder / "tiny.toml").read_text()
    lines = [line for line in model.splitlines() if not line.startswith(keys)]
    line = lines.index("[model]")
    lines[line:line] = map(quoted, settings)
    program.write("placed.toml", "\n".join(lines))
    return line + len(settings)


def what_ranks_make_impossible_has_its_place(program):
    """In a file and on the command line."""
    batch, full = "train_batch_size = auto", "activation_checkpointing.recompute = full"
    for ranks, words, *settings in (
            (3, "write train_batch_size = 6 or 9", "train_batch_size = 7"),
            (3, "start 2 ranks", batch, "numerics.reproducible = true"),
            (3, "write 3 or more", batch, "zero.reduce_bucket_size = 2"),
            (3, "write 3 or more", batch, "zero.stage = 1", "zero.allgather_bucket_size = 2"),
            (1, "buffer_count = 1", full, "activation_checkpointing.offload = cpu")):
        key = settings[-1].split(" = ")[0]
        typed = [setting.replace(" = ", "=") for setting in settings]
        refused = program.alone("plan", "tiny.toml", "--ranks", str(ranks), *typed)
        check_refused(refused, 2, f"command line: {key}: ", words)
        line = placed(program, *settings)
        refused = program.alone("plan", "placed.toml", "--ranks", str(ranks))
        check_refused(refused, 2, f"placed.toml:{line}: {key}: ", words)


def every_command_names_the_place(program):
    check_refused(program.train(2, "train_batch_size=7"), 2,
                  "] command line: train_batch_size: ")
    place = f"placed.toml:{placed(program, 'train_batch_size = 7')}: train_batch_size: "
    check_refused(program.train(2, input_file="placed.toml"), 2, "] " + place)
    check_refused(program.alone("data", "placed.toml", "--ranks", "2"), 2, place)
    many = program.train(1, "run.steps=0", "run.epochs=1000000000", "train_batch_size=auto")
    check_refused(many, 2, "command line: run.epochs: ", "the most are 100000000")
    check(not (program.folder / "runs").exists(), "a refused configuration makes no folder")


def launcher_without_mpi_is_refused(program):
    env = {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "32"}
    check_refused(program.alone("tiny.toml", env=env), 2,
                  "started as 32 tasks that MPI cannot join: use srun --mpi=pmix")
    silent = program.alone("tiny.toml", env=dict(env, SLURM_PROCID="7"))
    check(silent.status == 2 and not silent.error_lines(), "the other tasks stay silent", silent)
    check(not (program.folder / "runs").exists(), "a refused launch makes no folder")


def what_changes_nothing_is_one_warning(program):
    result = program.train(1, "run.share_device=true", "run.record=false",
                           "numerics.attention=fast", "run.steps=1")
    check(result.status == 0, "devices may be shared, and given kernels one by one", result)
    for setting in ("run.share_device: true", "run.record: false", 'numerics.attention: "fast"'):
        told = f"zeroapp: warning: command line: {setting} changes nothing" in result.err
        check(told == ("SHARE_DEVICE" not in os.environ), "which a build for GPUs does not say",
              result)


def missing_data_is_named(program):
    result = program.train(2, "data.train=absent.txt")
    check(result.status == 3, f"absent data ends with 3, not {result.status}", result)
    check(len(result.error_lines()) == 1 and "absent.txt" in result.error_lines()[0],
          "one line names the absent file", result)


def ranks_with_other_settings_disagree(program):
    one = [str(program.zeroapp), "tiny.toml"]
    result = program.wait(program.apart((program.folder, one),
                                        (program.folder, [*one, "run.seed=2"])))
    check_refused(result, 8, "the configuration differs between rank 0 and rank 1: "
                  "run.seed = 1 and 2")


def more_ranks_than_train_are_neither_planned_nor_advised(program):
    """One limit of runs, plans and advice, on hosts and on cards."""
    card, batch = ("--machine", "v100_32g"), "train_batch_size=auto"
    for words in (("plan",), ("plan", *card), ("data",)):
        check_refused(program.alone(*words, "tiny.toml", "--ranks", "8193"), 2, "1 to 8192")
    for machine in ((), card):
        plan = ("plan", "tiny.toml", batch, "run.threads=1", *machine, "--ranks")
        for ranks in ("128", "4096"):
            result = program.alone(*plan, ranks, "memory.device_limit=1GiB")
            check(result.status == 0, f"{ranks} ranks are planned {machine}", result)
        none = program.alone(*plan, "2", "memory.device_limit=20000")
        check_refused(none, 6, "on up to 8192 ranks")


def too_little_memory_is_refused_before_training(program):
    result = program.train(2, "memory.device_limit=100000")
    check_refused(result, 6, "memory.device_limit")
    check(not (program.folder / "runs").exists(), "a refused plan makes no folder")


def broken_numbers_end_the_run(program):
    result = program.train(2, "optimizer.lr=1e3", "run.steps=200", "numerics.max_bad_steps=2",
                           "gradient_clipping=0", "model.dropout=0", "bf16.enabled=true")
    check_refused(result, 7, "3 steps in a row were not finite")
    record = json.loads((program.folder / "runs/tiny/error.json").read_text())
    check(record["exit"] == 7 and record["step"] > 0, f"error.json says so: {record}")
    launch = json.loads((program.folder / "runs/tiny/launches.jsonl").read_text())
    check(launch["ended"] == f"error E0700 in step {record['step']}", f"so does {launch}")


def main():
    program = Program()
    unknown_key_names_its_line(program)
    wrong_override_names_the_command_line(program)
    launcher_without_mpi_is_refused(program)
    what_ranks_make_impossible_has_its_place(program)
    every_command_names_the_place(program)
    more_ranks_than_train_are_neither_planned_nor_advised(program)
    too_little_memory_is_refused_before_training(program)
    missing_data_is_named(program)
    ranks_with_other_settings_disagree(program)
    broken_numbers_end_the_run(program)
    what_changes_nothing_is_one_warning(program)
    print("all refused")


main()
