"""The runs of tools/same_bits.sh: which settings, on how many ranks, and what is looked at."""
import dataclasses

# Fixed limits of memory, so that no plan depends on what is free on the machine at the moment.
INPUT = """
train_batch_size = 12
train_micro_batch_size_per_gpu = 1

[model]
layers = 2
width = 32
heads = 2
dropout = 0.1

[data]
train = "text.txt"
validation_fraction = 0.2
max_validation_samples = 5
sequence_length = 16

[run]
steps = 6
threads = 1

[optimizer]
lr = 1e-2
weight_decay = 0.1

[checkpoint]
interval = 3

[export]
at_end = true

[memory]
device_limit = "1GiB"
host_limit = "1GiB"
"""
NAME = "bits"  # of the input file, and so of its run's folder
PRECISIONS = {
    "fp32": (),
    "bf16": ("bf16.enabled=true",),
    "fp16": ("fp16.enabled=true", "fp16.initial_scale_power=24", "fp16.hysteresis=1"),
}
FP32, BF16, FP16 = PRECISIONS.values()
REPRODUCIBLE = ("numerics.reproducible=true",)
OPTIMIZER, PARAMETERS = "zero.offload_optimizer", "zero.offload_param"
ACTIVATIONS = "activation_checkpointing"
RECOMPUTE, FULL = f"{ACTIVATIONS}.recompute", f"{ACTIVATIONS}.recompute=full"
CPU = (f"{OPTIMIZER}.device=cpu", f"{PARAMETERS}.device=cpu")
NVME = (f"{OPTIMIZER}.device=nvme", f"{OPTIMIZER}.nvme_path=disk", f"{PARAMETERS}.device=nvme",
        f"{PARAMETERS}.nvme_path=disk")
GENERATE = ("generate", f"runs/{NAME}", "--prompt", "3 times 3 ", "--tokens", "60")
COMMANDS = (
    ("text.greedy", GENERATE),
    ("text.drawn", (*GENERATE, "--temperature", "0.9", "--top-k", "20", "--seed", "7")),
    ("eval", ("eval", f"runs/{NAME}", "--json")),
    ("samples", ("data", f"{NAME}.toml", "--steps", "1..2", "--json")),
    ("export_fp32", ("export", f"runs/{NAME}", "fp32", "--dtype", "fp32")),
    ("export_bf16", ("export", f"runs/{NAME}", "bf16", "--dtype", "bf16")),
    ("export_fp16", ("export", f"runs/{NAME}", "fp16", "--dtype", "fp16")),
)


@dataclasses.dataclass(frozen=True)
class Run:
    """`begin` is what another launch does first in the same folder, always BASE's program:
    (ranks, settings). `commands` are started afterwards: (field, words). `twin` is another run,
    (ranks, settings), that gives the same bits: HEAD's is compared with where a BASE of before
    `key` had that value refuses it."""

    name: str
    ranks: int
    settings: tuple
    begin: tuple | None = None
    env: dict | None = None
    commands: tuple = ()
    twin: tuple | None = None
    key: str = ""


def stage(number):
    return (f"zero.stage={number}",)


def every_stage_and_precision():
    """Each precision at each stage; together all counts of ranks at all stages."""
    for shift, (name, settings) in enumerate(PRECISIONS.items()):
        for number in range(4):
            ranks = 1 + (number + shift) % 4
            yield Run(f"{name}, stage {number}", ranks, (*settings, *stage(number)))


def reproducible():
    """Which takes 1, 2 and 4 ranks."""
    for name, ranks, number, further in (
            ("fp32", 1, 0, ()), ("fp32", 4, 3, ()), ("bf16", 4, 1, ()), ("bf16", 2, 2, (FULL,)),
            ("fp16", 2, 1, ()), ("fp16", 4, 3, CPU)):
        settings = (*PRECISIONS[name], *REPRODUCIBLE, *stage(number), *further)
        yield Run(f"reproducible {name}, stage {number}", ranks, settings)


def recompute():
    yield Run("recompute full", 2, (*BF16, *stage(3), FULL))
    yield Run("recompute selective", 1, (*FP32, *stage(0), f"{RECOMPUTE}=selective"))
    yield Run("recompute one block", 3, (*FP16, *stage(2), f"{RECOMPUTE}=[1]"))


def accumulation():
    """1, 2, 3 and 5 micro-batches; the runs above have 3 to 12."""
    batch = "train_batch_size={}".format
    yield Run("one micro-batch", 4, (*BF16, *stage(1), batch(4)))
    yield Run("two micro-batches", 2, (*BF16, *stage(0), batch(4)))
    yield Run("three micro-batches, reproducible", 2,
              (*BF16, *REPRODUCIBLE, *stage(3), batch(6)))
    yield Run("twenty micro-batches", 1, (*BF16, *stage(2), batch(20)))
    yield Run("twenty micro-batches, states on disk", 2, (*BF16, *stage(3), *NVME[:2], batch(40)))
    yield Run("five micro-batches", 1, (*FP32, *stage(2), batch(5)))
    yield Run("two micro-batches of three samples", 2,
              (*FP32, *stage(1), "train_micro_batch_size_per_gpu=3"))
    yield Run("gradients in fp32", 2, (*BF16, *stage(2), "numerics.gradient_dtype=fp32"))
    for name, number in (("fp32", 1), ("bf16", 2)):
        yield Run(f"gradients travel in {name}", 2,
                  (*BF16, *stage(number), f"communication_data_type={name}"))


def optimizers():
    lamb = ("optimizer.type=LAMB",)
    yield Run("LAMB, fp32", 1, (*FP32, *stage(0), *lamb))
    yield Run("LAMB, bf16", 2, (*BF16, *stage(3), *lamb))
    yield Run("LAMB on the host", 2, (*FP16, *stage(1), *lamb, f"{OPTIMIZER}.device=cpu"))
    yield Run("Adam, clipped, cosine", 2,
              (*FP32, *stage(1), "optimizer.type=Adam", "optimizer.adam_w_mode=false",
               "gradient_clipping=0.1", "scheduler.type=WarmupCosineLR",
               "scheduler.warmup_num_steps=3", "scheduler.total_num_steps=6"))


def later_optimizers():
    """Those that an older BASE may not know; in reproducible mode, so that there is a twin."""
    for name, settings in (("Lion", ("optimizer.type=Lion",)),
                           ("SGD", ("optimizer.type=SGD",)),
                           ("SGD, nesterov", ("optimizer.type=SGD", "optimizer.momentum=0.9",
                                              "optimizer.nesterov=true"))):
        for precision, ranks, number, further, twin_ranks, twin_stage in (
                ("fp32", 2, 1, (), 4, 3), ("bf16", 4, 3, (), 1, 0),
                ("fp16", 1, 2, (f"{OPTIMIZER}.device=cpu",), 2, 1)):
            same = (*PRECISIONS[precision], *REPRODUCIBLE, *settings)
            yield Run(f"{name}, {precision}", ranks, (*same, *stage(number), *further),
                      twin=(twin_ranks, (*same, *stage(twin_stage))), key="optimizer.type")


def homes():
    yield Run("optimizer on the host", 2, (*BF16, *stage(1), f"{OPTIMIZER}.device=cpu"))
    yield Run("half of the optimizer on the host", 1,
              (*FP32, *stage(2), f"{OPTIMIZER}.device=cpu", f"{OPTIMIZER}.ratio=0.5"))
    yield Run("all on the host", 3, (*FP32, *stage(3), *CPU))
    yield Run("optimizer on disk", 1, (*FP16, *stage(1), *NVME[:2]))
    yield Run("all on disk", 2, (*BF16, *stage(3), *NVME, f"{OPTIMIZER}.buffer_count=2"))
    yield Run("activations on the host", 2,
              (*BF16, *stage(2), FULL, f"{ACTIVATIONS}.offload=cpu",
               f"{ACTIVATIONS}.buffer_count=1"))
    yield Run("activations on disk", 1,
              (*FP32, *stage(3), *NVME, FULL, f"{ACTIVATIONS}.offload=nvme",
               f"{ACTIVATIONS}.nvme_path=disk", f"{ACTIVATIONS}.buffer_count=1"))


def schedules_of_the_plan():
    yield Run("small buckets, few live parameters", 2,
              (*BF16, *stage(3), "zero.stage3_max_live_parameters=20000",
               "zero.stage3_prefetch_bucket_size=5000", "zero.reduce_bucket_size=3000",
               "zero.stage3_param_persistence_threshold=0", "zero.stage3_max_reuse_distance=0"))
    yield Run("small buckets, stage 1", 3,
              (*FP32, *stage(1), "zero.reduce_bucket_size=3000",
               "zero.allgather_bucket_size=3000"))
    yield Run("no overlap", 2, (*FP32, *stage(2), "zero.overlap_comm=false"))
    yield Run("collectives of MPI", 2, (*BF16, *stage(3)), env={"ZERO_COMM": "mpi"})


def models():
    yield Run("no dropout", 2, (*BF16, *stage(0), "model.dropout=0"))
    yield Run("odd sizes, two threads", 1,
              (*FP32, *stage(3), "run.threads=2", "model.layers=3", "model.width=42",
               "model.heads=3", "model.vocab_size=301", "data.sequence_length=19"))
    yield Run("evaluations and samples", 2,
              (*BF16, *stage(3), "evaluation.interval=2", "evaluation.micro_batch_size=2",
               "evaluation.show_samples=1"))


def commands():
    for name, ranks, number in (("fp32", 1, 0), ("bf16", 2, 3), ("fp16", 2, 1)):
        yield Run(f"commands, {name}", ranks, (*PRECISIONS[name], *stage(number)),
                  commands=COMMANDS)


def resumed():
    """HEAD goes on from what BASE has saved: as it was, and elsewhere."""
    stop = ("run.stop_at=3",)

    def begin(ranks, *settings):
        return ranks, (*settings, *stop)

    fp16 = (*FP16, *stage(2))
    yield Run("resumed, fp16", 2, fp16, begin=begin(2, *fp16))
    disk = (*BF16, *stage(3), *NVME)
    yield Run("resumed on disk", 1, disk, begin=begin(1, *disk))
    again = (*FP32, *REPRODUCIBLE)
    yield Run("resumed at another stage", 4, (*again, *stage(3)), begin=begin(2, *again, *stage(1)))
    lamb = (*BF16, *REPRODUCIBLE, "optimizer.type=LAMB")
    yield Run("resumed on fewer ranks", 1, (*lamb, *stage(0)), begin=begin(4, *lamb, *stage(2)))
    yield Run("tuned from an exported model", 2,
              (*BF16, *stage(2), "run.output=runs/tuned", "model.init_from=runs/bits/model"),
              begin=(1, (*BF16, *stage(0))))


def all_runs():
    parts = (every_stage_and_precision, reproducible, recompute, accumulation, optimizers,
             later_optimizers, homes,
             schedules_of_the_plan, models, commands, resumed)
    return [run for part in parts for run in part()]
