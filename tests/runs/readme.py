#!/usr/bin/env python3
"""The commands of README.md and of the pages under doc/, in a tree as the quick start leaves one.

A line of a ```sh block is a command: a shell of its own runs it, and it ends with status 0 or with
the one that "# status N" behind it says. <!-- cluster -->, <!-- gpu --> or <!-- long --> above a
block keeps it from being run here. A block of output under <!-- printed --> is what the commands
before it print, line for line; "..." stands for lines left out.
"""
import pathlib
import re
import shutil
import subprocess

from calibrate import machine_text
from program import Program, check

TREE = pathlib.Path(__file__).resolve().parents[2]
# Copies, not links: tools/clean.sh removes what lies beside the tools.
COPIED = ("inputs", "tools", "tests/fixtures/deepspeed")
NOT_RUN_HERE = ("cluster", "gpu", "long")
# What else runs a long command: a name of tests/campaigns.txt.
CAMPAIGN_OF = {
    "tools/quickstart.sh": "quick_start",
    "tools/test.sh": "fresh",
    "tools/setup.sh": "fresh",
    "tools/data/verse_pairs.py data/verses --pieces 2000": "t5_mini",
    "mpirun --mca odls_base_sigkill_timeout 2 -np 2 ./zeroapp inputs/t5_mini.toml": "t5_mini",
    "tools/data/verse_order.py data/verse_order --pieces 2000": "deberta_mini",
    "mpirun --mca odls_base_sigkill_timeout 2 -np 2 ./zeroapp inputs/deberta_mini.toml":
        "deberta_mini",
    "cmake --build build/host-release --target zeroapp": "fresh",
    "git pull": None,  # needs a place to pull from
}
# It measures for some seconds, which runs.calibrate shows. Here its file is there before, so that
# it is refused when it has read its words.
MEASURES, MEASURED = "mpirun -np 2 ./zeroapp calibrate --out runs/machine.toml", "runs/machine.toml"
FENCE, SHELL = "```", "sh"
# An indented block is a picture or a table; a command there would escape from being run.
LOOKS_LIKE_COMMAND = re.compile(r" {4}(\./zeroapp|mpirun|srun|sbatch|cmake|git|tools/\S+\.sh)\b")


class Block:
    """What stands between two fences: where, its language, the mark above it, its lines."""

    def __init__(self, where, language, mark):
        self.where, self.language, self.mark, self.lines = where, language, mark, []

    def commands(self):
        """Pairs (command, expected status)."""
        text = "\n".join(self.lines).replace("\\\n", " ")
        for command in text.splitlines():
            status = re.search(r"# status (\d+)", command)
            yield command.split("  #")[0].strip(), int(status[1]) if status else 0


def pages():
    """README.md first, then as it names them: what one leaves is there for the next."""
    readme = (TREE / "README.md").read_text()
    return [TREE / "README.md",
            *sorted((TREE / "doc").glob("*.md"), key=lambda page: readme.find(f"doc/{page.name}"))]


def fenced_blocks(page):
    name, lines = page.relative_to(TREE), page.read_text().splitlines()
    found, block = [], None
    for number, line in enumerate(lines, 1):
        if not line.startswith(FENCE):
            if block:
                block.lines.append(line)
            continue
        if block:
            found.append(block)
            block = None
        else:
            mark = re.match(r"<!-- (\w+) -->$", lines[number - 2])
            block = Block(f"{name}:{number}", line[len(FENCE):], mark[1] if mark else "")
    check(block is None, f"every fence of {name} is closed")
    return found


def every_long_command_is_run_elsewhere(blocks):
    campaigns = {line.split("|")[0].strip()
                 for line in (TREE / "tests/campaigns.txt").read_text().splitlines()}
    for block in blocks:
        for command, _ in block.commands() if block.mark == "long" else ():
            where = f"{block.where}: {command}"
            check(command in CAMPAIGN_OF, f"{where}: who runs it? Add it to CAMPAIGN_OF")
            campaign = CAMPAIGN_OF[command]
            check(campaign is None or campaign in campaigns, f"{where}: no campaign {campaign}")


def no_command_hides(page):
    for number, line in enumerate(page.read_text().splitlines(), 1):
        where = f"{page.relative_to(TREE)}:{number}"
        check(not LOOKS_LIKE_COMMAND.match(line), f"{where}: a command outside of ```sh")


def tree_after_quick_start(program):
    for name in COPIED:
        shutil.copytree(TREE / name, program.folder / name)
    (program.folder / "zeroapp").symlink_to(program.zeroapp)
    (program.folder / "data").mkdir()
    verse = "".join(f"In the beginning {i} and {i} were {i + i}.\n" for i in range(1500))
    for name in ("data/web.txt", "my.txt"):
        program.write(name, verse)
    launcher = program.folder / "bin/mpirun"
    launcher.parent.mkdir()
    real = shutil.which(program.mpiexec)
    launcher.write_text(f'#!/bin/sh\nexec "{real}" --oversubscribe --bind-to none "$@"\n')
    launcher.chmod(0o755)
    program.env["PATH"] = f"{launcher.parent}:{program.env['PATH']}"
    shell(program, "mpirun -np 2 ./zeroapp inputs/gpt2_nano.toml run.steps=5")


def shell(program, command, expected=0, where="the quick start"):
    """What the command prints."""
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=program.folder,
                          env=program.env, text=True, errors="replace", timeout=120, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    # The launcher returns 1 after about one clean run in 400; the program's own word counts.
    finished = "finished step " in done.stdout and "zeroapp: error" not in done.stdout
    slip = done.returncode == 1 and expected == 0 and finished
    check(done.returncode == expected or slip,
          f"{where}: {command}: status {done.returncode}, not {expected}\n{done.stdout}")
    return done.stdout


def is_printed(block, output):
    printed = [line.strip() for line in output.splitlines()]
    for line in block.lines:
        check(line.strip() in (*printed, "..."),
              f"{block.where}: not printed: {line}\n{output}")


def run_all(program, blocks):
    count, output = 0, ""
    for block in blocks:
        if block.mark == "printed":
            is_printed(block, output)
        if block.language != SHELL or block.mark in NOT_RUN_HERE:
            continue
        output = ""
        for command, status in block.commands():
            if command == MEASURES:
                output += measures_nothing_anew(program, block.where)
            else:
                output += shell(program, command, status, block.where)
            count += 1
    return count


def measures_nothing_anew(program, where):
    program.write(MEASURED, machine_text("1e9"))
    output = shell(program, MEASURES, 2, where)
    check(f"{MEASURED}: exists and is not overwritten" in output, f"{where}: {output}")
    return output


def main():
    program = Program()
    blocks = []
    for page in pages():
        no_command_hides(page)
        blocks += fenced_blocks(page)
    every_long_command_is_run_elsewhere(blocks)
    tree_after_quick_start(program)
    count = run_all(program, blocks)
    check(count >= 25, f"the pages have many commands, not {count}")
    check(any((MEASURES, 0) in block.commands() for block in blocks), f"none is {MEASURES}")
    print(f"README.md and doc/ keep their word: {count} commands")


main()
