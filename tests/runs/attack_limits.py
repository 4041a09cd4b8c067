#!/usr/bin/env python3
"""Limits of a process (ulimit) from nothing to enough, and variables of OpenMP and Kokkos with
values that nobody should write: each training ends by itself, with a status and words, or well."""
import resource

import attack

SEED = 1
MIB = 1 << 20
BYTES = tuple(int(MIB * share) for share in
              (16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288,
               320, 352, 384, 448, 512, 640, 768, 1024, 2048, 4096))
FILE_BYTES = (0, 1, 100, 511, 512, 1000, 2048, 4096, 8192, 16384, 32768, 65536, 100_000, 131072,
              200_000, 262144, 400_000, 524288, MIB, 4 * MIB, 5_000_000, 8 * MIB, 64 * MIB)
LIMITS = (
    (resource.RLIMIT_AS, BYTES),
    (resource.RLIMIT_DATA, (0, MIB, 4 * MIB, 8 * MIB, *BYTES)),
    (resource.RLIMIT_FSIZE, FILE_BYTES),
    (resource.RLIMIT_NOFILE, (*range(4, 33, 2), 48, 64, 128, 1024)),
    (resource.RLIMIT_NPROC, (*range(0, 30), 40, 64)),
    (resource.RLIMIT_STACK, tuple(n * 1024 for n in (64, 128, 256, 512, 1024, 4096, 65536))),
    (resource.RLIMIT_MEMLOCK, (0, 4096, 65536, MIB)),
    (resource.RLIMIT_SIGPENDING, (0, 1, 16)),
    (resource.RLIMIT_MSGQUEUE, (0, 1)),
    (resource.RLIMIT_NICE, (0, 1)),
    (resource.RLIMIT_RTPRIO, (0, 1)),
)

ODD = ("", " ", "0", "-1", "1", "2", "3", "2,2", "512", "513", "4096", "65536", "4294967296",
       "99999999999999999999", "1e3", "x", "true", "false", "TRUE", "auto", "0x10", "1 2", "\u00fc",
       "cores", "threads", "{0}", "{0:2}", "spread", "close", "master", "disabled", "1B", "1K",
       "64M", "4G", "1T", "static,4", "dynamic,0", "/missing.so")
VARIABLES = ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC", "OMP_NESTED", "OMP_SCHEDULE",
             "OMP_PROC_BIND", "OMP_PLACES", "OMP_STACKSIZE", "OMP_WAIT_POLICY", "OMP_CANCELLATION",
             "OMP_MAX_ACTIVE_LEVELS", "OMP_MAX_TASK_PRIORITY", "OMP_DISPLAY_AFFINITY",
             "OMP_DISPLAY_ENV", "OMP_DEFAULT_DEVICE", "OMP_TARGET_OFFLOAD", "GOMP_SPINCOUNT",
             "GOMP_CPU_AFFINITY", "GOMP_STACKSIZE", "KOKKOS_NUM_THREADS", "KOKKOS_DEVICE_ID",
             "KOKKOS_DISABLE_WARNINGS", "KOKKOS_PRINT_CONFIGURATION", "KOKKOS_TUNE_INTERNALS",
             "KOKKOS_MAP_DEVICE_ID_BY", "KOKKOS_VISIBLE_DEVICES", "KOKKOS_NUMA",
             "KOKKOS_NUM_DEVICES", "KOKKOS_SKIP_DEVICE", "KOKKOS_RAND_DEVICES",
             "KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY", "KOKKOS_TOOLS_ARGS",
             "DNNL_VERBOSE", "DNNL_MAX_CPU_ISA", "DNNL_PRIMITIVE_CACHE_CAPACITY")
TRAINING = ("tiny.toml", "run.output=out", "train_micro_batch_size_per_gpu=1")
SHAPES = (("run.threads=1",), ("run.threads=2", "zero.stage=2", "checkpoint.interval=1",
                               "checkpoint.async=true", "profile.trace=true"))


def cases():
    for name, values in LIMITS:
        for value in values:
            for shape in SHAPES:
                yield {}, (name, value), shape
    for name in VARIABLES:
        for value in ODD:
            for shape in (("run.threads=0",), SHAPES[1]):
                yield {name: value}, None, shape


def starts_at_all(attacker, place, limits):
    """What cannot be loaded or say its version is not the program yet."""
    return attacker.start(place, ("--version",), limits=limits).status == 0


def limited(attacker):
    def one(place, case):
        env, limit, shape = case
        limits = (limit,) if limit else ()
        if limits and not starts_at_all(attacker, place, limits):
            return
        yield attacker.start(place, (*TRAINING, *shape), env=env, limits=limits)

    return one


def main():
    attacker = attack.Attack()
    drawn = attack.drawn(cases(), SEED)
    tally = attacker.run(drawn, limited(attacker))
    tally.finish(f"{len(drawn)} limits and variables, seed {SEED}")


if __name__ == "__main__":
    main()
