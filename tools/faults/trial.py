"""One fault at a time in a clone of the tree: built as far as tests need it, and tested until one
of them notices."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import time

from suite import (REACHES, Near, add_line, cost_of, in_order, joined_near, joined_short,
                   read_costs, read_tests, start_and_wait)

BUILD_SECONDS = 900
# A test that takes longer than this with a fault hangs; machines are shared, hence the first term.
PATIENCE, FACTOR = 20, 6
COSTS, SOUND = "costs.txt", "sound.txt"  # what was learnt of tests, for all shares
FAST_LINKERS = {"mold": "mold", "ld.lld": "lld"}  # programs, and what the compiler calls them
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
OF_ANOTHER_BUILD = re.compile(r"_cuda\.|cuda_")


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def case_in(said):
    """The test case that failed, or nothing."""
    cases = re.findall(r"\[  FAILED  \] +([^\s,]+\.[^\s,]+)", COLOUR.sub("", said))
    return cases[0] if cases else ""


def reason_in(said):
    """The test case that failed, or a line that speaks of failure."""
    plain = COLOUR.sub("", said).splitlines()
    lines = [line.strip() for line in plain if re.search("[Ff]ail|error", line)]
    return (case_in(said) or (lines + ["failed"])[0])[:200]


def fast_linker():
    """A test program is linked for nearly every fault."""
    for program, name in FAST_LINKERS.items():
        if shutil.which(program):
            return [f"-DCMAKE_{kind}_LINKER_FLAGS=-fuse-ld={name}"
                    for kind in ("EXE", "SHARED", "MODULE")]
    return []


class Tree:
    """A clone of a commit with a build of everything."""

    def __init__(self, root, commit, folder):
        self.root, self.folder = root, folder
        self.source = folder / "tree"
        self.build = self.source / "build/host-release"
        self.commit = commit
        self.env = dict(os.environ)

    def call(self, *words, **more):
        return subprocess.run([str(w) for w in words], check=True, cwd=self.source, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more).stdout

    def make(self):
        """Clones, configures and builds what is not there yet."""
        if not self.source.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "clone", "-q", "--no-checkout", self.root, self.source],
                           check=True)
        deps = self.root / ".deps"
        if deps.exists() and not (self.source / ".deps").exists():
            (self.source / ".deps").symlink_to(deps.resolve())
        self.call("git", "fetch", "-q")
        self.call("git", "checkout", "-q", "--force", "--detach", self.commit)
        if not (self.build / "build.ninja").exists():
            launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
            self.call("cmake", "--preset", "host-release", "-G", "Ninja", "-DZERO_PERF=OFF",
                      *launcher, *fast_linker())
        # The tree itself may come from a cache of compilations; faults do not fill it.
        self.call("cmake", "--build", self.build, env=dict(self.env))
        self.env["CCACHE_DISABLE"] = "1"

    def ninja(self, *outputs):
        """Whether these could be built."""
        words = ["ninja", "-C", str(self.build), *(os.path.relpath(o, self.build)
                                                   for o in outputs)]
        return start_and_wait(words, BUILD_SECONDS, self.build, self.env)[0] == 0

    def dependents(self):
        """{source, relative to the tree: objects that are compiled from it}."""
        shown = self.call("ninja", "-C", self.build, "-t", "deps")
        objects, found = None, {}
        for line in shown.splitlines():
            if line.startswith(" "):
                path = os.path.relpath(os.path.join(self.build, line.strip()), self.source)
                found.setdefault(path, []).append(objects)
            elif ": #deps" in line:
                objects = self.build / line.partition(": #deps")[0]
        return found

    def made_of(self, output):
        """What is archived or linked from an object."""
        shown = self.call("ninja", "-C", self.build, "-t", "query",
                          os.path.relpath(output, self.build))
        files = shown.partition("  outputs:\n")[2].splitlines()
        paths = [self.build / line.strip() for line in files]
        return [path for path in paths if path.is_file()]

    def code_of(self, objects):
        """What the processor would see of objects, without the numbers of lines."""
        plain, seen = self.folder / "stripped.o", []
        for path in objects:
            subprocess.run(["objcopy", "--strip-debug", path, plain], check=True)
            seen.append(digest(plain))
        return seen


class Kept:
    """A source and its objects, to be put back. An object that was compiled anew keeps its new
    time, by which ninja knows its list of headers; what is made of it is deleted, to be made again.
    The source is last: a tool that was killed before finds it changed, and all is built anew."""

    def __init__(self, tree, source, objects):
        self.tree = tree
        self.files = [(path, path.read_bytes(), path.stat()) for path in (*objects, source)]

    def put_back(self):
        for path, data, stat in self.files:
            times = self.times_of(path, stat)
            path.write_bytes(data)
            os.utime(path, ns=times)

    def times_of(self, path, before):
        now = path.stat() if path.exists() else before
        if path.suffix != ".o" or now.st_mtime_ns == before.st_mtime_ns:
            return before.st_atime_ns, before.st_mtime_ns
        for made in self.tree.made_of(path):
            made.unlink(missing_ok=True)
        return now.st_atime_ns, now.st_mtime_ns


class Trials:
    """Tries faults in a Tree. `end` is when to stop, by time.monotonic(); no fault takes much more
    than `most` seconds, and it meets no test that is further away than `reach`."""

    def __init__(self, tree, costs_file, end, most, reach="all"):
        self.tree, self.end, self.most = tree, end, most
        self.reach, self.near = REACHES.index(reach), Near(tree.source)
        self.dependents = tree.dependents()
        self.notes = tree.folder.parent
        self.costs = {**read_costs(costs_file), **read_costs(self.notes / COSTS)}
        alone = read_tests(tree.build)
        self.tests = joined_short(alone, self.costs) + alone
        self.noticed_by = None
        self.clean = {path: digest(path) for test in self.tests for path in test.files}
        # Whether a test passes without a fault, or with one that it does not notice, which other
        # shares may have seen.
        sound = self.notes / SOUND
        seen = (line.split() for line in sound.read_text().splitlines()) if sound.exists() else ()
        self.sound = {name: word == "sound" for commit, name, word in seen if commit == tree.commit}

    def sources(self, folders):
        """{path: text} of what the build compiles in these folders."""
        found = sorted(path for path in self.dependents
                       if any(path.startswith(f"{folder}/") for folder in folders)
                       and not OF_ANOTHER_BUILD.search(pathlib.PurePath(path).name))
        return {path: (self.tree.source / path).read_text() for path in found}

    def has_met_all(self, fault, known):
        """Whether all tests within reach are known to pass with it, or not to have it."""
        return bool(known) and all(
            test.name in known or self.sound.get(test.name) is False
            or self.near.distance(test, fault.path) > self.reach
            for test in self.tests if len(test.members) == 1)

    def try_fault(self, fault, passed=()):
        """What became of it: {"verdict", ...}; tests in `passed` are not run again."""
        path = self.tree.source / fault.path
        clean = path.read_text()
        objects = self.dependents[fault.path]
        code = self.tree.code_of(objects)
        kept = Kept(self.tree, path, objects)
        path.write_text(fault.put_into(clean))
        try:
            if not self.tree.ninja(*objects):
                return {"verdict": "does not build"}
            if self.tree.code_of(objects) == code:
                return {"verdict": "no change"}
            found = self.meet_tests(fault, list(passed))
        finally:
            kept.put_back()
        if found["verdict"] == "noticed" and not self.is_true(found):
            return self.try_fault(fault, passed)
        return found

    def meet_tests(self, fault, passed):
        end, built, cut = min(self.end, time.monotonic() + self.most), {}, False
        same = []  # those whose programs the fault is not in
        tests = joined_near(self.tests, fault.path, self.costs, self.near) + self.tests
        for test in in_order(tests, fault.path, self.costs, self.near):
            if set(test.members) <= set(passed) or self.sound.get(test.name) is False:
                continue
            far = self.near.distance(test, fault.path) > self.reach
            if far or time.monotonic() + cost_of(test, self.costs) > end:
                cut = True
                continue
            files = tuple(test.files)
            if files not in built:
                built[files] = self.build_with_fault(files)
            if built[files] == "fails":
                return {"verdict": "does not build"}
            if built[files] == "clean":
                same += test.members
                continue
            found = self.notice(test)
            if found:
                self.noticed_by = test
                return {"verdict": "noticed", "test": test.name, **found,
                        "limit": self.seconds(test)}
            passed += test.members
        return {"verdict": "cut" if cut else "lived", "passed": passed, "same": same}

    def build_with_fault(self, files):
        """Whether these can be built, and whether the fault is in one of them."""
        if not self.tree.ninja(*files):
            return "fails"
        same = all(digest(path) == self.clean[path] for path in files)
        return "clean" if same else "faulty"

    def seconds(self, test):
        return PATIENCE + FACTOR * cost_of(test, self.costs)

    def notice(self, test):
        """{"how", "case"}: how it fails, twice; nothing where it passes."""
        start = time.monotonic()
        first, said = test.run(self.seconds(test))
        if first == "passed":
            self.learn(test, time.monotonic() - start)
            for name in test.members:
                if name not in self.sound:
                    self.note_sound(name, True)
            return {}
        case = case_in(said)
        if first == "hang":
            return {"how": "hang"}
        if case and test.only(case).run(self.seconds(test))[0] != "passed":
            return {"how": case, "case": case}
        if test.run(self.seconds(test))[0] != "passed":
            return {"how": reason_in(said)}
        return {}  # an accident, not the fault

    def learn(self, test, seconds):
        if test.name not in self.costs:
            self.costs[test.name] = seconds
            add_line(self.notes / COSTS, test.name, 1, f"{seconds:.1f}")

    def is_true(self, found):
        """Whether the test passes without the fault, in so little time that it had enough."""
        test = self.noticed_by
        case = found.get("case")
        name = f"{test.name}:{case}" if case else test.name
        known = all(self.sound.get(member) for member in test.members)
        if name not in self.sound and not (case and known):
            self.tree.ninja(*test.files)
            start = time.monotonic()
            passed = (test.only(case) if case else test).run(test.limit)[0] == "passed"
            self.note_sound(name, passed)
            if not case:
                self.costs[test.name] = time.monotonic() - start
            if not passed:
                self.sound[test.name] = False
                print(f"UNSOUND {name} fails without a fault; {test.name} is left out", flush=True)
        enough = found["how"] != "hang" or found["limit"] >= min(test.limit, self.seconds(test))
        return self.sound.get(name, known) and enough

    def note_sound(self, name, passed):
        self.sound[name] = passed
        add_line(self.notes / SOUND, self.tree.commit, name, "sound" if passed else "unsound")
