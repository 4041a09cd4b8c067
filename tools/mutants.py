#!/usr/bin/env python3
"""Faults drawn by lot, one at a time, and whether the tests notice: a condition negated or shifted
by one, an operand swapped or left out, a statement left out, a constant changed.

A commit is cloned into build/mutants and built there. Each fault is compiled; where the object code
stays the same it is counted apart. Then the tests of its file, of its room and all of ctest's run,
the cheapest first, until one fails, twice; tests whose programs are the same without the fault are
passed over. Results are lines of build/mutants/results_K.jsonl: the same command goes on there.
Status 0: all were drawn, and at least --at-least percent were noticed of those that change code and
are not in tests/harmless_faults.txt, which says why no test can notice them.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools/faults"))
from sites import Lot  # noqa: E402 (found by the line above)
from suite import adopt_orphans, end_all_children  # noqa: E402
from trial import Tree, Trials  # noqa: E402

FOLDERS = ("src/plan", "src/run", "src/graph", "kernels", "src/comm", "io", "src/train")
HARMLESS = "tests/harmless_faults.txt"
DRAWS = 20  # for one number, until one of them compiles


def facts_of(fault, text):
    first, last = text.rfind("\n", 0, fault.start) + 1, text.find("\n", fault.end)
    faulty = text[first:fault.start] + fault.after + text[fault.end:last]
    return {"file": fault.path, "line": text.count("\n", 0, fault.start) + 1, "kind": fault.kind,
            "before": fault.before, "after": fault.after, "faulty": " ".join(faulty.split())}


def read_harmless(path):
    """{(file, faulty line): reason} of `file | line with the fault | reason`."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = {}
    for line in (line for line in lines if line and not line.startswith("#")):
        file, _, rest = line.partition(" | ")
        faulty, _, reason = rest.rpartition(" | ")
        found[file, faulty] = reason
    return found


class Results:
    """Lines of a file, the last of a number and draw counts; shares have files of their own."""

    def __init__(self, folder, seed, share):
        self.path = folder / f"results_{share}.jsonl"
        self.seed, self.known = seed, {}
        for path in sorted(folder.glob("results_*.jsonl")):
            for line in path.read_text().splitlines():
                found = json.loads(line)
                if found["seed"] == seed:
                    self.known[found["number"], found["attempt"]] = found

    def of(self, number, attempt, facts):
        """What is known of this very fault."""
        found = self.known.get((number, attempt), {})
        same = all(found.get(key) == facts[key] for key in ("file", "before", "after", "faulty"))
        return found if same else {}

    def add(self, number, attempt, line):
        line = {"seed": self.seed, "number": number, "attempt": attempt, **line}
        self.known[number, attempt] = line
        with self.path.open("a") as out:
            out.write(json.dumps(line) + "\n")


def short(text):
    return " ".join(text.split())[:70] or "nothing"


def tell(number, line):
    what = {"noticed": f"noticed by {line.get('test')} ({line.get('how')})"}
    print(f"{number}: {what.get(line['verdict'], line['verdict'])} after {line['seconds']:.0f} s: "
          f"{line['file']}:{line['line']}: {line['kind']}: {short(line['before'])} -> "
          f"{short(line['after'])}", flush=True)


def end_orderly(signum, frame):
    """Puts the tree back and leaves no process."""
    raise SystemExit(128 + signum)


def try_number(number, lot, sources, trials, results):
    """Draws until a fault compiles; tells of it."""
    for attempt in range(DRAWS):
        fault = lot.draw(number, attempt)
        facts = facts_of(fault, sources[fault.path])
        line = results.of(number, attempt, facts)
        if line.get("verdict", "cut") == "cut":
            start = time.monotonic()
            found = trials.try_fault(fault, line.get("passed", ()))
            seconds = time.monotonic() - start + line.get("seconds", 0)
            line = {**facts, "commit": trials.tree.commit, "seconds": seconds, **found}
            results.add(number, attempt, line)
            if line["verdict"] != "does not build":
                tell(number, line)
        if line["verdict"] != "does not build":
            return


def report(results, count, at_least, harmless):
    """The last line, and a line for each fault that lived; the exit status."""
    final = [line for (number, _), line in sorted(results.known.items())
             if number < count and line["verdict"] != "does not build"]
    for line in final:
        if line["verdict"] == "lived" and (line["file"], line["faulty"]) in harmless:
            line["verdict"] = "harmless"
    of = {verdict: [line for line in final if line["verdict"] == verdict]
          for verdict in ("noticed", "lived", "harmless", "no change", "cut")}
    for line in of["lived"]:
        tell(line["number"], line)
    judged = len(of["noticed"]) + len(of["lived"])
    percent = 100 * len(of["noticed"]) / max(1, judged)
    words = ", ".join(f"{len(lines)} {verdict}" for verdict, lines in of.items())
    print(f"mutants: seed {results.seed}, {len(final)} of {count} drawn: {words}; noticed "
          f"{percent:.1f} % of {judged}")
    return 0 if len(final) - len(of["cut"]) == count and percent >= at_least else 1


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--count", type=int, default=300, help="of the lot, from number 0 on")
    parser.add_argument("--only", type=int, nargs="+", help="these numbers alone")
    parser.add_argument("--share", default="0/1", help="K/N: numbers that leave K by N")
    parser.add_argument("--minutes", type=float, default=1e6, help="then stop, to go on later")
    parser.add_argument("--most", type=float, default=1e6, help="minutes of one fault at a time")
    parser.add_argument("--at-least", type=float, default=95, help="percent to be noticed")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT, help="a repository")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--costs", type=pathlib.Path, help="a CTestCostData.txt: seconds of tests")
    parser.add_argument("--nice", type=int, default=19)
    parser.add_argument("--list", action="store_true", help="what is drawn first, no trial")
    parser.add_argument("--report", action="store_true", help="what is known so far, no trial")
    return parser.parse_args()


def main():
    words = options()
    end = time.monotonic() + 60 * words.minutes
    os.nice(words.nice)
    adopt_orphans()
    signal.signal(signal.SIGTERM, end_orderly)
    root = words.tree.resolve()
    folder = root / "build/mutants"
    share, shares = (int(part) for part in words.share.split("/"))
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(folder, words.seed, share)
    harmless = read_harmless(root / HARMLESS)
    if words.report:
        return report(results, words.count, words.at_least, harmless)
    commit = subprocess.run(["git", "-C", root, "rev-parse", f"{words.commit}^{{commit}}"],
                            check=True, capture_output=True, text=True).stdout.strip()
    tree = Tree(root, commit, folder / f"share{share}")
    tree.make()
    costs = words.costs or root / "build/host-release/Testing/Temporary/CTestCostData.txt"
    trials = Trials(tree, costs, end, 60 * words.most)
    sources = trials.sources(FOLDERS)
    lot = Lot(words.seed, sources)
    for number in words.only or range(share, words.count, shares):
        if words.list:
            tell(number, {**facts_of(lot.draw(number, 0), sources[lot.draw(number, 0).path]),
                          "verdict": "drawn", "seconds": 0})
        elif time.monotonic() < end:
            try_number(number, lot, sources, trials, results)
    return 0 if words.list else report(results, words.count, words.at_least, harmless)


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        end_all_children()
