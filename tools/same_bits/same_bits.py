#!/usr/bin/env python3
"""Whether two programs train, evaluate, generate, export, plan and resume to the same bits; started
by tools/same_bits.sh. Status 0: all equal, but for what was meant to differ and does; else 1."""
import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import sys

from cases import all_runs
from observe import REFUSED, observe, observe_twin, what_twins_share

MEANT = pathlib.Path(__file__).resolve().parents[2] / "tests/meant_changes.txt"
SHOWN = 6  # differences of one run that are told one by one
WIDTH = 160
ABSENT = "(absent)"


class Meant:
    """A line of the list of meant changes: `run | field | reason`, both with * and ?."""

    def __init__(self, line, place):
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not all(parts):
            sys.exit(f"{place}: write: run | field | reason, not {line!r}")
        self.run, self.field, self.reason = parts
        self.place, self.fields = place, 0

    def covers(self, run, field):
        return fnmatch.fnmatchcase(run, self.run) and fnmatch.fnmatchcase(field, self.field)


def read_meant(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return [Meant(line, f"{path.name}:{number}") for number, line in enumerate(lines, 1)
            if line.strip() and not line.startswith("#")]


def short(value):
    text = repr(value) if isinstance(value, str) and "\n" in value else str(value)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}..."


def differences(seen):
    base, head = seen
    for field in list(base) + [field for field in head if field not in base]:
        pair = base.get(field, ABSENT), head.get(field, ABSENT)
        if pair[0] != pair[1]:
            yield field, pair


class Report:
    def __init__(self, meant):
        self.meant, self.compared, self.wrong, self.as_meant = meant, 0, 0, 0
        self.not_in_base = 0

    def add_twin(self, run, seen):
        """As add(), of a run that BASE refuses, held against its twin by HEAD."""
        self.not_in_base += 1
        print(f"NOT IN BASE {run.name}: compared with HEAD itself on {run.twin[0]} ranks: "
              f"{' '.join(run.twin[1])}")
        self.add(run, [what_twins_share(values) for values in seen])

    def add(self, run, seen):
        """Tells what differs between BASE's and HEAD's values of `run`."""
        self.compared += len(set(seen[0]) | set(seen[1]))
        for name in ("begin", "end"):
            if seen[0].get(name, "finished") != "finished":
                self.wrong += 1
                print(f"SHOWS NOTHING {run.name}: its {name} in BASE: {short(seen[0][name])}")
        unexpected = []
        for field, pair in differences(seen):
            covering = [meant for meant in self.meant if meant.covers(run.name, field)]
            for meant in covering:
                meant.fields += 1
            if covering:
                self.as_meant += 1
            else:
                unexpected.append((field, pair))
        self.tell(run, unexpected)

    def tell(self, run, unexpected):
        self.wrong += len(unexpected)
        for field, (base, head) in unexpected[:SHOWN]:
            print(f"DIFFERS {run.name}: {field}: BASE {short(base)}, HEAD {short(head)}")
        if len(unexpected) > SHOWN:
            fields = ", ".join(field for field, _ in unexpected[SHOWN:])
            print(f"DIFFERS {run.name}: and {len(unexpected) - SHOWN} more: {short(fields)}")

    def end(self, runs):
        """Tells of the meant changes, and of those that did not come; the exit status."""
        for meant in self.meant:
            if meant.fields:
                print(f"MEANT {meant.run} | {meant.field}: {meant.fields} values: {meant.reason}")
            elif any(fnmatch.fnmatchcase(run.name, meant.run) for run in runs):
                self.wrong += 1
                print(f"EQUAL, BUT LISTED {meant.place}: {meant.run} | {meant.field}: take the "
                      "line out, or see why its change did not come")
        verdict = f"{self.wrong} wrong" if self.wrong else "all equal"
        if self.as_meant and not self.wrong:
            verdict += f" but {self.as_meant} that were meant to differ"
        within = f", {self.not_in_base} of them within HEAD" if self.not_in_base else ""
        print(f"same_bits: {len(runs)} runs{within}, {self.compared} comparisons, {verdict}")
        return 1 if self.wrong else 0


def compare(runs, words):
    """Runs beside each other, as many as there are cores; told in the order of the list."""
    report = Report(read_meant(words.meant))
    with concurrent.futures.ThreadPoolExecutor(words.jobs) as pool:
        seen = [[pool.submit(observe, program, words.base, words.mpiexec, run)
                 for program in (words.base, words.head)] for run in runs]
        for run, pair in zip(runs, seen):
            base, head = [future.result() for future in pair]
            if run.twin and base["end"].startswith(REFUSED) and run.key in base["end"]:
                report.add_twin(run, [observe_twin(words.head, words.mpiexec, run), head])
            else:
                report.add(run, [base, head])
            sys.stdout.flush()
    return report.end(runs)


def main():
    parser = argparse.ArgumentParser(prog="same_bits", description=__doc__)
    parser.add_argument("base")
    parser.add_argument("head")
    parser.add_argument("--mpiexec", default="mpirun")
    parser.add_argument("--meant", type=pathlib.Path, default=MEANT, help="meant changes")
    parser.add_argument("--only", default="*", help="runs whose name fits, with * and ?")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs side by side")
    parser.add_argument("--list", action="store_true", help="the names of the runs, no more")
    words = parser.parse_args()
    runs = [run for run in all_runs() if fnmatch.fnmatchcase(run.name, words.only)]
    if words.list:
        print("\n".join(f"{run.name} ({run.ranks} ranks)" for run in runs))
        return 0
    if not runs:
        parser.error(f"no run is named {words.only}; see --list")
    return compare(runs, words)


sys.exit(main())
