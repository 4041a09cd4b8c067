#!/usr/bin/env python3
"""Elements that ranks send in whole runs, with their evaluations and last updates: the forecast,
ZeRO's formula, and with MPI what its profiling interface sees."""
import itertools
import json

from program import Program, check

STEPS, EVALUATIONS, VALIDATION_SAMPLES = 4, 2, 5
LAYERS, WIDTH, LENGTH, VOCABULARY = 2, 64, 32, 256
SETTINGS = (f"run.steps={STEPS}", f"evaluation.interval={STEPS // EVALUATIONS}")
# Stage 3 at the formula's bound: nothing stays gathered from one use to the next.
RELEASING = ("zero.stage3_max_reuse_distance=0", "zero.stage3_param_persistence_threshold=0")
SHM, MPI = {}, {"ZERO_COMM": "mpi"}
CASES = ([(SHM, *case) for case in itertools.product((2, 4), (1, 3), range(4))] +
         [(MPI, 2, 3, stage) for stage in range(4)] + [(MPI, 4, 1, stage) for stage in (1, 3)])


def padded_units(ranks):
    """Elements of each unit, filled up to whole blocks of 2048 on every rank."""
    c, whole = WIDTH, 2048 * ranks
    units = [(VOCABULARY + LENGTH + 2) * c] + [12 * c * c + 13 * c] * LAYERS
    return [-(-numel // whole) * whole for numel in units]


def expected_elements(ranks, accumulation, stage, releasing):
    """(reduced, gathered) by one rank in the whole run."""
    units = padded_units(ranks)
    once = sum(units) * (ranks - 1) // ranks
    embedding = units[0] * (ranks - 1) // ranks
    batches = EVALUATIONS * -(-VALIDATION_SAMPLES // ranks)
    reduced = STEPS * once * (accumulation if stage >= 2 else 1)
    if stage == 0:
        return reduced, STEPS * once
    # The updates of a step are gathered in the next one or, before an evaluation, on their own.
    if stage < 3:
        return reduced, (STEPS + EVALUATIONS) * once
    if not releasing:
        return reduced, (STEPS + batches) * once
    # Forward and backward; the head is the embedding once more.
    return reduced, STEPS * 2 * accumulation * once + batches * (once + embedding)


def check_sums(case, ranks, sent):
    """The small all-reduces: one a step and a batch of an evaluation, all of one length."""
    calls = STEPS + EVALUATIONS * -(-VALIDATION_SAMPLES // ranks)
    check(sent["calls"] == calls, f"{case}: {calls} sums, not {sent['calls']}")
    check(sent["elements"] % (calls * (ranks - 1)) == 0, f"{case}: sums of one length: {sent}")


def check_seen_by_mpi(case, counts, sent):
    for rank, text in enumerate(counts):
        seen = tuple(map(int, text.split()))
        own = (sent["reduce_scatter"]["elements"] + sent["all_gather"]["elements"],
               sent["all_reduce"]["elements"])
        check(seen == own, f"{case}: MPI sees rank {rank} send and sum {seen}, not {own}")


def check_case(program, env, ranks, accumulation, stage, releasing=False):
    case = f"{ranks} ranks, {accumulation} micro-batches, stage {stage} {env or ''}"
    result, counts = program.train_counted(
        ranks, *SETTINGS, f"train_batch_size={ranks * accumulation}", f"zero.stage={stage}",
        *(RELEASING if releasing else ()), env=env)
    check(result.finished(), f"{case}: trains to the end", result)
    check(result.summary["communicator"] == (env.get("ZERO_COMM") or "shm"), f"{case}: by its own")
    sent = result.summary["sent"]
    for verb, row in sent.items():
        made = {key: row[key] for key in ("calls", "elements", "bytes")}
        check(made == row["forecast"], f"{case}: {verb} sends what the plan forecast: {row}")
    elements = (sent["reduce_scatter"]["elements"], sent["all_gather"]["elements"])
    expected = expected_elements(ranks, accumulation, stage, releasing)
    check(elements == expected, f"{case}: reduces and gathers {elements}, not {expected}")
    check_sums(case, ranks, sent["all_reduce"])
    if env:
        check(len(counts) == ranks, f"{case}: every rank counts", result)
        check_seen_by_mpi(case, counts, sent)


def main():
    program = Program()
    plan = json.loads(program.alone("plan", "tiny.toml", "--json", "--ranks", "2").out)
    numel = (VOCABULARY + LENGTH + 2) * WIDTH + LAYERS * (12 * WIDTH * WIDTH + 13 * WIDTH)
    check(plan["parameters"] == numel, f"the model has {plan['parameters']} parameters")
    for case in CASES:
        check_case(program, *case)
    for env, ranks, accumulation in ((SHM, 2, 1), (SHM, 4, 3), (MPI, 2, 3)):
        check_case(program, env, ranks, accumulation, 3, releasing=True)
    print(f"{len(CASES) + 3} runs send what the formula says")


main()
