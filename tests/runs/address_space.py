#!/usr/bin/env python3
"""Address space (ulimit -v) from too little for MPI to enough for a run with two threads that saves
beside its steps: each start trains, or is refused with status 6 and a sentence, but never ended by
a library that was refused memory."""
import resource
import sys

import attack

MIB = 1 << 20
# A heap for each thread would make the upper half fit on some starts and not on others.
LIMITS = tuple(range(132, 420, 8))
SAVES = ("tiny.toml", "run.output=out", "train_micro_batch_size_per_gpu=1",
         "run.threads=2", "zero.stage=2", "checkpoint.interval=1", "checkpoint.async=true",
         "profile.trace=true")


def limited(attacker):
    def one(place, limit):
        yield attacker.start(place, SAVES, limits=((resource.RLIMIT_AS, limit * MIB),))

    return one


def main():
    attacker = attack.Attack()
    tally = attacker.run(LIMITS, limited(attacker))
    others = set(tally.statuses) - {0, 6}
    if others or len(tally.statuses) != 2:
        sys.exit(f"some start and some do not fit, and nothing else: {tally.statuses}")
    tally.finish(f"{len(LIMITS)} limits of address space")


if __name__ == "__main__":
    main()
