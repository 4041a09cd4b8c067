#!/usr/bin/env python3
"""What tools/bundle_start.sh sets lets a launcher start two ranks on a machine without ssh and with
loopback alone; without it the launcher of such a machine ends before any rank begins."""
import pathlib
import subprocess

from program import Program, check

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


def part_of_open_mpi(kind):
    told = subprocess.run(["ompi_info", "--parsable", "--path", kind], text=True, check=True,
                          capture_output=True).stdout
    return pathlib.Path(told.strip().rsplit(":", 1)[1])


def link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def make_bundle(bundle, programs):
    """As tools/bundle.sh makes one, of links into this machine; PMIx stays where it is."""
    for name, program in programs.items():
        link(bundle / "programs" / name, program)
        link(bundle / "bin" / name, TOOLS / "bundle_start.sh")
    link(bundle / "lib", part_of_open_mpi("libdir"))
    link(bundle / "openmpi/parts", part_of_open_mpi("pkglibdir"))
    link(bundle / "openmpi/texts", part_of_open_mpi("pkgdatadir"))


def start(program, bundle, *settings):
    return program.wait(program.popen(
        [str(TOOLS / "lone_machine.sh"), "/usr/bin/env", *settings, str(bundle / "bin/mpirun"),
         "--oversubscribe", "--bind-to", "none", "-np", "2", str(bundle / "bin/zeroapp"),
         "doctor"], {}))


def is_refused_over_hosts(program, bundle):
    """NCCL would look for the others on loopback for ever."""
    link(bundle / "programs/echo", pathlib.Path("/bin/echo"))
    link(bundle / "bin/echo", TOOLS / "bundle_start.sh")
    spanning = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    for env, status, told in (
            (dict(spanning, OMPI_COMM_WORLD_RANK="0"), 2, True),
            (dict(spanning, OMPI_COMM_WORLD_RANK="3"), 2, False),
            ({"SLURM_STEP_NUM_NODES": "2", "SLURM_PROCID": "0"}, 2, True),
            (dict(spanning, OMPI_COMM_WORLD_RANK="0", NCCL_SOCKET_IFNAME="ib0"), 0, False),
            ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, 0, False),
            ({}, 0, False)):
        result = program.wait(program.popen([str(bundle / "bin/echo"), "runs"], env))
        check(result.status == status and ("runs" in result.out) == (status == 0),
              f"status {status} with {env}", result)
        check(("a bundle runs on one machine" in result.err) == told, f"one rank says so: {env}",
              result)


def main():
    program = Program(quick=False)
    bundle = program.folder / "bundle"
    launcher = subprocess.run(["which", program.mpiexec], text=True, check=True,
                              capture_output=True).stdout.strip()
    make_bundle(bundle, {"mpirun": launcher, "zeroapp": program.zeroapp})
    is_refused_over_hosts(program, bundle)
    result = start(program, bundle)
    check("mpirun: 2 ranks" in result.out, "two ranks start by themselves", result)
    if "SKIP" in result.out:
        print(next(line for line in result.out.splitlines() if "SKIP" in line))
    result = start(program, bundle, "OMPI_MCA_plm=rsh")
    check("ranks" not in result.out and result.status != 0, "the machine has no ssh", result)
    print("two ranks need nothing else")


main()
