#!/usr/bin/env python3
"""A build for GPUs where it sees none: what computes nothing works, what trains is refused in one
line with status 2, and doctor names what is missing."""
import pathlib
import shutil
import tarfile

from program import Program, check, check_refused

TESTS = pathlib.Path(__file__).resolve().parents[1]
NONE = "no usable CUDA device found"


def good(program, *words):
    result = program.alone(*words)
    check(result.status == 0, f"{words}: status 0, not {result.status}", result)
    check("zeroapp: error" not in result.err and "CUDA" not in result.err,
          f"{words}: nothing of CUDA on stderr", result)
    return result.out


def what_computes_nothing_works(program):
    check(good(program, "--version").startswith("zeroapp "), "its version")
    good(program, "--help")
    check("arena in all" in good(program, "plan", "tiny.toml"), "a plan")
    good(program, "plan", "tiny.toml", "--json", "--ranks", "4", "zero.stage=3")
    good(program, "plan", "tiny.toml", "--machine", "h200_141g")
    good(program, "tiny.toml", "--dry-run")
    good(program, "data", "tiny.toml")
    shutil.copy(TESTS / "fixtures/deepspeed/transformers_stage2.json", program.folder / "ds.json")
    check("[zero]" in good(program, "import-deepspeed", "ds.json"), "an input file")
    for word in ("ls", "fsck"):
        check_refused(program.alone(word, "absent"), 3, "absent")


def checkpoints_are_looked_at_and_exported(program):
    with tarfile.open(TESTS / "golden/checkpoint_v1.tar.xz") as packed:
        packed.extractall(program.folder / "sample")
    check("verifies" in good(program, "ls", "sample"), "a checkpoint is listed")
    check("verified" in good(program, "fsck", "sample"), "and verified")
    good(program, "inspect", "sample")
    good(program, "export", "sample", "model")
    good(program, "import-weights", "model", "weights")
    (program.folder / "tokens.bin").write_bytes(bytes([1, 0, 2, 0, 3, 0, 4, 0] * 3))
    check_refused(program.alone("eval", "sample", "data.train=tokens.bin",
                                "data.validation=tokens.bin"), 2, NONE)


def what_trains_is_refused(program):
    for result in (program.alone("tiny.toml"), program.train(1), program.train(2),
                   program.train(2, "run.share_device=false")):
        check_refused(result, 2, NONE, "cmake --preset host-release", "zeroapp plan works here")
        check(not (program.folder / "runs").exists(), "a refused training makes no folder")
    check_refused(program.alone("generate", "model", "--prompt", "a"), 2, NONE)
    check_refused(program.alone("calibrate"), 2, NONE)
    check(not (program.folder / "machine.toml").exists(), "nothing is measured")


def doctor_names_what_is_missing(program):
    for result in (program.alone("doctor"),
                   program.wait(program.popen([*program.launch_line(2), "doctor"]))):
        check(result.status == 2, f"doctor ends with 2, not {result.status}", result)
        check("missing  GPU" in result.out, "the GPU is missing", result)
        check("status 2" in result.out, "training would end with 2", result)
        for subject in ("processor", "bandwidth", "HDF5", "scratch"):
            check(f" {subject} " in result.out, f"and {subject} is looked at", result)


def main():
    program = Program()
    program.env["CUDA_VISIBLE_DEVICES"] = ""
    what_computes_nothing_works(program)
    checkpoints_are_looked_at_and_exported(program)
    what_trains_is_refused(program)
    doctor_names_what_is_missing(program)
    print("nothing of it needs a GPU")


main()
