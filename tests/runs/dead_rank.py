#!/usr/bin/env python3
"""Where a rank is killed the others say so and are gone within 5 s, whatever mpirun waits for; it
ends itself when its kill delay has passed twice. Seconds in which they are kept waiting for a core,
as on a machine with much else to do, are not counted. REPEAT=N in the environment does all of it N
times.

usage: dead_rank.py ZEROAPP MPIEXEC FAULT_CALLS
"""
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

from patience import Patience
from program import Program, check
from signals import ENDLESS, wait_for_steps

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
END_SECONDS = 5  # of all ranks
LONG_DELAY = 20
THREADS = 17  # which of the fields says how many there are
# Over the delays: what mpirun needs besides, on a machine with other things to do.
MARGIN_SECONDS = 5


def delay_of_readme():
    delays = set(re.findall(r"odls_base_sigkill_timeout (\d+)", README.read_text()))
    check(len(delays) == 1, f"README.md has one kill delay: {delays}")
    return int(delays.pop())


def fields_of(process):
    """The fields of /proc/PID/stat behind the name; none where there is no such process."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def is_alive(process):
    """One that has ended, with all its threads, and that nobody has asked for yet is gone."""
    fields = fields_of(process)
    return bool(fields) and (fields[0] not in "ZX" or int(fields[THREADS]) > 1)


def ranks_of(process):
    """The processes of a launcher's ranks, in their order."""
    ranks = {}
    for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
        pid = int(environ.parent.name)
        try:
            name = (environ.parent / "comm").read_text().strip()
            words = environ.read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended, or is not ours
        rank = rank_in(words)
        if name == "zeroapp" and rank is not None and descends_from(pid, process.pid):
            ranks[rank] = pid
    return [ranks[rank] for rank in sorted(ranks)]


def rank_in(words):
    """None where the program is about to start, and has no environment yet."""
    name = b"OMPI_COMM_WORLD_RANK="
    return next((int(word[len(name):]) for word in words if word.startswith(name)), None)


def descends_from(process, ancestor):
    while process > 1 and process != ancestor:
        process = int((fields_of(process) or [0, 0])[1])
    return process == ancestor


def start(program, ranks, delay, *settings, env=None, wrapper=(), **faults):
    shutil.rmtree(program.folder / "runs", ignore_errors=True)
    *launch, zeroapp = program.launch_line(ranks)
    words = {f"FAULT_{name}": str(value) for name, value in faults.items()}
    preload = ["-x", f"LD_PRELOAD={program.library}"] if faults else []
    line = [*launch, "--mca", "odls_base_sigkill_timeout", str(delay), *preload, *wrapper, zeroapp,
            "tiny.toml", *ENDLESS, *settings]
    return program.popen(line, dict(env or {}, **words))


def require_gone(pids, what):
    patience = Patience(pids)
    while any(map(is_alive, pids)) and patience.look() < 2 * LONG_DELAY:
        time.sleep(0.01)
    check(patience.seconds <= END_SECONDS, f"{what}: ranks live {patience.seconds:.1f} s longer")
    return patience.seconds


def require_told(program, dead, what):
    record = json.loads((program.folder / "runs/tiny/error.json").read_text())
    check(f"rank {dead} has died" in record["what"], f"{what}: error.json names it: {record}")
    check(record["exit"] == 10 and record["rank"] != dead, f"{what}: a survivor says so: {record}")
    with open(program.folder / "runs/tiny/lock", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # throws where anybody holds it


def killed_in_a_step(program, dead, ranks, settings=(), **others):
    what = f"rank {dead} of {ranks} {' '.join(settings)} {others.get('env', '')}"
    process = start(program, ranks, LONG_DELAY, *settings, **others)
    wait_for_steps(program, process, 3)
    pids = ranks_of(process)
    check(len(pids) == ranks, f"{what}: {len(pids)} ranks")
    os.kill(pids[dead], signal.SIGKILL)
    seconds = require_gone(pids, what)
    require_told(program, dead, what)
    process.kill()  # it would sleep on, with nobody left
    program.wait(process)
    print(f"{what}: killed, no rank lives {seconds:.2f} s later")


def killed_while_data_are_read(program):
    """Before the run has a folder."""
    process = start(program, 2, delay_of_readme(), RANK=0, UNDER="text.txt", ONLY="pread", CALL=1,
                    ACTION="stop")
    pids = []
    while len(pids) < 2 or fields_of(pids[0])[0] != "T":
        check(process.poll() is None, "rank 0 stops where it reads its data")
        pids = ranks_of(process)
    os.kill(pids[0], signal.SIGKILL)
    seconds = require_gone(pids, "data")
    result = program.wait(process)
    lines = result.error_lines()
    check(len(lines) == 1 and "rank 0 has died" in lines[0], "data: one line names it", result)
    check("at its data" in lines[0], "data: and where it was", result)
    print(f"rank 0 at its data: killed, no rank lives {seconds:.2f} s later")


def waited_for(program, process):
    """Its result, and the seconds that it had time for until then."""
    patience, ended = Patience([process.pid]), []
    thread = threading.Thread(target=lambda: ended.append(program.wait(process)))
    thread.start()
    while process.poll() is None and thread.is_alive():
        patience.look()
        time.sleep(0.01)
    thread.join()
    return ended[0], patience.seconds


def ended_after_fault(program, process, log, what):
    """Its result, and the seconds that its ranks lived on: END_SECONDS at most from the moment at
    which a fault made the file `log`."""
    while not log.exists() and process.poll() is None:
        time.sleep(0.01)
    if not log.exists():
        check(False, f"{what}: never strikes", program.wait(process))
    pids = ranks_of(process)
    seconds = time.time() - log.stat().st_mtime
    seconds += require_gone(pids, what)
    result, launcher_seconds = waited_for(program, process)
    check(seconds <= END_SECONDS, f"{what}: ranks live {seconds:.1f} s longer", result)
    check(launcher_seconds <= MARGIN_SECONDS, f"{what}: mpirun lives on", result)
    return result, seconds


def launcher_ends_after_twice_its_delay(program):
    delay = delay_of_readme()
    process = start(program, 2, delay)
    wait_for_steps(program, process, 3)
    os.kill(ranks_of(process)[1], signal.SIGKILL)
    result, seconds = waited_for(program, process)
    # What it heard of first is the signal.
    check(result.status == 137, f"mpirun: status {result.status}", result)
    lines = result.error_lines()
    check(len(lines) == 1 and "rank 1 has died" in lines[0], "mpirun: one error line", result)
    check(seconds <= 2 * delay + MARGIN_SECONDS, f"mpirun ends after {seconds:.1f} s", result)
    print(f"mpirun, with the README's kill delay of {delay} s, ended {seconds:.1f} s later")


def ranks_in_tables_of_processes_of_their_own():
    """What starts each of them in one; nothing where only an administrator may."""
    wrapper = ["unshare", "--pid", "--fork", "--kill-child"]
    if shutil.which("unshare") and subprocess.run([*wrapper, "true"], capture_output=True,
                                                  check=False).returncode == 0:
        return wrapper
    print("SKIP ranks in containers of their own: only an administrator may start them")
    return []


def main():
    program = Program()
    wrapper = ranks_in_tables_of_processes_of_their_own()
    for _ in range(int(os.environ.get("REPEAT", "1"))):
        killed_in_a_step(program, 1, 2, ("zero.stage=3",))
        killed_in_a_step(program, 0, 2, env={"ZERO_COMM": "mpi"})
        killed_in_a_step(program, 2, 3, ("train_batch_size=6",))
        killed_while_data_are_read(program)
        launcher_ends_after_twice_its_delay(program)
        if wrapper:
            killed_in_a_step(program, 1, 2, wrapper=wrapper,
                             env={"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"})
    print("no rank outlives another")


if __name__ == "__main__":
    main()
