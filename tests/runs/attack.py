"""Attacks on the whole program, which attack_settings.py, attack_paths.py and attack_limits.py
share: many starts beside each other, each in a folder of its worker's, without rights where there
are any to give up, and each judged alike: whatever a user gets wrong ends with a status that names
its kind and one sentence, never as a fault of the program, by a signal or not at all."""
import concurrent.futures
import os
import pathlib
import queue
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from patience import Patience

# Users that nobody is: each worker has one of its own, as a limit of processes counts all of his.
FIRST_USER, USERS = 20000, 40000
# What ends a start of somebody who has got something wrong; 10 is a hang and 11 a fault of ours.
STATUSES = {0, 2, 3, 4, 5, 6, 7, 8, 9, 85}
PATIENCE = 120  # seconds that a start has had time for
ADDRESS_SPACE = 8 << 30

INPUT = """
[model]
layers = 1
width = 16
heads = 2

[data]
train = "text.txt"
validation_fraction = 0.2
max_validation_samples = 2
sequence_length = 16

[run]
steps = 2
threads = 1

[memory]
host_limit = "256MiB"

[checkpoint]
resume = "never"
"""


class End:
    """How a start ended; `waited` where it had to be ended."""

    def __init__(self, line, status, out, err, waited, within=""):
        self.line, self.status, self.out, self.err, self.waited = line, status, out, err, waited
        self.within = within  # which limits and variables

    def error_lines(self):
        return [line for line in self.err.splitlines() if line.startswith("zeroapp: error")]

    def fault(self):
        """What is wrong with this end; "" if nothing is. Steps may be as long as they were asked to
        be: from the banner on run.watchdog sees to what hangs."""
        if self.waited:
            return "" if "collectives by" in self.out else f"did not end in {PATIENCE} s"
        if self.status < 0:
            return f"ended by {signal.Signals(-self.status).name}"
        if self.status not in STATUSES:
            return f"status {self.status}"
        if "doctor" in map(os.fsdecode, self.line[1:2]) and self.out:
            return ""  # whose table says what is missing
        lines, wanted = len(self.error_lines()), int(self.status not in (0, 85))
        return "" if lines == wanted else f"status {self.status} with {lines} error lines"


class Place:
    """A worker's folder, which is the same before every start."""

    def __init__(self, folder, user):
        self.folder, self.scratch = folder, folder.with_suffix(".tmp")
        self.user = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        folder.mkdir()
        self.scratch.mkdir()
        os.chmod(self.scratch, 0o777)
        verse = "".join(f"{i} times {i} is {i * i}.\n" for i in range(400))
        (folder / "text.txt").write_text(verse)
        (folder / "tiny.toml").write_text(INPUT)
        self.kept = {}
        self.keep()

    def keep(self):
        """What lies there now belongs to it."""
        os.chmod(self.folder, 0o777)
        self.kept = set(self.names())

    def names(self):
        return os.listdir(os.fsencode(self.folder))

    def clean(self):
        for name in set(self.names()) - self.kept:
            path = os.path.join(os.fsencode(self.folder), name)
            if stat.S_ISDIR(os.lstat(path).st_mode):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)


class Attack:
    """The program at argv[1] and a launcher at argv[2], whatever number of workers the machine has
    processors for."""

    def __init__(self, furnish=lambda place: None):
        if len(sys.argv) != 3:
            sys.exit(f"usage: {sys.argv[0]} ZEROAPP MPIEXEC")
        self.mpiexec = sys.argv[2]
        self.root = tempfile.TemporaryDirectory(prefix="zeroapp-")
        top = pathlib.Path(self.root.name)
        os.chmod(top, 0o755)
        # Where a build lies nobody else may look.
        self.zeroapp = top / "zeroapp"
        shutil.copy(sys.argv[1], self.zeroapp)
        self.env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", HOME=str(top),
                        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1",
                        # Set, so that the program need not start itself again.
                        OMP_WAIT_POLICY="passive", OMP_PROC_BIND="false", GOMP_SPINCOUNT="2000")
        for name in [n for n in self.env if n.startswith(("SLURM_", "PMI_", "OMPI_COMM_"))]:
            del self.env[name]
        if os.geteuid() != 0:
            print("SKIP another user: only root can become one, and has rights to give up")
        self.workers = len(os.sched_getaffinity(0))
        self.places = queue.Queue()
        for worker in range(self.workers):
            user = FIRST_USER + (os.getpid() * self.workers + worker) % USERS
            place = Place(top / f"worker{worker}", user if os.geteuid() == 0 else None)
            furnish(place)
            place.keep()
            self.places.put(place)

    def start(self, place, words, env=None, limits=(), launcher=(), patience=PATIENCE):
        """The program with these words, to its end or that of the patience with it."""
        line = [*launcher, str(self.zeroapp), *words]

        def limit():
            for name, value in ((resource.RLIMIT_CORE, 0), *limits):
                hard = resource.getrlimit(name)[1]
                bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.setrlimit(name, (bound, bound))

        # What Open MPI removes at one program's end may be what another has just begun with.
        within = " ".join(map(str, (*limits, *(env or {}).items())))
        env = dict(self.env, TMPDIR=str(place.scratch), **(env or {}))
        process = subprocess.Popen(line, cwd=place.folder, env=env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=limit,
                                   start_new_session=True, **place.user)
        out, err, waited = outcome_of(process, patience)
        return End(line, process.returncode, out.decode(errors="replace"),
                   err.decode(errors="replace"), waited, within)

    def run(self, cases, attack):
        """`attack(place, case)` gives ends; every case of them, as many beside each other as there
        are workers. The number of starts, how many ended with which status, and the faults."""
        statuses, faults, begun, done = {}, [], time.monotonic(), 0

        def one(case):
            place = self.places.get()
            try:
                return [(end, place.clean())[0] for end in attack(place, case)]
            finally:
                place.clean()
                self.places.put(place)

        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            for ends in pool.map(one, cases):
                done += 1
                if done % 1000 == 0:
                    print(f"{done} of {len(cases)} cases", file=sys.stderr, flush=True)
                for end in ends:
                    statuses[end.status] = statuses.get(end.status, 0) + 1
                    if end.fault():
                        faults.append(end)
                        tell(end)
        return Tally(statuses, faults, time.monotonic() - begun)


def outcome_of(process, seconds):
    """What it has written, and whether it had to be ended since these were too few for it."""
    patience = Patience([process.pid])
    while patience.look() <= seconds:
        try:
            return *process.communicate(timeout=1), False
        except subprocess.TimeoutExpired:
            pass
    os.killpg(process.pid, signal.SIGKILL)
    return *process.communicate(), True


class Tally:
    def __init__(self, statuses, faults, seconds):
        self.statuses, self.faults, self.seconds = statuses, faults, seconds
        self.starts = sum(statuses.values())

    def finish(self, what):
        """Says what came of it and ends with 1 where anything was found."""
        ended = ", ".join(f"{count} x {status}" for status, count in sorted(self.statuses.items()))
        print(f"{what}: {self.starts} starts in {self.seconds:.0f} s ended with {ended}")
        if self.faults:
            sys.exit(f"{len(self.faults)} of them as none should")
        print("every mistake has its status and its sentence")


def tell(end):
    said = next(iter(end.error_lines()), " ".join(end.err.split()))
    line = " ".join(shortened(os.fsdecode(word)) for word in end.line[1:])
    print(f"{end.fault()}: {line!r} {end.within}: {shortened(said, 300)}", file=sys.stderr,
          flush=True)


def shortened(word, most=60):
    return word if len(word) <= most else f"{word[:most // 2]}...{word[-most // 2:]}"


def drawn(cases, seed):
    """All of them in an order by lot; CASES=M in the environment takes the first M of these."""
    cases = list(cases)
    random.Random(seed).shuffle(cases)
    return share_of(cases[:int(os.environ.get("CASES", "0")) or None])


def share_of(cases):
    """With SHARE=K/N in the environment the K-th of N parts of them, so that a campaign can be run
    in parts, and gone on with where it was cut."""
    part, parts = map(int, os.environ.get("SHARE", "1/1").split("/"))
    if not 1 <= part <= parts:
        sys.exit("SHARE is K/N, where K is 1 to N")
    return cases[len(cases) * (part - 1) // parts:len(cases) * part // parts]
