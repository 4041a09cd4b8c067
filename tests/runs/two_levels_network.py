#!/usr/bin/env python3
"""Two nodes that are network namespaces, joined by a cable of their own: the bytes on it are those
of node_bytes, two levels send two thirds of what one level sends, and both train to the bytes of
one node. Groups send the same at any accumulation. As an administrator."""
import json
import os
import shutil
import subprocess
import sys

from program import Program, check, open_mpi
from slurm_cluster import NAMESPACES, call, enter_namespaces

SETTINGS = ("zero.stage=3", "bf16.enabled=true", "model.width=256",
            "model.layers=4", "zero.stage3_max_reuse_distance=0", "evaluation.interval=0",
            "zero.stage3_param_persistence_threshold=0", "data.validation_fraction=0",
            "data.max_validation_samples=0")
BATCH = ("train_batch_size=4",)
STEPS = (2, 12)
SUBNET = "10.78.0"
SHELL = """#!/bin/sh
# In place of ssh: the words behind the name of a node, there.
while [ "${1#-}" != "$1" ]; do shift; done
eval "holder=\\$HOLDER_$1"
shift
exec nsenter -t "$holder" -n -u -i -m sh -c "$*"
"""


def why_not():
    """What keeps this machine from having two networks; "" for nothing."""
    for tool in ("ip", "nsenter", "unshare"):
        if shutil.which(tool) is None:
            return f"no {tool}: apt-get install iproute2 util-linux as an administrator"
    if open_mpi(sys.argv[2]) >= 5:
        return "its words are for the mpirun of Open MPI 4"
    probe = "ip link add end1 type veth peer name end2"
    ran = subprocess.run([*NAMESPACES, "sh", "-c", probe], capture_output=True, check=False)
    return "only an administrator may make namespaces and cables" if ran.returncode else ""


class Cable:
    """Nodes n1 and n2, each with a network, a name and memory to share."""

    def __init__(self, program):
        self.program, self.holders = program, {}
        hosts = program.folder / "hosts"
        hosts.write_text(f"127.0.0.1 localhost\n{SUBNET}.1 n1\n{SUBNET}.2 n2\n")
        call("mount", "--bind", str(hosts), "/etc/hosts")
        for name in ("n1", "n2"):
            holder = subprocess.Popen(
                ["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-c",
                 f"hostname {name}; mount -t tmpfs -o mode=1777,size=1g none /dev/shm; "
                 "ip link set lo up; echo ready; exec sleep infinity"],
                stdout=subprocess.PIPE, text=True)
            holder.stdout.readline()
            self.holders[name] = str(holder.pid)
        call("ip", "link", "add", "end1", "netns", self.holders["n1"], "type", "veth", "peer",
             "name", "end2", "netns", self.holders["n2"])
        for number, name in enumerate(self.holders, 1):
            inside = self.inside(name)
            call(*inside, "ip", "address", "add", f"{SUBNET}.{number}/24", "dev", f"end{number}")
            call(*inside, "ip", "link", "set", f"end{number}", "up")
        # The launcher looks for it in PATH.
        (program.folder / "bin").mkdir()
        shell = program.folder / "bin/ssh"
        shell.write_text(SHELL)
        shell.chmod(0o755)

    def inside(self, name):
        return ["nsenter", "-t", self.holders[name], "-n", "-u", "-i", "-m"]

    def sent(self, number):
        """Bytes that have left a node."""
        told = subprocess.run([*self.inside(f"n{number}"), "ip", "-s", "-j", "link", "show", "dev",
                               f"end{number}"], capture_output=True, text=True, check=True)
        return json.loads(told.stdout)[0]["stats64"]["tx"]["bytes"]

    def train(self, steps, env, settings):
        """Two ranks on each node; the result and what left the first node meanwhile."""
        program = self.program
        networks = [word for part in ("btl_tcp", "oob_tcp")
                    for word in ("--mca", f"{part}_if_include", f"{SUBNET}.0/24")]
        exported = [word for name in ("OMPI_MCA_pml", "OMP_WAIT_POLICY", *env)
                    for word in ("-x", name)]
        line = [*self.inside("n1"), "sh", "-c", f'cd {program.folder}; exec "$@"', "run",
                program.mpiexec, "--mca", "plm", "rsh", *networks, *exported, "--oversubscribe",
                "--bind-to", "none", "-host", "n1:2,n2:2", "-np", "4", str(program.zeroapp),
                "tiny.toml", *SETTINGS, *settings, f"run.steps={steps}"]
        path = f"{program.folder}/bin:{os.environ['PATH']}"
        env = dict(env, OMP_WAIT_POLICY="passive", PATH=path,
                   **{f"HOLDER_{name}": pid for name, pid in self.holders.items()})
        before = self.sent(1)
        result = program.wait(program.popen(line, env))
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
    few, many = (cable.train(steps, env, settings) for steps in STEPS)
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


main()
