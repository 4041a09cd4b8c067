"""Runs in which something happens to a rank at one of its file system calls; the tests of saving
share it. See tests/support/fault_calls.cpp for what can happen."""
import re
import shutil

from program import Program, check

STEPS = 6
SETTINGS = ("checkpoint.resume=auto", "checkpoint.interval=2", f"run.steps={STEPS}")
# The save of step 6, behind which nothing but the run's end comes, with step 2 to be removed.
FROM = "step00000006"


def merged(settings):
    """The last of several settings of one key."""
    return tuple({setting.split("=")[0]: setting for setting in settings}.values())


class Faults(Program):
    """Runs of two ranks over a folder with the committed steps 2 and 4, made anew or copied from
    `like`, so that both can be at work at the same time."""

    def __init__(self, ranks=2, settings=(), like=None):
        super().__init__()
        self.ranks, self.settings = ranks, (*SETTINGS, *settings)
        self.runs, self.base = self.folder / "runs", self.folder / "base"
        self.log, self.known_calls = self.folder / "calls", {}
        if like:
            self.state = like.state
            shutil.copytree(like.base, self.base, symlinks=True)
            return
        whole = self.go_on()
        check(whole.finished(), "a run without faults finishes", whole)
        self.state = whole.state()
        shutil.rmtree(self.runs)
        half = self.go_on("run.stop_at=4")
        check("saved step 4" in half.out, "its first half is saved", half)
        self.runs.rename(self.base)

    def restore(self):
        shutil.rmtree(self.runs, ignore_errors=True)
        shutil.copytree(self.base, self.runs, symlinks=True)

    def start(self, ranks, *settings, **others):
        return super().start(ranks, *merged(settings), **others)

    def go_on(self, *settings):
        return self.train(self.ranks, *self.settings, *settings)

    def start_faulty(self, *settings, rank=0, **faults):
        """From step 4 on, with faults as CALL=3, ACTION="kill"; not yet waited for."""
        self.restore()
        self.log.unlink(missing_ok=True)
        words = dict({"RANK": rank, "UNDER": "/checkpoints", "FROM": FROM, "LOG": self.log,
                      "NO_URING": 1}, **faults)
        env = {f"FAULT_{name}": str(value) for name, value in words.items()}
        return self.start_preloaded(self.ranks, "tiny.toml", *merged((*self.settings, *settings)),
                                    env=env)

    def run_faulty(self, *settings, rank=0, **faults):
        return self.wait(self.start_faulty(*settings, rank=rank, **faults))

    def calls(self, rank, *settings, **faults):
        """Names and paths of the calls that a save makes on a rank, the same each time."""
        key = rank, settings, *sorted(faults.items())
        if key not in self.known_calls:
            result = self.run_faulty(*settings, rank=rank, **faults)
            check(result.finished(), "a watched run finishes", result)
            self.known_calls[key] = self.logged()
        return self.known_calls[key]

    def logged(self):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [tuple(line.split(" ", 2)[1:]) for line in lines]

    def latest(self):
        return (self.runs / "tiny/checkpoints/latest").readlink().name

    def leftovers(self):
        """Names of what is half-made or half-removed."""
        return [path.name for path in (self.runs / "tiny/checkpoints").iterdir()
                if path.name.startswith(".")
                or path.name.startswith("step") and not (path / "MANIFEST.json").exists()]

    def require_nothing_lost(self, broken, what):
        """The last acknowledged checkpoint of `broken` is gone on from, with the same bytes."""
        committed = re.findall(r"^saved step (\d+)$", broken.out, re.M)
        acknowledged = max(map(int, committed), default=4)
        result = self.go_on()
        check("does not verify" not in result.err, f"{what}: no folder is damaged", result)
        begun = re.search(r"going on from step (\d+)|step (\d+) of \d+ is reached", result.out)
        check(begun, f"{what}: it goes on", result)
        step = int(begun.group(1) or begun.group(2))
        check(step >= acknowledged, f"{what}: from step {step} of {acknowledged}", result)
        if begun.group(1):
            check(result.finished(), f"{what}: it finishes", result)
            check(result.state() == self.state, f"{what}: the same bytes", result)
            check(self.latest() == f"step{STEPS:08d}", f"{what}: the last is the latest", result)
        check(not self.leftovers(), f"{what}: nothing stays behind: {self.leftovers()}", result)
