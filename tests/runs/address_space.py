#!/usr/bin/env python3
"""Address space (ulimit -v) from too little for MPI to enough for a run with two threads that saves
beside its steps, then MiB by MiB below the least that trains: each start trains, or is refused
before its first step with status 6 and a sentence, but never ended by a library that was refused
memory."""
import resource
import sys

import attack

MIB = 1 << 20
# A heap for each thread would make the upper half fit on some starts and not on others.
LIMITS = tuple(range(132, 420, 8))
SAVES = ("tiny.toml", "run.output=out", "train_micro_batch_size_per_gpu=1",
         "zero.stage=2", "checkpoint.interval=1")
BESIDE = (*SAVES, "run.threads=2", "checkpoint.async=true", "profile.trace=true")
# Each needs room of another kind: for masters that are joined, and for many kernels and digests.
NARROW = {"joined": (*SAVES, "bf16.enabled=true"),
          "wide": (*SAVES, "model.width=512", "model.heads=8")}
STEP = " step "


def bounds(limit):
    return ((resource.RLIMIT_AS, limit * MIB),)


def limited(attacker):
    def one(place, case):
        words, limit = case
        end = attacker.start(place, words, limits=bounds(limit))
        if end.status == 6 and STEP in end.error_lines()[0]:
            end.status = 11  # a step has been made in vain
        yield end

    return one


def least_that_trains(attacker, words):
    place = attacker.places.get()
    low, high = LIMITS[0], 4 * LIMITS[-1]
    while high - low > 1:
        middle = (low + high) // 2
        place.clean()
        trains = attacker.start(place, words, limits=bounds(middle)).status == 0
        low, high = (low, middle) if trains else (middle, high)
    place.clean()
    attacker.places.put(place)
    return high


def judge(attacker, cases, what):
    tally = attacker.run(cases, limited(attacker))
    others = set(tally.statuses) - {0, 6}
    if others or len(tally.statuses) != 2:
        sys.exit(f"some start and some do not fit, and nothing else: {tally.statuses}")
    return tally.finish(what)


def main():
    attacker = attack.Attack()
    cases = [(BESIDE, limit) for limit in LIMITS]
    for words in NARROW.values():
        least = least_that_trains(attacker, words)
        cases += [(words, limit) for limit in range(least - 20, least + 4)]
    judge(attacker, cases, f"{len(cases)} limits of address space")


if __name__ == "__main__":
    main()
