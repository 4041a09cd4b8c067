#!/usr/bin/env python3
"""A network that fails between two nodes, which are namespaces that a relay joins. A link that is
cut for good, or in one direction, ends the run with one line that names both nodes, and no process
is left; a pause, loss, delay and jitter change no bit; a link that is slower than any patience is
waited for. As an administrator. NETWORK=all in the environment runs all scenes, NETWORK=NAME,NAME
these."""
import json
import os
import signal
import subprocess
import sys
import time

from program import Program, check
from slurm_cluster import call, enter_namespaces
from two_nodes import TwoNodes, why_not

WATCHDOG_SECONDS = 3
ENDLESS = ("run.steps=100000", "checkpoint.interval=20", "evaluation.interval=0",
           "checkpoint.resume=auto", "numerics.reproducible=true")
SOON_SECONDS = 5
PATIENCE_SECONDS = 120


class Run:
    """A run without an end over two nodes, one rank on each."""

    def __init__(self, nodes, name, *settings, env=None):
        self.nodes, self.name = nodes, name
        self.folder = nodes.program.folder / "runs" / name
        self.words = ("tiny.toml", *ENDLESS, f"run.output=runs/{name}", *settings)
        self.env = env
        self.process = None

    def start(self):
        self.process = self.nodes.start(self.words, self.env, ranks=1)
        return self

    def last_step(self):
        path = self.folder / "metrics.jsonl"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        return json.loads(whole[-1])["step"] if whole else 0

    def wait(self, condition, what, seconds=PATIENCE_SECONDS):
        end = time.monotonic() + seconds
        while not condition():
            if self.process.poll() is not None or time.monotonic() > end:
                self.fail(f"{what}, not within {seconds} s")
            time.sleep(0.05)

    def fail(self, what):
        for process in (self.process.pid, *self.nodes.left()):
            os.kill(process, signal.SIGKILL)
        result = self.nodes.program.wait(self.process, self.name)
        check(False, f"{self.name}: {what}; status {result.status}", result)

    def wait_for_steps(self, count, seconds=PATIENCE_SECONDS):
        step = self.last_step() + count
        self.wait(lambda: self.last_step() >= step, f"step {step} is taken", seconds)

    def stop(self):
        """Ends as a user asks; the result."""
        (self.folder / "stop_now").touch()
        result = self.nodes.program.wait(self.process, self.name)
        check(not result.error_lines() and result.summary, f"{self.name}: ends as asked", result)
        return result

    def require_bytes(self, result):
        """The state of two ranks on one node after as many steps."""
        program, steps = self.nodes.program, result.summary["steps"]
        others = ("run.output", "checkpoint.")
        settings = [word for word in self.words[1:] if not word.startswith(others)]
        alone = program.train(2, *settings, f"run.stop_at={steps}", "checkpoint.resume=never")
        check(alone.summary and alone.summary["steps"] == steps, f"{steps} steps alone", alone)
        check(alone.state() == result.state(), f"{self.name}: the bytes of one node", alone)

    def require_end(self, cut_at, watchdog, *words):
        """One line names these words in time; status 10, and nothing is left."""
        try:
            result = self.nodes.program.wait(self.process, self.name, timeout=60)
        except subprocess.TimeoutExpired:
            self.fail("it ends within a minute")
        lines = result.error_lines()
        check(len(lines) == 1 and result.status == 10, f"{self.name}: status 10 with one line, not "
              f"{result.status} with {lines}", result)
        for word in ("E1000", *words):
            check(word in lines[0], f"{self.name}: {word!r} in {lines[0]!r}", result)
        passed = (self.folder / "error.json").stat().st_mtime - cut_at
        most = watchdog + SOON_SECONDS
        check(passed < most, f"{self.name}: told after {passed:.1f} s, not {most} s", result)
        end = time.monotonic() + 2 * SOON_SECONDS
        while self.nodes.left() and time.monotonic() < end:
            time.sleep(0.1)
        left = self.nodes.left()
        check(not left, f"{self.name}: no process is left: {left}", result)
        print(f"{self.name}: told after {passed:.1f} s: {lines[0]}")

    def require_going_on(self):
        """The same command goes on from the step saved last."""
        last = self.last_step()
        self.start().wait_for_steps(2)
        result = self.stop()
        check("going on from step" in result.out, f"{self.name}: goes on", result)
        check(result.summary["steps"] > last - 20, f"{self.name}: from step {last}", result)
        return result


def end_by_cut(nodes, relay, name, way, *words, watchdog=WATCHDOG_SECONDS):
    run = Run(nodes, name, f"run.watchdog={watchdog}").start()
    run.wait_for_steps(25)
    cut_at = time.time()
    relay.tell(way)
    run.require_end(cut_at, watchdog, *words)
    relay.tell("mend")
    return run


def cut(nodes, relay):
    """For good."""
    end_by_cut(nodes, relay, "cut", "cut", "node n2 does not answer node n1 (10.78.0.2 by end1)",
               "node n1 does not answer node n2 (10.78.0.1 by end2)").require_going_on()


def one_way(nodes, relay):
    """What n1 sends is lost, then what n2 sends. Either side misses the answers."""
    for number in (1, 2):
        run = end_by_cut(nodes, relay, f"one_way_{number}", f"cut {number}", "does not answer",
                         "n1", "n2", "look at the link")
        run.require_bytes(run.require_going_on())


def given_up(nodes, relay):
    """A kernel that gives the connection up after 3 s: Open MPI closes it, and waits for ever."""
    for name in nodes.holders:
        call(*nodes.inside(name), "sh", "-c", "echo 3 > /proc/sys/net/ipv4/tcp_retries2")
    end_by_cut(nodes, relay, "given_up", "cut", "does not answer", "n1", "n2", "by end",
               watchdog=6).require_going_on()
    for name in nodes.holders:
        call(*nodes.inside(name), "sh", "-c", "echo 15 > /proc/sys/net/ipv4/tcp_retries2")


def paused(nodes, relay):
    """Four seconds without a link, twice."""
    run = Run(nodes, "paused", "run.watchdog=20").start()
    for _ in range(2):
        run.wait_for_steps(25)
        relay.tell("cut")
        time.sleep(4)
        relay.tell("mend")
    run.wait_for_steps(25)
    run.require_bytes(run.stop())


def rough(nodes, relay):
    """Loss, delay and jitter, by which packets overtake each other."""
    for condition in ("loss 0.01", "delay 0.02", "jitter 0.01"):
        relay.tell(condition)
    run = Run(nodes, "rough", "run.watchdog=20").start()
    run.wait_for_steps(10)
    for condition in ("loss 0", "delay 0", "jitter 0"):
        relay.tell(condition)
    run.require_bytes(run.stop())


def slow(nodes, _):
    """A collective takes longer than 30 s, for which "auto" waits at first, and a step minutes."""
    run = Run(nodes, "slow", "zero.stage=1", "train_batch_size=2").start()
    run.wait_for_steps(5)
    for number, name in enumerate(nodes.holders, 1):
        call(*nodes.inside(name), "tc", "qdisc", "add", "dev", f"end{number}", "root", "tbf",
             "rate", "24kbit", "burst", "12kb", "limit", "400kb")
    begun = time.monotonic()
    run.wait_for_steps(2, 1200)
    seconds = (time.monotonic() - begun) / 2
    check(seconds > 60, f"{seconds:.0f} s a step are not slow")
    print(f"slow: {seconds:.0f} s a step")
    for number, name in enumerate(nodes.holders, 1):
        call(*nodes.inside(name), "tc", "qdisc", "del", "dev", f"end{number}", "root")
    run.require_bytes(run.stop())


def calibrated(nodes, relay):
    """calibrate ends soon over a cable of 100 Mb/s, and finds them. No scene can follow."""
    relay.end()
    nodes.join_by_cable()
    for number, name in enumerate(nodes.holders, 1):
        call(*nodes.inside(name), "tc", "qdisc", "add", "dev", f"end{number}", "root", "tbf",
             "rate", "100mbit", "burst", "256kb", "latency", "100ms")
    begun = time.monotonic()
    result = nodes.program.wait(nodes.start(("calibrate", "--out", "slow.toml"),
                                            {"OMP_NUM_THREADS": "1"}))
    seconds = time.monotonic() - begun
    check("written: slow.toml" in result.out, "calibrate ends", result)
    text = (nodes.program.folder / "slow.toml").read_text()
    link = float(text.split("node_link_gb = ")[1].split()[0])
    check(0.6 * 0.0125 < link < 1.1 * 0.0125, f"{link} GB/s between nodes", result)
    check(seconds < 100, f"calibrate takes {seconds:.0f} s", result)
    print(f"calibrated: {link} GB/s, {seconds:.0f} s")


def read_only(nodes, _):
    """The shared folder of one node turns read-only: the line and error.json name the node."""
    runs = nodes.program.folder / "runs"
    call(*nodes.inside("n2"), "mount", "--bind", str(runs), str(runs))
    run = Run(nodes, "read_only").start()
    run.wait_for_steps(25)
    call(*nodes.inside("n2"), "mount", "-o", "remount,ro,bind", str(runs))
    require_named(run, "Read-only file system")
    call(*nodes.inside("n2"), "umount", "-l", str(runs))
    run.require_going_on()


def stale(nodes, _):
    """Files of one node's share are stale, as of a server that has forgotten them."""
    if nodes.program.library is None:
        sys.exit("failed: stale: wants the library of faults as the third word")
    fault = {"FAULT_RANK": "1", "FAULT_UNDER": ".tmp-step", "FAULT_CALL": "30",
             "FAULT_REPEATS": "1", "FAULT_ACTION": "116", "LD_PRELOAD": str(nodes.program.library)}
    run = Run(nodes, "stale", env=fault).start()
    require_named(run, "Stale file handle")
    run.env = None
    run.require_going_on()


def require_named(run, why):
    result = run.nodes.program.wait(run.process, run.name)
    lines = result.error_lines()
    check(result.status == 5 and len(lines) == 1, f"{run.name}: status 5", result)
    check("failed: rank 1 on n2: " in lines[0] and why in lines[0], f"names the node: {lines[0]}")
    error = json.loads((run.folder / "error.json").read_text())
    check(error["blames"] == "n2" and error["exit"] == 5, f"{run.name}: blames n2: {error}")
    print(f"{run.name}: {lines[0]}")


SCENES = {"cut": cut, "one_way": one_way, "given_up": given_up, "paused": paused, "rough": rough,
          "slow": slow, "read_only": read_only, "stale": stale, "calibrated": calibrated}


def main():
    reason = why_not()
    if reason:
        print(f"SKIP {reason}")
        return
    enter_namespaces()
    program = Program()
    (program.folder / "runs").mkdir()
    nodes = TwoNodes(program)
    relay = nodes.join_by_relay(delay=0.0005)
    wanted = os.environ.get("NETWORK", "cut")
    names = list(SCENES) if wanted == "all" else wanted.split(",")
    for name in names:
        begun = time.monotonic()
        SCENES[name](nodes, relay)
        print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    relay.end()
    print(f"{len(names)} scenes: the network fails and the run does not")


main()
