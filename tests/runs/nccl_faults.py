#!/usr/bin/env python3
"""Faults planted in src/comm/gpu/nccl.cpp, one at a time, are noticed by tests over the stand-in
for NCCL, and these tests reach at least 95 % of its lines.

usage: nccl_faults.py BUILD MPIEXEC   (build/host-release with fake_nccl_test built)
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src/comm/gpu/nccl.cpp"
TEST = "tests/fake_nccl_test"
OBJECT = "tests/CMakeFiles/zero_fake_nccl.dir/__/src/comm/gpu/nccl.cpp.o"
LEAST_COVERED = 95
# What is tried: (ranks, tests). Few ranks first; three groups of two need more.
TRIALS = ((3, "NcclOverFake.*:*CommunicatorTest*nccl*"), (6, "*SumsByGroups*"))

# (name, text, text with the fault)
FAULTS = (
    ("turns dropped", "bool needs_one_order() const override { return true; }",
     "bool needs_one_order() const override { return false; }"),
    ("ranks exchanged in the sum", "(r - from.first) * round.stride",
     "(from.last - 1 - r) * round.stride"),
    ("a group's rows behind each other's", "(r - from.first) * round.stride",
     "r % 64 / 2 * round.stride"),
    ("a piece's begin left out", "(r * part.shard_numel + part.begin) * element",
     "r * part.shard_numel * element"),
    ("each part is the first", "part{piece.shard_numel, piece.begin + first, numel}",
     "part{piece.shard_numel, piece.begin, numel}"),
    ("rows at another distance than they are added", "stack{from.last - from.first, round.stride}",
     "stack{from.last - from.first, numel}"),
    ("this rank's own part left out", "if (round.number == 0) copy_bytes",
     "if (round.number < 0) copy_bytes"),
    ("its own part sent to all", "ncclSend(of_rank(r)", "ncclSend(of_rank(rank_)"),
    ("letters without a group", "check(ncclGroupStart(), what);", ""),
    ("parts at odd places", "part_numel(staging_.bytes(), std::min(ranks_, group_) * bytes)",
     "staging_.bytes() / (std::min(ranks_, group_) * bytes)"),
    ("pieces gathered as wholes", "if (piece.numel == piece.shard_numel)",
     "if (piece.numel > 0)"),
    ("pieces in another rank's place", "(r * piece.shard_numel + piece.begin) * bytes",
     "(rank_ * piece.shard_numel + piece.begin) * bytes"),
    ("pieces of one root", "ncclUint8, r,\n                          comm_",
     "ncclUint8, 0,\n                          comm_"),
    ("broadcasts of one root", "ncclUint8, root, comm_", "ncclUint8, 0, comm_"),
    ("sums of one word", "words.data(), words.size(), ncclInt64", "words.data(), 1, ncclInt64"),
    ("sums that replace", "round.reduction.store == Store::add", "false"),
    ("groups' sums in one place", "sums + from.first / group_ * numel", "sums"),
    ("groups exchanged", "to = group_at(-round.number)",
     "to = group_at(round.number)"),
    ("only the first group's sums", "groups(), numel, out, add);", "1, numel, out, add);"),
    ("an abort in an orderly end", "if (failed_ || std::uncaught_exceptions() > exceptions_)",
     "if (ranks_ > 0)"),
    ("a farewell behind a failure", "if (status != ncclSuccess) failed_ = true;", ""),
    ("an end that is not waited for",
     'warn_nccl(ncclCommFinalize(comm_), "ending a communicator");', ""),
    ("a window that outlives", "    staging_window_.reset();\n    if (failed_", "    if (failed_"),
    ("a window of this rank alone", "if (all_have_one) return window;",
     "if (window) return window;"),
    ("an error taken for no windows", 'check(status, "registering memory");', ""),
    ("shared devices let through", "if (same == int64_t(r)) continue;",
     "if (same <= int64_t(r)) continue;"),
    ("host names left out", 'variable("NCCL_HOSTID")', 'variable("NCCL_HOST")'),
    ("memory that is not cleared", "clear_device_memory(arena.data(), bytes);", ""),
    ("barriers that wait for nobody", "check(ncclAllReduce(word_.data()",
     "if (ranks_ == 0) check(ncclAllReduce(word_.data()"),
    ("asynchronous errors unseen", "if (found != ncclInProgress)", "if (found == ncclInProgress)"),
    ("an error taken for want of memory", "if (is_for_memory(status))",
     "if (status != ncclSuccess)"),
    ("memory given back on another device",
     "prefer_chosen_device();\n  warn_nccl(ncclMemFree", "warn_nccl(ncclMemFree"),
    ("windows opened on another device",
     "use_chosen_device();\n    ncclWindow_t made", "ncclWindow_t made"),
    ("a communicator ended on another device",
     "prefer_chosen_device();\n    staging_window_", "staging_window_"),
    ("ranks in another order", "ncclCommSplit(whole, 0, rank,", "ncclCommSplit(whole, 0, -rank,"),
)


def commands(build):
    """How the object is compiled and the test linked, as lists of words."""
    entries = json.loads((build / "compile_commands.json").read_text())
    compile_line = next(shlex.split(one["command"]) for one in entries
                        if one["file"] == str(SOURCE))
    lines = subprocess.run(["ninja", "-C", str(build), "-t", "commands", TEST], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    link = next(line for line in reversed(lines) if OBJECT in line and f"-o {TEST}" in line)
    return compile_line, shlex.split(re.sub(r"^: && | && :$", "", link))


class Trial:
    def __init__(self, build, mpiexec, folder):
        self.build, self.mpiexec, self.folder = build, mpiexec, folder
        self.compile_line, self.link_line = commands(build)
        self.env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                        OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive", OMP_PROC_BIND="false",
                        OMPI_MCA_pml="ob1", OMPI_MCA_mpi_yield_when_idle="1",
                        ZERO_FAKE_NCCL="patience_ms=4000")

    def compile(self, source, made, *options):
        words = [str(source) if word == str(SOURCE) else word for word in self.compile_line]
        words[words.index("-o") + 1] = str(made)
        words = [word for word in words if word not in ("-O3", "-g1", "ccache")]
        subprocess.run([*words, *options], cwd=self.build, check=True, capture_output=True)

    def precompile(self):
        """What nccl.cpp includes is parsed once."""
        header = self.folder / "headers.hpp"
        includes = re.findall(r"^#include .*$", SOURCE.read_text(), re.M)
        header.write_text("\n".join(includes) + "\n")
        self.compile(header, f"{header}.gch", "-O0", "-x", "c++-header")
        return header

    def build_with(self, text, place, *options):
        """The test program with this text of nccl.cpp, in a folder of its own."""
        place.mkdir()
        source, made, program = (place / name for name in ("nccl.cpp", "nccl.o", "test"))
        source.write_text(text)
        self.compile(source, made, "-O0", *options)
        words = [str(made) if word == OBJECT else word for word in self.link_line]
        words[words.index("-o") + 1] = str(program)
        covers = [word for word in options if word == "--coverage"]
        subprocess.run([*words, *covers], cwd=self.build, check=True, capture_output=True)
        return program

    def first_failure(self, program):
        """The first test case that fails, or what else ends a trial; "" where all pass."""
        for ranks, tests in TRIALS:
            try:
                run = subprocess.run(
                    [self.mpiexec, "--oversubscribe", "--bind-to", "none", "-np", str(ranks),
                     str(program), f"--gtest_filter={tests}", "--gtest_fail_fast"],
                    env=self.env, cwd=program.parent, capture_output=True, text=True, timeout=240,
                    check=False)
            except subprocess.TimeoutExpired:
                return "hangs"
            if "all ranks passed" not in run.stdout:
                said = re.sub(r"\x1b\[[0-9;]*m", "", run.stdout + run.stderr)
                case = re.search(r"FAILED  \] *(\S+)|fake NCCL: (.*)|(exited on signal \d+)", said)
                return next(filter(None, case.groups())) if case else "ends early"
        return ""

    def covered(self):
        """Percent of the lines that the tests reach."""
        place = self.folder / "covered"
        failure = self.first_failure(self.build_with(SOURCE.read_text(), place, "--coverage"))
        if failure:
            sys.exit(f"failed: without a fault: {failure}")
        said = subprocess.run(["gcov", "-n", "-o", str(place), str(place / "nccl.o")], cwd=place,
                              capture_output=True, text=True, check=True).stdout
        found = re.search(r"File '[^']*/nccl\.cpp'\nLines executed:([\d.]+)% of (\d+)", said)
        print(f"lines of nccl.cpp that tests reach: {found[1]} % of {found[2]}", flush=True)
        return float(found[1])

    def notices(self, fault, header):
        name, before, after = fault
        program = self.build_with(SOURCE.read_text().replace(before, after),
                                  self.folder / str(FAULTS.index(fault)), "-include", str(header))
        failure = self.first_failure(program)
        program.unlink()
        print(f"{name}: {failure or 'LIVED'}", flush=True)
        return bool(failure)


def main():
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} BUILD MPIEXEC")
    if not (pathlib.Path(sys.argv[1]) / "build.ninja").exists():
        print("SKIP the build is not Ninja's")
        sys.exit(77)
    for name, before, _ in FAULTS:
        if SOURCE.read_text().count(before) != 1:
            sys.exit(f"failed: {name}: not one place of {before!r}")
    with tempfile.TemporaryDirectory(prefix="nccl-faults-") as folder:
        trial = Trial(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], pathlib.Path(folder))
        if trial.covered() < LEAST_COVERED:
            sys.exit(f"failed: less than {LEAST_COVERED} %")
        header = trial.precompile()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            noticed = list(pool.map(lambda fault: trial.notices(fault, header), FAULTS))
    print(f"{sum(noticed)} of {len(FAULTS)} noticed")
    if not all(noticed):
        sys.exit("failed: some lived")


if __name__ == "__main__":
    main()
