"""The tests that ctest knows in a build folder: in which order a fault should meet them, and how
one of them ends."""
import copy
import ctypes
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

JUDGES_TEXT = re.compile(r"^tidy")  # the tree's rules see that code was changed, not what it does
OF_A_PLACE = re.compile(r"_(plain|x86|other|onednn|absent)$|(?:host|gpu|cuda)/(?=\w+$)")
UNKNOWN_SECONDS = 30  # of a script that was never timed; a file of a room's program takes far less
LONG_SECONDS = 10  # what takes longer is not joined with others
FILTER = "--gtest_filter="
# A rank whose check failed may leave the others waiting for it, up to the test's limit.
CHECK_FAILED = re.compile(r"^\[  FAILED  \]|^\[rank \d+\] |: Failure$", re.M)
POLL, GRACE = 0.2, 3
RANKS = re.compile(r"\.np(\d+)$")
# Whose tests: "header" are those of a file's users too, and the last are scripts.
REACHES = ("file", "header", "room", "rooms", "all")
PLACES = ("include", "src", "kernels", "io")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <sys/prctl.h>


def adopt_orphans():
    """What a killed launcher leaves becomes a child of this process, which can then end it."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def descendants(pid):
    """Processes below `pid`, the deepest last."""
    below = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        below.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = list(below.get(pid, ()))
    for child in found:
        found += below.get(child, ())
    return found


def send(pids, what):
    for pid in pids:
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            pass


def end_all_children(patience=5):
    """The launchers are asked first, as they take their ranks along."""
    left = descendants(os.getpid())
    send(left[:1], signal.SIGTERM)
    end = time.monotonic() + patience
    while left and time.monotonic() < end:
        reap()
        left = descendants(os.getpid())
        time.sleep(0.05)
    while left:
        send(left, signal.SIGKILL)
        time.sleep(0.05)
        reap()
        left = descendants(os.getpid())


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def start_and_wait(command, seconds, cwd, env, bad=None):
    """(exit status, output), and ends all that it starts; (None, output) where it took longer.
    What has said something that matches `bad` and does not end soon is ended, with status 1."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=subprocess.STDOUT)
        end, status, told = time.monotonic() + seconds, None, False
        while status is None and time.monotonic() < end:
            try:
                status = process.wait(POLL)
            except subprocess.TimeoutExpired:
                if bad and not told and bad.search(text_of(out)):
                    told, end = True, min(end, time.monotonic() + GRACE)
        end_all_children()
        if process.returncode is None:
            process.returncode = 0  # reaped by end_all_children()
        return 1 if status is None and told else status, text_of(out)


def text_of(out):
    """All that was written, read without moving the place where others write."""
    return os.pread(out.fileno(), os.fstat(out.fileno()).st_size, 0).decode(errors="replace")


class Test:
    """One entry of ctest; `files` are those of the build that it starts or loads."""

    def __init__(self, entry, build):
        facts = {p["name"]: p["value"] for p in entry["properties"]}
        self.name, self.command = entry["name"], entry["command"]
        self.cwd = facts.get("WORKING_DIRECTORY", str(build))
        self.limit = float(facts.get("TIMEOUT", 1500))
        self.passes = [re.compile(p) for p in facts.get("PASS_REGULAR_EXPRESSION", ())]
        self.fails = [re.compile(p) for p in facts.get("FAIL_REGULAR_EXPRESSION", ())]
        self.environment = dict(e.split("=", 1) for e in facts.get("ENVIRONMENT", ()))
        self.members = (self.name,)
        self.files = sorted({w for w in self.command if w.startswith(f"{build}/")
                             and pathlib.Path(w).is_file()})

    def run(self, seconds):
        """"passed", "failed" or "hang", and the end of what it said."""
        place = tempfile.mkdtemp(prefix="fault-")
        os.chmod(place, 0o1777)  # as /tmp is, for tests that become another user
        env = dict(os.environ, TMPDIR=place, **self.environment)
        bad = CHECK_FAILED if any(w.startswith(FILTER) for w in self.command) else None
        status, out = start_and_wait(self.command, min(seconds, self.limit), self.cwd, env, bad)
        shutil.rmtree(place, ignore_errors=True)
        if status is None:
            return "hang", out[-2000:]
        good = any(p.search(out) for p in self.passes) if self.passes else status == 0
        good = good and not any(p.search(out) for p in self.fails)
        return "passed" if good else "failed", out[-2000:]

    def only(self, case):
        """The same with one case of its program."""
        single = copy.copy(self)
        single.command = [w for w in self.command if not w.startswith(FILTER)] + [FILTER + case]
        return single


def read_tests(build):
    """What a build's ctest would run, without the rules of text."""
    shown = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=True,
                           capture_output=True, text=True).stdout
    entries = [e for e in json.loads(shown)["tests"] if e.get("command")]
    return [Test(e, build) for e in entries if not JUDGES_TEXT.match(e["name"])]


def read_costs(path):
    """Seconds of each test as ctest has noted them: `name runs seconds` a line."""
    costs = {}
    for line in path.read_text().splitlines() if path.is_file() else ():
        words = line.split()
        if len(words) == 3:
            costs[words[0]] = float(words[2])
    return costs


def add_line(path, *words):
    """Where several processes add lines of their own."""
    with path.open("a") as out:
        out.write(" ".join(str(word) for word in words) + "\n")


def room_and_stem(path):
    """For src/plan/rounds.cpp plan, rounds; kernels/vendor/host/gemm.cpp: kernels, vendor/gemm."""
    room, _, rest = path.removeprefix("src/").partition("/")
    return room, OF_A_PLACE.sub("", rest.rpartition(".")[0])


def cost_of(test, costs):
    if test.name in costs:
        return costs[test.name]
    if len(test.members) > 1 and all(name in costs for name in test.members):
        return sum(costs[name] for name in test.members)
    ranks = RANKS.search(test.name)
    return len(test.members) * int(ranks[1]) if ranks else UNKNOWN_SECONDS


def joined(tests, name):
    """Files of one program on so many ranks as one test, which starts a launcher once."""
    together = copy.copy(tests[0])
    room, ranks = together.name.partition("/")[0], RANKS.search(together.name)[0]
    together.name, together.members = f"{room}/{name}{ranks}", tuple(test.name for test in tests)
    words = "".join(test.command[-1].removeprefix(FILTER) for test in tests)
    # One of several ranks that ends at its first failure would leave the others waiting.
    fast = ["--gtest_fail_fast"] if ranks == ".np1" else []
    together.command = [*together.command[:-1], FILTER + words, *fast]
    together.limit = sum(test.limit for test in tests)
    return together


def joined_short(tests, costs, name="*"):
    """The short files of each program, joined."""
    groups = {}
    for test in tests:
        if test.command[-1].startswith(FILTER) and cost_of(test, costs) <= LONG_SECONDS:
            groups.setdefault(tuple(test.command[:-1]), []).append(test)
    return [joined(group, name) for group in groups.values() if len(group) > 1]


def joined_near(tests, path, costs, near):
    """The same of those nearest to a file."""
    close = [test for test in tests if len(test.members) == 1 and near.distance(test, path) < 2]
    return joined_short(close, costs, f"*{room_and_stem(path)[1]}")


class Near:
    """Which tests are how far from a file."""

    def __init__(self, source):
        self.source = source
        self.included = {str(path.relative_to(source / "tests")).removesuffix("_test.cpp"):
                         set(INCLUDE.findall(path.read_text()))
                         for path in (source / "tests").rglob("*_test.cpp")}
        self.users = {}  # of a header: the headers of those who include it
        for path in (p for place in PLACES for p in (source / place).rglob("*.[ch]pp")):
            includes = INCLUDE.findall(path.read_text())
            own = self.own(str(path.relative_to(source)), includes)
            for header in includes:
                self.users.setdefault(header, set()).update(own)

    def own(self, path, includes):
        """Where a file's functions may be declared: its own header is what it includes first."""
        return {path.removeprefix("include/")} if path.endswith(".hpp") else set(includes[:1])

    @functools.lru_cache(maxsize=1)  # a fault's file is compared with every test
    def headers(self, path, room):
        """Its own header, and those of the room that call what it declares."""
        own = self.own(path, INCLUDE.findall((self.source / path).read_text()))
        own = {header for header in own if room in header.split("/")}
        near = own.union(*(self.users.get(header, set()) for header in own))
        return {header for header in near if room in header.split("/")}

    def distance(self, test, path):
        """The place in REACHES; of joined tests, that of the farthest."""
        if len(test.members) > 1:
            return max(self.distance_of(name, path) for name in test.members)
        return self.distance_of(test.name, path)

    def distance_of(self, test, path):
        room, stem = room_and_stem(path)
        name = RANKS.sub("", test)
        if name == f"{room}/{stem}":
            return 0
        if name.startswith(f"{room}/"):
            kin = stem.startswith(f"{name.partition('/')[2]}_")
            return 2 - (kin or bool(self.included.get(name, set()) & self.headers(path, room)))
        return 3 if name != test else 4


def in_order(tests, path, costs, near):
    """The tests of the file itself and those that know its header, those of its room, all others;
    the cheapest of each first."""

    def key(test):
        far = min(3, max(1, near.distance(test, path)))
        alone = len(test.members) == 1  # which is needed where joined ones are unsound
        return far, alone, cost_of(test, costs), test.name

    return sorted(tests, key=key)
