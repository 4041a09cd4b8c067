#!/usr/bin/env python3
"""zeroapp calibrate: what it measures, for plan --machine and run.machine; the files that both
refuse; and that a run chooses by the rates that its plan is told."""
import json
import re
import time
import tomllib

from program import Program, check, check_refused

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
    kinds = figures.get("kinds", {})
    check(set(kinds) == set(figures.get("steps", {})) & {"fp32", "bf16", "fp16"} and
          all({"linear", "rmsnorm", "gelu"} <= set(shares) for shares in kinds.values()),
          f"shares of kinds of op for each type: {kinds}", result)
    for words in ("products, fp32", "GFLOP/s", "memory, triad", "median of", "disk, read"):
        check(words in result.out, f"prints {words}", result)
    steps = re.findall(r"a step, \w+ .* median of (\d)", result.out)
    check(steps and set(steps) <= {"3", "5"}, f"three steps, or five: {steps}", result)
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


def a_key_names_the_file_too(program):
    """With the rates of the file, but the limit and the threads of this host."""
    def forecast(*words):
        result = program.alone("plan", "tiny.toml", *words, "--ranks", "2", "--json")
        check(result.status == 0, f"plans {words}", result)
        plan = json.loads(result.out)
        return plan["forecast"], plan["limit_source"], result
    asked, _, _ = forecast("--machine", "slow.toml")
    named, limit, result = forecast("run.machine=slow.toml")
    check(named == asked and named["machine"] == "slow.toml", f"{named} is {asked}", result)
    check("slow.toml" not in limit, f"the limit is this host's, not of {limit}", result)
    for words, machine in (((), "host"), (("--machine", "two.toml"), "two.toml"),
                           (("--machine", "host"), "host")):
        other, _, result = forecast("run.machine=slow.toml" if words else "run.machine=", *words)
        check(other["machine"] == machine and other != named, f"{words}: {other}", result)
    told = program.alone("plan", "tiny.toml", "run.machine=slow.toml", "--ranks", "2")
    check("TFLOP, by the rates of slow.toml\n" in told.out, "says whose rates", told)


def machine_text(disk):
    """The file of two ranks, whose steps take their time at the disk or not."""
    return ("ranks = 2\nthreads = 1\ndevice_bytes = 8000000000\n[products]\nfp32 = 1e10\n"
            "[memory]\nstream = 1e10\n[collectives]\nall_gather = 1e9\nreduce_scatter = 1e9\n"
            f"[disk]\nread = {disk}\nwrite = {disk}\nmixed = {disk}\n")


def a_run_chooses_by_the_rates_that_its_plan_is_told(program):
    """More buffers for a disk that takes as long as compute than for one that takes no time."""
    (program.folder / "states").mkdir()
    settings = ("model.layers=10", "zero.stage=1", "zero.offload_optimizer.device=nvme",
                "zero.offload_optimizer.nvme_path=states")
    chosen, bits = {}, {}
    for name, disk in (("fast.toml", "1e12"), ("even.toml", "EVEN")):
        if disk == "EVEN":
            disk = even_disk(program, settings)
        program.write(name, machine_text(disk))
        words = (*settings, f"run.machine={name}")
        result = program.train(2, *words)
        check(result.finished(), f"trains by {name}", result)
        check("was measured on" not in result.err, "without a warning of other ranks", result)
        check(f"rates       of {name}, by which" in result.out, "says by whose rates", result)
        written = (program.folder / "runs/tiny/effective.toml").read_text()
        check(f'machine = "{name}"' in written, f"effective.toml names {name}: {written}", result)
        planned = program.alone("plan", "tiny.toml", *words, "--ranks", "2")
        chosen[name], plans = (re.search(r'buffer_count = "auto" is (\d+)', out)[1]
                               for out in (result.out, planned.out))
        check(chosen[name] == plans, f"{chosen[name]} buffers by {name}, {plans} by plan", planned)
        bits[name] = [line["loss_hex"] for line in result.metrics]
    check(int(chosen["even.toml"]) > int(chosen["fast.toml"]), f"by other rates others: {chosen}")
    check(bits["even.toml"] == bits["fast.toml"], "at the same bits")


def even_disk(program, settings):
    """The rate of a disk that is as busy as compute, in both directions together."""
    result = program.alone("plan", "tiny.toml", *settings, "run.machine=fast.toml", "--ranks", "2",
                           "--json")
    plan = json.loads(result.out)
    moved = plan["disk"]["read_bytes"] + plan["disk"]["written_bytes"]
    return f"{moved / plan['forecast']['step_seconds']:.3e}"


def other_files_on_other_ranks_are_refused(program):
    """Each rank starts in a folder of its own, which has a file of that name."""
    ranks = []
    for rank, disk in enumerate(("1e9", "2e9")):
        folder = program.folder / f"of{rank}"
        folder.mkdir()
        for name in ("tiny.toml", "text.txt"):
            (folder / name).write_bytes((program.folder / name).read_bytes())
        (folder / "own.toml").write_text(machine_text(disk))
        ranks.append((folder, [str(program.zeroapp), "tiny.toml", "run.machine=own.toml"]))
    check_refused(program.wait(program.apart(*ranks)), 8,
                  "run.machine: own.toml differs between rank 0 and rank 1")


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


def a_damaged_file_is_refused(program):
    program.write("bad.toml", "ranks = 1\nthreads = 1\n[memory]\nstream = 1e9\nstreem = 2\n")
    for name, said in (("bad.toml", "bad.toml:5: memory.streem: unknown key"),
                       ("absent.toml", "No such file"), ("abacus", "known are host")):
        option = program.alone("plan", "tiny.toml", "--machine", name)
        key = [program.alone("plan", "tiny.toml", f"run.machine={name}"),
               program.train(1, f"run.machine={name}")]
        for result in (option, *key):
            check(result.status == 2 and len(result.error_lines()) == 1, f"2 for {name}", result)
            check(said in result.err, f"says {said}", result)
        check_refused(option, 2, f"--machine {name}:")
        for result in key:
            check_refused(result, 2, f"command line: run.machine: {name}:")


def main():
    program = Program()
    seconds = two_ranks_measure_everything(program)
    plan_forecasts_with_the_file(program)
    a_key_names_the_file_too(program)
    a_run_chooses_by_the_rates_that_its_plan_is_told(program)
    other_files_on_other_ranks_are_refused(program)
    what_is_wrong_is_refused_before_it_measures(program)
    a_damaged_file_is_refused(program)
    print(f"measured in {seconds:.0f} s; plan and runs read what was measured")


if __name__ == "__main__":
    main()
