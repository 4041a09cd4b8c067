#!/usr/bin/env python3
"""Signals at random moments to ranks and to their launcher: STOP for good and for a while, CONT,
TERM once and twice, KILL, and Ctrl-Z. None ends with 11 or by a signal that it was not sent, and
none waits longer than its watchdog. What is drawn follows from SEED (1); COUNT (200) is how many,
AT_ONCE (4) how many beside each other.

usage: attack_stops.py ZEROAPP MPIEXEC
"""
import collections
import concurrent.futures
import dataclasses
import os
import pathlib
import random
import re
import signal
import sys
import time

from dead_rank import fields_of, is_alive, ranks_of
from program import Program, check

SEED, COUNT = int(os.environ.get("SEED", "1")), int(os.environ.get("COUNT", "200"))
AT_ONCE = int(os.environ.get("AT_ONCE", "4"))
WATCHDOG_SECONDS, KILL_DELAY = 2, 1
# Ten times the watchdog's, twice the launcher's, and what a busy machine may add.
LIMIT_SECONDS = 10 * WATCHDOG_SECONDS + 2 * KILL_DELAY + 20
LISTENED_TO = 1 << (signal.SIGTERM - 1)
SETTINGS = ("run.steps=40", "checkpoint.interval=10", f"run.watchdog={WATCHDOG_SECONDS}")

STOP, CONT, TERM, KILL, TSTP = (signal.SIGSTOP, signal.SIGCONT, signal.SIGTERM, signal.SIGKILL,
                                signal.SIGTSTP)
# What is sent, with the seconds in between.
OF_RANKS = {"STOP": (STOP,), "STOP, CONT": (STOP, 0.5, CONT), "long STOP, CONT": (STOP, 3, CONT),
            "CONT": (CONT,), "TERM": (TERM,), "TERM, TERM": (TERM, 0.02, TERM),
            "TERM, later TERM": (TERM, 0.4, TERM), "KILL": (KILL,)}
# One that is stopped for good would end nothing; a second TERM is none of its ways.
OF_LAUNCHER = {name: OF_RANKS[name] for name in ("STOP, CONT", "long STOP, CONT", "CONT", "TERM",
                                                 "KILL")}
OF_LAUNCHER |= {"TSTP, CONT": (TSTP, 0.5, CONT), "long TSTP, CONT": (TSTP, 3, CONT)}


@dataclasses.dataclass
class Attack:
    """What is done in one run, drawn by its number."""
    number: int
    ranks: int = 2
    victim: str = "launcher"  # or "all ranks", or "rank 1"
    name: str = "KILL"
    moment: float = 0.5  # of the time from the return of MPI_Init to the end
    stage: int = 0

    @staticmethod
    def drawn(number):
        draw = random.Random(f"{SEED} {number}")
        ranks = draw.choice((2, 2, 4))
        victim = draw.choice(("launcher", "all ranks", *2 * [f"rank {r}" for r in range(ranks)]))
        names = OF_LAUNCHER if victim == "launcher" else OF_RANKS
        name = draw.choice([name for name in names if (victim, name) != ("all ranks", "STOP")])
        return Attack(number, ranks, victim, name, draw.uniform(0, 1.05), draw.randrange(4))

    def __str__(self):
        return (f"attack {self.number}: {self.name} to {self.victim} of {self.ranks} at stage "
                f"{self.stage}, {self.moment:.3f} of the way")


def start(program, attack):
    settings = (*SETTINGS, f"run.output=runs/{attack.number}", f"zero.stage={attack.stage}")
    *launch, zeroapp = program.launch_line(attack.ranks)
    delay = ("--mca", "odls_base_sigkill_timeout", str(KILL_DELAY))
    return program.popen([*launch, *delay, zeroapp, "tiny.toml", *settings])


def is_watched(process):
    """MPI_Init has returned there."""
    try:
        names = [path.read_text() for path in pathlib.Path(f"/proc/{process}/task").glob("*/comm")]
    except OSError:
        return False
    return "watchdog\n" in names


def wait_for_ranks(process, count):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        pids = ranks_of(process)
        if len(pids) == count and all(map(is_watched, pids)):
            return pids
        time.sleep(0.005)
    return []


def listens(pids):
    """To a first TERM; who does not, as before the first step, dies of it."""
    masks = []
    for pid in pids:
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue  # it has ended
        masks.append(int(re.search(r"SigCgt:\s*(\w+)", status).group(1), 16))
    return all(mask & LISTENED_TO for mask in masks)


def send(attack, process, pids):
    """Whether somebody may die of TERM."""
    victims = {"launcher": [process.pid], "all ranks": pids}.get(attack.victim)
    if victims is None:
        victims = [pids[int(attack.victim.split()[1])]]
    actions = OF_LAUNCHER if attack.victim == "launcher" else OF_RANKS
    may_die = attack.name == "TERM, later TERM"
    for what in actions[attack.name]:
        if not isinstance(what, signal.Signals):
            time.sleep(what)
            continue
        may_die |= what == TERM and (attack.victim == "launcher" or not listens(victims))
        for victim in victims:
            try:
                os.kill(victim, what)
            except ProcessLookupError:
                pass  # it has ended
    return may_die


def goes_on_behind_its_end(process, pids):
    """Only a rank is left that was stopped when MPI_Finalize had returned everywhere."""
    left = [pid for pid in pids if is_alive(pid)]
    if len(left) != 1 or fields_of(left[0])[0] != "T":
        return False
    os.kill(left[0], CONT)
    deadline = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return process.poll() in (0, 1)


def written(folder):
    """What a run that moves adds to."""
    try:
        return sum(path.lstat().st_size for path in folder.rglob("*"))
    except OSError:
        return time.monotonic()  # something went away just now


def wait_for_end(process, pids, folder):
    """Seconds in which nothing moved until launcher and ranks were gone; more than the limit where
    they were not."""
    begun, seen = time.monotonic(), -1
    while time.monotonic() - begun <= LIMIT_SECONDS:
        if process.poll() is not None and not any(map(is_alive, pids)):
            break
        now = written(folder)
        if now != seen:
            begun, seen = time.monotonic(), now
        time.sleep(0.05)
    seconds = time.monotonic() - begun
    if seconds > LIMIT_SECONDS and goes_on_behind_its_end(process, pids):
        return 0
    for pid in [pid for pid in (process.pid, *pids) if is_alive(pid)]:
        os.kill(pid, KILL)
    return seconds


def problems_of(result, seconds, may_die):
    found = []
    if seconds > LIMIT_SECONDS:
        found.append(f"waits: not all gone {LIMIT_SECONDS} s later")
    if result.status == 11 or "error E1100" in result.err:
        found.append("status 11")
    numbers = {int(number) for number in re.findall(r"exited on signal (\d+)", result.err)}
    if "Process received signal" in result.err:
        found.append("a signal: a crash")
    for number in numbers - {int(KILL)} - ({int(TERM)} if may_die else set()):
        found.append(f"a signal: {signal.Signals(number).name}")
    return found


def run(program, attack, whole_seconds):
    process = start(program, attack)
    pids = wait_for_ranks(process, attack.ranks)
    if not pids:
        process.kill()
        return "no start", [f"waits: {attack.ranks} ranks do not begin"]
    time.sleep(attack.moment * whole_seconds)
    may_die = send(attack, process, pids)
    seconds = wait_for_end(process, pids, program.folder / "runs" / str(attack.number))
    result = program.wait(process, run=str(attack.number))
    found = problems_of(result, seconds, may_die)
    if found:
        print(f"{attack}: {', '.join(found)}; status {result.status}", result.out[-600:],
              result.err[-2000:], sep="\n", file=sys.stderr)
    return f"{attack.name} to {attack.victim.split()[0]}: status {result.status}", found


def seconds_of_a_whole_run(program):
    """As long as it takes beside as many others as there will be."""
    def whole(number):
        attack = Attack(number)
        process = start(program, attack)
        pids = wait_for_ranks(process, attack.ranks)
        begun = time.monotonic()
        result = program.wait(process, run=str(number))
        check(pids and result.finished(), "a whole run finishes", result)
        return time.monotonic() - begun

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return max(pool.map(whole, range(-AT_ONCE, 0)))


def main():
    program = Program()
    whole_seconds = seconds_of_a_whole_run(program)
    print(f"seed {SEED}, {COUNT} attacks; a whole run takes {whole_seconds:.1f} s")
    tally, problems = collections.Counter(), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        attacks = map(Attack.drawn, range(COUNT))
        for outcome, found in pool.map(lambda a: run(program, a, whole_seconds), attacks):
            tally[outcome] += 1
            problems.update(problem.split(":")[0] for problem in found)
    for outcome, count in sorted(tally.items()):
        print(f"{count:5} {outcome}")
    print(f"{COUNT} attacks: {problems['status 11']} of status 11, {problems['a signal']} signals "
          f"but KILL, {problems['waits']} waits beyond the watchdog")
    check(not problems, f"{dict(problems)}")


if __name__ == "__main__":
    main()
