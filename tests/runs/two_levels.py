#!/usr/bin/env python3
"""Ranks that believe to be on several nodes train in two levels to the bytes of one level, of one
node and of one rank, and send what the plan forecast. LEVELS=all goes through every case."""
import itertools
import json
import os
import pathlib
import re
import shutil
import signal

from program import Program, check
from signals import ENDLESS, children_of, first_rank, parent_of, wait_for_steps

COMMON = ("run.steps=3", "zero.reduce_bucket_size=20000")
REPRODUCIBLE = ("numerics.reproducible=true",)
PRECISIONS = {
    "fp32": (),
    "bf16": ("bf16.enabled=true",),
    "fp16": ("fp16.enabled=true", "fp16.initial_scale_power=24"),
}
CLIPPED = ("gradient_clipping=0.1",)
LEVELS = "mpi between nodes, shm within"


def train(program, ranks, settings, node_ranks=0, env=None):
    """On nodes of so many ranks, 0 = all on one; the result and what it is called."""
    words = f"{ranks} ranks, {node_ranks} a node, {' '.join(settings)} {env or ''}"
    if node_ranks == 0:
        result = program.train(ranks, *COMMON, *settings, env=env)
    else:
        env = dict(env or {}, OTHER_HOSTS_RANKS=str(node_ranks), OMP_WAIT_POLICY="passive")
        result = program.wait(program.start_preloaded(ranks, "tiny.toml", *COMMON, *settings,
                                                      env=env))
    check(result.finished(), f"{words}: trains to the end", result)
    for verb, sent in result.summary["sent"].items():
        made = {key: sent[key] for key in sent["forecast"]}
        check(made == sent["forecast"], f"{words}: {verb} sends what the plan forecast: {sent}")
    for tier in ("device", "host"):
        memory = result.summary["memory"][tier]
        check(memory["planned_bytes"] == memory["allocated_bytes"], f"{words}: {memory}")
    return result, words


def outcome(result):
    return [line["loss_hex"] for line in result.metrics], result.state()


def node_bytes(result):
    return sum(sent["node_bytes"] for sent in result.summary["sent"].values())


def check_levels(result, words, backend=LEVELS):
    used = result.summary["communicator"]
    check(used == backend, f"{words}: by {used}, not {backend}")
    on_way = [line.get("node_bytes_sent", 0) for line in result.metrics]
    check(all(sent > 0 for sent in on_way) and sum(on_way) <= node_bytes(result),
          f"{words}: every step crosses: {on_way} of {node_bytes(result)}")


def check_against(program, name, settings, nodes, alone):
    """Two levels against one rank (`alone`, or four if that cannot hold it) and one level."""
    ranks, node_ranks = nodes
    reference, _ = train(program, alone, settings)
    made, words = train(program, ranks, settings, node_ranks)
    check_levels(made, words)
    check(outcome(made) == outcome(reference), f"{name}, {words}: the bytes of {alone} ranks", made)
    return made


def quick_cases():
    """Stages, precisions, accumulation and clipping; any two meet."""
    yield 0, "bf16", 1, CLIPPED
    yield 1, "fp16", 2, ()
    yield 2, "fp32", 1, ()
    yield 3, "bf16", 2, CLIPPED


def trains_to_the_bytes_of_one_node(program):
    for stage, precision, accumulation, clipping in quick_cases():
        settings = (*REPRODUCIBLE, f"zero.stage={stage}", *PRECISIONS[precision], *clipping,
                    f"train_batch_size={4 * accumulation}")
        check_against(program, "reproducible", settings, (4, 2), 1)


def says_where_its_ranks_are(program):
    """The first line, and less than a flat exchange sends, to the same bytes."""
    settings = ("zero.stage=3", "bf16.enabled=true", "train_batch_size=4",
                "zero.stage3_max_reuse_distance=0", "zero.stage3_param_persistence_threshold=0")
    two, words = train(program, 4, settings, 2)
    check_levels(two, words)
    first = two.out.splitlines()[0]
    check("4 ranks on 2 nodes (node0, node1), 2 each, 1 thread a rank, collectives by " + LEVELS
          in first, f"{words}: {first}")
    check("one level" not in two.out, f"{words}: has two", two)
    flat, words = train(program, 4, settings, 2, {"ZERO_COMM": "flat"})
    check_levels(flat, words, "mpi")
    check("shards cross to every rank of a node: ZERO_COMM=flat\n" in flat.out, words, flat)
    check(outcome(flat) == outcome(two), f"{words}: the bytes of two levels")
    # Weights travel twice and gradients once: (2 x 2 + 4) / (2 x 3 x 2) bytes of a parameter.
    ratio = node_bytes(two) / node_bytes(flat)
    check(0.6 < ratio < 0.7, f"{words}: {ratio} of its bytes in two levels")
    cyclic, words = train(program, 4, settings, 2, {"OTHER_HOSTS_CYCLIC": "1"})
    check_levels(cyclic, words, "mpi")
    check("ranks of a node are no neighbours; place them by node" in cyclic.out, words, cyclic)
    check(outcome(cyclic) == outcome(two), f"{words}: the bytes of two levels")


def names_a_stopped_rank(program):
    """The second of the second node, and the collective in which a rank waits for it."""
    shutil.rmtree(program.folder / "runs")
    process = program.start_preloaded(4, "tiny.toml", *ENDLESS, "run.watchdog=2", "zero.stage=3",
                                      "train_batch_size=4", env={"OMP_WAIT_POLICY": "passive"})
    wait_for_steps(program, process, 3)
    first = first_rank(program)
    stopped, = (rank for rank in children_of(parent_of(first)) if b"OMPI_COMM_WORLD_RANK=3\0" in
                pathlib.Path(f"/proc/{rank}/environ").read_bytes())
    os.kill(stopped, signal.SIGSTOP)
    result = program.wait(process)
    check(result.status == 10, f"a stopped rank ends all with 10, not {result.status}", result)
    line, = result.error_lines()
    check("] no word from rank 3 on node1 for " in line, f"names it: {line}", result)
    waits = re.search(r" - rank [012] is at lane \w+: (all_gather|reduce_scatter|all_reduce)", line)
    check(waits, "names the collective in which others wait", result)


def plans_forecast_the_fewer_bytes(program):
    """Plans for hosts whose links a file has."""
    program.write("nodes.toml", "ranks = 4\nthreads = 1\ndevice_bytes = 8000000000\n"
                  "gpus_per_node = 2\nlink_gb = 5.0\nnode_link_gb = 0.0125\n"
                  "[products]\nbf16 = 1e11\n[memory]\nstream = 1e10\n")
    plan = program.alone("plan", "tiny.toml", "--machine", "nodes.toml", "--ranks", "4", "--json",
                         "zero.stage=3", "bf16.enabled=true", "train_batch_size=4")
    check(plan.out.startswith("{"), "is planned", plan)
    sent = json.loads(plan.out)["sent"]
    gathered, reduced = sent["all_gather"], sent["reduce_scatter"]
    check(gathered["node_bytes"] == gathered["bytes"] // 3, f"one of three peers: {gathered}")
    check(reduced["node_bytes"] == 4 * reduced["elements"] // 3, f"in fp32: {reduced}")


def all_cases(program):
    """A campaign."""
    for nodes in ((4, 2), (8, 4), (8, 2), (32, 8)):
        cases = itertools.product(range(4), PRECISIONS, (1, 2), ((), CLIPPED))
        if nodes[0] == 32:
            cases = [(3, "bf16", 1, CLIPPED), (1, "fp32", 1, ()), (0, "fp16", 1, ())]
        for stage, precision, accumulation, clipping in cases:
            settings = (*REPRODUCIBLE, f"zero.stage={stage}", *PRECISIONS[precision], *clipping,
                        f"train_batch_size={nodes[0] * accumulation}")
            check_against(program, "reproducible", settings, nodes, 1)
    for nodes, stage, precision, accumulation in itertools.product(
            ((12, 4), (4, 2)), range(4), PRECISIONS, (1, 3)):
        settings = (f"zero.stage={stage}", *PRECISIONS[precision],
                    f"train_batch_size={nodes[0] * accumulation}", *CLIPPED)
        two, words = train(program, nodes[0], settings, nodes[1])
        check_levels(two, words)
        flat, _ = train(program, nodes[0], settings, nodes[1], {"ZERO_COMM": "flat"})
        check(outcome(two) == outcome(flat), f"{words}: the bytes of one level")


def main():
    program = Program()
    says_where_its_ranks_are(program)
    plans_forecast_the_fewer_bytes(program)
    trains_to_the_bytes_of_one_node(program)
    names_a_stopped_rank(program)
    if os.environ.get("LEVELS") == "all":
        all_cases(program)
    print("levels change no bit")


main()
