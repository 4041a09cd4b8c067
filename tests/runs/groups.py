#!/usr/bin/env python3
"""Weights sharded in groups train to the bytes of full sharding and of one rank, send what the plan
forecast and the same between nodes at any accumulation, and go on from any groups with any others.
GROUPS=all goes through every case."""
import itertools
import json
import os

from program import Program, check, check_refused

COMMON = ("zero.stage=3", "numerics.reproducible=true", "bf16.enabled=true", "run.steps=4",
          "zero.reduce_bucket_size=20000", "gradient_clipping=0.1")


def train(program, ranks, settings, node_ranks=0):
    """On nodes of so many ranks, 0 = all on one; the result, checked against its plan."""
    words = f"{ranks} ranks, {node_ranks} a node, {' '.join(settings)}"
    if node_ranks == 0:
        result = program.train(ranks, *COMMON, *settings)
    else:
        env = dict(OTHER_HOSTS_RANKS=str(node_ranks), OMP_WAIT_POLICY="passive")
        result = program.wait(program.start_preloaded(ranks, "tiny.toml", *COMMON, *settings,
                                                      env=env))
    check(result.finished(), f"{words}: trains to the end", result)
    for verb, sent in result.summary["sent"].items():
        made = {key: sent[key] for key in sent["forecast"]}
        check(made == sent["forecast"], f"{words}: {verb} sends what the plan forecast: {sent}")
    for tier, memory in result.summary["memory"].items():
        if "planned_bytes" not in memory:
            continue
        check(memory["planned_bytes"] == memory["allocated_bytes"], f"{words}: {tier}: {memory}")
    return result


def outcome(result):
    return [line["loss_hex"] for line in result.metrics], result.state()


def expect_same(program, reference, ranks, settings, node_ranks):
    made = train(program, ranks, settings, node_ranks)
    check(outcome(made) == outcome(reference),
          f"{ranks} ranks, {node_ranks} a node, {settings}: the bytes of one rank", made)
    return made


def trains_to_the_bytes_of_one_rank(program):
    """Groups of a node of two and of four nodes' worth; one micro-batch, four and three."""
    for accumulation, group in ((1, '"node"'), (4, "2"), (3, "2")):
        settings = (f"train_batch_size={4 * accumulation}",)
        reference = train(program, 1, settings)
        made = expect_same(program, reference, 4, (*settings, f"zero.shard_group={group}"), 2)
        check("ZeRO stage 3 in 2 groups of 2 ranks, reproducible" in made.out, "says so", made)
    settings = ("train_batch_size=8",)
    homes = ("zero.offload_optimizer.device=cpu", "zero.offload_param.device=cpu")
    expect_same(program, train(program, 1, settings), 4,
                (*settings, *homes, "zero.shard_group=2"), 0)


def planned(program, ranks, *settings):
    told = program.alone("plan", "tiny.toml", "--ranks", str(ranks), "--json", *COMMON, *settings)
    check(told.out.startswith("{"), f"{settings}: is planned", told)
    return json.loads(told.out)


def crosses_once_a_step(program):
    """(b + 4) P (M - 1) / M bytes of a node of M, with P whole shards, at any accumulation."""
    program.write("nodes.toml", "ranks = 8\nthreads = 1\ndevice_bytes = 8000000000\n"
                  "gpus_per_node = 4\nlink_gb = 5.0\nnode_link_gb = 0.0125\n"
                  "[products]\nbf16 = 1e11\n[memory]\nstream = 1e10\n")
    for accumulation, group in itertools.product((1, 8), ("4", '"node"')):
        plan = planned(program, 8, "--machine", "nodes.toml", f"zero.shard_group={group}",
                       f"train_batch_size={8 * accumulation}")
        check(plan["group_ranks"] == 4, f"of a node: {plan['group_ranks']}")
        crossing = [plan["sent"][verb]["node_bytes"] for verb in ("all_gather", "reduce_scatter")]
        shard = plan["bytes"]["weights"] // 2  # elements of bf16
        check(crossing == [2 * shard // 2, 4 * shard // 2], f"{accumulation}: {crossing}, {shard}")


def goes_on_with_other_groups(program):
    """Saved by two groups of two, gone on with by four groups, by one and by two ranks alone."""
    settings = ("train_batch_size=16", "checkpoint.interval=2", "checkpoint.keep=9")
    reference = train(program, 1, settings)
    for first, then in (((4, "2"), (8, "2")), ((8, "4"), (2, '"all"')), ((2, '"all"'), (4, "2"))):
        saved = program.train(first[0], *COMMON, *settings, f"zero.shard_group={first[1]}",
                              "run.stop_at=2", "checkpoint.resume=never")
        check(saved.finished(), f"{first}: stops at step 2", saved)
        went_on = program.train(then[0], *COMMON, *settings, f"zero.shard_group={then[1]}",
                                "checkpoint.resume=require")
        check(went_on.finished(), f"{first} to {then}: goes on", went_on)
        check(went_on.state() == reference.state(), f"{first} to {then}: to the same bytes",
              went_on)


def refuses_what_cannot_be(program):
    disk = ("zero.offload_param.device=nvme", f"zero.offload_param.nvme_path={program.folder}")
    for ranks, settings, words in (
            (4, ("zero.stage=3", "zero.shard_group=3"), ("4 ranks do not fill groups of 3",)),
            (2, ("zero.stage=3", "zero.shard_group=1"), ("would hold all weights", "stage = 1")),
            (2, ("zero.stage=2", "zero.shard_group=2"), ("only stage 3", "zero.stage = 3")),
            (4, ("zero.stage=3", "zero.shard_group=2", *disk), ('offload_param.device = "cpu"',))):
        check_refused(program.train(ranks, "train_batch_size=4", *settings), 2, *words)


def all_cases(program):
    """A campaign."""
    for accumulation, precision in itertools.product((1, 2, 8), ("bf16", "fp16", "fp32")):
        settings = (f"train_batch_size={8 * accumulation}",
                    *((f"{precision}.enabled=true",) if precision == "fp16" else ()),
                    *(("bf16.enabled=false",) if precision != "bf16" else ()))
        reference = train(program, 1, settings)
        for group, node in itertools.product((2, 4), (0, 2, 4)):
            expect_same(program, reference, 8, (*settings, f"zero.shard_group={group}"), node)


def main():
    program = Program()
    trains_to_the_bytes_of_one_rank(program)
    crosses_once_a_step(program)
    goes_on_with_other_groups(program)
    refuses_what_cannot_be(program)
    if os.environ.get("GROUPS") == "all":
        all_cases(program)
    print("groups change no bit")


main()
