#!/usr/bin/env python3
"""zeroapp calibrate: what it measures, for plan --machine; and the files that plan refuses."""
import json
import time
import tomllib

from program import Program, check

# Without what a busy machine, or one that lacks a type, may be too slow for: steps, 16 bits.
SECTIONS = {"products": {"fp32"}, "memory": {"stream"}, "copies": {"h2d", "d2h"},
            "collectives": {"all_gather", "reduce_scatter", "latency"},
            "disk": {"path", "read", "write", "mixed"}}


def on_ranks(program, ranks, *words):
    *launch, zeroapp = program.launch_line(ranks)
    return program.wait(program.popen([*launch, zeroapp, *words], {"OMP_NUM_THREADS": "1"}))


def two_ranks_measure_everything(program):
    (program.folder / "disk").mkdir()
    start = time.monotonic()
    result = on_ranks(program, 2, "calibrate", "--nvme", "disk", "--out", "two.toml")
    seconds = time.monotonic() - start
    check(not result.error_lines() and "written: two.toml" in result.out, "says so", result)
    check(seconds < 60, f"takes {seconds:.0f} s", result)
    figures = tomllib.loads((program.folder / "two.toml").read_text())
    check(figures["ranks"] == 2 and figures["threads"] == 1, "2 ranks x 1 thread", result)
    for section, keys in SECTIONS.items():
        found = figures.get(section, {})
        check(keys <= set(found), f"[{section}] {found}", result)
        rates = [value for value in found.values() if not isinstance(value, str)]
        check(all(rate > 0 for rate in rates), f"rates of {section} above 0", result)
    for words in ("products, fp32", "GFLOP/s", "memory, triad", "median of", "disk, read"):
        check(words in result.out, f"prints {words}", result)
    check(not list((program.folder / "disk").iterdir()), "leaves nothing on the disk", result)
    return seconds


def plan_forecasts_with_the_file(program):
    def forecast(*words):
        result = program.alone("plan", "tiny.toml", *words, "--json")
        check(result.status == 0, "plans", result)
        return json.loads(result.out), result
    measured, result = forecast("--machine", "two.toml", "--ranks", "2")
    check(not result.err, "without a warning", result)
    check(measured["limit_source"] == "machine two.toml", "the limit is the file's", result)
    text = (program.folder / "two.toml").read_text()
    slow = [line if not line.startswith("stream") else "stream = 1e6" for line in text.splitlines()]
    program.write("slow.toml", "\n".join(slow))
    slower, _ = forecast("--machine", "slow.toml", "--ranks", "2")
    check(slower["forecast"]["step_seconds"] > 10 * measured["forecast"]["step_seconds"],
          "a slower memory, a longer step", result)
    _, other = forecast("--machine", "two.toml", "--ranks", "4")
    check("was measured on 2 ranks" in other.err, "warns of another number of ranks", other)


def what_is_wrong_is_refused_before_it_measures(program):
    before = (program.folder / "two.toml").read_text()
    for words, said in ((("--out", "two.toml"), "exists and is not overwritten"),
                        (("--out", "absent/m.toml"), "no file can be made in absent"),
                        (("--nvme", "absent", "--out", "new.toml"), "there is no such folder"),
                        (("--nvme", "", "--out", "new.toml"), "nvme_path is \"\""),
                        (("--nvme", "text.txt", "--out", "new.toml"), "is no folder")):
        result = program.alone("calibrate", *words)
        check(result.status == 2 and len(result.error_lines()) == 1, f"2 for {words}", result)
        check(said in result.err, f"says {said}", result)
    check((program.folder / "two.toml").read_text() == before, "the file is as it was")
    check(not (program.folder / "new.toml").exists(), "no new one either")


def plan_refuses_a_damaged_file(program):
    program.write("bad.toml", "ranks = 1\nthreads = 1\n[memory]\nstream = 1e9\nstreem = 2\n")
    for name, said in (("bad.toml", "bad.toml:5: memory.streem: unknown key"),
                       ("absent.toml", "No such file"), ("abacus", "known are host")):
        result = program.alone("plan", "tiny.toml", "--machine", name)
        check(result.status == 2 and len(result.error_lines()) == 1, f"2 for {name}", result)
        check(said in result.err, f"says {said}", result)


def main():
    program = Program()
    seconds = two_ranks_measure_everything(program)
    plan_forecasts_with_the_file(program)
    what_is_wrong_is_refused_before_it_measures(program)
    plan_refuses_a_damaged_file(program)
    print(f"measured in {seconds:.0f} s; plan reads what was measured")


main()
