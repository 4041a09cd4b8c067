"""A machine with a GPU and programs that are only pretended, from a bundle without ssh, and what a
script of visits (tools/first_light.sh, tools/next_visit.sh) has left there."""
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# In place of the program. A file beside it says what is wrong with it.
ZEROAPP = """
here={bundle}
case "$1" in
  --version) echo zeroapp 0 ;;
  doctor | calibrate) echo "$1" ;;
  *.toml)
    if [ -e $here/trains_one_by_one ]; then
      case "$*" in *run.record=false*) ;; *) echo no capture; exit 7 ;; esac
    fi
    if [ -e $here/trains_never ]; then exit 7; fi
    mkdir -p run
    cp $here/metrics.jsonl $here/summary.json $here/trace.json run
    echo "arguments $*" ;;
esac
"""
LAUNCHER = """
while [ $# -gt 0 ]; do
  case "$1" in -np | --bind-to) shift 2 ;; --oversubscribe) shift ;; *) break ;; esac
done
exec "$@"
"""
SANITIZER = 'echo "sanitized $*"'
PYTHON = 'import sys\nprint("arguments", sys.argv[1:])\n'


def expect(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def write_files_of_a_run(bundle):
    step = {"step": 1, "tokens": 1024, "tokens_per_s": 9.0, "step_ms": 1.0, "exposed_ms": 0.0,
            "loss": 9.0}
    device = {"planned_bytes": 1, "allocated_bytes": 1, "used_before_bytes": {"max": 1}}
    summary = {"parameters": 1, "phases": {}, "memory": {"device": device},
               "libraries": {"products": "cuBLASLt", "attention": "cuDNN"}}
    (bundle / "metrics.jsonl").write_text(f"{json.dumps(step)}\n" * 6)
    (bundle / "summary.json").write_text(json.dumps(summary))
    (bundle / "trace.json").write_text("[]")


class Machine:
    """A copy of the scripts with a bundle, and tools of a machine that has a GPU and no ssh."""

    def __init__(self, place, script="first_light"):
        self.script = script
        self.tree, self.bin, self.place = place / "tree", place / "bin", place
        shutil.copytree(ROOT / "tools", self.tree / "tools")
        self.bundle = self.tree / "build/bundle"
        write_program(self.bundle / "bin/zeroapp", ZEROAPP.format(bundle=self.bundle))
        write_program(self.bundle / "bin/mpirun", LAUNCHER)
        write_program(self.bundle / "programs/zeroapp", "wants no library of CUDA")
        for name in ("device_test", "kernels_test", "comm_test", "perf_device_rates"):
            write_program(self.bundle / "bin" / name, f'echo {name} "$@"')
        write_files_of_a_run(self.bundle)
        for name in ("tests/runs/known_losses.py", "tests/runs/offload.py",
                     "tests/runs/nccl_bits.py", "perf/device/torch_rates.py"):
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(PYTHON)
        write_program(self.bin / "nvidia-smi",
                      'case "$*" in *list*) echo GPU 0;; *) echo NVIDIA H200;; esac')
        for tool in ("bash", "sh", "env", "timeout", "grep", "sed", "awk", "tr", "cut", "head",
                     "tail", "sort", "paste", "find", "tar", "gzip", "mkdir", "mv", "rm", "cp",
                     "cat", "ln", "date", "dirname", "basename", "nproc", "mktemp", "sleep",
                     "python3", "df", "uname", "ldd", "ls"):
            # A version manager's script in front of Python would want more than these tools.
            found = sys.executable if tool == "python3" else shutil.which(tool)
            (self.bin / tool).symlink_to(found)
        self.env = {"PATH": str(self.bin), "HOME": str(place)}

    def command(self, *words):
        return [str(self.bin / "bash"), str(self.tree / f"tools/{self.script}.sh"),
                *(str(word) for word in words)]

    def call(self, *words):
        return subprocess.run(self.command(*words), env=self.env, cwd=self.place, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def edit(self, before, after):
        path = self.tree / f"tools/{self.script}.sh"
        text = path.read_text()
        expect(before in text, f"{before} is in {path}")
        path.write_text(text.replace(before, after))


def listed(visit, script="first_light"):
    found = subprocess.run(["bash", str(ROOT / f"tools/{script}.sh"), str(visit), "--list"],
                           text=True, capture_output=True, check=True).stdout.splitlines()
    return {name: int(share) for share, name in (line.split(" ", 1) for line in found)}


class Results:
    """What a call has left: the outcome of each line, and its output."""

    def __init__(self, out, visit, script="first_light"):
        self.tar = out / f"{script}_{visit}.tar.gz"
        self.summary = (out / f"{script}_{visit}.txt").read_text()
        with tarfile.open(self.tar) as packed:
            self.files = {member.name.split("/", 1)[-1]: packed.extractfile(member).read().decode()
                          for member in packed.getmembers() if member.isfile()}
        lines = (line.split("\t") for line in self.files["results.tsv"].splitlines())
        self.outcomes = dict(lines)

    def passed(self):
        return {name for name, what in self.outcomes.items() if what.startswith("passed")}

    def output(self, name):
        number = list(self.outcomes).index(name) + 1
        found, = (text for file, text in self.files.items() if file.startswith(f"{number:02}-"))
        return found
