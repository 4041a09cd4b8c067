#!/usr/bin/env python3
"""Steps 2 to 50 of a run allocate nothing; libraries give back what they take inside a call."""
from program import Program, check

FIRST, LAST = 2, 51
CASES = (
    (2, ("zero.stage=3", "evaluation.interval=10"), {}),
    (2, ("zero.stage=2", "profile.trace=true"), {}),
    (2, ("zero.stage=1", "optimizer.type=LAMB", "train_batch_size=6", "fp16.enabled=true"), {}),
    (2, ("zero.stage=2", "bf16.enabled=true", "numerics.reproducible=true"), {"ZERO_COMM": "mpi"}),
    (1, ("activation_checkpointing.recompute=full",), {}),
    (1, ("run.threads=2", "bf16.enabled=true"), {}),
    (2, ("zero.stage=3", "bf16.enabled=true", "zero.offload_param.device=cpu",
         "zero.offload_optimizer.device=nvme", "zero.offload_optimizer.nvme_path=."), {}),
)
# oneDNN makes an argument list in every call of a primitive, OpenMP a team in every region of one
# thread, MPI a schedule in every collective that does not block. Nobody above them can help it.
LIBRARIES = ("libdnnl", "libgomp", "libmpi", "libopen-pal", "mca_")


class Count:
    """What one rank's library saw: blocks allocated and freed, and blocks by place; calls for
    pages, and bytes by which the heap grew."""

    def __init__(self, text):
        head, *lines = text.splitlines()
        words = head.split()
        self.allocated, self.freed, self.mapped, self.grown = map(int, words[1::2])
        self.places = {place: int(blocks) for blocks, place in map(str.split, lines)}

    def own(self):
        """Places that are in no library below."""
        return {place: blocks for place, blocks in self.places.items()
                if not place.startswith(LIBRARIES)}


def counts(program, ranks, settings, env, first, last):
    env = dict(env, COUNT_FIRST=str(first), COUNT_LAST=str(last))
    result, texts = program.train_counted(ranks, f"run.steps={LAST}", *settings, env=env)
    check(result.finished(), f"{settings} on {ranks} ranks trains to the end", result)
    check(len(texts) == ranks, f"every rank counts, not {len(texts)} of {ranks}", result)
    return [Count(text) for text in texts]


def main():
    program = Program()
    seen = counts(program, 1, (), {}, 1, FIRST)
    check(sum(seen[0].own().values()) > 0, "step 1 makes products ready, and the counter sees it")
    for ranks, settings, env in CASES:
        for rank, count in enumerate(counts(program, ranks, settings, env, FIRST, LAST)):
            case = f"{' '.join(settings)} {env or ''}, rank {rank} of {ranks}"
            check(not count.own(), f"{case}: allocates at {count.own()}")
            print(f"{case}: libraries took {count.allocated} and gave {count.freed} back")
            # MPI's own pools may still grow; a block a step would be 49.
            kept = count.allocated - count.freed
            check(0 <= kept <= (10 if env else 0), f"{case}: {kept} blocks are not given back")
    print("no step allocates")


main()
