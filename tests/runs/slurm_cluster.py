"""Debian's Slurm on one machine as nodes n1, n2, ...: each has a hostname, memory to share, a
network and an address of its own, because four nodes of one address let Open MPI 4.1.4 crash in
MPI_Init now and then. All of it lives in namespaces that end with the process that made them."""
import contextlib
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time

TOOLS = ("ip", "nsenter", "unshare", "munged", "slurmctld", "slurmd", "srun")
NAMESPACES = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child",
              "--mount-proc"]
SUBNET = "10.77.0"
CONTROLLER = f"{SUBNET}.254"
CONFIGURATION = """
ClusterName=test
SlurmctldHost=control({controller})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CredType=cred/munge
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool/%n
TmpFS={place}/tmp/%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd-%n.log
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MpiDefault=pmix
JobCompType=jobcomp/filetxt
JobCompLoc={place}/ended
ReturnToService=2
KillWait=30
UnkillableStepTimeout=60
RequeueExit=85
NodeName=n[1-{nodes}] NodeAddr={subnet}.[1-{nodes}] Port=17000 CPUs=96 RealMemory=100000 Gres=gpu:8
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF
"""


def why_not():
    """What keeps this machine from being a cluster; "" for nothing."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"no {missing[0]}: apt-get install slurm-wlm munge iproute2 as an administrator"
    probe = "ip link add bridge0 type bridge"
    ran = subprocess.run([*NAMESPACES, "sh", "-c", probe], capture_output=True, check=False)
    return "only an administrator may make namespaces and bridges" if ran.returncode else ""


def enter_namespaces():
    """Starts this script again where it is alone, and ends with its status."""
    if os.environ.get("SLURM_TEST_INSIDE"):
        return
    line = [*NAMESPACES, sys.executable, *sys.argv]
    sys.exit(subprocess.run(line, env=dict(os.environ, SLURM_TEST_INSIDE="1"),
                            check=False).returncode)


def call(*words):
    subprocess.run(words, check=True)


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"failed: {what} after {seconds} s")
        time.sleep(0.2)


def processes_in(names, holder=None):
    """The processes of these names in the network of process `holder`, or in any."""
    found = []
    wanted = os.readlink(f"/proc/{holder}/ns/net") if holder else None
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            name = (path / "comm").read_text().strip()
            state = (path / "stat").read_text().rsplit(")", 1)[1].split()[0]
            network = os.readlink(path / "ns/net")
        except OSError:
            continue  # it has ended
        if name in names and state != "Z" and wanted in (None, network):
            found.append(int(path.name))
    return sorted(found)


class Cluster:
    """Slurm on `nodes` nodes, for jobs with a Program. REQUIRES: enter_namespaces()."""

    def __init__(self, place, nodes, program):
        self.place, self.nodes, self.program = pathlib.Path(place), nodes, program
        self.holders = {}
        self.env = dict(program.env, SLURM_CONF=str(self.place / "slurm.conf"),
                        ZEROAPP=str(program.zeroapp))
        for name in ("state", "spool"):
            (self.place / name).mkdir()
        for number in range(1, nodes + 1):
            (self.place / f"tmp/n{number}").mkdir(parents=True)
        (self.place / "slurm.conf").write_text(CONFIGURATION.format(
            controller=CONTROLLER, place=self.place, nodes=nodes, subnet=SUBNET))
        self.pretend_gpus()
        # Without an address for its own name munged asks a network that is not there.
        (self.place / "hosts").write_text(f"127.0.0.1 localhost\n{CONTROLLER} control\n" + "".join(
            f"{SUBNET}.{number} n{number}\n" for number in range(1, nodes + 1)))
        call("mount", "--bind", str(self.place / "hosts"), "/etc/hosts")
        call("hostname", "control")
        call("ip", "link", "set", "lo", "up")
        call("ip", "link", "add", "bridge0", "type", "bridge")
        call("ip", "address", "add", f"{CONTROLLER}/24", "dev", "bridge0")
        call("ip", "link", "set", "bridge0", "up")
        self.start_munge()
        call("slurmctld", "-c", "-f", self.env["SLURM_CONF"])
        for number in range(1, nodes + 1):
            self.add_node(number)
        wait_until(lambda: self.told("sinfo", "-h", "-t", "idle", "-o", "%D") == str(nodes), 60,
                   "all nodes are idle")

    def pretend_gpus(self):
        """Eight devices a node, which nobody opens."""
        for number in range(8):
            os.mknod(self.place / f"gpu{number}", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        (self.place / "gres.conf").write_text(
            f"AutoDetect=off\nNodeName=n[1-{self.nodes}] Name=gpu File={self.place}/gpu[0-7]\n")

    def start_munge(self):
        key = self.place / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.place.chmod(0o755)
        files = [f"--{kind}-file={self.place}/munge.{kind}" for kind in ("key", "pid", "log",
                                                                         "seed")]
        call("munged", "--force", f"--socket={self.place}/munge.socket", *files)

    def add_node(self, number):
        """A process that only waits keeps the namespaces of the node."""
        name = f"n{number}"
        holder = subprocess.Popen(["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-c",
                                   f"hostname {name}; mount -t tmpfs -o mode=1777,size=1g none "
                                   "/dev/shm; ip link set lo up; echo ready; exec sleep infinity"],
                                  stdout=subprocess.PIPE, text=True)
        holder.stdout.readline()
        self.holders[name] = holder
        call("ip", "link", "add", f"bridge0-{name}", "type", "veth", "peer", "name", "eth0",
             "netns", str(holder.pid))
        call("ip", "link", "set", f"bridge0-{name}", "master", "bridge0", "up")
        inside = ["nsenter", "-t", str(holder.pid), "-n", "-u", "-i", "-m"]
        call(*inside, "ip", "address", "add", f"{SUBNET}.{number}/24", "dev", "eth0")
        call(*inside, "ip", "link", "set", "eth0", "up")
        self.start_slurmd(name)

    def start_slurmd(self, name):
        call("nsenter", "-t", str(self.holders[name].pid), "-n", "-u", "-i", "-m", "slurmd", "-c",
             "-N", name, "-f", self.env["SLURM_CONF"])

    def kill_node(self, name):
        """All that runs there, and Slurm's own part of it."""
        for process in self.processes(("slurmd", "slurmstepd", "zeroapp"), name):
            with contextlib.suppress(ProcessLookupError):  # the one before took it along
                os.kill(process, signal.SIGKILL)

    def processes(self, names, node=None):
        """The processes of these names on a node, or on any."""
        return processes_in(names, self.holders[node].pid if node else None)

    def environment_of(self, process):
        try:
            words = pathlib.Path(f"/proc/{process}/environ").read_text().split("\0")
        except OSError:
            return {}  # it has ended
        return dict(word.split("=", 1) for word in words if "=" in word)

    def told(self, *words):
        """What one of Slurm's commands prints."""
        ran = subprocess.run(words, env=self.env, capture_output=True, text=True, check=False)
        return ran.stdout.strip()

    def job(self, number):
        """What scontrol tells of a job, by name."""
        return dict(word.split("=", 1) for word in
                    self.told("scontrol", "show", "job", str(number)).split() if "=" in word)

    def ends(self, number):
        """State and status at each end of a job, in order."""
        path = self.place / "ended"
        lines = path.read_text().splitlines() if path.exists() else []
        rows = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines]
        return [(row["JobState"], row["ExitCode"]) for row in rows if row["JobId"] == str(number)]
