"""Runs the whole program in a folder of its own and reads what it left; the tests here share it."""
import atexit
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

MODEL = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 1

[model]
layers = 2
width = 64
heads = 2
dropout = 0.1

[data]
train = "text.txt"
validation_fraction = 0.2
max_validation_samples = 5
sequence_length = 32

[run]
steps = 6
threads = 1

[optimizer]
lr = 1e-2

# Tests train again and again in one folder; runs/resume.py goes on.
[checkpoint]
resume = "never"
"""


# Sections of input files that several tests have.
FOUR_STEPS = """
[run]
steps = 4
threads = 1
[optimizer]
lr = 1e-2
[numerics]
reproducible = true
[export]
at_end = true
"""
PAIRS = """
[data]
train = "pairs.tsv"
source_length = 20
target_length = 12
validation_fraction = 0.2
"""
BUCKETED_PAIRS = """
[data]
train = "pairs.tsv"
source_length = 40
target_length = 24
length_buckets = "8x8"
validation_fraction = 0.2
"""
OFFLOADED = ("zero.offload_optimizer.device=cpu", "zero.offload_param.device=nvme",
             "zero.offload_param.nvme_path=.")

# Ranks look for no network when they start, which takes longer than the rest of a start, and let
# others work while they wait for a message. What a user starts has neither; nor have the tests of
# containers and of machines without a network.
QUICK = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_mpi_yield_when_idle": "1"}

# A checkpoint's manifest keeps a digest of each block of so many.
BLOCK_BYTES = 256 << 10


def shared(text):
    """An input file: on a build for GPUs several ranks drive the one that a test machine has."""
    share = os.environ.get("SHARE_DEVICE")
    return text.replace("[run]", "[run]\nshare_device = true") if share else text


def home_settings(program, stage, home):
    """Settings by which states, at stage 3 weights too, rest at `home`."""
    if home == "none":
        return ()
    sections = ("zero.offload_optimizer", "zero.offload_param")[:2 if stage == 3 else 1]
    disk = program.folder / "disk"
    disk.mkdir(exist_ok=True)
    paths = [f"{section}.nvme_path={disk}" for section in sections if home == "nvme"]
    return (*(f"{section}.device={home}" for section in sections), *paths)


def state_of(summary):
    """Both hashes of a run's last state; a run without them cannot be compared."""
    hashes = summary["state_sha256"], summary["state_xxh3"]
    if None in hashes:
        sys.exit(f"the summary has the hashes {hashes}: nothing to compare; "
                 "run.state_hash = true takes them")
    return hashes


def open_mpi(mpiexec):
    """The first number of the version of Open MPI's launcher; 0 for another's. From 5 on it ends
    ranks in half a second, whatever it is asked for."""
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    told = subprocess.run([mpiexec, "--version"], text=True, capture_output=True, env=env,
                          check=False).stdout
    found = re.search(r"\(Open MPI\) (\d+)", told)
    return int(found[1]) if found else 0


class Result:
    """One finished run: status, words and files; without them metrics is [] and summary None."""

    def __init__(self, status, out, err, folder):
        self.status, self.out, self.err = status, out, err
        metrics, summary = folder / "metrics.jsonl", folder / "summary.json"
        self.metrics = []
        if metrics.exists():
            self.metrics = [json.loads(line) for line in metrics.read_text().splitlines()]
        self.summary = json.loads(summary.read_text()) if summary.exists() else None

    def state(self):
        return state_of(self.summary)

    def error_lines(self):
        """The mpirun of Open MPI 5 puts a zero before one."""
        lines = self.err.replace("\0", "").splitlines()
        return [line for line in lines if line.startswith("zeroapp: error")]

    def finished(self):
        """By the program's own word: the launcher returns 1 after about one clean run in 400."""
        return self.status in (0, 1) and not self.error_lines() and "finished step" in self.out


class Program:
    """The program at argv[1], started through the launcher at argv[2], in a temporary folder; a
    library at argv[3] is loaded ahead of it where `train` is told so. `words` replaces argv[1:].
    Without `quick` it is started as a user starts it."""

    def __init__(self, words=None, quick=True):
        words = sys.argv[1:] if words is None else words
        if len(words) not in (2, 3):
            sys.exit(f"usage: {sys.argv[0]} ZEROAPP MPIEXEC [LIBRARY]")
        self.zeroapp, self.mpiexec = pathlib.Path(words[0]).resolve(), words[1]
        self.library = pathlib.Path(words[2]).resolve() if len(words) > 2 else None
        self.place = tempfile.TemporaryDirectory(prefix="zeroapp-")
        self.folder = pathlib.Path(self.place.name)
        verse = "".join(f"{i} times {i} is {i * i}.\n" for i in range(400))
        (self.folder / "text.txt").write_text(verse)
        self.write("tiny.toml", shared(MODEL))
        self.env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                        **(QUICK if quick else {}))
        for name in [n for n in self.env if n.startswith(("SLURM_", "PMI_", "OMPI_COMM_"))]:
            del self.env[name]

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def write_pairs(self, count):
        """pairs.tsv: so many sources and targets."""
        self.write("pairs.tsv", "source\ttarget\n" + "".join(
            f"{i} times {i + 1}\tis {i * (i + 1)}\n" for i in range(count)))

    def open_mpi(self):
        return open_mpi(self.mpiexec)

    def launch_line(self, ranks):
        return [self.mpiexec, "--oversubscribe", "--bind-to", "none", "-np", str(ranks),
                str(self.zeroapp)]

    def apart(self, *ranks):
        """Rank r starts in the folder and with the words of ranks[r]. A shell tells them apart: an
        mpirun of Open MPI 5 with several programs crashes when one of them ends in an error."""
        script = self.folder / "apart.sh"
        cases = [f"  {rank}) cd {shlex.quote(str(folder))} && exec {shlex.join(words)} ;;\n"
                 for rank, (folder, words) in enumerate(ranks)]
        script.write_text("".join(["case $OMPI_COMM_WORLD_RANK in\n", *cases, "esac\n"]))
        return self.popen([*self.launch_line(len(ranks))[:-1], "sh", str(script)])

    def train(self, ranks, *settings, env=None, input_file="tiny.toml"):
        """Trains to the end in runs/<stem>."""
        return self.wait(self.start(ranks, *settings, env=env, input_file=input_file))

    def train_counted(self, ranks, *settings, env=None):
        """As train(), with the library loaded; also the text that each rank's library has left."""
        stem = self.folder / "count"
        for old in self.folder.glob("count.*"):
            old.unlink()
        env = dict(env or {}, COUNT_FILE=str(stem))
        result = self.wait(self.start_preloaded(ranks, "tiny.toml", *settings, env=env))
        return result, [path.read_text() for path in sorted(self.folder.glob("count.*"))]

    def start(self, ranks, *settings, env=None, input_file="tiny.toml"):
        """One rank needs no launcher."""
        line = self.launch_line(ranks) if ranks > 1 else [str(self.zeroapp)]
        return self.popen([*line, input_file, *settings], env)

    def start_preloaded(self, ranks, *words, env):
        """With the library loaded ahead of every rank."""
        if ranks == 1:
            return self.popen([str(self.zeroapp), *words], dict(env, LD_PRELOAD=str(self.library)))
        *launch, program = self.launch_line(ranks)
        return self.popen([*launch, "-x", f"LD_PRELOAD={self.library}", program, *words], env)

    def popen(self, line, env=None, before=None):
        """`before` is done in the new process, just before it becomes the program."""
        process = subprocess.Popen(line, cwd=self.folder, env=dict(self.env, **(env or {})),
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=before)
        # A test that fails leaves nothing running; the launcher takes its ranks along.
        atexit.register(process.terminate)
        return process

    def wait(self, process, run="tiny", timeout=300):
        out, err = process.communicate(timeout=timeout)
        return Result(process.returncode, out, err, self.folder / "runs" / run)

    def alone(self, *words, env=None):
        """The program without a launcher."""
        return self.wait(self.popen([str(self.zeroapp), *words], env))

    def together(self, ranks, *words, env=None):
        """A command of several ranks."""
        return self.wait(self.popen([*self.launch_line(ranks), *words], env))


def python_with_h5py():
    """Not every Python of a machine has it; None where none has."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import h5py"], capture_output=True).returncode == 0:
            return python
    return None


def side_by_side(*cases):
    """Calls them at the same time, which pays where they wait; the first that failed is told."""
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        for future in [pool.submit(case) for case in cases]:
            future.result()


def check(condition, what, result=None):
    if condition:
        return
    if result is not None:
        print(result.out, result.err, sep="\n", file=sys.stderr)
    sys.exit(f"failed: {what}")


def advised_change(refused):
    """The words of the change that a refusal advises, without the notes in brackets behind them."""
    _, found, change = refused.error_lines()[0].partition("cheapest change that fits: ")
    return change.split(" (")[0].split() if found else None


def read_safetensors(path):
    """The rows of the header, by tensor, and the bytes of each tensor."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    rows = json.loads(data[8:begin])
    rows.pop("__metadata__", None)
    return rows, {tensor: data[begin:][slice(*row["data_offsets"])]
                  for tensor, row in rows.items()}


def check_refused(result, status, *words):
    """It ended with this status and one error line, which holds the words."""
    what = f"status {status} with {words}"
    check(result.status == status, f"{what}, not status {result.status}", result)
    lines = result.error_lines()
    check(len(lines) == 1, f"{what}: exactly one error line, not {len(lines)}", result)
    for word in words:
        check(word in lines[0], f"{what}: {word!r} in {lines[0]!r}", result)
