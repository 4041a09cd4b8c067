#!/usr/bin/env python3
"""Plans over several nodes: calibrate measures the links of ranks that believe to be on two hosts,
plan forecasts by them and by the profiles' own, counts the memory of each node's host, and job
scripts plan for the card of their node."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tomllib

from program import Program, advised_change, check, check_refused

TREE = pathlib.Path(__file__).resolve().parents[2]
# 175 billion parameters, as of GPT-3: 96 layers of width 12288.
LARGE = ("model.name=", "model.layers=96", "model.width=12288", "model.heads=96", "zero.stage=3",
         "data.sequence_length=2048", "zero.offload_optimizer.device=cpu")
TEN = str(TREE / "inputs/gpt2_10b.toml")


def forecast(program, *words, given=TEN):
    result = program.alone("plan", given, *words, "--json")
    check(result.out.startswith("{"), f"plans {words}", result)
    return json.loads(result.out)


def calibrate_measures_within_and_between_nodes(program):
    *launch, zeroapp = program.launch_line(4)
    line = [*launch, "-x", f"LD_PRELOAD={program.library}", zeroapp, "calibrate", "--out",
            "nodes.toml"]
    result = program.wait(program.popen(line, {"OMP_NUM_THREADS": "1"}), timeout=300)
    check("written: nodes.toml" in result.out, "is written", result)
    for words in ("within a node, sent by a rank", "between nodes, likewise"):
        check(words in result.out, f"prints {words}", result)
    figures = tomllib.loads((program.folder / "nodes.toml").read_text())
    check(figures["gpus_per_node"] == 2, "two ranks a node", result)
    check(figures["link_gb"] > 0 and figures["node_link_gb"] > 0, f"{figures}", result)


def plan_goes_by_the_links_of_a_file(program):
    text = (program.folder / "nodes.toml").read_text()
    slow = re.sub(r"(?m)^node_link_gb = .*$", "node_link_gb = 1e-4", text)
    program.write("slow.toml", slow)
    program.write("mute.toml", re.sub(r"(?m)^node_link_gb = .*\n", "", text))
    plans = [forecast(program, "--machine", name, "--ranks", "4", given="tiny.toml")
             for name in ("nodes.toml", "slow.toml")]
    seconds = [plan["forecast"]["step_seconds"] for plan in plans]
    check(seconds[1] > 10 * seconds[0], f"a slow link between nodes, a longer step: {seconds}")
    check(plans[0]["nodes"]["count"] == 2, f"on two nodes: {plans[0]['nodes']}")
    alone = [forecast(program, "--machine", name, "--ranks", "2", given="tiny.toml")
             for name in ("nodes.toml", "slow.toml")]
    check(alone[0]["forecast"]["step_seconds"] == alone[1]["forecast"]["step_seconds"],
          "one node needs no such link")
    check("nodes" not in alone[0], "and is not told of")
    warned = program.alone("plan", "tiny.toml", "--machine", "mute.toml", "--ranks", "4")
    check(warned.status == 0 and "says nothing of the link between nodes" in warned.err,
          "a file without it is a warning", warned)
    many = program.alone("plan", "tiny.toml", "--machine", "nodes.toml", "--ranks", "4",
                         "--ranks-per-node", "4")
    check_refused(many, 2, "--ranks-per-node: a node of", "has 2 GPUs for 4 ranks",
                  "or gpus_per_node = 4 there")
    program.write("unknown.toml", text.replace("gpus_per_node", "gpus_a_node"))
    refused = program.alone("plan", "tiny.toml", "--machine", "unknown.toml", "--ranks", "4")
    check_refused(refused, 2, "unknown.toml:", "gpus_a_node: unknown key")


def profiles_have_nodes(program):
    one, four = (forecast(program, "--machine", "v100_32g", "--ranks", ranks)
                 for ranks in ("8", "32"))
    check("nodes" not in one and four["nodes"] == dict(four["nodes"], count=4,
                                                       ranks_of_a_full_one=8), f"{four['nodes']}")
    sparse = forecast(program, "--machine", "v100_32g", "--ranks", "32", "--ranks-per-node", "4")
    check(sparse["nodes"]["count"] == 8, "as it is typed")
    told = program.alone("plan", TEN, "--machine", "v100_32g", "--ranks", "32")
    check("by the rates of v100_32g, 4 nodes of 8 ranks\n" in told.out, "says how many", told)
    one = forecast(program, "--machine", "rtx_3090_24g", "--ranks", "4", given="tiny.toml")
    four = ("plan", "tiny.toml", "--machine", "rtx_3090_24g", "--ranks", "4", "--ranks-per-node",
            "4")
    told = program.alone(*four)
    check(told.status == 0 and "a node of rtx_3090_24g has 1 GPU; planned for nodes of 4 as typed"
          in told.err, "what is typed holds, and is told", told)
    many = json.loads(program.alone(*four, "--json").out)
    check(one["nodes"]["count"] == 4 and "nodes" not in many, f"on one node: {many}")
    seconds = [plan["forecast"]["exposed_seconds"] for plan in (one, many)]
    check(seconds[1] < seconds[0], f"within it sums are faster: {seconds}")


def host_memory_is_counted(program):
    """On eight GPUs of which each node's host has 1.8 TB."""
    plan = ("plan", TEN, "--machine", "h100_80g", "--ranks", "8", *LARGE)
    refused = program.alone(*plan)
    check_refused(refused, 6, "of host memory a rank of 209.55 GiB (machine h100_80g, 1.64 TiB / 8 "
                  "ranks of the node) - cheapest change that fits: ")
    change = " ".join(advised_change(refused))
    (program.folder / "disk").mkdir()
    keys = [setting.split("=")[0] for setting in change.split()]
    kept = [word for word in plan if word.split("=")[0] not in keys]
    fitting = program.alone(*kept, *change.replace("FOLDER", "disk").split())
    check(fitting.status == 0, f"{change} fits", fitting)
    wide = program.alone(*plan, "memory.host_limit=4TiB")
    check(wide.status == 0, "a host that is said to be larger holds it", wide)
    two = program.alone("plan", TEN, "--machine", "h100_80g", "--ranks", "16", *LARGE)
    check(two.status == 0, "so do two nodes", two)


def job_goes_on_without_a_broken_node(script, tools, env):
    """Where a rank says that its card is broken, a new job leaves its node out, but not for ever.
    srun returns the status of the ranks that were killed, if that is higher; the job ends with
    12."""
    srun = tools / "srun"
    whole = srun.read_text()
    srun.write_text('#!/bin/sh\necho "step 3"\necho "zeroapp: error E1200 [rank 3 host n2.local '
                    'step 3] a card broke" >&2\nexit 137\n')
    for broken, excluded in (("", "n2"), ("n7,n8", "n7,n8,n2"), ("n6,n7,n8", None)):
        ran = subprocess.run(["bash", str(script), "run.steps=5"], capture_output=True, text=True,
                             env=dict(env, BROKEN_NODES=broken, SLURM_JOB_ID="7"), check=False)
        line = f"sbatch: --exclude={excluded} --nodes=4 jobscripts/slurm/{script.name} run.steps=5"
        check(ran.returncode == 12, f"{script.name}: status {ran.returncode}: {ran.stderr}")
        check("step 3\n" in ran.stdout and "a card broke" in ran.stderr, "the log has all of it")
        check((line in ran.stdout) == (excluded is not None) and
              ("sbatch" in ran.stdout) == (excluded is not None),
              f"{script.name} leaves {excluded} out: {ran.stdout}")
    run = pathlib.Path(env["SLURM_SUBMIT_DIR"]) / "runs/audited"
    run.mkdir(parents=True, exist_ok=True)
    (run / "error.json").write_text('{\n  "blames": "",\n}\n')
    ran = subprocess.run(["bash", str(script), "run.output=runs/audited"], capture_output=True,
                         text=True, env=dict(env, SLURM_JOB_ID="7"), check=False)
    check(ran.returncode == 12 and "sbatch" not in ran.stdout,
          f"no node is left out where an audit blames none: {ran.stdout}")
    broken = tools / "broken"
    broken.write_text("#!/bin/sh\nexit 12\n")
    broken.chmod(0o755)
    ran = subprocess.run(["bash", str(script)], env=dict(env, ZEROAPP=str(broken)), check=False,
                         capture_output=True, text=True)
    check(ran.returncode == 12 and "sbatch: --exclude=" in ran.stdout and "srun" not in ran.stdout,
          f"a node without a usable card: {ran.stdout}")
    srun.write_text("#!/bin/sh\nexit 85\n")
    ran = subprocess.run(["bash", str(script)], env=dict(env, SLURM_JOB_ID="7"), check=False,
                         capture_output=True, text=True)
    check("scontrol: requeue 7\n" in ran.stdout and ran.returncode == 85, f"85 waits: {ran.stdout}")
    srun.write_text(whole)


# What a launch prints, by its number, and its status: saved steps, the last line, the status.
LOST_PEER = """--------------------------------------------------------------------------
An MPI communication peer process has unexpectedly disconnected.  This
  Local host: n1
"""
LAUNCHES = """#!/bin/sh
echo . >> {count}
case $(wc -l < {count}) in
  1) exit 139 ;;
  2) echo "zeroapp 0.1: 4 ranks"; echo "saved step 5"; echo "{notice}" >&2
     echo "zeroapp: error E1000 [rank 0 host n1 step 7] no word from node n2" >&2; exit 137 ;;
  3) echo "zeroapp 0.1: 4 ranks"; echo "saved step {saved}"
     echo "zeroapp: error E0500 [rank 0 host n1 step 9] the disk is full" >&2; exit 5 ;;
  *) echo "placed: $*"; echo "zeroapp 0.1: 4 ranks"; echo "finished" ;;
esac
"""


def job_starts_again_while_it_gets_on(program, script, tools, env):
    """After a start that dies, a lost node and a full disk; not if the last launch saved no later
    step than the one before, and not more often than ZEROAPP_RESTARTS."""
    srun, count = tools / "srun", program.folder / "count"
    whole = srun.read_text()
    run = pathlib.Path(env["SLURM_SUBMIT_DIR"]) / "runs/broken"
    run.mkdir(parents=True, exist_ok=True)
    (run / "error.json").write_text('{\n  "blames": "n2.local",\n}\n')
    spare = {"ZEROAPP_SPARE_NODES": "1", "SLURM_JOB_NUM_NODES": "5", "SLURM_NTASKS": "20"}
    for saved, more, starts, status in ((9, spare, 4, 0), (5, {}, 3, 5),
                                        (9, {"ZEROAPP_RESTARTS": "1"}, 2, 10)):
        srun.write_text(LAUNCHES.format(count=count, notice=LOST_PEER, saved=saved))
        count.unlink(missing_ok=True)
        ran = subprocess.run(["bash", str(script), "run.output=runs/broken"], capture_output=True,
                             text=True, env=dict(env, SLURM_JOB_ID="7", **more), check=False)
        what = f"{script.name}, step {saved} saved, {more}: {ran.stdout} {ran.stderr}"
        begun = count.read_text().count(".")
        check(begun == starts and ran.returncode == status, f"{begun} starts, {ran.returncode}: "
              f"{what}")
        check("unexpectedly" not in ran.stderr and "Local host" not in ran.stderr,
              f"leaves out Open MPI's notice: {what}")
        if more is spare:
            check("placed: --mpi=pmix --wait=60 --nodes=4 --ntasks=16 --exclude=n2 " in ran.stdout,
                  f"leaves out the node at fault: {what}")
    srun.write_text(whole)


# A node is lost, and behind it the card of another breaks.
LOST_TWICE = """#!/bin/sh
echo . >> {count}
echo "zeroapp 0.1: 4 ranks"; echo "saved step 5"
case $(wc -l < {count}) in
  1) echo "zeroapp: error E1000 [rank 0 host n1 step 7] no word from node n2" >&2; exit 10 ;;
  *) echo "zeroapp: error E1200 [rank 3 host n3.local step 8] a card broke" >&2; exit 12 ;;
esac
"""


def job_keeps_its_spare_nodes(program, script, tools, env):
    """The next job has as many as this one; one without a node to train on is refused."""
    srun, count = tools / "srun", program.folder / "count"
    whole = srun.read_text()
    srun.write_text(LOST_TWICE.format(count=count))
    count.unlink(missing_ok=True)
    for spare, status, line in (("1", 12, "sbatch: --exclude=n3 --nodes=5 "),
                                ("5", 2, "ZEROAPP_SPARE_NODES=5: the job has 5 nodes, ")):
        ran = subprocess.run(["bash", str(script), "run.output=runs/broken"], capture_output=True,
                             text=True, check=False,
                             env=dict(env, SLURM_JOB_ID="7", SLURM_JOB_NUM_NODES="5",
                                      SLURM_NTASKS="20", ZEROAPP_SPARE_NODES=spare))
        said = ran.stdout + ran.stderr
        check(ran.returncode == status and line in said, f"{script.name}: {line}: {said}")
    srun.write_text(whole)


def job_scripts_take_the_card_of_their_node(program):
    """With a program that calls its card something, and a launcher that only tells."""
    tools = program.folder / "tools"
    tools.mkdir()
    told = ((name, f'echo "{name}: $*"') for name in ("srun", "sbatch", "scontrol"))
    for name, lines in (("zeroapp", 'case "$*" in "doctor --card") echo a100_80g ;; *) echo '
                         f'"plan: $*" ;; esac'), *told):
        (tools / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tools / name).chmod(0o755)
    job = program.folder / "job"
    for folder in ("inputs", "jobscripts"):
        shutil.copytree(TREE / folder, job / folder)
    (job / "data").mkdir()
    (job / "data/web.bin").touch()
    env = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", ZEROAPP=str(tools / "zeroapp"),
               SLURM_SUBMIT_DIR=str(job), SLURM_NTASKS="16", SLURM_JOB_NUM_NODES="4")
    # sbatch runs a copy of a script, from a folder of its own.
    (program.folder / "spool").mkdir()
    for original in sorted((TREE / "jobscripts/slurm").glob("*.sh")):
        script = pathlib.Path(shutil.copy(original, program.folder / "spool"))
        ran = subprocess.run(["bash", str(script), "run.steps=5"], env=env, capture_output=True,
                             text=True, check=False)
        said = ran.stdout + ran.stderr
        check("--ranks 16 --ranks-per-node 4 --machine a100_80g run.steps=5\n" in said,
              f"{script.name} plans for its node: {said}")
        check(re.search(r"srun: --mpi=pmix .*run\.steps=5\n", said), f"and starts: {said}")
        job_goes_on_without_a_broken_node(script, tools, env)
        job_starts_again_while_it_gets_on(program, script, tools, env)
        job_keeps_its_spare_nodes(program, script, tools, env)
    card = program.alone("doctor", "--card")
    check(card.status == 0 and card.out.strip(), "the program has a name for it", card)
    named = program.alone("plan", "tiny.toml", "--machine", card.out.strip())
    check(named.status == 0, "that plan knows", named)


def doctor_writes_the_lines_of_a_job(program):
    """With a signal that comes a minute, two steps and two saves before the end."""
    told = program.alone("doctor", "--slurm", TEN, "--nodes", "4", "--gpus", "8", "--machine",
                         "v100_32g")
    check(told.status == 0, "for the cards of another machine", told)
    lines = told.out.splitlines()
    for line in ("--nodes=4", "--ntasks-per-node=8", "--gpus-per-node=8", "--gpu-bind=none",
                 "--requeue"):
        check(f"#SBATCH {line}" in lines, f"has {line}", told)
    # Three fp32 numbers of 10 billion parameters, at 1.5 GB/s a node.
    save = 12 * 10.1e9 / 4 / 1.5e9
    warning = int(re.search(r"--signal=TERM@(\d+)", told.out).group(1))
    check(60 + 2 * save < warning < 90 + 2.2 * save, f"{warning} s before its end", told)
    check(re.search(r"--mem=\d+G\n", told.out), "memory", told)
    mine = program.alone("doctor", "--slurm", "tiny.toml", "--nodes", "2", "--gpus", "2")
    check(mine.status == 0 and "#SBATCH --cpus-per-task=1\n" in mine.out, "of this machine", mine)
    check_refused(program.alone("doctor", "--nodes", "2"), 2, "--slurm INPUT.toml")
    check_refused(program.alone("doctor", "--slurm", "tiny.toml"), 2, "--nodes M --gpus G")
    check_refused(program.alone("doctor", "--slurm", "tiny.toml", "--nodes", "2", "--gpus", "2",
                                "--json"), 2, "leave out --json")
    check_refused(program.alone("doctor", "--slurm", "tiny.toml", "--nodes", "2", "--gpus", "2",
                                "--scratch", "/tmp"), 2, "leave out --scratch")
    large = program.alone("doctor", "--slurm", TEN, "--nodes", "1", "--gpus", "1", "--machine",
                          "v100_32g")
    check_refused(large, 6, "cheapest change that fits: ")
    check(large.out == "", "no lines of a job that does not fit", large)


def main():
    program = Program()
    doctor_writes_the_lines_of_a_job(program)
    calibrate_measures_within_and_between_nodes(program)
    plan_goes_by_the_links_of_a_file(program)
    profiles_have_nodes(program)
    host_memory_is_counted(program)
    job_scripts_take_the_card_of_their_node(program)
    print("plans know their nodes")


main()
