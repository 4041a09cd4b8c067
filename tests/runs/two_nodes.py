"""Two nodes of one machine: namespaces with a network, a name, processes' memory and shared memory
each, and mpirun over both. They end with the process that made them. As an administrator."""
import os
import pathlib
import shutil
import subprocess
import sys

from program import open_mpi
from slurm_cluster import NAMESPACES, call, processes_in

SUBNET = "10.78.0"
NAMES = ("n1", "n2")
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


class TwoNodes:
    """Nodes n1 and n2, whose networks are not joined yet. REQUIRES: enter_namespaces()."""

    def __init__(self, program):
        self.program, self.holders = program, {}
        hosts = program.folder / "hosts"
        hosts.write_text(f"127.0.0.1 localhost\n{SUBNET}.1 n1\n{SUBNET}.2 n2\n")
        call("mount", "--bind", str(hosts), "/etc/hosts")
        call("ip", "link", "set", "lo", "up")
        for name in NAMES:
            holder = subprocess.Popen(
                ["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-c",
                 f"hostname {name}; mount -t tmpfs -o mode=1777,size=1g none /dev/shm; "
                 "ip link set lo up; echo ready; exec sleep infinity"],
                stdout=subprocess.PIPE, text=True)
            holder.stdout.readline()
            self.holders[name] = str(holder.pid)
        # The launcher looks for it in PATH.
        (program.folder / "bin").mkdir()
        shell = program.folder / "bin/ssh"
        shell.write_text(SHELL)
        shell.chmod(0o755)

    def inside(self, name):
        return ["nsenter", "-t", self.holders[name], "-n", "-u", "-i", "-m"]

    def join_by_cable(self):
        """Interfaces end1 and end2."""
        call("ip", "link", "add", "end1", "netns", self.holders["n1"], "type", "veth", "peer",
             "name", "end2", "netns", self.holders["n2"])
        for number, name in enumerate(NAMES, 1):
            inside = self.inside(name)
            call(*inside, "ip", "address", "add", f"{SUBNET}.{number}/24", "dev", f"end{number}")
            call(*inside, "ip", "link", "set", f"end{number}", "up")

    def join_by_relay(self, **conditions):
        """Interfaces end1 and end2 of a relay, under these conditions (relay.py)."""
        return Relay(self, conditions)

    def start(self, words, env=None, ranks=2):
        """The program with `ranks` ranks on each node."""
        program = self.program
        networks = [word for part in ("btl_tcp", "oob_tcp")
                    for word in ("--mca", f"{part}_if_include", f"{SUBNET}.0/24")]
        env = dict(env or {}, OMP_WAIT_POLICY="passive")
        exported = [word for name in ("OMPI_MCA_pml", *env) for word in ("-x", name)]
        line = [*self.inside("n1"), "sh", "-c", f'cd {program.folder}; exec "$@"', "run",
                program.mpiexec, "--mca", "plm", "rsh", *networks, *exported, "--oversubscribe",
                "--bind-to", "none", "-host", f"n1:{ranks},n2:{ranks}", "-np", str(2 * ranks),
                str(program.zeroapp), *words]
        path = f"{program.folder}/bin:{os.environ['PATH']}"
        holders = {f"HOLDER_{name}": pid for name, pid in self.holders.items()}
        return program.popen(line, dict(env, PATH=path, **holders))

    def left(self):
        """The processes of launchers and ranks on either node."""
        return [process for name in NAMES for process in
                processes_in(("zeroapp", "orted", "mpirun"), self.holders[name])]


class Relay:
    """A process that carries packets between two nodes, and what it is told to do to them."""

    def __init__(self, nodes, conditions):
        words = [str(value) for pair in conditions.items() for value in pair]
        relay = pathlib.Path(__file__).with_name("relay.py")
        self.process = subprocess.Popen(
            [sys.executable, str(relay), *nodes.holders.values(), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        for number, name in enumerate(NAMES, 1):
            inside = nodes.inside(name)
            call(*inside, "ip", "address", "add", f"{SUBNET}.{number}", "peer",
                 f"{SUBNET}.{3 - number}", "dev", f"end{number}")
            call(*inside, "ip", "link", "set", f"end{number}", "up", "mtu", "9000")

    def tell(self, words):
        """"cut", "cut 1" (from n1 to n2), "mend", or a condition with its value."""
        self.process.stdin.write(f"{words}\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        self.process.wait()
