#!/usr/bin/env python3
"""What a user reads and types at a terminal: the help of every command and key, manual pages by
man, and completions in bash, zsh and fish. A line SKIP names a program that is not here."""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

from program import Program, check, check_refused

TREE = pathlib.Path(__file__).resolve().parents[2]
MOST_LINES, MOST_PROGRAM_LINES = 39, 30
DEVICES = {"none", "cpu", "nvme", "auto"}
STAGE = "zero.stage="
# A line that is typed, words that must be offered, and words that must not.
TYPED = (
    ("zeroapp pl", {"plan"}, {"data"}),
    ("zeroapp inputs/gpt2_n", {"inputs/gpt2_nano.toml"}, {"plan"}),
    ("zeroapp tiny.toml zero.st", {STAGE}, {"zero.overlap_comm="}),
    ("zeroapp plan tiny.toml zero.st", {STAGE}, set()),
    ("zeroapp tiny.toml zero.offload_optimizer.device=", DEVICES, {"true"}),
    ("zeroapp plan tiny.toml --ranks 2 zero.overlap_comm=", {"true", "false"}, {"auto"}),
    ("zeroapp plan tiny.toml --ra", {"--ranks", "--ranks-per-node"}, {"--json"}),
    ("zeroapp plan tiny.toml --machine h", {"host", "h100_80g"}, {"a100_40g"}),
    ("zeroapp export run out --dtype ", {"fp32", "bf16", "fp16"}, {"zero.stage="}),
    ("zeroapp help zero.sta", {"zero.stage"}, set()),
    ("zeroapp inputs gpt2_n", {"gpt2_nano"}, {"t5_mini"}),
)
# Settings of data that can be prepared.
PREPARED = ("data.train=documents.jsonl",)
# What bash hands to a completion: the line as typed, cut by itself at "=" and other characters.
BASH = r"""
source "$1"
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDBREAKS=$' \t\n"'"'"'><=;|&(:'
_zeroapp
printf '%s\n' "${COMPREPLY[@]}"
compgen -W "${COMPREPLY[*]}" > /dev/null
complete -p zeroapp > /dev/null
"""
ZSH = "autoload -U compinit; compinit -u; source {}; zstyle ':completion:*' menu no; LISTMAX=0; " \
      "zstyle ':completion:*' list-prompt ''; PS1='%% '\n"


def commands_of(program):
    rows = re.findall(r"^  (\w[\w-]*)  +\S", program.alone("--help").out, re.M)
    check(len(rows) == 23, f"23 commands, not {rows}")
    return rows


def every_command_has_its_help(program):
    whole = program.alone("--help")
    check(whole.status == 0 and whole.out.count("\n") <= MOST_PROGRAM_LINES, "a short help", whole)
    check(program.alone("help").out == whole.out, "help is --help")
    for command in commands_of(program):
        one = program.alone(command, "--help")
        check(one.status == 0 and one.out.startswith("zeroapp"), f"{command}: its help", one)
        check(one.out.count("\n") <= MOST_LINES, f"{command}: a screen", one)
        check(one.out == program.alone("help", command).out, f"help {command} is the same", one)
        for part in ("Examples:\n", "Exit status: 0 finished"):
            check(part in one.out, f"{command}: {part}", one)


def examples_name_what_can_be(program):
    """Folders that examples name, with the names that the program gives them, are not refused."""
    example = {}
    for command in ("data", "fsck", "eval"):
        for line in re.findall(r"^  (zeroapp .*)$", program.alone("help", command).out, re.M):
            example.setdefault(command, []).append(line.split()[1:])
    run = program.train(1, "run.output=runs/mine", "run.steps=5", "run.stop_at=5")
    check(run.status == 0, "the run of the examples", run)
    for words in [words for lines in example.values() for words in lines if "MODEL" not in words]:
        words = ["tiny.toml" if word == "INPUT.toml" else word for word in words]
        if "--prepare" not in words:
            done = program.alone(*words)
            check(done.status == 0, f"the example {words} is accepted", done)
            continue
        folder = program.folder / words[-1]
        folder.parent.mkdir(exist_ok=True)
        program.write("documents.jsonl", '{"text": "One and one."}\n' * 50)
        done = program.alone(*words, *PREPARED)
        check(done.status == 0 and folder.is_dir(), f"the example {words} is accepted", done)


def every_key_has_its_help(program):
    table = (TREE / "inputs/keys.md").read_text().split("## Keys of DeepSpeed alone")[0]
    keys = re.findall(r"^\| ([\w.]+) \| (.+?) \| ", table, re.M)[1:]
    check(len(keys) > 200, f"{len(keys)} keys")
    result = program.alone("help", *(key for key, _ in keys))
    check(result.status == 0, "all keys at once", result)
    texts = dict(text.split("\n", 1) for text in result.out.split("\n\n"))
    for key, fallback in keys:
        text = texts.get(key, "").replace("\n                ", " ")
        check(f"  default       {fallback}" in text, f"{key}: default {fallback}: {text}")
        check("  acts with     " in text and "  DeepSpeed     " in text, f"{key}: {text}")
    stage = program.alone("help", "zero_optimization.stage").out
    check(stage.startswith("zero.stage\n"), f"by DeepSpeed's name: {stage}")
    rate = program.alone("help", "--search", "learning_rate").out
    check("optimizer.lr" in rate, f"by the name of Transformers: {rate}")


def mistakes_name_the_nearest(program):
    for words, near in ((("pln", "x.toml"), "did you mean plan?"),
                        (("plan", "tiny.toml", "--rank", "2"), "did you mean --ranks?"),
                        (("help", "zero.stge"), "did you mean zeroapp help zero.stage?"),
                        (("help", "--search", "quux"), "no text has all of: quux"),
                        (("help", "--search"), "wants words"),
                        (("manual",), "no OUT; write zeroapp manual OUT")):
        check_refused(program.alone(*words), 2, near)
    (program.folder / "inputs").symlink_to(TREE / "inputs")
    check_refused(program.alone("inputs", "gpt2_nan"), 3, "did you mean gpt2_nano?")
    own = program.alone("inputs", "gpt2_nano")
    check(own.out == (TREE / "inputs/gpt2_nano.toml").read_text(), "an input file", own)
    check("gpt2_nvme" in program.alone("inputs").out, "all input files")
    named = program.alone("train", "tiny.toml", "--dry-run")
    check(named.status == 0 and "arena" in named.out, "train is a word, too", named)


def pages_are_read_by_man(program):
    made = program.alone("manual", "manual")
    check(made.status == 0, "pages are made", made)
    check_refused(program.alone("manual", "manual"), 5, "is there already")
    pages = sorted(program.folder.glob("manual/man?/*"))
    names = {page.name for page in pages}
    for name in ("zeroapp.1", "zeroapp-input.5", *(f"zeroapp-{c}.1" for c in commands_of(program))):
        check(name in names, f"a page {name} among {names}")
    if not shutil.which("man"):
        print("SKIP man: not here")
        return
    for page in pages:
        read = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-l", page],
                              capture_output=True, text=True, check=False)
        check(read.returncode == 0 and not read.stderr, f"{page.name}: {read.stderr}")
        text = re.sub(".\x08|\x1b\\[[0-9;]*m", "", read.stdout)
        check("\nNAME\n" in text, f"{page.name}: {text[:200]}")


def offered_by_bash(program, line, _):
    script = program.folder / "manual/completions/zeroapp.bash"
    done = subprocess.run(["bash", "-c", BASH, "bash", script, line], cwd=program.folder,
                          env=program.env, capture_output=True, text=True, check=False)
    check(done.returncode == 0 and not done.stderr, f"bash: {line}: {done.stderr}")
    return set(done.stdout.split())


def offered_by_fish(program, line, _):
    script = program.folder / "manual/completions/zeroapp.fish"
    done = subprocess.run(["fish", "-N", "-c", f"source {script}; complete -C '{line}'"],
                          cwd=program.folder, env=program.env, capture_output=True, text=True,
                          check=False)
    check(done.returncode == 0 and not done.stderr, f"fish: {line}: {done.stderr}")
    words = {word.split("\t")[0] for word in done.stdout.splitlines()}
    last = line.split(" ")[-1]
    return {word[len(last):] if last.endswith("=") else word for word in words}


class Zsh:
    """A zsh at a terminal of its own, in which a line can be typed and its words be listed."""

    def __init__(self, program):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(program.folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], dict(program.env, TERM="dumb", COLUMNS="400",
                                                         HOME=str(program.folder)))
        self.script = program.folder / "manual/completions/_zeroapp"
        self.type(ZSH.format(self.script))
        self.read(2)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read(self, quiet):
        """What it shows until it is silent for `quiet` seconds."""
        shown = b""
        while select.select([self.terminal], [], [], quiet)[0]:
            shown += os.read(self.terminal, 65536)
        return shown.decode(errors="replace")

    def offered(self, line, wanted):
        """The words that are shown, as soon as the wanted ones are among them."""
        for patience in (1, 4, 12):
            words = self.shown(line, patience)
            if wanted <= words:
                break
        return words

    def shown(self, line, patience):
        """Ctrl-D lists what could follow; where one word could, the tabulator writes it."""
        self.type(f"{line}\x04")
        listed = self.read(0.7 * patience)
        self.type("\t")
        written = self.read(0.4 * patience)
        self.type("\x15\n")
        self.read(0.3 * patience)
        words = set(re.split(r"[\s\x07\x08\x1b]+", listed + written.replace("\r", " ")))
        folder = re.match(r".* (\S+/)?", line)[1] or ""
        # zsh lists files without their folder, and keys without their "=".
        return words | {folder + word for word in words} | {f"{word}=" for word in words}

    def end(self):
        self.type("\x15exit\n")
        time.sleep(0.1)
        os.close(self.terminal)
        os.waitpid(self.process, 0)


def shells_complete(program):
    link = program.folder / "bin/zeroapp"
    link.parent.mkdir()
    link.symlink_to(program.zeroapp)
    program.env["PATH"] = f"{link.parent}:{program.env['PATH']}"
    shells = {"bash": offered_by_bash, "fish": offered_by_fish}
    zsh = Zsh(program) if shutil.which("zsh") else None
    if zsh:
        shells["zsh"] = lambda program, line, wanted: zsh.offered(line, wanted)
    for shell in ("bash", "zsh", "fish"):
        if not shutil.which(shell):
            print(f"SKIP {shell}: not here")
            continue
        for line, wanted, unwanted in TYPED:
            offered = shells[shell](program, line, wanted)
            check(wanted <= offered, f"{shell}: {line}: {wanted - offered} among {offered}")
            check(not unwanted & offered, f"{shell}: {line}: {unwanted & offered} offered")
    if zsh:
        zsh.end()


def main():
    program = Program()
    every_command_has_its_help(program)
    examples_name_what_can_be(program)
    every_key_has_its_help(program)
    mistakes_name_the_nearest(program)
    pages_are_read_by_man(program)
    shells_complete(program)
    print("what is typed is explained")


main()
