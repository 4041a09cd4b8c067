#!/usr/bin/env python3
"""zeroapp doctor --placement and the start of a run: a table of all ranks, by the files of a node
that is made up, and what is wrong with their cores."""
import json
import os

from program import Program, check, check_refused

CORES = sorted(os.sched_getaffinity(0))[:2]


class Node:
    """Files in place of /sys and /proc: each core is a socket and a NUMA node of its own."""

    def __init__(self, program, cores=CORES):
        self.folder = program.folder / "node"
        self.write("sys/devices/system/cpu/online", ",".join(map(str, cores)))
        self.write("sys/devices/system/node/online", f"0-{len(cores) - 1}")
        self.write("proc/self/status", f"Mems_allowed_list:\t0-{len(cores) - 1}")
        for number, core in enumerate(cores):
            self.write(f"sys/devices/system/node/node{number}/cpulist", core)
            self.write(f"sys/devices/system/cpu/cpu{core}/topology/physical_package_id", number)

    def write(self, name, value):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")

    def env(self):
        return {"ZERO_NODE_FILES": str(self.folder)}


def bound(program, cores, *words, node):
    """The program on as many ranks, each on its cores."""
    cases = "".join(f'  {rank}) exec taskset -c {",".join(map(str, those))} "$@" ;;\n'
                    for rank, those in enumerate(cores))
    script = program.folder / "bound.sh"
    script.write_text(f"case $OMPI_COMM_WORLD_RANK in\n{cases}esac\n")
    *launch, zeroapp = program.launch_line(len(cores))
    env = dict(node.env(), OMP_NUM_THREADS="1")
    return program.wait(program.popen([*launch, "sh", str(script), zeroapp, *words], env))


def places_are_told(program):
    node = Node(program)
    first, second = CORES
    result = bound(program, [[first], [second]], "doctor", "--placement", node=node)
    check(result.status == 0 and not result.err, "status 0", result)
    rows = [line.split() for line in result.out.splitlines()]
    host = os.uname().nodename
    check([row[:1] + row[2:] for row in rows[2:4]] ==
          [["0", "-", "0", "0", str(first)], ["1", "-", "1", "1", str(second)]], f"{rows}", result)
    check("good     placement" in result.out and "training can start" in result.out, "good", result)
    told = json.loads(bound(program, [[first], CORES], "doctor", "--placement", "--json",
                            node=node).out)
    check(told["ranks"] == 2 and told["status"] == 0, f"{told}")
    check([place["cores"] for place in told["places"]] == [[first], CORES], f"cores: {told}")
    check(told["places"][1]["numa_nodes"] == [0, 1] and told["places"][0]["host"] == host,
          f"nodes: {told}")
    check_refused(program.alone("doctor", "--placement", "--nvme", "."), 2, "leave out --nvme")


def faults_are_warned_of_or_refused(program):
    first, second = CORES
    node = Node(program)
    shared = bound(program, [[first], [first]], "tiny.toml", "run.steps=2", node=node)
    check(shared.finished(), "trains", shared)
    words = f"warning: ranks 0 and 1 of node {os.uname().nodename} share core {first}, of 2"
    check(shared.err.count(words) == 1, f"warns once: {words}", shared)
    third = max(CORES) + 1
    wider = Node(program, [*CORES, third])
    crowded = [[first], [first], [second]]
    refused = bound(program, crowded, "tiny.toml", "train_batch_size=6", node=wider)
    check_refused(refused, 2, f"share core {first}, of 3 there - mpirun --bind-to none")
    told = bound(program, crowded, "doctor", "--placement", node=wider)
    check(told.status == 2 and "missing  placement" in told.out and "end with status 2" in told.out,
          "doctor tells of it, and goes on", told)


def a_laptop_is_fine(program):
    for ranks in (2, 4):
        result = program.train(ranks, "run.steps=2")
        check(result.finished() and "share" not in result.err, f"{ranks} ranks are fine", result)


def main():
    if len(CORES) < 2:
        print("SKIP one core: no two ranks can be apart")
        return
    program = Program()
    places_are_told(program)
    faults_are_warned_of_or_refused(program)
    a_laptop_is_fine(program)
    print("every rank has its place")


main()
