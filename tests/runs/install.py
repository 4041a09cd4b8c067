#!/usr/bin/env python3
"""The program as an administrator installs it: README's recipes from another folder, the module,
job scripts, and a bundle at two paths, while the trees of source and build are hidden.

A line SKIP says what is not here: a system of modules, or the right to hide a folder."""
import os
import pathlib
import re
import shutil
import subprocess

from program import Program, check

TREE = pathlib.Path(__file__).resolve().parents[2]
MODULES = {"environment-modules": "/usr/share/modules/init/bash",
           "lmod": "/usr/share/lmod/lmod/init/bash"}
# Hides folders from a command and its children: $1 to "--", then the command.
HIDE = 'while [ "$1" != -- ]; do mount -t tmpfs none "$1" || exit 9; shift; done; shift; exec "$@"'
STUBS = {"sbatch": 'echo "sbatch: $*"', "srun": 'echo "srun: $*"',
         "mpirun": 'exec "{mpiexec}" --oversubscribe --bind-to none "$@"'}


class Place:
    """A folder to work in, with the installed program and without the trees."""

    def __init__(self, program):
        self.program, self.build = program, program.zeroapp.parents[1]
        self.prefix, self.work = program.folder / "prefix", program.folder / "work"
        self.share = self.prefix / "share/zeroapp"
        (self.work / "data").mkdir(parents=True)
        for name, verse in (("data/web.txt", 1500), ("my.txt", 1500)):
            (self.work / name).write_text("".join(
                f"In the beginning {i} and {i} were {i + i}.\n" for i in range(verse)))
        stubs = program.folder / "stubs"
        stubs.mkdir()
        for name, line in STUBS.items():
            line = line.format(mpiexec=shutil.which(program.mpiexec))
            (stubs / name).write_text(f"#!/bin/sh\n{line}\n")
            (stubs / name).chmod(0o755)
        self.env = dict(program.env, PATH=f"{stubs}:{program.env['PATH']}")
        self.env.pop("XDG_DATA_DIRS", None)
        hidden = [TREE] if self.build.is_relative_to(TREE) else [TREE, self.build]
        self.hiding = ["unshare", "-m", "sh", "-c", HIDE, "sh", *map(str, hidden), "--"]
        tried = subprocess.run([*self.hiding, "test", "!", "-e", program.zeroapp], check=False,
                               capture_output=True)
        if tried.returncode != 0:
            print("SKIP hiding the trees: this user may not mount")
            self.hiding = []

    def shell(self, command, env=None):
        return subprocess.run([*self.hiding, "bash", "-o", "pipefail", "-c", command],
                              cwd=self.work, env=env or self.env, text=True, errors="replace",
                              timeout=200, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def good(self, command, env=None):
        done = self.shell(command, env)
        check(done.returncode == 0, f"{command}: status {done.returncode}\n{done.stdout}")
        return done.stdout

    def loaded(self):
        """As with the module, without a system of modules."""
        return dict(self.env, PATH=f"{self.prefix}/bin:{self.env['PATH']}",
                    ZEROAPP_HOME=str(self.share))


def install(place):
    done = subprocess.run(["cmake", "--install", place.build, "--component", "runtime", "--prefix",
                           place.prefix], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"cmake --install: {done.stdout}{done.stderr}")
    for name in ("bin/zeroapp", "share/zeroapp/inputs/gpt2_nano.toml",
                 "share/zeroapp/jobscripts/common.sh", "share/zeroapp/tools/data/make_tokens.sh",
                 "share/zeroapp/tools/monitor.py",
                 "share/zeroapp/doc/using.md", "share/man/man1/zeroapp-plan.1",
                 "share/man/man5/zeroapp-input.5", "share/zsh/site-functions/_zeroapp",
                 "share/bash-completion/completions/zeroapp.bash",
                 "share/fish/vendor_completions.d/zeroapp.fish"):
        check((place.prefix / name).is_file(), f"{name} is installed")
    for path in place.prefix.rglob("*"):
        if path.is_file():
            check(str(place.build).encode() not in path.read_bytes(), f"{path} names the build")
    header = subprocess.run(["readelf", "-d", place.prefix / "bin/zeroapp"], text=True, check=True,
                            capture_output=True).stdout
    check("RUNPATH" not in header and "RPATH" not in header, f"no path of its own: {header}")


def recipes():
    """The commands of README's recipes as a user of the installed program types them."""
    text = (TREE / "README.md").read_text()
    blocks = re.findall(r"^(<!-- \w+ -->)?\n```sh\n(.*?)```", text, re.M | re.S)
    lines = [line for mark, block in blocks if not mark
             for line in block.replace("\\\n", " ").splitlines()]
    for line in lines:
        line = line.split("  #")[0].replace("./zeroapp", "zeroapp")
        yield re.sub(r"(?<=\s)(inputs|tools/data)/", r"$ZEROAPP_HOME/\1/", line)


def recipes_run(place):
    place.good("mpirun -np 2 zeroapp $ZEROAPP_HOME/inputs/gpt2_nano.toml run.steps=5",
               place.loaded())
    count = 0
    for line in recipes():
        place.good(line, place.loaded())
        count += 1
    check(count >= 6, f"README has recipes, not {count}")
    return count


def messages_name_what_is_there(place):
    env = place.loaded()
    told = ""
    for command in ("zeroapp absent.toml", "zeroapp plan inputs/gpt2_nano.toml",
                    "zeroapp plan $ZEROAPP_HOME/inputs/gpt2_nano.toml quuux.quux=1",
                    "zeroapp data $ZEROAPP_HOME/inputs/gpt2_nano.toml data.train=data/none.bin",
                    "zeroapp data $ZEROAPP_HOME/inputs/gpt2_nano.toml data.train=none.txt"):
        done = place.shell(command, env)
        check(done.returncode in (2, 3), f"{command}: {done.stdout}")
        check(f"{place.share}/" in done.stdout, f"{command}: an installed file: {done.stdout}")
        told += done.stdout
    (place.work / "ds.json").write_text('{"train_batch_size": 8, "wandb": {"enabled": true}}')
    imported = place.good("zeroapp import-deepspeed ds.json", env)
    check(f"{place.share}/tools/monitor.py RUN wandb" in imported, f"an installed tool: {imported}")
    told += imported + place.good("zeroapp --help; zeroapp inputs gpt2_124m", env)
    paths = set(re.findall(rf"{re.escape(str(place.share))}/[\w./-]*\w", told))
    check(len(paths) >= 4, f"several files are named: {paths}")
    for path in paths:
        check(pathlib.Path(path).exists(), f"{path} is there")
    place.good("zeroapp inputs gpt2_nano > mine.toml && zeroapp plan mine.toml", env)


def job_scripts_run(place):
    (place.work / "data/web.bin").touch()
    env = dict(place.loaded(), SLURM_SUBMIT_DIR=str(place.work), SLURM_NTASKS="8")
    (place.work / "spool").mkdir()
    for script in sorted((place.share / "jobscripts/slurm").glob("*.sh")):
        copy = shutil.copy(script, place.work / "spool")
        said = place.shell(f"bash {copy} model.name=gpt2 model.layers=auto", env).stdout
        name = f"{place.share}/inputs/{script.stem}.toml"
        check(f"srun: --mpi=pmix --wait=60 zeroapp {name} model.name=gpt2" in said or
              "does not fit" in said, f"{script.name} starts: {said}")


def modules_load(place):
    for system, start in MODULES.items():
        if not pathlib.Path(start).exists():
            print(f"SKIP {system}: not here")
            continue
        begin = f"source {start}; module use {place.prefix}/share/modulefiles; module load zeroapp"
        said = place.good(f"{begin}; command -v zeroapp; echo $ZEROAPP_HOME; man -w zeroapp; "
                          "zeroapp inputs > /dev/null; echo \":$XDG_DATA_DIRS:\"; "
                          "module unload zeroapp; command -v zeroapp || echo gone")
        for wanted in (f"{place.prefix}/bin/zeroapp\n", f"{place.share}\n", "gone\n",
                       f"{place.prefix}/share/man/man1/zeroapp.1", ":/usr/share:"):
            check(wanted in said, f"{system}: {wanted} in {said}")


def bundle_runs(place, bundle, count):
    sums = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=bundle, text=True,
                          capture_output=True, check=False)
    check(sums.returncode == 0, f"the sums of the bundle: {sums.stdout}{sums.stderr}")
    done = place.good(f"{bundle}/bin/mpirun --oversubscribe --bind-to none -np 2 "
                      f"{bundle}/bin/zeroapp {bundle}/share/zeroapp/inputs/gpt2_nano.toml "
                      f"run.steps=3 run.output=runs/bundle{count}")
    check("finished step 3" in done, f"{bundle} trains: {done}")
    listed = place.good(f"{bundle}/bin/zeroapp --help; ldd {bundle}/programs/zeroapp")
    check(f"{bundle}/share/zeroapp/inputs" in listed, f"its own inputs: {listed}")
    check(f"libmpi.so.40 => {bundle}/programs/../lib/" in listed, f"its own libraries: {listed}")


def bundles_run(place):
    first, second = place.program.folder / "bundle", place.program.folder / "other/place"
    made = subprocess.run([TREE / "tools/bundle.sh", "--host", "--from", place.build, "--to",
                           first], text=True, capture_output=True, check=False,
                          env=place.program.env)
    if "takes along Open MPI 4" in made.stderr:
        print("SKIP the bundle: another MPI than Open MPI 4")
        return
    check(made.returncode == 0, f"the bundle: {made.stdout}{made.stderr}")
    for path in first.rglob("*"):
        if path.is_file() and not path.is_symlink():
            check(str(place.build).encode() not in path.read_bytes(), f"{path} names the build")
    bundle_runs(place, first, 1)
    second.parent.mkdir()
    first.rename(second)
    bundle_runs(place, second, 2)


def moved(place):
    """The prefix needs no word of where it is."""
    other = place.program.folder / "opt"
    place.prefix.rename(other)
    place.prefix, place.share = other, other / "share/zeroapp"
    said = place.good("zeroapp --help", place.loaded())
    check(f"{place.share}/inputs/gpt2_nano.toml" in said, f"the moved inputs: {said}")


def main():
    place = Place(Program())
    os.umask(0o022)
    install(place)
    count = recipes_run(place)
    messages_name_what_is_there(place)
    job_scripts_run(place)
    modules_load(place)
    moved(place)
    bundles_run(place)
    print(f"installed it needs no tree: {count} commands")


main()
