"""Python packages for scripts that compare with them, in a folder under build/ of their own."""
import hashlib
import os
import pathlib
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]


def use(*packages):
    """Goes on in a Python that has these packages, "name==version" each. The first call with them
    makes that Python under build/, for which it needs the network, and takes some minutes."""
    name = hashlib.sha256(" ".join((sys.version, *packages)).encode()).hexdigest()[:12]
    folder = TREE / "build" / "python" / name
    if pathlib.Path(sys.prefix) == folder:
        return
    done = folder / "done"
    if not done.exists():
        make(folder, packages)
        done.touch()
    python = str(folder / "bin" / "python")
    os.execv(python, [python, *sys.argv])


def make(folder, packages):
    print(f"packages into {folder}: {' '.join(packages)}", flush=True)
    for line in ([sys.executable, "-m", "venv", "--clear", str(folder)],
                 [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet",
                  "--disable-pip-version-check", *packages]):
        if subprocess.run(line, check=False).returncode != 0:
            sys.exit(f"failed: {' '.join(line)}")
