#!/usr/bin/env python3
"""tools/gpu_check.sh on a GPU and programs that are only pretended: what becomes of a check, where
results go and of what they are, which tests compute-sanitizer sees, what tools/gpu_results.py makes
of speeds, what the campaign `gpu` lets pass; and the lines of tools/gpu_parts.txt hold every check
once, but for one, each within its minutes."""
import fnmatch
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
LIBRARIES = """
. tools/common.sh
. tools/gpu_checks.sh
place=$1
cuda_folders() { echo "$place/cuda13"; }
link_cuda_libraries "$place/bundle"
"""
# Suites of kernels that start no work on a device, and one whose products take too long there.
NOT_SANITIZED = {"AlgorithmCache", "AttentionBiasBlock", "AttentionBlock", "AttentionDropout",
                 "AttentionProblem", "ChunksOfColumns", "CopyOnHost", "DistanceBucket",
                 "DistanceRows", "EpilogueRules", "ExpF32", "ExpNear", "FastestWay",
                 "FillDiagonals", "FirstEqual", "GuessDecision", "HotTimes", "LaggedBlock",
                 "LogF32", "MadeOnce", "NormForward", "NormGrad", "NormGradShape", "NormalF32",
                 "ProductBlocks", "RelativeBucket", "RowChunks", "SumRowsAtOnce", "Tiles",
                 "TokenSegments", "TreeOf", "WeightPanels"}


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


def only_what_timeout_ended_is_cut():
    for code, seconds, words in ((0, 20, "passed in 20 s"), (1, 20, "FAILED with status 1"),
                                 (124, 20, "cut: "), (137, 35, "cut: "),
                                 (137, 3, "FAILED with status 137"), (77, 20, "not judged: ")):
        found = call("bash", "-ceu", f". tools/gpu_checks.sh\noutcome_of {code} {seconds} 20",
                     cwd=ROOT).stdout
        expect(found.startswith(words), f"{code} after {seconds} of 20 s: {found}")


def a_check_of_a_part_keeps_its_share():
    """--only alone gives all that is left: a hanging check would eat the time of a part."""
    for only, part, share, left, expected in (("", "", 100, 300, 100), ("x", "", 100, 300, 300),
                                              ("x", "3", 100, 300, 100), ("x", "3", 100, 60, 60),
                                              ("x", "3", 100, 40, 100)):
        settings = f"only={only} part={part}\n. tools/gpu_checks.sh\nshare_of {share} {left}"
        found = call("bash", "-ceu", settings, cwd=ROOT).stdout
        expect(found == f"{expected}\n", f"{only}, {part}, {share} of {left}: {found}")


def libraries_are_linked_where_programs_want_them(place):
    write_program(place / "bundle/programs/zeroapp", "libcublasLt.so.13")
    write_program(place / "cuda13/libcublasLt.so.13", "")
    found = call("bash", "-ceu", LIBRARIES, "-", place, cwd=ROOT)
    expect(found.returncode == 0, f"a build without NCCL wants none: {found.stdout}")
    linked = {path.name for path in (place / "bundle/cuda").iterdir()}
    expect(linked == {"libcublasLt.so.13"}, linked)
    write_program(place / "bundle/programs/comm_test", "libnccl.so.2")
    found = call("bash", "-ceu", LIBRARIES, "-", place, cwd=ROOT)
    expect(found.returncode == 2 and "no libnccl.so.2 in" in found.stdout, found.stdout)
    write_program(place / "cuda13/libnccl.so.2", "")
    found = call("bash", "-ceu", LIBRARIES, "-", place, cwd=ROOT)
    expect(found.returncode == 0 and (place / "bundle/cuda/libnccl.so.2").exists(), found.stdout)
    expect("no libcudnn.so.9" in found.stdout, found.stdout)
    for name in ("libcudnn.so.9", "libcudnn_ops.so.9"):
        write_program(place / "cuda13" / name, "")
    expect("no libnvrtc.so.13" in call("bash", "-ceu", LIBRARIES, "-", place, cwd=ROOT).stdout,
           "cuDNN without its compiler")
    for name in ("libnvrtc.so.13", "libnvrtc-builtins.so.13.0"):
        write_program(place / "cuda13" / name, "")
    found = call("bash", "-ceu", LIBRARIES, "-", place, cwd=ROOT)
    linked = {path.name for path in (place / "bundle/cuda").iterdir()}
    wanted = {path.name for path in (place / "cuda13").iterdir()}
    expect(found.stdout == "" and linked == wanted, f"{linked} {found.stdout}")


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def show_gpu(place, name):
    write_program(place / "bin/nvidia-smi",
                  f'case "$*" in *list*) echo GPU 0;; *) echo {name};; esac')


def tools_without_ssh(place):
    """A folder of this machine's tools but for those that reach others."""
    tools = place / "tools_without_ssh"
    tools.mkdir()
    for folder in ("/usr/local/bin", "/usr/bin", "/bin"):
        for tool in pathlib.Path(folder).iterdir():
            link = tools / tool.name
            if tool.name not in ("ssh", "rsh") and not link.is_symlink():
                link.symlink_to(tool)
    expect(shutil.which("ssh", path=str(tools)) is None, "a machine without ssh")
    return tools


def pretend(place):
    """A tree of the scripts with a build for GPUs, and tools that show a GPU and have no ssh."""
    tree = place / "tree"
    shutil.copytree(ROOT / "tools", tree / "tools")
    write_program(tree / "build/cuda-release/src/zeroapp", "echo zeroapp 0")
    show_gpu(place, "NVIDIA H200")
    return tree, {"PATH": f"{place / 'bin'}:{tools_without_ssh(place)}", "HOME": str(place)}


def speed(model, settings, rate, **more):
    return {"model": model, "settings": settings, "dtype": "bf16", "micro_batch": 16,
            "tokens_a_step": 262144, "tokens_per_s": rate, "mfu": 0.5, "exposed_ms": 2.0,
            "step_ms": 100.0,
            "device_bytes": {"planned": 1000, "allocated": 1000, "before": 500, "peak": 1520},
            **more}


# No run without offload: 2 % of the step is waiting.
BILLIONS = speed("gpt2_10b", [HOST], 1)
FEW_TOKENS = [speed(TEN, settings, rate, tokens_a_step=16384)
              for settings, rate in (([], 100), ([HOST], 58))]


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
    runs = [speed(TEN, ["a", HOST], 97), speed(TEN, ["a"], 1), speed(TEN, ["a"], 100), BILLIONS,
            *FEW_TOKENS]
    write_runs(out, runs)
    found = run_script(tree, env, "--out", out, "--only", "device memory|host optimizer")
    expect(found.returncode == 0 and "2 passed, 0 failed" in found.stdout, found.stdout)
    expect("0.970 of the same without offload (at least 0.95)" in found.stdout, found.stdout)
    path, = out.glob("nvidia-h200-*.json")
    written = json.loads(path.read_text())
    expect([run["tokens_per_s"] for run in written["runs"]] == [97, 100, 1, 100, 58],
           written)
    expect(written["machine"] == "NVIDIA H200" and written["offload"][0]["reached"], written)
    found = run_script(tree, env, "--only", "nothing")
    expect(found.returncode == 2 and "no check has such a name" in found.stdout, found.stdout)
    shutil.rmtree(tree / "perf")
    (tree / "perf").write_text("no folder")
    found = run_script(tree, env, "--only", "doctor")
    expect(found.returncode == 1 and "the same and all speeds" not in found.stdout, found.stdout)


def a_folder_is_of_one_gpu_and_one_build(place):
    tree, env = pretend(place)
    doctor = ("--out", place / "out", "--only", "doctor")
    for _ in range(2):
        expect(run_script(tree, env, *doctor).returncode == 0, "the same may go on")
    show_gpu(place, "NVIDIA H100")
    found = run_script(tree, env, *doctor)
    expect(found.returncode == 2 and "results of 'NVIDIA H200, zeroapp 0'" in found.stdout
           and "another folder with --out, or remove" in found.stdout, found.stdout)
    show_gpu(place, "NVIDIA H200")
    write_program(tree / "build/cuda-release/src/zeroapp", "echo zeroapp 1")
    found = run_script(tree, env, *doctor)
    expect(found.returncode == 2 and "would be of 'NVIDIA H200, zeroapp 1'" in found.stdout,
           found.stdout)
    expect(run_script(tree, env, "--out", place / "new", *doctor[2:]).returncode == 0, "another")


def shares_are_not_judged_on_another_gpu(place):
    tree, env = pretend(place)
    for gpu, words in (("H100", "promised of an H200 alone"), ("H200", "what it needs")):
        show_gpu(place, f"NVIDIA {gpu}")
        found = run_script(tree, env, "--out", place / gpu, "--only", "shares of the peak")
        expect(found.returncode == 0, found.stdout)
        results = (place / gpu / "results.tsv").read_text()
        expect(f"\tnot judged: {words}" in results, results)


def campaign():
    line, = (line for line in (ROOT / "tests/campaigns.txt").read_text().splitlines()
             if line.startswith("gpu |"))
    return line.split("|", 2)[2]


def the_campaign_passes_over_two_lines_alone(place):
    (place / "build/gpu-check").mkdir(parents=True)
    table = place / "build/gpu-check/results.tsv"
    fine = ("doctor\tpassed in 1 s", "disk\tnot run: less than 300 GB are free in /x",
            "shares\tnot judged: promised of an H200 alone")
    for more, status, code in (("", 0, 0), ("", 3, 3), ("", 1, 1), ("", 77, 77),
                               ("memcheck\tnot run: compute-sanitizer is not installed", 0, 1),
                               ("late\tnot run: it may take 9 s, and 1 s were left", 0, 1),
                               ("shares\tnot judged: what it needs was not measured", 0, 1)):
        write_program(place / "tools/gpu_check.sh", f"exit {status}")
        table.write_text("".join(f"{line}\n" for line in (*fine, more) if line))
        found = call("bash", "-o", "pipefail", "-ec", campaign(), cwd=place)
        expect(found.returncode == code, f"{more}, {status}: {found.returncode} {found.stdout}")
        expect(("SKIP" in found.stdout) == (code == 77), found.stdout)


def write_runs(place, runs):
    (place / "speed.jsonl").write_text("".join(f"{json.dumps(run)}\n" for run in runs))


def judged(place, subject, *runs, gpu="NVIDIA H200"):
    write_runs(place, runs)
    return call(sys.executable, ROOT / "tools/gpu_results.py", place, subject, gpu).returncode


def slow_offload_fails(place):
    plain, fine = speed(TEN, [], 100), speed(TEN, [HOST], 95)
    expect(judged(place, "offload", plain) == 77, "nothing is offloaded")
    expect(judged(place, "offload", plain, speed(TEN, [HOST], 94.9)) == 1, "0.949 is too little")
    expect(judged(place, "offload", plain, fine, *FEW_TOKENS) == 77, "ten billion have no run")
    expect(judged(place, "offload", BILLIONS) == 77, "their width has no run")
    expect(judged(place, "offload", plain, fine, BILLIONS) == 77, "16,384 tokens have no run")
    fine = [fine, *FEW_TOKENS]
    expect(judged(place, "offload", plain, *fine, BILLIONS) == 0, "0.95, 0.58 and 2 % of the step")
    slow = speed(TEN, [HOST], 57.9, tokens_a_step=16384)
    expect(judged(place, "offload", FEW_TOKENS[0], slow) == 1, "0.579 is too little")
    other = speed(TEN, [HOST], 50, micro_batch=8)
    expect(judged(place, "offload", plain, other, BILLIONS) == 77, "it has no reference")
    expect(judged(place, "offload", plain, *fine, {**BILLIONS, "dtype": "fp16"}) == 77, "no bf16")
    more = speed("gpt2-xl", [HOST], 1)
    expect(judged(place, "offload", plain, *fine, BILLIONS, more) == 0, "nothing is promised of it")
    expect(judged(place, "offload", {**BILLIONS, "exposed_ms": 6.0}) == 1, "6 % is too much")


def what_misses_its_bound_fails(place):
    plain = speed(TEN, [], 100)
    held = {"planned": 1000, "allocated": 1000, "before": 500, "peak": 1521}
    expect(judged(place, "memory", plain) == 0, "2 % more than the plan")
    expect(judged(place, "memory", plain, speed("gpt2", [], 1, device_bytes=held)) == 1, "2.1 %")
    held = {**held, "before": None, "peak": None}
    unknown = speed("gpt2", [], 1, device_bytes=held)
    expect(judged(place, "memory", unknown) == 77, "of a host")
    expect(judged(place, "memory", plain, unknown) == 77, "one of two")
    fast = [speed(model, [], 1, mfu=0.54, tokens_a_step=524288) for model in
            ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")] + [{**BILLIONS, "mfu": 0.5}]
    expect(judged(place, "speeds", *fast) == 0, "all are reached")
    expect(judged(place, "speeds", *fast[:4], {**BILLIONS, "mfu": 0.49}) == 1, "49 %")
    for some in (fast[1:], fast[:4]):
        expect(judged(place, "speeds", *some) == 77, "one has no run")
    expect(judged(place, "speeds", *fast, gpu="NVIDIA H100") == 77, "promised of an H200")
    slow = speed("gpt2-xl", [], 1, mfu=0.52, tokens_a_step=524288)
    expect(judged(place, "speeds", slow) == 1, "52 %")
    expect(judged(place, "speeds", slow, gpu="NVIDIA H100") == 77, "promised of an H200")


def kernel_tests():
    """Suites and the full names that --gtest_filter sees."""
    for path in (ROOT / "tests/kernels").rglob("*_test.cpp"):
        if path.parent.name == "host":
            continue
        found = re.findall(r"^(TYPED_)?TEST(?:_F)?\((\w+),\s*(\w+)\)", path.read_text(), re.M)
        for typed, suite, test in found:
            yield suite, f"{suite}/0.{test}" if typed else f"{suite}.{test}"


def sanitized_patterns():
    """The patterns of tests that each call takes, and of those that it leaves."""
    script = (ROOT / "tools/gpu_check.sh").read_text()
    parts = (ROOT / "tools/gpu_checks.sh").read_text()
    never, = re.findall(r"^not_of_devices='(.+)'", parts, re.M)
    calls = re.findall(r"""^ *check_memory "[^"]+" \d+((?:[\s\\]+'[^']+')+)$""", script, re.M)
    expect(len(calls) == len(re.findall(r"^ *check_memory \"", script, re.M)) > 5, calls)
    for taken, *left in (re.findall("'([^']+)'", call_of) for call_of in calls):
        yield taken.split(":"), ":".join([never, *left]).split(":")


def patterns_of_other_tools():
    """The patterns of racecheck and initcheck, which not every suite is for."""
    script = (ROOT / "tools/gpu_check.sh").read_text()
    calls = re.findall(r"""^check_(?:races|unwritten) [^']+'([^']+)'""", script, re.M)
    expect(len(calls) == 3, calls)
    return [pattern for taken in calls for pattern in taken.split(":")]


def is_among(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def suites_are_sanitized():
    """A filter that matches nothing passes, and so does a suite that no filter matches."""
    tests, calls = list(kernel_tests()), list(sanitized_patterns())
    suites = {suite for suite, _ in tests}
    taken_by_all = [pattern for taken, _ in calls for pattern in taken]
    for pattern in taken_by_all + patterns_of_other_tools():
        expect(any(is_among(name, [pattern]) for _, name in tests), f"{pattern} is no suite")
    seen = {suite for suite, name in tests for taken, left in calls
            if is_among(name, taken) and not is_among(name, left)}
    expect(suites - seen == NOT_SANITIZED,
           f"compute-sanitizer does not see {sorted(suites - seen - NOT_SANITIZED)}; no exception "
           f"is needed for {sorted(NOT_SANITIZED - (suites - seen))}")


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
    minutes = int(re.search(r"--minutes (\d+)", campaign())[1])
    seconds = (sum(shares.values()) + shares[left[0]]) / 2
    expect(seconds <= 60 * minutes, f"the campaign has {minutes} minutes for {seconds} s")
    refused = call("bash", ROOT / "tools/gpu_check.sh", "--part", "99")
    expect(refused.returncode == 2 and "gpu_parts.txt" in refused.stdout, refused.stdout)


def main():
    for part in (a_check_is_passed_failed_cut_or_not_run, results_go_where_they_are_wanted,
                 libraries_are_linked_where_programs_want_them, slow_offload_fails,
                 a_folder_is_of_one_gpu_and_one_build, shares_are_not_judged_on_another_gpu,
                 the_campaign_passes_over_two_lines_alone, what_misses_its_bound_fails):
        with tempfile.TemporaryDirectory(prefix="gpu-check-") as place:
            part(pathlib.Path(place))
    only_what_timeout_ended_is_cut()
    a_check_of_a_part_keeps_its_share()
    suites_are_sanitized()
    parts_hold_every_check()
    print("checks are told apart")


main()
