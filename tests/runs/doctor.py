#!/usr/bin/env python3
"""zeroapp doctor: one table for all ranks, in ten seconds, with the status of training."""
import json
import time
import tomllib

from program import Program, check

SUBJECTS = ("MPI", "MPI threads", "launcher", "MPI kill delay", "processor", "binding",
            "core quota", "NUMA", "environment", "Kokkos", "products", "peak fp32", "peak bf16",
            "memory", "locked memory", "bandwidth", "huge pages", "/dev/shm", "memory files",
            "peer copies", "io_uring", "HDF5", "scratch")


def a_process_of_its_own_prints_every_subject(program):
    start = time.monotonic()
    result = program.alone("doctor")
    seconds = time.monotonic() - start
    check(result.status == 0 and not result.err, f"status 0, not {result.status}", result)
    check("training can start" in result.out, "says so", result)
    check(seconds < 10, f"takes {seconds:.1f} s", result)
    for subject in SUBJECTS:
        check(any(f" {subject} " in line[8:30] for line in result.out.splitlines()),
              f"a line of {subject}", result)
    return seconds


def json_holds_the_same(program):
    result = program.alone("doctor", "--json")
    report = json.loads(result.out)
    found = {finding["subject"]: finding for finding in report["findings"]}
    check(set(SUBJECTS) <= set(found), f"all subjects: {sorted(found)}", result)
    check(found["bandwidth"]["figure"] > 0.1, "a bandwidth in GB/s", result)
    # A machine that is busy elsewhere is told so instead.
    peak = found["peak fp32"]
    check(peak.get("figure", 0) > 0.1 or peak["verdict"] == "warning", "a peak in GFLOP/s", result)
    check(report["status"] == 0 and report["ranks"] == 1, "status and ranks", result)


def two_ranks_print_one_table(program):
    *launch, zeroapp = program.launch_line(2)
    result = program.wait(program.popen([*launch, zeroapp, "doctor"]))
    check(result.out.count("training can start") == 1, "one table", result)
    check("mpirun: 2 ranks, 2 on" in result.out, "of two ranks", result)
    check("GB/s a rank" in result.out, "with the figures of both", result)
    if program.open_mpi() >= 5:
        check("kill -USR1 of mpirun" in result.out, "and of a delay that nobody sets", result)
        return
    check("odls_base_sigkill_timeout" in result.out, "and the kill delay", result)
    lasting = program.wait(program.popen([*launch, zeroapp, "doctor", "--json"],
                                         {"OMPI_MCA_odls_base_sigkill_timeout": "300"}))
    findings = json.loads(lasting.out)["findings"]
    delay = next(finding for finding in findings if finding["subject"] == "MPI kill delay")
    check(delay["verdict"] == "good" and " 600 s" in delay["found"], f"600 s: {delay}", lasting)


def what_training_needs_decides_the_status(program):
    result = program.alone("doctor", "--scratch", "absent")
    check(result.status == 5, f"status 5 as an I/O error, not {result.status}", result)
    check("missing  scratch" in result.out and "run.output" in result.out, "says what", result)
    check(not list(program.folder.glob(".zeroapp-probe*")), "leaves no probe", result)
    refused = program.alone("doctor", "run.steps=3")
    check(refused.status == 2 and len(refused.error_lines()) == 1, "takes no setting", refused)


def a_disk_is_measured_and_settings_are_recommended(program):
    (program.folder / "disk").mkdir()
    result = program.alone("doctor", "--nvme", "disk")
    check(result.status == 0, f"status 0, not {result.status}", result)
    lines = [line.split(" -> ")[-1].strip() for line in result.out.splitlines()]
    first = lines.index("[aio]")
    pasted = tomllib.loads("\n".join(lines[first:first + 3]))["aio"]
    check(pasted["block_size"] >= 4096 and 1 <= pasted["queue_depth"] <= 64, f"{pasted}", result)
    rates = [line for line in lines if " by " in line and " GB/s" in line and "mixed" in line]
    check(len(rates) >= 3, "some settings are tried", result)
    check("written by this look" in result.out, "says what it cost the disk", result)
    check(not list((program.folder / "disk").iterdir()), "leaves nothing behind", result)
    for folder in ("", "absent", "text.txt"):
        refused = program.alone("doctor", "--nvme", folder)
        check(refused.status == 2 and len(refused.error_lines()) == 1, f"2 for '{folder}'", refused)
    check(not (program.folder / "absent").exists(), "creates no folder", refused)


def settings_that_hurt_are_named(program):
    result = program.alone("doctor", env={"OMP_WAIT_POLICY": "active", "OMP_PROC_BIND": "close"})
    check("OMP_WAIT_POLICY=active" in result.out, "the wait policy", result)
    check("unset OMP_PROC_BIND" in result.out, "and what to do", result)


def tasks_that_mpi_cannot_join_are_refused(program):
    tasks = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}
    first = program.alone("doctor", env=dict(tasks, SLURM_PROCID="0"))
    check(first.status == 2 and "--mpi=pmix" in first.err, "the first names the launcher", first)
    other = program.alone("doctor", env=dict(tasks, SLURM_PROCID="1"))
    check(other.status == 2 and not other.out + other.err, "the others are silent", other)


def main():
    program = Program(quick=False)
    seconds = a_process_of_its_own_prints_every_subject(program)
    json_holds_the_same(program)
    two_ranks_print_one_table(program)
    what_training_needs_decides_the_status(program)
    a_disk_is_measured_and_settings_are_recommended(program)
    settings_that_hurt_are_named(program)
    tasks_that_mpi_cannot_join_are_refused(program)
    print(f"doctor tells in {seconds:.1f} s")


main()
