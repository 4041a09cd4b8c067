#!/usr/bin/env python3
"""A bit that flips in a rank's gradients is named with rank, unit and step, and nothing is learnt
from it. argv[3] is the program with bits that flip, audits/flips.cpp. COUNT=200 in the environment
flips as many bits; QUIET=20000 audits as many micro-batches without any."""
import json
import os
import random
import shutil
import socket
import sys

from program import Program, check, check_refused

RANKS = 4
# In the order in which backward completes them; a step digests each, then its audit, then a third.
UNITS = ("h.1", "h.0", "embedding")
OWN, NEXT, THIRD = 0, len(UNITS), 2 * len(UNITS)
TRAIN = ("model.width=32", "data.sequence_length=16", "data.validation_fraction=0.0",
         "numerics.reproducible=true", "run.log_interval=1000")
AUDIT = (*TRAIN, "run.audit_interval=1")


def fresh(program):
    shutil.rmtree(program.folder / "runs", ignore_errors=True)


def flips_of(*flips):
    """(step, rank, digest of the step, word, bit) of each."""
    return {"ZERO_FLIPS": " ".join(f"digest:{rank}:{1000 * step + digest}:{word}:{bit}"
                                   for step, rank, digest, word, bit in flips)}


def train(program, ranks, *settings, flips=()):
    fresh(program)
    return program.train(ranks, *settings, env=flips_of(*flips))


def warnings_of(result):
    return [line for line in result.err.splitlines() if "computed" in line]


def audits_change_nothing(program, flipping):
    for stage, ranks in ((0, 1), (1, 2), (3, 4)):
        settings = (f"zero.stage={stage}", "bf16.enabled=true", "run.steps=6")
        plain = train(program, ranks, *TRAIN, *settings)
        audited = train(flipping, ranks, *AUDIT, *settings)
        check(audited.finished() and not warnings_of(audited), f"stage {stage} is quiet", audited)
        check(audited.state() == plain.state(), f"stage {stage}: other bits with audits", audited)
        device = audited.summary["memory"]["device"]
        check(device["planned_bytes"] == device["allocated_bytes"] >
              plain.summary["memory"]["device"]["planned_bytes"], f"as planned: {device}", audited)


def drawn_flips(count):
    """A flip in each of so many steps: who computes it, and in which of three bodies."""
    draw = random.Random(9)
    flips, expected = [], {}
    for step in range(1, count + 1):
        rank, unit = draw.randrange(RANKS), draw.randrange(len(UNITS))
        # Without a difference there is no third audit.
        body = draw.choice((OWN, OWN, NEXT))
        flips.append((step, rank, body + unit, draw.randrange(1 << 30), draw.randrange(32)))
        expected[step] = (rank, UNITS[unit])
    return flips, expected


def every_flip_is_named(program, flipping, count):
    flips, expected = drawn_flips(count)
    settings = (*AUDIT, "zero.stage=3", f"run.steps={count + 2}", "run.audit=warn",
                "checkpoint.interval=1", "checkpoint.keep=0", "run.digest_interval=1",
                f"numerics.max_bad_steps={count}")
    result = train(flipping, RANKS, *settings, flips=flips)
    check(result.finished(), "a run that warns goes on", result)
    told = warnings_of(result)
    check(len(told) == count, f"{len(told)} of {count} flips are told", result)
    named = 0
    for line, (step, (rank, unit)) in zip(told, expected.items()):
        words = (f"rank {rank} on node ", f" gradients of unit {unit} in step {step}, ",
                 "in which 1 of 3 units differs", "which agree", "the attempt is skipped")
        named += all(word in line for word in words)
    check(named == count, f"{named} of {count} flips are named", result)
    rejected = [line["step"] for line in result.metrics if line.get("rejected")]
    check(rejected == list(expected), f"steps {rejected} are rejected", result)
    check(all(line["skipped"] == (line["step"] in expected) for line in result.metrics),
          "no other step is skipped", result)
    check(result.summary["updates"] == 2, "what is rejected updates nothing", result)
    # What the run learnt is what it says, on other ranks too.
    again = program.together(2, "replay", "runs/tiny", "--from", "1", "--to", str(count + 2),
                             "zero.stage=1")
    check(again.status == 0 and "the same: " in again.out, "its replay is the same", again)
    print(f"{named} of {count} flipped bits named")


def a_fault_ends_the_run(flipping):
    settings = (*AUDIT, "zero.stage=2", "run.steps=5", "checkpoint.interval=1",
                "checkpoint.resume=auto")
    result = train(flipping, RANKS, *settings, flips=[(3, 2, OWN + 1, 5, 9)])
    check_refused(result, 12, "E1200 [rank 2 host", "step 3]", "gradients of unit h.0 in step 3",
                  "than ranks 1 and 0, which agree", "start again on other nodes")
    run = flipping.folder / "runs" / "tiny"
    error = json.loads((run / "error.json").read_text())
    check(error["blames"] == socket.gethostname() and error["rank"] == 2, f"{error}", result)
    saved = sorted(path.name for path in (run / "checkpoints").glob("step*"))
    check(saved[-1] == "step00000002", f"nothing of step 3 is saved, but {saved}", result)
    why = flipping.alone("why", "runs/tiny")
    check("gradients of unit h.0" in why.out and "other nodes" in why.out, "why says so", why)
    again = flipping.train(RANKS, *settings)
    check(again.finished() and "step 3/5" in again.out, "the next launch goes on", again)
    straight = train(flipping, RANKS, *settings)
    check(again.state() == straight.state(), "as if nothing had been", again)


def fewer_ranks_know_less(flipping):
    two = train(flipping, 2, *AUDIT, "run.steps=4", flips=[(2, 1, OWN + 2, 0, 31)])
    check_refused(two, 12, "one of rank 0 on node", " and rank 1 on node",
                  "wrong gradients of unit embedding in step 2")
    one = train(flipping, 1, *AUDIT, "run.steps=4", flips=[(2, 0, NEXT, 1, 1)])
    check_refused(one, 12, "rank 0 on node", "computed twice, and differently, gradients of unit",
                  "h.1 in step 2")
    default = [setting for setting in AUDIT if "reproducible" not in setting]
    three = train(flipping, 3, *default, "train_batch_size=6", "run.steps=4",
                  flips=[(2, 0, OWN, 3, 3), (2, 1, THIRD, 4, 4)])
    check_refused(three, 12, "rank 0 on node", "computed three different gradients of unit h.1")


def what_cannot_be_audited_is_refused(program):
    for settings, words in (
            (("numerics.attention=fast", "run.audit_interval=2"),
             ("have other bits on each rank", "run.audit_interval = 0")),
            (("run.audit=warn",), ("run.audit", "run.audit_interval"))):
        check_refused(program.train(1, *settings), 2, *words)


def quiet_audits(program, micro_batches):
    for stage in range(4):
        steps = micro_batches // (4 * RANKS)
        result = train(program, RANKS, *AUDIT, f"zero.stage={stage}", f"run.steps={steps}",
                       "optimizer.lr=1e-4")
        check(result.finished() and not warnings_of(result), f"stage {stage} is quiet", result)
        print(f"stage {stage}: {steps * RANKS} audited micro-batches, no alarm", flush=True)


def main():
    program, flipping = Program(sys.argv[1:3]), Program([sys.argv[3], sys.argv[2]])
    count = int(os.environ.get("COUNT", 10))
    audits_change_nothing(program, flipping)
    flipped = Program(sys.argv[1:3])
    flipped.folder = flipping.folder
    every_flip_is_named(flipped, flipping, count)
    a_fault_ends_the_run(flipping)
    fewer_ranks_know_less(flipping)
    what_cannot_be_audited_is_refused(program)
    quiet_audits(program, int(os.environ.get("QUIET", 0)) or 320)
    print("every flipped bit is named")


main()
