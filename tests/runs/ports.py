#!/usr/bin/env python3
"""Ranks of one node listen at no port, with a launcher and without one, unless the user chooses how
Open MPI talks."""
import os
import pathlib
import re
import time

from program import Program, check

RUN = ("run.steps=100000", "run.output=runs/ports")
LISTENS = "0A"  # a socket's state in /proc/net/tcp


def listening_sockets():
    """Inodes."""
    lines = [line.split() for name in ("tcp", "tcp6")
             for line in pathlib.Path("/proc/net", name).read_text().splitlines()[1:]]
    return {fields[9] for fields in lines if fields[3] == LISTENS}


def sockets_of(pid):
    found = set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.update(re.findall(r"socket:\[(\d+)\]", os.readlink(entry)))
        except FileNotFoundError:
            pass
    return found


def processes_of(program):
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "exe").samefile(program.zeroapp) and \
                    (entry / "cwd").samefile(program.folder):
                yield int(entry.name)
        except OSError:
            pass


def ports(program, ranks, env=None):
    """How many sockets of ranks listen while they train."""
    process = program.start(ranks, *RUN, env=env)
    try:
        metrics = program.folder / "runs/ports/metrics.jsonl"
        end = time.monotonic() + 60
        while not (metrics.exists() and metrics.stat().st_size) and time.monotonic() < end:
            check(process.poll() is None, "it trains", program.wait(process) if
                  process.poll() is not None else None)
            time.sleep(0.1)
        pids = list(processes_of(program))
        check(len(pids) == ranks, f"{ranks} ranks: {pids}")
        return sum(len(sockets_of(pid) & listening_sockets()) for pid in pids)
    finally:
        process.terminate()
        program.wait(process)
        metrics.unlink(missing_ok=True)


def main():
    program = Program()
    for ranks in (1, 2):
        count = ports(program, ranks)
        check(count == 0, f"{ranks} ranks listen at {count} ports")
    chosen = ports(program, 2, {"OMPI_MCA_btl": "self,vader,tcp"})
    check(chosen > 0, "a choice of the user's stays")
    print(f"no rank listens; with TCP chosen two have {chosen} sockets that do")


main()
