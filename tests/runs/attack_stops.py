#!/usr/bin/env python3
"""Signals to ranks and to their launcher, at a drawn point of a run: STOP for good and for a while,
CONT, TERM once and twice, KILL, and Ctrl-Z. None ends with 11 or by a signal that it was not sent,
and none waits longer than its watchdog. A point is a step, or a call at which a rank is held for a
while, and at least 90 % of the attacks must find all ranks alive and before its end. What is drawn
follows from SEED (1); COUNT (200) is how many, SHARE=K/N the K-th of N parts of them, AT_ONCE (4)
how many beside each other.

usage: attack_stops.py ZEROAPP MPIEXEC FAULT_CALLS
"""
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import signal
import sys
import threading
import time

from attack import share_of
from dead_rank import fields_of, is_alive, ranks_of
from patience import Patience, waits_of
from program import Program, check

SEED, COUNT = int(os.environ.get("SEED", "1")), int(os.environ.get("COUNT", "200"))
AT_ONCE = int(os.environ.get("AT_ONCE", "4"))
# On a machine with much else to do a living rank may get nothing done in 2 s.
WATCHDOG_SECONDS, KILL_DELAY = int(os.environ.get("WATCHDOG", "2")), 1
# Ten times the watchdog's, twice the launcher's, and what a busy machine may add.
LIMIT_SECONDS = 10 * WATCHDOG_SECONDS + 2 * KILL_DELAY + 20
AT_ONCE_SECONDS = 0.1  # well below what the program takes for that
LEAST_MET = 0.9  # of the attacks meet the point that was drawn
STEPS, SHORT, HELD_SECONDS = 100, 6, 3
SETTINGS = ("checkpoint.interval=20", "evaluation.show_samples=1", "train_batch_size=4",
            "model.width=16", f"run.watchdog={WATCHDOG_SECONDS}")
# Where a rank is held: what its path holds, and which calls about it, of which the first or, where
# there are some, one by lot. Samples are drawn on rank 0 while the others wait; it has the lock.
HELD = {"before the banner": ("/tiny.toml", "open", 1), "reading": ("/text.txt", "pread", 3),
        "at its folder": ("/lock", "open", 1), "at its record": ("/launches.jsonl", "open", 1),
        "saving": ("/checkpoints/", "fsync", 3), "at its summary": ("/summary.json", "open", 1),
        "at its samples": ("/sample.txt", "open", 1),
        "behind the last line": ("/lock", "ftruncate", 2)}
OF_RANK_0 = ("at its folder", "at its record", "at its summary", "at its samples",
             "behind the last line")
PLACES = (*8 * ["steps"], *2 * ["planning"], *HELD)
# Which takes a while to plan, and little else.
DEEP = ("model.layers=80",)

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
    place: str = "steps"
    point: float = 0.5  # of the steps, or of a second at the place
    held: int = 0  # the rank that is held there
    stage: int = 0

    @staticmethod
    def drawn(number):
        draw = random.Random(f"{SEED} {number}")
        ranks = draw.choice((2, 2, 4))
        victim = draw.choice(("launcher", "all ranks", *2 * [f"rank {r}" for r in range(ranks)]))
        names = OF_LAUNCHER if victim == "launcher" else OF_RANKS
        name = draw.choice([name for name in names if (victim, name) != ("all ranks", "STOP")])
        place = draw.choice(PLACES)
        held = 0 if place in OF_RANK_0 else draw.randrange(ranks)
        return Attack(number, ranks, victim, name, place, draw.random(), held, draw.randrange(4))

    def __str__(self):
        return (f"attack {self.number}: {self.name} to {self.victim} of {self.ranks} at stage "
                f"{self.stage}, {self.place} of rank {self.held}, {self.point:.3f}")

    def settings(self):
        steps = STEPS if self.place == "steps" else SHORT
        deep = DEEP if self.place == "planning" else ()
        return (*SETTINGS, *deep, f"run.steps={steps}", f"run.output=runs/{self.number}",
                f"zero.stage={self.stage}")

    def faults(self, log):
        """Calls that are held, or where none are, calls that tell of planning."""
        under, only, calls = HELD.get(self.place, ("/t", "", 0))
        which = calls if self.place == "behind the last line" else round(0.5 + self.point * calls)
        return {"RANK": self.held, "UNDER": under, "ONLY": only, "LOG": log, "CALL": which,
                "FROM": "/tiny.toml" if calls == 0 else "", "ACTION": -HELD_SECONDS}


class Watched:
    """A run that is to be attacked, and how far it has come by what it has left."""

    def __init__(self, program, attack):
        self.attack, self.folder = attack, program.folder / "runs" / str(attack.number)
        self.log = program.folder / f"calls.{attack.number}"
        self.faults = attack.faults(self.log)
        *launch, zeroapp = program.launch_line(attack.ranks)
        delay = ("--mca", "odls_base_sigkill_timeout", str(KILL_DELAY))
        line = [*launch, *delay, "-x", f"LD_PRELOAD={program.library}", zeroapp, "tiny.toml",
                *attack.settings()]
        self.process = program.popen(line, {f"FAULT_{k}": str(v) for k, v in self.faults.items()})

    def calls(self):
        return self.log.read_text() if self.log.exists() else ""

    def steps(self):
        metrics = self.folder / "metrics.jsonl"
        return metrics.read_text().count("\n") if metrics.exists() else 0

    def is_there(self):
        if self.attack.place == "steps":
            return self.steps() >= 1 + self.attack.point * 0.8 * STEPS
        if self.attack.place == "planning":
            return "/tiny.toml" in self.calls()
        return self.calls().count("\n") >= self.faults["CALL"]

    def is_behind(self):
        if self.attack.place == "steps":
            return self.steps() >= STEPS
        if self.attack.place == "planning":
            return "/text.txt" in self.calls()
        return self.calls().count("\n") > self.faults["CALL"]

    def reach(self):
        """The ranks as the drawn point is reached; none where it is not."""
        pids, place = [], self.attack.place
        while self.process.poll() is None:
            if not pids:
                found = ranks_of(self.process)
                pids = found if len(found) == self.attack.ranks else []
            if pids and all(map(is_watched, pids)) and self.is_there():
                time.sleep(0 if place == "steps" else self.attack.point * 0.3)
                return pids
            time.sleep(0.003 if pids else 0.05)  # ranks are looked for in all of /proc
        return []

    def is_met(self, pids):
        """All ranks live, and are where they were to be attacked."""
        return self.process.poll() is None and all(map(is_alive, pids)) and not self.is_behind()


def is_watched(process):
    """MPI_Init has returned there."""
    try:
        names = [path.read_text() for path in pathlib.Path(f"/proc/{process}/task").glob("*/comm")]
    except OSError:
        return False
    return "watchdog\n" in names


def send(attack, process, pids):
    """Whether somebody may die of TERM: two are one only where they arrive within 200 ms, not where
    a rank that has got the first is then kept from its core."""
    victims = {"launcher": [process.pid], "all ranks": pids}.get(attack.victim)
    if victims is None:
        victims = [pids[int(attack.victim.split()[1])]]
    actions = OF_LAUNCHER if attack.victim == "launcher" else OF_RANKS
    terms, before = [], waits_of(pids)
    for what in actions[attack.name]:
        if not isinstance(what, signal.Signals):
            time.sleep(what)
            continue
        if what == TERM:
            terms.append(time.monotonic())
        for victim in victims:
            try:
                os.kill(victim, what)
            except ProcessLookupError:
                pass  # it has ended
    if len(terms) < 2:
        return False
    after, sent = {}, time.monotonic()
    while time.monotonic() - sent < 1:
        after |= waits_of(pids)  # of one that dies what is seen last
        time.sleep(0.01)
    kept = max((wait - before.get(thread, 0) for thread, wait in after.items()), default=0)
    return terms[-1] - terms[0] + kept > AT_ONCE_SECONDS


def is_behind_finalize(pid):
    """MPI_Finalize has returned there, so MPI's threads are gone: nothing is left but what watches
    over the end."""
    names = [path.read_text() for path in pathlib.Path(f"/proc/{pid}/task").glob("*/comm")]
    return len([name for name in names if name != "watchdog\n"]) == 1


def goes_on_behind_its_end(watched, pids):
    """Only a rank is left that was stopped when MPI_Finalize had returned everywhere, of a run that
    has said so, and that ends well as it goes on."""
    left = [pid for pid in pids if is_alive(pid)]
    if len(left) != 1 or fields_of(left[0])[0] != "T" or not is_behind_finalize(left[0]):
        return False
    launch = json.loads((watched.folder / "launches.jsonl").read_text().splitlines()[-1])
    if launch["ended"] is None or (watched.folder / "error.json").exists():
        return False
    os.kill(left[0], CONT)
    deadline = time.monotonic() + LIMIT_SECONDS
    while watched.process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return watched.process.poll() in (0, 1)


def written(folder):
    """What a run that moves adds to."""
    try:
        return sum(path.lstat().st_size for path in folder.rglob("*"))
    except OSError:
        return time.monotonic()  # something went away just now


def wait_for_end(watched, pids):
    """Seconds in which nothing moved, though there were cores for it, until launcher and ranks were
    gone; more than the limit where they were not."""
    patience, seen, process = Patience(pids), -1, watched.process
    while patience.look() <= LIMIT_SECONDS:
        if process.poll() is not None and not any(map(is_alive, pids)):
            break
        moved = written(watched.folder)
        if moved != seen:
            patience.seconds, seen = 0, moved
        time.sleep(0.05)
    if patience.seconds > LIMIT_SECONDS and goes_on_behind_its_end(watched, pids):
        return 0
    for pid in [pid for pid in (process.pid, *pids) if is_alive(pid)]:
        os.kill(pid, KILL)
    return patience.seconds


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


def drain(program, watched):
    """Reads what the run says as it says it; the thread, and where its result will be."""
    ended = []
    thread = threading.Thread(
        target=lambda: ended.append(program.wait(watched.process, str(watched.attack.number),
                                                 timeout=None)))
    thread.start()
    return thread, ended


def run(program, attack):
    """What came of it, whether it met its point, and what is wrong."""
    watched = Watched(program, attack)
    pids = watched.reach()
    if not pids:
        watched.process.kill()
        result = program.wait(watched.process)
        print(f"{attack}: is not reached", result.out[-600:], result.err[-600:], sep="\n",
              file=sys.stderr)
        return f"{attack.place}: not reached", False, []
    is_met = watched.is_met(pids)
    may_die = send(attack, watched.process, pids)
    thread, ended = drain(program, watched)
    seconds = wait_for_end(watched, pids)
    thread.join()
    result = ended[0]
    found = problems_of(result, seconds, may_die)
    if found:
        print(f"{attack}: {', '.join(found)}; status {result.status}", result.out[-600:],
              result.err[-2000:], sep="\n", file=sys.stderr)
    return f"{attack.name} to {attack.victim.split()[0]}: status {result.status}", is_met, found


def main():
    program, begun = Program(), time.monotonic()
    tally, problems = collections.Counter(), collections.Counter()
    met, attacks = collections.Counter(), share_of([*map(Attack.drawn, range(COUNT))])
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        ends = pool.map(lambda attack: run(program, attack), attacks)
        for attack, (outcome, is_met, found) in zip(attacks, ends):
            tally[outcome] += 1
            met[attack.place] += is_met
            problems.update(problem.split(":")[0] for problem in found)
    for outcome, count in sorted(tally.items()):
        print(f"{count:5} {outcome}")
    for place in dict.fromkeys(PLACES):
        count = sum(attack.place == place for attack in attacks)
        print(f"{met[place]:5} of {count} met a live run {place}")
    print(f"{len(attacks)} attacks, seed {SEED}, {time.monotonic() - begun:.0f} s: "
          f"{met.total()} met a live run; {problems['status 11']} of status 11, "
          f"{problems['a signal']} signals but KILL, {problems['waits']} waits beyond the watchdog")
    check(not problems, f"{dict(problems)}")
    check(met.total() >= LEAST_MET * len(attacks), "too few attacks met a live run")


if __name__ == "__main__":
    main()
