#!/usr/bin/env python3
"""Elements that ranks send in whole runs, with their evaluations and last updates: the forecast,
ZeRO's formula, and with MPI what its profiling interface sees."""
import itertools
import json
import typing

from program import Program, check

STEPS, EVALUATIONS, VALIDATION_SAMPLES = 4, 2, 5
LAYERS, WIDTH, LENGTH, VOCABULARY = 2, 64, 32, 256
SETTINGS = (f"run.steps={STEPS}", f"evaluation.interval={STEPS // EVALUATIONS}")
TENSORS = 4 + 12 * LAYERS
SUM_WORDS = 68  # 64-bit words of an exact sum
# Before a plan is made each verb runs once; all_gather with a whole shard and with half of one.
WARM_ELEMENTS, WARM_GATHERED = 64, 64 + 32
# What a step sums together: squares of the gradient, the loss, two counts of what is not finite.
STEP_WORDS = 2 * SUM_WORDS + 2
KINDS = {
    "fp32": (),
    # At the formula's bound: nothing stays gathered from one use to the next.
    "releasing": ("zero.stage3_max_reuse_distance=0", "zero.stage3_param_persistence_threshold=0"),
    "bf16": ("bf16.enabled=true",),
    "rounded": ("bf16.enabled=true", "communication_data_type=bf16"),
    "LAMB": ("optimizer.type=LAMB",),
    "reproducible": ("numerics.reproducible=true",),
}
SHM, MPI = {}, {"ZERO_COMM": "mpi"}


class Case(typing.NamedTuple):
    env: dict
    ranks: int
    accumulation: int
    stage: int
    kind: str = "fp32"

    def words(self):
        return (f"{self.ranks} ranks, {self.accumulation} micro-batches, stage {self.stage}, "
                f"{self.kind} {self.env or ''}")


CASES = [
    # Any two of ranks, micro-batches and stage meet.
    *[Case(SHM, ranks, accumulation, stage)
      for ranks, accumulation, stage in itertools.product((2, 4), (1, 3), range(4))
      if (ranks // 2 + accumulation // 2 + stage) % 2],
    *[Case(MPI, 2, 3, stage) for stage in range(4)], *[Case(MPI, 4, 1, stage) for stage in (1, 3)],
    Case(SHM, 2, 1, 3, "releasing"), Case(SHM, 4, 3, 3, "releasing"),
    Case(MPI, 2, 3, 3, "releasing"),
    *[Case(SHM, 2, 1 + 2 * (stage % 2), stage, "bf16") for stage in range(4)],
    *[Case(SHM, 2, 3, stage, "rounded") for stage in (1, 3)],
    *[Case(SHM, 2, 3, stage, "LAMB") for stage in range(4)], Case(MPI, 2, 3, 2, "LAMB"),
    *[Case(SHM, 2, 3, stage, "reproducible") for stage in range(4)],
    Case(MPI, 4, 2, 1, "reproducible"),
]


def padded_units(ranks):
    """Elements of each unit, filled up to whole blocks of 2048 on every rank."""
    c, whole = WIDTH, 2048 * ranks
    units = [(VOCABULARY + LENGTH + 2) * c] + [12 * c * c + 13 * c] * LAYERS
    return [-(-numel // whole) * whole for numel in units]


def evaluated_batches(ranks):
    return EVALUATIONS * -(-VALIDATION_SAMPLES // ranks)


def expected_elements(case):
    """(reduced, gathered) by one rank in the whole run."""
    _, ranks, accumulation, stage, kind = case
    units = padded_units(ranks)
    once = sum(units) * (ranks - 1) // ranks
    embedding = units[0] * (ranks - 1) // ranks
    batches = evaluated_batches(ranks)
    each = stage >= 2 or kind == "reproducible"  # micro-batch is reduced as it is made
    reduced = STEPS * once * (accumulation if each else 1)
    if stage == 0:
        return reduced, STEPS * once
    # The updates of a step are gathered in the next one or, before an evaluation, on their own.
    if stage < 3:
        return reduced, (STEPS + EVALUATIONS) * once
    if kind != "releasing":
        return reduced, (STEPS + batches) * once
    # Forward and backward; the head is the embedding once more.
    return reduced, STEPS * 2 * accumulation * once + batches * (once + embedding)


def expected_widths(case):
    """Bytes of an element, reduced and gathered: sums of several micro-batches travel in fp32,
    unless they are rounded for their way, and at stage 0 what is gathered is such a sum."""
    if case.kind == "rounded":
        return 2, 2
    if case.kind != "bf16":
        return 4, 4
    summed = case.accumulation > 1 and case.stage < 2
    return (4 if summed else 2), (4 if summed and case.stage == 0 else 2)


def expected_sums(case):
    """(calls, elements) of the small all-reduces: one a step and a batch of an evaluation; of a
    sharded LAMB also, for each unit's update, the norms of each tensor and of what it moves by."""
    steps = STEPS + evaluated_batches(case.ranks)
    calls, words = steps, steps * STEP_WORDS
    if case.kind == "LAMB" and case.stage > 0:
        updates = STEPS + EVALUATIONS
        calls += updates * (LAYERS + 1)
        words += updates * TENSORS * 2 * SUM_WORDS
    return calls, words * (case.ranks - 1)


def check_seen_by_mpi(case, counts, sent):
    """Before the run each verb has been called once with so many elements of each peer."""
    peers = len(counts) - 1
    for rank, text in enumerate(counts):
        seen = tuple(map(int, text.split()))
        moved = sent["reduce_scatter"]["elements"] + sent["all_gather"]["elements"]
        own = (moved + (WARM_ELEMENTS + WARM_GATHERED) * peers,
               sent["all_reduce"]["elements"] + WARM_ELEMENTS * peers)
        check(seen == own, f"{case}: MPI sees rank {rank} send and sum {seen}, not {own}")


def check_case(program, case):
    words = case.words()
    result, counts = program.train_counted(
        case.ranks, *SETTINGS, f"train_batch_size={case.ranks * case.accumulation}",
        f"zero.stage={case.stage}", *KINDS[case.kind], env=case.env)
    check(result.finished(), f"{words}: trains to the end", result)
    used = result.summary["communicator"]
    check(used == (case.env.get("ZERO_COMM") or "shm"), f"{words}: by its own, not {used}")
    sent = result.summary["sent"]
    for verb, row in sent.items():
        made = {key: row[key] for key in row["forecast"]}
        check(made == row["forecast"], f"{words}: {verb} sends what the plan forecast: {row}")
    elements = (sent["reduce_scatter"]["elements"], sent["all_gather"]["elements"])
    expected = expected_elements(case)
    check(elements == expected, f"{words}: reduces and gathers {elements}, not {expected}")
    made = (sent["reduce_scatter"]["bytes"], sent["all_gather"]["bytes"])
    expected = tuple(numel * width for numel, width in zip(elements, expected_widths(case)))
    check(made == expected, f"{words}: reduces and gathers {made} bytes, not {expected}")
    lanes = result.summary["lanes"]
    for lane, verb in (("gather", "all_gather"), ("reduce", "reduce_scatter")):
        of_lane = lanes.get(lane, {"bytes": {"mean": 0}})["bytes"]["mean"]
        check(of_lane == sent[verb]["bytes"], f"{words}: lane {lane} sends {of_lane} of {sent}")
    sums = (sent["all_reduce"]["calls"], sent["all_reduce"]["elements"])
    check(sums == expected_sums(case), f"{words}: sums {sums}, not {expected_sums(case)}")
    if case.env:
        check(len(counts) == case.ranks, f"{words}: every rank counts", result)
        check_seen_by_mpi(words, counts, sent)


def main():
    program = Program()
    plan = json.loads(program.alone("plan", "tiny.toml", "--json", "--ranks", "2").out)
    numel = (VOCABULARY + LENGTH + 2) * WIDTH + LAYERS * (12 * WIDTH * WIDTH + 13 * WIDTH)
    check(plan["parameters"] == numel, f"the model has {plan['parameters']} parameters")
    for case in CASES:
        check_case(program, case)
    print(f"{len(CASES)} runs send what the formula says")


main()
