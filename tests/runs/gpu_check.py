#!/usr/bin/env python3
"""tools/gpu_check.sh on a GPU and programs that are only pretended: what becomes of a check, where
results go, which tests compute-sanitizer sees, what tools/gpu_results.py makes of speeds; and the
lines of tools/gpu_parts.txt hold every check once, but for one, each within its minutes."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOST, TEN = "zero.offload_optimizer.device=cpu", "16x4096x32"
CHECKS = """
. tools/common.sh
only= end=$((SECONDS + 60))
. tools/gpu_checks.sh
check good 20 true > /dev/null
[ "$(end_status)" = 0 ]
check endless 1 sleep 9 > /dev/null
[ "$(end_status)" = 3 ]
check unmeasured 20 sh -c 'exit 77' > /dev/null
check longer 99 true > /dev/null
[ "$(end_status)" = 3 ]
check bad 20 false > /dev/null
[ "$(end_status)" = 1 ]
only=good
check passed_over 20 true
only=
leave_out absent "no tool"
keep_results "$1"
"""


def expect(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def call(*words, **more):
    return subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **more)


def a_check_is_passed_failed_cut_or_not_run(place):
    found = call("bash", "-ceu", CHECKS, "-", place, cwd=ROOT)
    expect(found.returncode == 0, found.stdout)
    results = dict(line.split("\t") for line in (place / "results.tsv").read_text().splitlines())
    expected = {"good": "passed in ", "endless": "cut: ran out of its share of 1 s",
                "unmeasured": "not judged", "longer": "not run: it may take 99 s",
                "bad": "FAILED with status 1", "absent": "not run: no tool"}
    expect(results.keys() == expected.keys(), results)
    for name, words in expected.items():
        expect(results[name].startswith(words), f"{name}: {results[name]}")
    expect("1 passed, 1 failed, 1 cut, 3 not run" in found.stdout, found.stdout)


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def pretend(place):
    """A tree of the scripts with a build for GPUs, and a folder of tools that shows a GPU."""
    tree = place / "tree"
    shutil.copytree(ROOT / "tools", tree / "tools")
    write_program(tree / "build/cuda-release/src/zeroapp", "echo zeroapp 0")
    write_program(place / "bin/nvidia-smi",
                  'case "$*" in *list*) echo GPU 0;; *) echo NVIDIA H200;; esac')
    return tree, {"PATH": f"{place / 'bin'}:/usr/local/bin:/usr/bin:/bin", "HOME": str(place)}


def speed(model, settings, rate, **more):
    return {"model": model, "settings": settings, "dtype": "bf16", "micro_batch": 16,
            "tokens_a_step": 262144, "tokens_per_s": rate, "mfu": 0.5, "exposed_ms": 2.0,
            "step_ms": 100.0,
            "device_bytes": {"planned": 1000, "allocated": 1000, "before": 500, "peak": 1520},
            **more}


def run_script(tree, env, *words):
    return call("bash", tree / "tools/gpu_check.sh", *words, env=env, cwd=tree)


def results_go_where_they_are_wanted(place):
    tree, env = pretend(place)
    found = run_script(tree, env, "--only", "doctor")
    expect(found.returncode == 0 and "1 passed, 0 failed" in found.stdout, found.stdout)
    path, = (tree / "perf/results").glob("nvidia-h200-*.json")
    expect(json.loads(path.read_text())["checks"].keys() == {"doctor"}, path.read_text())

    out = place / "out"
    out.mkdir()
    runs = [speed(TEN, ["a", HOST], 97), speed(TEN, ["a"], 1), speed(TEN, ["a"], 100)]
    (out / "speed.jsonl").write_text("".join(f"{json.dumps(run)}\n" for run in runs))
    found = run_script(tree, env, "--out", out, "--only", "device memory|host optimizer")
    expect(found.returncode == 0 and "2 passed, 0 failed" in found.stdout, found.stdout)
    expect("0.970 of the same without offload (at least 0.95)" in found.stdout, found.stdout)
    path, = out.glob("nvidia-h200-*.json")
    written = json.loads(path.read_text())
    expect([run["tokens_per_s"] for run in written["runs"]] == [97, 100], written)
    expect(written["machine"] == "NVIDIA H200" and written["offload"][0]["reached"], written)
    found = run_script(tree, env, "--only", "nothing")
    expect(found.returncode == 2 and "no check has such a name" in found.stdout, found.stdout)


def judged(place, subject, *runs, gpu="NVIDIA H200"):
    (place / "speed.jsonl").write_text("".join(f"{json.dumps(run)}\n" for run in runs))
    return call(sys.executable, ROOT / "tools/gpu_results.py", place, subject, gpu).returncode


def what_misses_its_bound_fails(place):
    plain = speed(TEN, [], 100)
    expect(judged(place, "offload", plain) == 77, "nothing is offloaded")
    expect(judged(place, "offload", plain, speed(TEN, [HOST], 94.9)) == 1, "0.949 is too little")
    other = speed(TEN, [HOST], 50, micro_batch=8, exposed_ms=4.0)
    expect(judged(place, "offload", plain, other) == 0, "no reference: 4 % of the step is waiting")
    expect(judged(place, "offload", speed("gpt2_10b", [HOST], 1, exposed_ms=6.0)) == 1, "6 % is")
    expect(judged(place, "offload", speed("gpt2-xl", [HOST], 1)) == 77, "promised of ten billion")
    held = {"planned": 1000, "allocated": 1000, "before": 500, "peak": 1521}
    expect(judged(place, "memory", plain) == 0, "2 % more than the plan")
    expect(judged(place, "memory", plain, speed("gpt2", [], 1, device_bytes=held)) == 1, "2.1 %")
    held = {**held, "before": None, "peak": None}
    expect(judged(place, "memory", speed("gpt2", [], 1, device_bytes=held)) == 77, "of a host")
    expect(judged(place, "speeds", speed("gpt2", [], 1, mfu=0.42)) == 0, "42 %")
    slow = speed("gpt2-xl", [], 1, mfu=0.51)
    expect(judged(place, "speeds", slow) == 1, "51 %")
    expect(judged(place, "speeds", slow, gpu="NVIDIA H100") == 77, "promised of an H200")


def sanitized_suites_exist():
    """A filter that matches nothing passes."""
    script = (ROOT / "tools/gpu_check.sh").read_text()
    calls = re.findall(r'^  ?check_memory "[^"]+" \d+ (?:\\\n +)?\'([^\']+)\'|'
                       r'^check_memory "[^"]+" \d+ (?:\\\n +)?\'([^\']+)\'', script, re.M)
    expect(len(calls) == len(re.findall(r"^ *check_memory \"", script, re.M)) > 5, calls)
    tests = "".join(path.read_text() for path in (ROOT / "tests/kernels").rglob("*_test.cpp"))
    suites = set(re.findall(r"^(?:TYPED_)?TEST(?:_F)?\((\w+),", tests, re.M))
    for name in ":".join(map("".join, calls)).split(":"):
        stem = name.rstrip("*").rstrip("/")
        expect(any(suite.startswith(stem) for suite in suites), f"{name} is no suite")


def listed(*words):
    lines = call("bash", ROOT / "tools/gpu_check.sh", "--list", *words).stdout.splitlines()
    shares = {name: int(share) for share, name in (line.split(" ", 1) for line in lines)}
    expect(len(lines) == len(shares), f"names are unique: {lines}")
    return shares


def parts_hold_every_check():
    shares = listed()
    expect(len(shares) > 50, shares)
    held = []
    parts = (ROOT / "tools/gpu_parts.txt").read_text().splitlines()
    for pattern in parts:
        names = [name for name in shares if re.search(pattern, name)]
        seconds = sum(shares[name] for name in names) / 2
        expect(0 < seconds <= 540, f"{pattern}: {seconds} s")
        held += names
    left = [name for name in shares if held.count(name) != 1]
    expect(len(left) == 1 and "44x6144x48" in left[0], f"each is in one part: {left}")
    expect(listed("--part", "3").keys() == listed("--only", parts[2]).keys(), "the third part")
    refused = call("bash", ROOT / "tools/gpu_check.sh", "--part", "99")
    expect(refused.returncode == 2 and "gpu_parts.txt" in refused.stdout, refused.stdout)


def main():
    for part in (a_check_is_passed_failed_cut_or_not_run, results_go_where_they_are_wanted,
                 what_misses_its_bound_fails):
        with tempfile.TemporaryDirectory(prefix="gpu-check-") as place:
            part(pathlib.Path(place))
    sanitized_suites_exist()
    parts_hold_every_check()
    print("checks are told apart")


main()
