#!/usr/bin/env python3
"""Two nodes that are network namespaces, joined by a cable of their own: the bytes on it are those
of node_bytes, two levels send two thirds of what one level sends, and both train to the bytes of
one node. Groups send the same at any accumulation. As an administrator."""
import json
import subprocess

from program import Program, check
from slurm_cluster import call, enter_namespaces
from two_nodes import TwoNodes, why_not

SETTINGS = ("zero.stage=3", "bf16.enabled=true", "model.width=256",
            "model.layers=4", "zero.stage3_max_reuse_distance=0", "evaluation.interval=0",
            "zero.stage3_param_persistence_threshold=0", "data.validation_fraction=0",
            "data.max_validation_samples=0")
BATCH = ("train_batch_size=4",)
STEPS = (2, 12)


class Cable:
    """Two nodes that a cable joins."""

    def __init__(self, program):
        self.program, self.nodes = program, TwoNodes(program)
        self.nodes.join_by_cable()

    def sent(self, number):
        """Bytes that have left a node."""
        told = subprocess.run([*self.nodes.inside(f"n{number}"), "ip", "-s", "-j", "link", "show",
                               "dev", f"end{number}"], capture_output=True, text=True, check=True)
        return json.loads(told.stdout)[0]["stats64"]["tx"]["bytes"]

    def slow_down(self, rate):
        """Both ends send at most so much, "100mbit"."""
        for number, name in enumerate(self.nodes.holders, 1):
            call(*self.nodes.inside(name), "tc", "qdisc", "add", "dev", f"end{number}", "root",
                 "tbf", "rate", rate, "burst", "64kb", "latency", "400ms")

    def train(self, steps, env, settings=(*SETTINGS, *BATCH)):
        """Two ranks on each node; the result and what left the first node meanwhile."""
        before = self.sent(1)
        words = ("tiny.toml", *settings, f"run.steps={steps}")
        result = self.program.wait(self.nodes.start(words, env))
        check(result.finished(), f"{steps} steps {settings} {env}: trains to the end", result)
        return result, self.sent(1) - before


def node_bytes(result):
    """What both ranks of a node send: words only the first of them."""
    sent = result.summary["sent"]
    return 2 * (sent["all_gather"]["node_bytes"] + sent["reduce_scatter"]["node_bytes"]) + (
        sent["all_reduce"]["node_bytes"])


def outcome(result):
    return [line["loss_hex"] for line in result.metrics], result.state()


def carried(cable, env, settings=BATCH):
    """The longer run, and what its additional steps sent: on the cable, and by their own word."""
    few, many = (cable.train(steps, env, (*SETTINGS, *settings)) for steps in STEPS)
    return many[0], many[1] - few[1], node_bytes(many[0]) - node_bytes(few[0])


def groups_cross_once_a_step(cable, on_cable_in_levels):
    """Nodes that are groups, with one micro-batch and with eight: (4 + 2) P / 2 bytes of a node."""
    crossed = {}
    for accumulation in (1, 8):
        settings = ('zero.shard_group="node"', f"train_batch_size={4 * accumulation}")
        made, crossed[accumulation], told = carried(cable, {}, settings)
        check("in 2 groups of 2 ranks" in made.out, f"{settings}: has groups", made)
        check(0.97 < crossed[accumulation] / told < 1.03,
              f"{settings}: {crossed[accumulation]} bytes on the cable, {told} by their word")
    check(0.95 < crossed[8] / crossed[1] < 1.05, f"the same at any accumulation: {crossed}")
    # Weights twice in bf16 and sums in fp32 are 8 bytes a parameter; groups send 6.
    ratio = crossed[1] / on_cable_in_levels
    check(0.72 < ratio < 0.78, f"three quarters of two levels: {ratio:.3f}")


def main():
    reason = why_not()
    if reason:
        print(f"SKIP {reason}")
        return
    enter_namespaces()
    program = Program()
    cable = Cable(program)
    two, on_cable, told = carried(cable, {})
    check(two.summary["communicator"] == "mpi between nodes, shm within", "in two levels", two)
    check("4 ranks on 2 nodes (n1, n2), 2 each" in two.out, "names its nodes", two)
    check(0.97 < on_cable / told < 1.03, f"{on_cable} bytes on the cable, {told} by their word")
    flat, flat_on_cable, _ = carried(cable, {"ZERO_COMM": "flat"})
    check(flat.summary["communicator"] == "mpi", "in one level", flat)
    ratio = on_cable / flat_on_cable
    check(ratio < 0.7, f"two levels send {ratio:.3f} of one level")
    alone = program.train(4, *SETTINGS, *BATCH, f"run.steps={STEPS[1]}")
    check(outcome(two) == outcome(flat) == outcome(alone), "the bytes of one node", alone)
    groups_cross_once_a_step(cable, on_cable)
    print(f"{on_cable / told:.3f} of what was said and {ratio:.3f} of one level: what the network "
          "carries")


if __name__ == "__main__":
    main()
