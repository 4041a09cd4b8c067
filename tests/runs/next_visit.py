#!/usr/bin/env python3
"""tools/next_visit.sh on a GPU and programs that are only pretended: every line of its three calls
runs, beside an earlier program where the bundle has one; each call fits its seconds; clocks are
noted while a call runs, and no longer."""
import pathlib
import subprocess
import tempfile

from pretended_gpu import Machine, Results, ZEROAPP, expect, listed, write_program

SCRIPT = "next_visit"
SECONDS = {1: 250, 2: 230, 3: 270}
PACKING = 20
NCU = 'while [ "$1" != python3 ]; do shift; done; exec "$@"'
# As the tool does, until it is ended.
SMI = """case "$*" in
  *list-gpus*) echo GPU 0 ;;
  *loop*) echo $$ > {place}/noting; echo 700; exec sleep 600 ;;
  *) echo NVIDIA H200 ;;
esac"""


def prepared(place):
    machine = Machine(place, SCRIPT)
    write_program(machine.bin / "nvidia-smi", SMI.format(place=place))
    write_program(machine.bin / "ncu", NCU)
    write_program(machine.bin / "compute-sanitizer", 'echo "sanitized $*"')
    return machine


def is_running(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


def check_call(machine, place, visit, wanted):
    found = machine.call(visit, "--out", place / "out")
    expect(found.returncode == 0, found.stdout)
    results = Results(place / "out", visit, SCRIPT)
    expect(results.passed() == results.outcomes.keys() == wanted,
           f"{results.outcomes.keys() ^ wanted} {found.stdout}")
    expect(results.files["clocks.csv"] == "700\n", results.files.keys())
    expect(not is_running((place / "noting").read_text().strip()), "clocks are noted no longer")
    return results


def every_line_passes(place):
    machine = prepared(place)
    write_program(machine.bundle / "bin/base", ZEROAPP.format(bundle=machine.bundle))
    for visit in SECONDS:
        results = check_call(machine, place, visit, listed(visit, SCRIPT).keys())
        if visit == 1:
            output = results.output("comm_test over NCCL, 2 ranks")
            expect("nccl_on_one_gpu.sh" in output, output)
            expect("nccl_bits.py" in results.output("trainings over NCCL"), "the trainings")
        if visit == 3:
            output = results.output("speed of gpt2, earlier program, turn 1")
            expect("bin/base" in output, output)


def without_an_earlier_program_this_one_runs_alone(place):
    wanted = {name for name in listed(3, SCRIPT) if "earlier" not in name}
    check_call(prepared(place), place, 3, wanted)


def each_call_has_its_seconds():
    for visit, seconds in SECONDS.items():
        expected = sum(listed(visit, SCRIPT).values()) / 2
        expect(100 < expected <= seconds - PACKING, f"call {visit}: {expected} of {seconds} s")


def an_unknown_call_is_refused():
    script = pathlib.Path(__file__).resolve().parents[2] / "tools/next_visit.sh"
    wrong = subprocess.run(["bash", str(script), "1", "--seconds", "x"], text=True,
                           capture_output=True, check=False)
    expect(wrong.returncode == 2 and "a number from 10 on" in wrong.stderr, wrong.stderr)


def main():
    for part in (every_line_passes, without_an_earlier_program_this_one_runs_alone):
        with tempfile.TemporaryDirectory(prefix="next-visit-") as place:
            part(pathlib.Path(place))
    each_call_has_its_seconds()
    an_unknown_call_is_refused()
    print("every line of a visit has its outcome")


main()
