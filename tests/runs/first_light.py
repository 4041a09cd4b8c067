#!/usr/bin/env python3
"""tools/first_light.sh on a GPU and programs that are only pretended, from a bundle without ssh:
every line runs and all that they say is in one tar; behind one that fails or hangs the others go
on; where only a simpler way trains, speeds go it; what failed is run again under
compute-sanitizer; a call that is ended from outside still packs; each call has its minutes."""
import json
import pathlib
import signal
import subprocess
import tempfile
import time

from pretended_gpu import ROOT, SANITIZER, Machine, Results, expect, listed, write_program

CONDITIONAL = {"tiny training, kernels one by one", "tiny training, reproducible",
               "sanitized: each failure of call 1"}


def every_line_passes(place):
    machine = Machine(place)
    for visit in (1, 2, 3):
        out = place / "out"
        found = machine.call(visit, "--out", out)
        expect(found.returncode == 0, found.stdout)
        results = Results(out, visit)
        wanted = listed(visit).keys() - CONDITIONAL
        expect(results.passed() == results.outcomes.keys() == wanted,
               f"{results.outcomes.keys() ^ wanted} {found.stdout}")
        for name in results.outcomes:
            expect(name in results.summary and results.output(name), f"{name}: {results.summary}")
        expect(f"{len(wanted)} passed, 0 failed, 0 cut, 0 not run" in found.stdout, found.stdout)
        runs = [json.loads(line) for line in results.files["speed.jsonl"].splitlines()]
        expect(len(runs) == sum(name.startswith("speed of") for name in wanted), runs)
    first = Results(place / "out", 1)
    expect(first.files["xl_trace.json"] == "[]", "the trace is kept")
    expect("NVIDIA H200" in first.output("the machine"), first.output("the machine"))
    expect({path.name for path in (place / "out").iterdir()} ==
           {f"first_light_{n}.{end}" for n in (1, 2, 3) for end in ("tar.gz", "txt")}, "no more")


def behind_a_failure_the_others_go_on_and_it_is_run_again(place):
    machine = Machine(place)
    write_program(machine.bin / "compute-sanitizer", SANITIZER)
    write_program(machine.bundle / "bin/kernels_test",
                  'echo "[  FAILED  ] Gelu/0.IsRight, where TypeParam = float (3 ms)"; exit 1')
    (machine.tree / "tests/runs/known_losses.py").write_text("raise SystemExit('other losses')\n")
    (machine.bundle / "trains_one_by_one").touch()
    found = machine.call(1, "--out", place / "one")
    results = Results(place / "one", 1)
    expect(found.returncode == 1, found.stdout)
    failed = {name for name in results.outcomes if name not in results.passed()}
    expect(failed == {"tiny training, fp32", "tiny training, bf16", "tiny training, reproducible",
                      "losses of the host", "kernels_test"}, failed)
    expect("other losses" in results.summary and "no capture" in results.summary, results.summary)
    expect("run.record=false" in results.output("speed of gpt2, micro-batch 16"), "the way it goes")
    expect("sanitized" in results.output("sanitized: tiny training"), "at once")

    (machine.bundle / "trains_one_by_one").unlink()
    found = machine.call(2, "--out", place / "two", "--from", results.tar)
    again = Results(place / "two", 2)
    expect(found.returncode == 0, found.stdout)
    expect("--gtest_filter=Gelu/0.IsRight" in again.output("sanitized: kernels_test"), "one test")
    expect(str(place / "two") in again.output("sanitized: tiny training, fp32"), "of this folder")
    expect("known_losses.py" in again.output("sanitized: losses of the host"), again.outcomes)
    expect("sanitized: doctor" not in again.outcomes, "it had passed")
    found = machine.call(2, "--out", place / "three")
    expect("sanitized: failures of call 1  " in found.stdout and found.returncode == 0,
           found.stdout)


def a_line_that_hangs_is_cut(place):
    machine = Machine(place)
    write_program(machine.bundle / "bin/device_test", "sleep 60")
    machine.edit('"device_test" 40', '"device_test" 1')
    found = machine.call(1, "--out", place / "out")
    results = Results(place / "out", 1)
    expect(found.returncode == 3, found.stdout)
    expect(results.outcomes["device_test"].startswith("cut: ran out of its share of 1 s"),
           results.outcomes)
    expect(results.passed() == results.outcomes.keys() - {"device_test"}, results.outcomes)
    expect("1 cut, 0 not run" in results.summary, results.summary)


def without_any_training_no_speed_is_tried(place):
    machine = Machine(place)
    (machine.bundle / "trains_never").touch()
    found = machine.call(3, "--out", place / "out")
    results = Results(place / "out", 3)
    expect(found.returncode == 1, found.stdout)
    expect(results.outcomes["speeds"] == "not run: no training ends", results.outcomes)
    expect(results.outcomes["calibrate"].startswith("passed"), results.outcomes)


def a_call_that_is_ended_packs_what_it_has(place):
    machine = Machine(place)
    write_program(machine.bundle / "bin/mpirun", f": > {place}/hangs; sleep 60")
    process = subprocess.Popen(machine.command(1, "--out", place / "out"), env=machine.env,
                               cwd=place, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    while not (place / "hangs").exists():
        expect(process.poll() is None, "it runs until it is ended")
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    results = Results(place / "out", 1)
    expect(process.returncode == 3, said)
    expect(results.outcomes["two ranks start"] == "cut: the call was ended from outside", said)
    expect(results.outcomes["doctor"].startswith("passed"), said)


def each_call_has_its_minutes():
    for visit in (1, 2, 3):
        shares = listed(visit)
        expected = sum(share for name, share in shares.items() if name not in CONDITIONAL) / 2
        expect(300 < expected <= 9 * 60 - 20 - 45, f"call {visit}: {expected} s and ways to train")
    none = subprocess.run(["bash", str(ROOT / "tools/first_light.sh"), "1"], text=True,
                          env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=False)
    expect(none.returncode in (77,) and "no GPU" in none.stdout, none.stdout)
    wrong = subprocess.run(["bash", str(ROOT / "tools/first_light.sh"), "4"], text=True,
                           capture_output=True, check=False)
    expect(wrong.returncode == 2 and "write 1, 2 or 3" in wrong.stderr, wrong.stderr)


def main():
    for part in (every_line_passes, behind_a_failure_the_others_go_on_and_it_is_run_again,
                 a_line_that_hangs_is_cut, without_any_training_no_speed_is_tried,
                 a_call_that_is_ended_packs_what_it_has):
        with tempfile.TemporaryDirectory(prefix="first-light-") as place:
            part(pathlib.Path(place))
    each_call_has_its_minutes()
    print("every line has its outcome")


main()
