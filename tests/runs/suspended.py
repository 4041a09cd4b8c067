#!/usr/bin/env python3
"""A job that is halted and goes on, as by Ctrl-Z and bg or by a scheduler, trains as if nothing had
been; Ctrl-C still ends it with a checkpoint. REPEAT=N in the environment does all of it N times.
"""
import math
import os
import re
import signal
import time

from dead_rank import is_alive
from program import Program, check
from signals import begin, first_rank, other_rank, wait_for_steps

# Longer than the watchdog of a run that is halted, which in turn is longer than a busy machine
# keeps a rank from its cores.
WATCHDOG_SECONDS, HALT_SECONDS = 3, 5
# Well below what the program takes for two.
AT_ONCE_SECONDS = 0.1
# An end that surely fits into the second that mpirun gives it.
FITS_SECONDS = 0.5


def taken(program):
    return (program.folder / "runs/tiny/metrics.jsonl").read_text().count("\n")


def state_of(process):
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def wait_until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        check(time.monotonic() < deadline, what)
        time.sleep(0.01)


def goes_on_and_ends(program, process, what):
    """Steps are taken from here on, until a SIGTERM ends it."""
    wait_for_steps(program, process, taken(program) + 20)
    os.kill(other_rank(program), signal.SIGTERM)
    result = program.wait(process)
    check(result.status == 85 and not result.error_lines(), f"{what}: ends when told to", result)
    steps = [line["step"] for line in result.metrics]
    check(steps == list(range(1, len(steps) + 1)), f"{what}: every step once", result)


def halted_job_goes_on(program, seconds):
    """mpirun halts its ranks, not itself."""
    process = begin(program, settings=(f"run.watchdog={WATCHDOG_SECONDS}",))
    ranks = first_rank(program), other_rank(program)
    process.send_signal(signal.SIGTSTP)
    wait_until(lambda: all(state_of(rank) == "T" for rank in ranks), "all ranks are halted")
    time.sleep(seconds)
    before = taken(program)
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: taken(program) > before or process.poll() is not None, "steps go on")
    goes_on_and_ends(program, process, f"halted for {seconds} s")


def halted_ranks_go_on(program):
    """As a scheduler does it, to every process of the job."""
    process = begin(program, settings=(f"run.watchdog={WATCHDOG_SECONDS}",))
    job = process.pid, first_rank(program), other_rank(program)
    for number in (signal.SIGTSTP, signal.SIGSTOP, None, signal.SIGCONT):
        for part in job if number else ():
            os.kill(part, number)
        if number is None:
            time.sleep(HALT_SECONDS)
    goes_on_and_ends(program, process, "all processes halted")


def lone_continue_is_nothing(program):
    process = begin(program)
    process.send_signal(signal.SIGCONT)
    goes_on_and_ends(program, process, "SIGCONT")


def two_sigterm_at_once_are_one(program):
    """Returns the seconds until the ranks were gone."""
    for _ in range(5):
        process = begin(program)
        ranks = first_rank(program), other_rank(program)
        begun = time.monotonic()
        for rank in 2 * ranks:
            os.kill(rank, signal.SIGTERM)
        if time.monotonic() - begun < AT_ONCE_SECONDS:
            break
        program.wait(process)  # this test was kept from a core meanwhile
    while any(map(is_alive, ranks)):
        time.sleep(0.01)
    seconds = time.monotonic() - begun
    result = program.wait(process)
    check(result.status == 85 and not result.error_lines(), "two SIGTERM at once are one", result)
    require_saved(result)
    return seconds


def require_saved(result):
    """The checkpoint of the stop that it tells is there."""
    steps = re.findall(r"^stopped by SIGTERM .* after step (\d+) of", result.out, re.M)
    check(len(steps) == 1 and f"saved step {steps[0]}\n" in result.out, "the stop is saved", result)


def interrupt_saves(program, end_seconds):
    """mpirun sends SIGCONT, SIGTERM after its kill delay and SIGKILL after another one: as long as
    an end has taken, or on a machine that is busier by now some times that."""
    for times in (2, 4, 8):
        delay = str(math.ceil(times * end_seconds))
        process = begin(program, env={"OMPI_MCA_odls_base_sigkill_timeout": delay})
        process.send_signal(signal.SIGINT)
        result = program.wait(process)
        if "stopped by SIGTERM" in result.out:
            break
    require_saved(result)


def interrupt_ends_all_and_a_passed_signal_saves(program):
    """Under Open MPI 5, whose mpirun kills soon after Ctrl-C."""
    process = begin(program)
    ranks = first_rank(program), other_rank(program)
    process.send_signal(signal.SIGINT)
    result = program.wait(process)
    check(result.status == 1 and not any(map(is_alive, ranks)), "Ctrl-C ends all", result)
    process = begin(program)
    process.send_signal(signal.SIGUSR1)
    result = program.wait(process)
    check(result.status == 85 and "saved step" in result.out, "SIGUSR1 to mpirun saves", result)


def interrupt_saves_with_the_delay_of_mpirun(program):
    """A second, into which a save must fit: on a busy machine one of some does."""
    for left in reversed(range(5)):
        process = begin(program)
        process.send_signal(signal.SIGINT)
        result = program.wait(process)
        if "saved step" in result.out or left == 0:
            return "saved step" in result.out
    return False


def main():
    program = Program()
    for _ in range(int(os.environ.get("REPEAT", "1"))):
        halted_job_goes_on(program, 0.2)
        halted_job_goes_on(program, HALT_SECONDS)
        halted_ranks_go_on(program)
        lone_continue_is_nothing(program)
        end_seconds = two_sigterm_at_once_are_one(program)
        if program.open_mpi() >= 5:
            interrupt_ends_all_and_a_passed_signal_saves(program)
            continue
        interrupt_saves(program, end_seconds)
        saved = interrupt_saves_with_the_delay_of_mpirun(program)
        check(saved or end_seconds > FITS_SECONDS, "a save that fits into mpirun's delay is made")
        print(f"an end took {end_seconds:.1f} s; saved within a second: {saved}")
    print("halted jobs go on")


if __name__ == "__main__":
    main()
