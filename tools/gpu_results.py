#!/usr/bin/env python3
"""What tools/gpu_check.sh has left in a folder, judged, or written as one file of perf/results.

usage: gpu_results.py FOLDER memory|offload|speeds [GPU]
       gpu_results.py FOLDER write TO GPU VERSION

memory: the most bytes in use of the device are within what was in use before the arenas and 1.02 of
the plan. offload: the speed with the optimizer's states on the host is 0.95 of the same run without
offload (same model, micro-batch, tokens a step and recompute) at 262,144 tokens a step and 0.58 at
16,384, and what 10 billion parameters wait is 0.05 of a step: they have no run without offload on
one GPU, and so no other reference than a model of their width with fewer layers. speeds: shares of
989 TFLOP/s, which are promised of an H200 and judged there alone. Ends with 1 where a bound is
missed, else with 77 where nothing was judged or something promised was not measured.
"""
import datetime
import json
import pathlib
import re
import sys

MIB = 1 << 20
ON_HOST = "zero.offload_optimizer.device=cpu"
TEN_BILLION, ITS_WIDTH = "gpt2_10b", "16x4096x32"
MANY_TOKENS, FEW_TOKENS = 262144, 16384
# (model, tokens a step) -> least share of the speed without offload
RATIOS = {(TEN_BILLION, MANY_TOKENS): 0.95, (ITS_WIDTH, MANY_TOKENS): 0.95,
          (ITS_WIDTH, FEW_TOKENS): 0.58}
# What is known to lie beside the plan's arenas: kernels/vendor/cuda/lt_algorithms.hpp.
WORKSPACE = 32 * MIB
TOKENS = 524288
# (model, with its optimizer's states on the host, tokens a step) -> least share of the peak
GOALS = {("gpt2", False, TOKENS): 0.45, ("gpt2-medium", False, TOKENS): 0.485,
         ("gpt2-large", False, TOKENS): 0.51, ("gpt2-xl", False, TOKENS): 0.53,
         (TEN_BILLION, True, MANY_TOKENS): 0.50}
KNOWN_BY = ("model", "settings", "dtype", "micro_batch", "tokens_a_step")


def read_lines(path):
    return [json.loads(line) for line in path.open()] if path.exists() else []


def read_runs(folder):
    """The last line of a run that was measured again."""
    lines = read_lines(folder / "speed.jsonl")
    return list({str([line[key] for key in KNOWN_BY]): line for line in lines}.values())


def name_of(run):
    return (f"{run['model']} {run['dtype']}, {run['tokens_a_step']} tokens a step, micro-batch "
            f"{run['micro_batch']} {' '.join(run['settings'])}").rstrip()


def is_on_host(run):
    return ON_HOST in run["settings"]


def memory_rows(runs):
    for run in runs:
        held = run["device_bytes"]
        if held["before"] is None or held["peak"] is None:
            yield {"what": name_of(run), **held, "missing": True}
            continue
        more = held["peak"] - held["before"] - held["planned"]
        allowed = held["planned"] // 50
        yield {"what": name_of(run), **held, "more": more, "allowed": allowed,
               "reached": more <= allowed}


def memory_text(row):
    if "missing" in row:
        return f"{row['what']}: not judged: it did not say how much was in use"
    return (f"{row['what']}: peak {row['peak'] / MIB:.0f} MiB = {row['before'] / MIB:.0f} before "
            f"the arenas + {row['planned'] / MIB:.0f} planned + {row['more'] / MIB:.0f} of at most "
            f"{row['allowed'] / MIB:.0f} more, {WORKSPACE // MIB} of these for products of "
            "each stream, the rest code, graphs and staging of libraries")


def reference_of(run, runs):
    """The same run but for the home of the optimizer's states."""
    without = [setting for setting in run["settings"] if setting != ON_HOST]
    same = [other for other in runs if other["settings"] == without
            and all(other[key] == run[key] for key in KNOWN_BY if key != "settings")]
    return same[0] if same else None


def offload_ratio(run, reference):
    """The ratio, None where it is unknown, and what it is of."""
    if reference:
        return run["tokens_per_s"] / reference["tokens_per_s"], "of the same without offload"
    if run["model"] == TEN_BILLION:
        return (1 - run["exposed_ms"] / run["step_ms"],
                "of a step not waiting for transfers; without offload it has no run")
    return None, "the same without offload has no run"


def least_ratio(run):
    """None where nothing is promised of it."""
    return RATIOS.get((run["model"], run["tokens_a_step"]))


def offload_row(run, reference):
    ratio, beside = offload_ratio(run, reference)
    row = {"what": name_of(run), "ratio": ratio, "beside": beside,
           "exposed_ms": run["exposed_ms"], "step_ms": run["step_ms"]}
    least = least_ratio(run)
    if least is None:
        return row
    row["least"] = least
    return {**row, "missing": True} if ratio is None else {**row, "reached": ratio >= least}


def offload_rows(runs):
    offloaded = [run for run in runs if is_on_host(run)]
    measured = {(run["model"], run["tokens_a_step"]) for run in offloaded
                if run["dtype"] == "bf16"}
    return [*(offload_row(run, reference_of(run, runs)) for run in offloaded),
            *({"what": f"{model} bf16, {tokens} tokens a step, {ON_HOST}", "ratio": None,
               "beside": "no run", "missing": True}
              for model, tokens in RATIOS if (model, tokens) not in measured)]


def offload_text(row):
    if row["ratio"] is None:
        return f"{row['what']}: not judged: {row['beside']}"
    least = f" (at least {row['least']})" if "reached" in row else ""
    return (f"{row['what']}: {row['ratio']:.3f} {row['beside']}{least}; {row['exposed_ms']:.1f} ms "
            f"exposed of {row['step_ms']:.1f}")


def speed_rows(runs):
    for (model, on_host, tokens), least in GOALS.items():
        taken = [run for run in runs if run["model"] == model and run["dtype"] == "bf16"
                 and is_on_host(run) == on_host and run["tokens_a_step"] == tokens]
        best = max(taken, key=lambda run: run["mfu"], default=None)
        if best:
            yield {"what": name_of(best), "mfu": best["mfu"], "least": least,
                   "reached": best["mfu"] >= least}
        else:
            yield {"what": f"{model} bf16, {tokens} tokens a step "
                           f"{ON_HOST if on_host else ''}".rstrip(),
                   "mfu": None, "least": least, "missing": True}


def speed_text(row):
    least = f"(at least {100 * row['least']:.0f})"
    if row["mfu"] is None:
        return f"{row['what']}: not judged: no run {least}"
    return f"{row['what']}: {100 * row['mfu']:.1f} % of the peak {least}"


ROWS = {"memory": (memory_rows, memory_text), "offload": (offload_rows, offload_text),
        "speeds": (speed_rows, speed_text)}


def judge(folder, subject, gpu):
    make, tell = ROWS[subject]
    rows = list(make(read_runs(folder)))
    is_judged = subject != "speeds" or "H200" in gpu
    for row in rows:
        missed = is_judged and row.get("reached") is False
        print("MISSED " if missed else "", tell(row), sep="")
    judged = [row["reached"] for row in rows if is_judged and "reached" in row]
    if not all(judged):
        return 1
    if not judged or any("missing" in row for row in rows):
        print(f"{subject}: not all was measured that a bound is promised of")
        return 77
    return 0


def write(folder, to, gpu, version):
    day = datetime.date.today().isoformat()
    checks = dict(line.rstrip("\n").split("\t") for line in (folder / "results.tsv").open())
    rates, products = folder / "machine.toml", folder / "products.json"
    runs = read_runs(folder)
    found = {"machine": gpu, "date": day, "version": version, "checks": checks,
             "calibrated": rates.read_text() if rates.exists() else None,
             "rates": read_lines(folder / "rates.jsonl"),
             "torch_rates": read_lines(folder / "torch_rates.jsonl"),
             "torch_runs": read_lines(folder / "torch_speed.jsonl"),
             "products": json.loads(products.read_text()) if products.exists() else [],
             "runs_note": "the median of steps behind the first quarter, and at least behind two",
             "runs": [{"what": name_of(run), **run} for run in runs],
             **{subject: list(make(runs)) for subject, (make, _) in ROWS.items()}}
    to.mkdir(parents=True, exist_ok=True)
    path = to / f"{re.sub('[^a-z0-9]+', '-', gpu.lower())}-{day}.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(path)


def main():
    folder, what = pathlib.Path(sys.argv[1]), sys.argv[2]
    if what == "write":
        write(folder, pathlib.Path(sys.argv[3]), *sys.argv[4:6])
        return 0
    return judge(folder, what, " ".join(sys.argv[3:4]))


if __name__ == "__main__":
    sys.exit(main())
