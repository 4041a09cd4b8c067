#!/usr/bin/env python3
"""Steps 2 to 50 of a run allocate nothing; libraries give back what they take inside a call.
argv[4] is a program with more objectives, objectives/main.cpp."""
import sys

from program import Program, check

FIRST, LAST = 2, 51
BATCH = 4
CASES = (
    (2, ("zero.stage=3", "evaluation.interval=10", "run.audit_interval=2",
         "run.prometheus=steps.prom"), {}),
    (2, ("zero.stage=2", "profile.trace=true"), {}),
    (2, ("zero.stage=1", "optimizer.type=LAMB", "train_batch_size=6", "fp16.enabled=true"), {}),
    (2, ("zero.stage=2", "bf16.enabled=true", "numerics.reproducible=true"), {"ZERO_COMM": "mpi"}),
    (1, ("activation_checkpointing.recompute=full",), {}),
    (1, ("run.threads=2", "bf16.enabled=true"), {}),
    (2, ("zero.stage=3", "bf16.enabled=true", "zero.offload_param.device=cpu",
         "zero.offload_optimizer.device=nvme", "zero.offload_optimizer.nvme_path=.",
         "activation_checkpointing.recompute=full", "activation_checkpointing.offload=nvme",
         "activation_checkpointing.nvme_path=.", "activation_checkpointing.buffer_count=1"), {}),
)
# Evaluations that count, and that gather scores of classes and of numbers.
OBJECTIVES = tuple(("zero.stage=3", "evaluation.interval=10", f"data.train=texts.{ending}",
                    "data.sequence_length=12") for ending in ("moods", "tones", "grades"))
# oneDNN makes an argument list in every call of a primitive, OpenMP a team in every region of one
# thread, MPI a schedule in every collective that does not block. Nobody above them can help it.
MPI = ("libmpi", "libopen-pal", "mca_")
LIBRARIES = ("libdnnl", "libgomp", *MPI)
# What each of them may take in a micro-batch of two blocks, about twice of what was seen.
BLOCKS = {"oneDNN": (("libdnnl",), 900), "OpenMP": (("libgomp",), 250), "MPI": (MPI, 70)}
# The heaps of all threads settle within a third of this; 64 KiB a step would be 3 MiB.
GROWN_BYTES = 3 << 19


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

    def of(self, libraries):
        return sum(blocks for place, blocks in self.places.items() if place.startswith(libraries))


def counts(program, ranks, settings, env, first, last):
    env = dict(env, COUNT_FIRST=str(first), COUNT_LAST=str(last))
    result, texts = program.train_counted(ranks, f"run.steps={LAST}", *settings, env=env)
    check(result.finished(), f"{settings} on {ranks} ranks trains to the end", result)
    check(len(texts) == ranks, f"every rank counts, not {len(texts)} of {ranks}", result)
    return [Count(text) for text in texts]


def check_libraries(case, count, micro_batches):
    """Nobody above them can help what they take, but would want to know if it grew."""
    taken = {}
    for name, (libraries, most) in BLOCKS.items():
        taken[name] = count.of(libraries) / micro_batches
        check(taken[name] <= most, f"{case}: {name} takes {taken[name]:.0f} blocks a micro-batch")
    check(count.mapped == 0, f"{case}: {count.mapped} calls of mmap or sbrk")
    check(count.grown <= GROWN_BYTES, f"{case}: the heap grows by {count.grown} bytes")
    words = ", ".join(f"{name} {blocks:.0f}" for name, blocks in taken.items())
    print(f"{case}: blocks a micro-batch: {words}; heap +{count.grown} bytes")


def micro_batches_of(settings, ranks):
    """The samples of one rank in the counted steps."""
    sizes = dict(setting.split("=", 1) for setting in settings)
    return (LAST - FIRST) * int(sizes.get("train_batch_size", BATCH)) // ranks


def main():
    program, other = Program(sys.argv[1:4]), Program([sys.argv[4], *sys.argv[2:4]])
    text = (program.folder / "tiny.toml").read_text()
    for one in (program, other):
        one.write("tiny.toml", text.replace("batch_size = 8", f"batch_size = {BATCH}"))
    for ending in ("moods", "tones", "grades"):
        other.write(f"texts.{ending}", "".join(f"{i % 3}\ttext {i}\n" for i in range(60)))
    seen = counts(program, 1, ("checkpoint.interval=1",), {}, 1, FIRST)
    check(sum(seen[0].own().values()) > 0, "a save takes memory, and the counter sees it")
    cases = [(program, *case) for case in CASES] + [(other, 2, one, {}) for one in OBJECTIVES]
    for one, ranks, settings, env in cases:
        for rank, count in enumerate(counts(one, ranks, settings, env, FIRST, LAST)):
            case = f"{' '.join(settings)} {env or ''}, rank {rank} of {ranks}"
            check(not count.own(), f"{case}: allocates at {count.own()}")
            check_libraries(case, count, micro_batches_of(settings, ranks))
            # MPI's own pools may still grow; a block a step would be 49.
            kept = count.allocated - count.freed
            check(0 <= kept <= (10 if env else 0), f"{case}: {kept} blocks are not given back")
    print("no step allocates")


main()
