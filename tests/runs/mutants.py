#!/usr/bin/env python3
"""tools/mutants.py finds the places of every kind of fault, tells a fault that tests notice, also
by hanging, from one that lives, one that changes no code and one that does not compile, leaves the
tree as it was, counts no unsound test, and goes on where it was cut: in a tree of one library."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/mutants.py"
sys.path[:0] = [str(TOOL.parent / "faults"), str(TOOL.parent)]
from mutants import place_of  # noqa: E402
from sites import Fault, faults_of  # noqa: E402 (found by the line above)
from suite import (CHECK_FAILED, REACHES, Near, Test, adopt_orphans,  # noqa: E402
                   start_and_wait)
from trial import Tree, Trials  # noqa: E402

PATH = "src/plan/sums.cpp"
CODE = """int sum_below(int n) {
  int sum = 0;
  for (volatile int i = 0; i < n; ++i) sum += i;
  return sum;
}
bool is_named(int a, int b, int most) {
  if (a > most || b == most) return true;
  return a - b > 1000000;
}
int unused(int a) {
  if (false && a > 3) a = 7;
  return a;
}
"""
TEST = """int sum_below(int n);
bool is_named(int a, int b, int most);
int main() { return sum_below(5) == 10 && !is_named(2, 1, 2) ? 0 : 1; }
"""
STRICT_TEST = """int sum_below(int n);
bool is_named(int a, int b, int most);
int unused(int a);
int main() {
  int sum = 0;
  for (int n = -2; n < 9; ++n) sum += sum_below(n) != (n > 0 ? n * (n - 1) / 2 : 0);
  for (int a = -3; a < 4; ++a)
    for (int b = -3; b < 4; ++b)
      for (int most = -3; most < 4; ++most)
        sum += is_named(a, b, most) != (a > most || b == most);
  sum += !is_named(1000001, 0, 2000000) + is_named(1000000, 0, 2000000);
  sum += is_named(0, 1000001, 2000000);
  for (int a = -3; a < 9; ++a) sum += unused(a) != a;
  return sum;
}
"""
BUILD = """cmake_minimum_required(VERSION 3.25)
project(tiny CXX)
enable_testing()
add_library(sums STATIC src/plan/sums.cpp)
add_executable(plan_test tests/plan_test.cpp)
target_link_libraries(plan_test sums)
add_executable(alone tests/alone.cpp)
add_test(NAME plan/sums.np1 COMMAND plan_test --gtest_filter=Sums.*:)
add_test(NAME plan/more.np1 COMMAND plan_test --gtest_filter=More.*:)
add_test(NAME plan/broken.np1 COMMAND sh -c "exit 1" ${CMAKE_BINARY_DIR}/plan_test)
add_test(NAME alone COMMAND alone)
add_test(NAME tidy COMMAND false)
set_tests_properties(plan/sums.np1 PROPERTIES TIMEOUT 3)
"""
PRESETS = {"version": 6, "configurePresets": [{
    "name": "host-release", "binaryDir": "${sourceDir}/build/host-release",
    "cacheVariables": {"CMAKE_BUILD_TYPE": "Release"}}]}


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def places_are_found():
    text = 'auto s = "a < b"; /* a < b */\n' + CODE
    found = {(kind, f.before, f.after) for kind, all_of in faults_of(PATH, text).items()
             for f in all_of}
    for wanted in (("negated", "a > most || b == most", "!(a > most || b == most)"),
                   ("negated", ">", "<="), ("negated", "||", "&&"), ("shifted", "<", "<="),
                   ("operand", "a > most || ", ""), ("operand", " || b == most", ""),
                   ("operand", "a - b", "b - a"), ("operand", "+=", "-="),
                   ("left out", "for (volatile int i = 0; i < n; ++i) sum += i", ""),
                   ("constant", "1000000", "1000001"), ("constant", "false", "true")):
        check(wanted in found, f"{wanted} in {sorted(found)}")
    shifts = [f for f in faults_of(PATH, text)["shifted"] if f.before == "<"]
    check(len(shifts) == 1, f"words and comments are no code: {shifts}")


def git(root, *words):
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", root, *name, *words], check=True)


def make_tree(root):
    for path, text in ((PATH, CODE), ("tests/plan_test.cpp", TEST), ("CMakeLists.txt", BUILD),
                       ("tests/alone.cpp", "int main() {}\n"), (".gitignore", "/build/\n"),
                       ("CMakePresets.json", json.dumps(PRESETS))):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "tiny")):
        git(root, *words)


def fault(before, after):
    start = CODE.index(before)
    return Fault(PATH, start, start + len(before), "", before, after)


def ends_are_told_apart(root):
    adopt_orphans()
    tree = Tree(root, "HEAD", root / "build/mutants/by_hand")
    tree.make()
    trials = Trials(tree, root / "no_costs", time.monotonic() + 600, 600)
    joined = next(test for test in trials.tests if test.name == "plan/*.np1")
    check(joined.command[1:] == ["--gtest_filter=Sums.*:More.*:", "--gtest_fail_fast"],
          f"short tests of a program are started once: {joined.command}")
    built = {path: path.read_bytes() for path in (*tree.build.glob("*.a"), tree.source / PATH)}
    for before, after, verdict, how in (
            ("i < n", "i <= n", "noticed", "failed"), ("++i", "i = 0", "noticed", "hang"),
            ("a > most || ", "", "lived", None), ("a = 7", "a = 8", "no change", None),
            ("return sum;", "return total;", "does not build", None)):
        found = trials.try_fault(fault(before, after))
        check(found["verdict"] == verdict and found.get("how") == how, f"{before}: {found}")
        if verdict == "noticed":
            check(found["test"] == "plan/sums.np1", f"by the sound test: {found}")
        check(verdict != "lived" or set(found["passed"]) == {"plan/sums.np1", "plan/more.np1"},
              f"no test runs that the fault is not in, or that judges text: {found}")
    trials.reach = REACHES.index("file")
    near = trials.try_fault(fault("a > most || ", ""))
    check(near == {"verdict": "cut", "passed": ["plan/sums.np1"], "same": []},
          f"tests of the file: {near}")
    trials.end = 0
    cut = trials.try_fault(fault("i < n", "i <= n"))
    check(cut["verdict"] == "cut", f"no time is left: {cut}")
    check(tree.ninja(tree.build / "plan_test"), "builds without a fault")
    check(all(path.read_bytes() == data for path, data in built.items()),
          "source and library are what they were")


def tests_are_near_whose_header_they_include(root):
    for path, text in ((PATH, '#include "src/plan/adds.hpp"\n#include "zero/all.hpp"'),
                       ("tests/plan/adds_test.cpp", '#include "src/plan/adds.hpp"'),
                       ("tests/plan/far_test.cpp", '#include "zero/all.hpp"')):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    entry = {"properties": [], "command": ["true"]}
    for name, reach in (("plan/sums.np1", "file"), ("plan/adds.np2", "header"),
                        ("plan/far.np1", "room"), ("plan/*.np1", "room"), ("run/sums.np1", "rooms"),
                        ("runs.all", "all")):
        far = Near(root).distance(Test({"name": name, **entry}, root), PATH)
        check(REACHES[far] == reach, f"{name} is at {REACHES[far]} from {PATH}")


def a_failed_check_ends_a_test_whose_ranks_wait():
    words = ["sh", "-c", "echo '[  FAILED  ] A.b'; sleep 1000"]
    status, said = start_and_wait(words, 500, None, None, CHECK_FAILED)
    check(status == 1 and "A.b" in said, f"{status}: {said}")


def run_tool(root, *words):
    done = subprocess.run([sys.executable, TOOL, "--tree", root, *words], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=500)
    return done.returncode, done.stdout.splitlines()


def a_campaign_goes_on(root):
    draw = ("--seed", "3", "--count", "4")
    cut = run_tool(root, *draw, "--minutes", "0")
    check(cut[0] == 1 and "3, 0 of 4 drawn" in cut[1][-1], f"no time, no pass: {cut}")
    first = run_tool(root, *draw, "--share", "0/2", "--at-least", "0")
    check(first[0] == 1 and "3, 2 of 4 drawn" in first[1][-1], f"half of them: {first}")
    whole = run_tool(root, *draw, "--at-least", "0")
    check(whole[0] == 0 and "3, 4 of 4 drawn" in whole[1][-1], f"the others: {whole}")
    again = run_tool(root, *draw, "--at-least", "0")
    check(again[1][-1] == whole[1][-1] and not [w for w in again[1] if "noticed by" in w],
          f"nothing is tried twice: {again}")
    lived = [json.loads(line) for path in (root / "build/mutants").glob("results_*.jsonl")
             for line in path.read_text().splitlines() if '"verdict": "lived"' in line]
    check(lived, f"one of them lives: {whole}")
    (root / "tests/harmless_faults.txt").write_text(
        "# why\n" + "".join(" | ".join((*place_of(line), "it is\n")) for line in lived))
    harmless = run_tool(root, *draw, "--report", "--at-least", "100")
    check(harmless[0] == 0 and "0 lived, " in harmless[1][-1], f"none can be noticed: {harmless}")
    (root / "tests/harmless_faults.txt").unlink()
    kept = root / "kept.jsonl"
    run_tool(root, *draw, "--report", "--keep", kept)
    for path in (root / "build/mutants").glob("results_*.jsonl"):
        path.unlink()
    known = run_tool(root, *draw, "--known", kept, "--at-least", "0")
    check(known == again, f"what was kept is not tried again: {known}")
    strict = run_tool(root, *draw, "--known", kept, "--report", "--at-least", "101")
    check(strict[0] == 1 and strict[1] == again[1], f"too few are noticed: {strict}")
    a_new_test_is_told(root, (*draw, "--known", kept), len(lived))


def a_new_test_is_told(root, draw, lived):
    (root / "tests/plan_test.cpp").write_text(STRICT_TEST)
    git(root, "commit", "-qam", "a test")
    told = run_tool(root, *draw, "--at-least", "100")
    check(told[0] == 0 and f"and {lived} of the other {lived} since: 100.0 %" in told[1][-1],
          f"a later test: {told}")
    check(sum("lived, noticed since by plan/" in line for line in told[1]) == 2 * lived,
          f"told behind its trial and at the end: {told}")


def main():
    places_are_found()
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        make_tree(pathlib.Path(place))
        ends_are_told_apart(pathlib.Path(place))
        a_campaign_goes_on(pathlib.Path(place))
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        tests_are_near_whose_header_they_include(pathlib.Path(place))
    a_failed_check_ends_a_test_whose_ranks_wait()
    print("what lives is told")


main()
