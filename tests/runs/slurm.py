#!/usr/bin/env python3
"""The job scripts as they stand under Debian's Slurm on four virtual nodes, with a small model:
jobs that end, are stopped in every way that Slurm knows, and lose a rank or a node. Each ends with
its status and state, goes on from the step saved last, and has the bytes of four ranks on one node.
SCENES=all in the environment runs all scenes, SCENES=NAME,NAME these."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from program import Program, check
from slurm_cluster import Cluster, enter_namespaces, why_not

TREE = pathlib.Path(__file__).resolve().parents[2]
# Endless steps: a scene takes as many as its machine makes meanwhile.
STEPS = 100000
TINY = {"model.name": "", "model.layers": 2, "model.width": 64, "model.heads": 2, "run.threads": 1,
        "data.train": "text.txt", "data.tokenizer": "bytes", "data.sequence_length": 32,
        "numerics.reproducible": "true", "train_batch_size": 64, "run.steps": STEPS,
        "checkpoint.interval": 5}
# For a step, a start or a requeue, on a busy machine, with a start that dies before it.
PATIENCE_SECONDS = 300
END_SECONDS = 10
SMALL = ("--nodes=4", "--ntasks-per-node=1")
PAIRS = ("--nodes=2", "--ntasks-per-node=2")


def words_of(settings):
    return [f"{key}={value}" for key, value in settings.items()]


class Job:
    """A job script in a folder of its own, submitted with these options of sbatch."""

    def __init__(self, cluster, name, options=SMALL, settings=None, script="gpt2_10b", env=None):
        self.cluster, self.name, self.script = cluster, name, script
        self.folder = cluster.place / name
        for folder in ("inputs", "jobscripts"):
            shutil.copytree(TREE / folder, self.folder / folder)
        (self.folder / "data").mkdir()
        (self.folder / "data/web.bin").touch()  # else the script makes it
        shutil.copy(cluster.program.folder / "text.txt", self.folder)
        self.run = self.folder / f"runs/{script}"
        self.settings = {**TINY, **(settings or {})}
        line = ["sbatch", "--parsable", "--gpus-per-node=2", *options,
                f"jobscripts/slurm/{script}.sh", *words_of(self.settings)]
        out = subprocess.run(line, cwd=self.folder, env=dict(cluster.env, **(env or {})),
                             capture_output=True, text=True, check=False)
        check(out.returncode == 0, f"{name}: is submitted: {out.stderr}")
        self.number = int(out.stdout)

    def log(self):
        return "".join(path.read_text() for path in self.folder.glob("*.log"))

    def check(self, condition, what):
        if condition:
            return
        print(self.log(), self.cluster.ends(self.number), self.cluster.job(self.number),
              sep="\n", file=sys.stderr)
        sys.exit(f"failed: {self.name}: {what}")

    def wait(self, condition, what, seconds=PATIENCE_SECONDS):
        end = time.monotonic() + seconds
        while not condition():
            self.check(time.monotonic() < end, f"{what}, not within {seconds} s")
            time.sleep(0.1)

    def last_step(self):
        path = self.run / "metrics.jsonl"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        return json.loads(whole[-1])["step"] if whole else 0

    def wait_for_step(self, step):
        self.wait(lambda: self.last_step() >= step, f"step {step} is taken")

    def ranks(self):
        """Processes of the job, by rank, with their nodes."""
        found = {}
        for process in self.cluster.processes(("zeroapp",)):
            words = self.cluster.environment_of(process)
            if words.get("SLURM_JOB_ID") == str(self.number) and "SLURM_PROCID" in words:
                found[int(words["SLURM_PROCID"])] = (process, words["SLURMD_NODENAME"])
        return found

    def require_gone(self):
        self.wait(lambda: not self.ranks(), "no process is left", END_SECONDS)

    def require_end(self, *ends):
        """It has ended so, with state and status, one after the other; and no process is left."""
        self.wait(lambda: len(self.cluster.ends(self.number)) >= len(ends), f"ends with {ends}")
        found = self.cluster.ends(self.number)
        self.check(found == list(ends), f"ends with {ends}, not {found}")
        self.wait(lambda: self.cluster.job(self.number)["JobState"] == ends[-1][0], "has ended")
        self.require_gone()

    def require_restarts(self, count):
        restarts = self.cluster.job(self.number)["Restarts"]
        self.check(restarts == str(count), f"requeued {count} times, not {restarts}")

    def summary(self):
        return json.loads((self.run / "summary.json").read_text())

    def require_bytes(self, steps):
        """The summary is of so many steps, with the state of four ranks on one node."""
        summary = self.summary()
        self.check(summary["steps"] == steps, f"{summary['steps']} steps, not {steps}")
        program = self.cluster.program
        program.write("text.txt", (self.folder / "text.txt").read_text())
        settings = {**self.settings, "checkpoint.interval": 0, "run.stop_at": steps,
                    "run.output": f"runs/{self.name}"}
        result = program.train(4, *words_of(settings),
                               input_file=str(TREE / f"inputs/{self.script}.toml"))
        hashes = json.loads((program.folder / f"runs/{self.name}/summary.json").read_text())
        self.check(hashes["state_xxh3"] == summary["state_xxh3"], f"the bytes of one node: "
                   f"{result.out} {result.err}")

    def next_launch(self):
        """Waits until it goes on, without Slurm's two minutes, and returns the last step before.
        Slurm refuses to start a job in the second in which it was requeued."""
        hurried = False

        def goes_on():
            nonlocal hurried
            told = self.cluster.job(self.number)
            if told["JobState"] == "PENDING" and told["Restarts"] != "0" and not hurried:
                self.cluster.told("scontrol", "update", f"JobId={self.number}", "StartTime=now+2",
                                  "TimeLimit=60")
                hurried = True
            return "going on from step" in self.log()
        self.wait(goes_on, "goes on")
        return int(re.findall(r"going on from step (\d+)", self.log())[-1])

    def require_stop(self, reason):
        """Has been stopped without the loss of a step; goes on where it was."""
        self.wait(lambda: f"stopped by {reason} after step" in self.log(), f"stopped by {reason}")
        stopped = int(re.search(r"stopped by \w+ .*after step (\d+)", self.log()).group(1))
        step = self.next_launch()
        self.check(step == stopped, f"goes on from {step}, not {stopped}")
        self.check("exit code 85" in self.log(), "status 85")
        self.require_restarts(1)
        self.require_rest(step, REQUEUED)

    def require_restart(self, *words):
        """Another launch in the same allocation goes on from a step that was saved, at most five
        behind the last one."""
        last = self.last_step()
        self.wait(lambda: "starting again, 1 of 3" in self.log(), "starts again")
        step = self.next_launch()
        self.check(last - step <= 5 and step % 5 == 0, f"goes on from {step}, not from {last}")
        for word in words:
            self.check(word in self.log(), f"tells {word!r}")
        self.check("unexpectedly disconnected" not in self.log(), "leaves out Open MPI's notice")
        self.require_restarts(0)
        # The lines of steps behind the saved one stay until they are taken again.
        self.require_rest(step + 5)

    def require_rest(self, step, *ends):
        """Takes two steps more; scancel then ends it with the bytes of a run without a stop."""
        self.wait_for_step(step + 2)
        self.cluster.told("scancel", str(self.number))
        self.require_end(*ends, ("CANCELLED", "0:0"))
        self.check(self.summary()["stopped_by"] == "SIGTERM", "stopped by scancel")
        words = " ".join(self.log().split())
        self.check("The same command goes on from step" in words, "zeroapp why ends the log")
        self.require_bytes(self.last_step())


REQUEUED = ("PENDING", "0:0")  # what Slurm says of a job as it is requeued


def finish(cluster):
    job = Job(cluster, "finish", settings={"run.stop_at": 8})
    job.require_end(("COMPLETED", "0:0"))
    job.require_restarts(0)
    job.require_bytes(8)


def one_node(cluster):
    job = Job(cluster, "one_node", ("--ntasks-per-node=4",), {"run.stop_at": 8}, "gpt2_1.5b")
    job.require_end(("COMPLETED", "0:0"))
    job.require_bytes(8)


def preempt(cluster, name="preempt", options=SMALL):
    """TERM to the ranks, and 20 s."""
    job = Job(cluster, name, options)
    job.wait_for_step(6)
    cluster.told("sbatch", "--partition=urgent", "--nodes=4", "--gpus-per-node=8",
                 f"--output={job.folder}/urgent", "--wrap=true")
    job.require_stop("SIGTERM")


def preempt_many(cluster):
    preempt(cluster, "preempt_many", ("--nodes=4", "--ntasks-per-node=8"))


def signalled(cluster, name, reason, *options):
    job = Job(cluster, name)
    job.wait_for_step(6)
    cluster.told("scancel", *options, str(job.number))
    job.require_stop(reason)


def usr1(cluster):
    signalled(cluster, "usr1", "SIGUSR1", "--signal=USR1")


def shell_usr1(cluster):
    signalled(cluster, "shell_usr1", "SIGUSR1", "--batch", "--signal=USR1")


def shell_term(cluster):
    signalled(cluster, "shell_term", "SIGUSR1", "--batch", "--signal=TERM")


def limit(cluster):
    """A limit of a minute, and the script's own signal."""
    job = Job(cluster, "limit", (*SMALL, "--time=1", "--signal=TERM@20"))
    job.require_stop("SIGTERM")


def shell_limit(cluster):
    """As users of other trainers write it."""
    job = Job(cluster, "shell_limit", (*SMALL, "--time=1", "--signal=B:USR1@20"))
    job.require_stop("SIGUSR1")


def suspend(cluster):
    """For longer than the watchdog's patience."""
    job = Job(cluster, "suspend", settings={"run.watchdog": 20})
    job.wait_for_step(6)
    cluster.told("scontrol", "suspend", str(job.number))
    time.sleep(45)
    last = job.last_step()
    cluster.told("scontrol", "resume", str(job.number))
    job.require_rest(last)


def rank_killed(cluster):
    job = Job(cluster, "rank_killed", PAIRS)
    job.wait_for_step(6)
    process, node = job.ranks()[2]
    os.kill(process, signal.SIGKILL)
    job.require_restart(f"host {node} step", "] rank 2 has died ")


def rank_stopped(cluster):
    job = Job(cluster, "rank_stopped", PAIRS, {"run.watchdog": 8})
    job.wait_for_step(6)
    process, node = job.ranks()[2]
    os.kill(process, signal.SIGSTOP)
    job.require_restart(f"no word from rank 2 on {node}")


def node_killed(cluster):
    """The job has a node to spare."""
    job = Job(cluster, "node_killed", ("--nodes=3", "--ntasks-per-node=2", "--no-kill"),
              {"run.watchdog": 8}, env={"ZEROAPP_SPARE_NODES": "1"})
    job.wait_for_step(6)
    node = job.ranks()[3][1]
    cluster.kill_node(node)
    job.next_launch()
    # Slurm waits for the node, else minutes long, before it ends the job.
    cluster.start_slurmd(node)
    job.require_restart(f"no word from node {node}", f"going on without node {node}")


ALL = (finish, one_node, preempt, usr1, shell_usr1, shell_term, limit, shell_limit, suspend,
       rank_killed, rank_stopped, node_killed, preempt_many)
SCENES = {scene.__name__: scene for scene in ALL}
IN_CI = ("rank_killed", "preempt")


def main():
    why = why_not()
    if why:
        print(f"SKIP jobs under Slurm: {why}")
        return
    enter_namespaces()
    program = Program()
    asked = os.environ.get("SCENES", ",".join(IN_CI))
    names = list(SCENES) if asked == "all" else asked.split(",")
    with tempfile.TemporaryDirectory(prefix="slurm-") as place:
        cluster = Cluster(place, 4, program)
        for name in names:
            begun = time.monotonic()
            SCENES[name](cluster)
            print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    print("jobs go on under Slurm")


main()
