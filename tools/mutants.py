#!/usr/bin/env python3
"""Faults drawn by lot, one at a time, and whether the tests notice: a condition negated or shifted
by one, an operand swapped or left out, a statement left out, a constant changed.

A commit is cloned into build/mutants and built there. Each fault is compiled; where the object code
stays the same it is counted apart. Then the tests of its file, those that include its header, those
of its room and all of ctest's run, the cheapest first, until one fails, twice; tests whose programs
are the same without the fault are passed over. --reach ends before the tests that are further away:
first all faults with a short reach, then the rest with a longer one, is the cheapest order.

Results are lines of build/mutants/results_K.jsonl: the same command goes on there. --keep writes
them to one file, and --known begins with such a file. What lived at an earlier commit is tried with
the tests of this one: the line then says at which commit it is noticed `since`.

Status 0: all were drawn, and at least --at-least percent were noticed, at once or since, of those
that change code and are not in tests/harmless_faults.txt, which says why no test can notice them. A
fault that is "cut", because it did not meet all tests, counts as one that lived.
"""
import argparse
import json
import os
import pathlib
import posixpath
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools/faults"))
from sites import Lot  # noqa: E402 (found by the line above)
from suite import REACHES, add_line, adopt_orphans, end_all_children  # noqa: E402
from trial import Tree, Trials  # noqa: E402

FOLDERS = ("src/plan", "src/compile", "src/run", "src/graph", "kernels", "src/comm", "io",
           "src/launch", "src/setup", "src/state", "src/save", "src/advise", "src/stored",
           "src/text", "src/train")
HARMLESS = "tests/harmless_faults.txt"
PASSING = ("passed", "same", "limit", "case")  # is of use in the folder of a campaign alone
DRAWS = 20  # for one number, until one of them compiles


def facts_of(fault, text):
    first, last = text.rfind("\n", 0, fault.start) + 1, text.find("\n", fault.end)
    faulty = text[first:fault.start] + fault.after + text[fault.end:last]
    return {"file": fault.path, "line": text.count("\n", 0, fault.start) + 1, "kind": fault.kind,
            "before": fault.before, "after": fault.after, "faulty": " ".join(faulty.split())}


def place_of(line):
    """Name of the file and faulty line, by which tests/harmless_faults.txt names a fault: a file
    that moves to another folder keeps its faults."""
    left_out = " ".join(line["before"].split())
    faulty = f"without {left_out}" if line["kind"] == "left out" else line["faulty"]
    return posixpath.basename(line["file"]), faulty


def read_harmless(path):
    """{(file, faulty line): reason} of `file | line with the fault | reason`."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = {}
    for line in (line for line in lines if line and not line.startswith("#")):
        file, _, rest = line.partition(" | ")
        faulty, _, reason = rest.rpartition(" | ")
        found[posixpath.basename(file), faulty] = reason
    return found


def knows_more(line, other):
    """Whether one share has seen a fault noticed that another one, with --only, has not."""
    same = all(line.get(key) == other[key] for key in ("file", "before", "after", "faulty"))
    return same and line["verdict"] == "noticed" and other["verdict"] == "cut"


class Results:
    """Lines of a file, the last of a number and draw counts; shares have files of their own. What
    an earlier campaign has kept in `kept` comes first."""

    def __init__(self, folder, seed, share, kept):
        self.path = folder / f"results_{share}.jsonl"
        self.seed, self.known = seed, {}
        for path in [*([kept] if kept else []), *sorted(folder.glob("results_*.jsonl"))]:
            for line in path.read_text().splitlines() if path.exists() else ():
                found = json.loads(line)
                place = found["number"], found["attempt"]
                if found["seed"] == seed and not knows_more(self.known.get(place, {}), found):
                    self.known[place] = found

    def of(self, number, attempt, facts):
        """What is known of this very fault."""
        found = self.known.get((number, attempt), {})
        same = all(found.get(key) == facts[key] for key in ("file", "before", "after", "faulty"))
        return found if same else {}

    def add(self, number, attempt, line):
        line = {"seed": self.seed, "number": number, "attempt": attempt, **line}
        self.known[number, attempt] = line
        add_line(self.path, json.dumps(line))

    def keep(self, path):
        """Those of the commit's own campaign, each in a short line."""
        lines = [{key: value for key, value in self.known[place].items() if key not in PASSING}
                 for place in sorted(self.known)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def short(text):
    return " ".join(text.split())[:70] or "nothing"


def tell(number, line):
    by = f" by {line['test']} ({line['how']})" if "test" in line else ""
    what = line["verdict"] + (f", noticed since{by}" if "since" in line else by)
    print(f"{number}: {what} after {line['seconds']:.0f} s: "
          f"{line['file']}:{line['line']}: {line['kind']}: {short(line['before'])} -> "
          f"{short(line['after'])}", flush=True)


def end_orderly(signum, frame):
    """Puts the tree back and leaves no process."""
    raise SystemExit(128 + signum)


def is_open(line, commit):
    """What was cut is tried further at its own commit, and with what lived where there may be new
    tests, until one of them notices it."""
    verdict = line.get("verdict", "cut")
    if line.get("commit") in (None, commit):
        return verdict == "cut"
    return verdict in ("cut", "lived") and "since" not in line


def judge(fault, facts, line, trials):
    """What is known of a fault behind a trial. What lived at an earlier commit stays so: `since`
    says at which commit a test notices it."""
    start, here = time.monotonic(), trials.tree.commit
    known = line.get("commit") in (None, here)
    if known and line.get("verdict") == "cut" and trials.has_met_all(
            fault, {*line.get("passed", ()), *line.get("same", ())}):
        return line
    found = trials.try_fault(fault, line.get("passed", ()) if known else ())
    seconds = round(time.monotonic() - start + line.get("seconds", 0), 1)
    if known:
        later = {} if found["verdict"] == "noticed" else {
            key: line[key] for key in ("since", "test", "how") if "since" in line}
        return {**facts, "commit": here, "seconds": seconds, **later, **found}
    if found["verdict"] == "noticed":
        return {**line, "since": here, "test": found["test"], "how": found["how"]}
    return line


def try_number(number, lot, sources, trials, results, harmless):
    """Draws until a fault compiles; tells of it. One that is harmless is tried no further."""
    for attempt in range(DRAWS):
        fault = lot.draw(number, attempt)
        facts = facts_of(fault, sources[fault.path])
        line = results.of(number, attempt, facts)
        if is_open(line, trials.tree.commit) and not (line and place_of(line) in harmless):
            line = judge(fault, facts, line, trials)
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
        if line["verdict"] in ("lived", "cut") and place_of(line) in harmless:
            line["verdict"] = "harmless"
    of = {verdict: [line for line in final if line["verdict"] == verdict]
          for verdict in ("noticed", "lived", "harmless", "no change", "cut")}
    for line in of["lived"] + of["cut"]:
        tell(line["number"], line)
    unnoticed = of["lived"] + of["cut"]
    judged = len(of["noticed"]) + len(unnoticed)
    since = sum("since" in line for line in unnoticed)
    at_once, by_now = (100 * (len(of["noticed"]) + later) / max(1, judged) for later in (0, since))
    left = sum("since" not in line for line in of["cut"])
    words = ", ".join(f"{len(lines)} {verdict}" for verdict, lines in of.items())
    print(f"mutants: seed {results.seed}, {len(final)} of {count} drawn: {words}; noticed "
          f"{at_once:.1f} % of {judged}, and {since} of the other {len(unnoticed)} since: "
          f"{by_now:.1f} %")
    return 0 if len(final) - left == count and by_now >= at_least else 1


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--count", type=int, default=300, help="of the lot, from number 0 on")
    parser.add_argument("--only", type=int, nargs="+", help="these numbers alone")
    parser.add_argument("--share", default="0/1", help="K/N: numbers that leave K by N")
    parser.add_argument("--minutes", type=float, default=1e6, help="then stop, to go on later")
    parser.add_argument("--most", type=float, default=1e6, help="minutes of one fault at a time")
    parser.add_argument("--reach", choices=REACHES, default="all",
                        help="meet no tests further away; a longer reach goes on with those that "
                        "were not noticed")
    parser.add_argument("--at-least", type=float, default=95, help="percent to be noticed")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT, help="a repository")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--known", type=pathlib.Path, help="results that an earlier --keep wrote")
    parser.add_argument("--keep", type=pathlib.Path, help="a file for all that is known at the end")
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
    share = words.share.partition("/")[0]
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(folder, words.seed, share, words.known)
    harmless = read_harmless(root / HARMLESS)
    if not words.report:
        try_all(words, root, folder, results, harmless, end)
    if words.keep:
        results.keep(words.keep)
    if words.list:
        return 0
    return report(results, words.count, words.at_least, harmless)


def try_all(words, root, folder, results, harmless, end):
    share, shares = (int(part) for part in words.share.split("/"))
    commit = subprocess.run(["git", "-C", root, "rev-parse", f"{words.commit}^{{commit}}"],
                            check=True, capture_output=True, text=True).stdout.strip()
    tree = Tree(root, commit, folder / f"share{share}")
    tree.make()
    costs = words.costs or root / "build/host-release/Testing/Temporary/CTestCostData.txt"
    trials = Trials(tree, costs, end, 60 * words.most, words.reach)
    sources = trials.sources(FOLDERS)
    lot = Lot(words.seed, sources)
    for number in words.only or range(share, words.count, shares):
        if words.list:
            tell(number, {**facts_of(lot.draw(number, 0), sources[lot.draw(number, 0).path]),
                          "verdict": "drawn", "seconds": 0})
        elif time.monotonic() < end:
            try_number(number, lot, sources, trials, results, harmless)


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        end_all_children()
