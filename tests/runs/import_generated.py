#!/usr/bin/env python3
"""Generated configurations of every key and flag of the stated versions, in legal forms: each key
and flag has a line that says what becomes of it. COUNT and SEED in the environment say how many."""
import collections
import json
import os
import pathlib
import random
import re

from program import Program, check

TREE = pathlib.Path(__file__).resolve().parents[2]
COUNT, SEED = int(os.environ.get("COUNT", 200)), int(os.environ.get("SEED", 1))
ALL_DEALT = 2000  # configurations that have every row of the table
GIVEN = ("model.layers=2", "model.width=32", "model.heads=2", "data.train=text.txt",
         "data.sequence_length=16", "--hf-defaults")
SECTIONS = {"zero": "zero_optimization", "optimizer": "optimizer.params",
            "scheduler": "scheduler.params"}
PLUGIN = ("zero", "offload_", "gradient_", "deepspeed_")
BY_PREFIX = {"fsdp_": "fsdp_config", "megatron_lm_": "megatron_lm_config", "fp8_": "fp8_config",
             "dynamo_": "dynamo_config", "mpirun_": "mpirun_config",
             "parallelism_config_": "parallelism_config"}
WORDS = {"fsdp_sharding_strategy": "FULL_SHARD", "fsdp_reshard_after_forward": True,
         "deepspeed_config_file": "ds.json", "mixed_precision": "bf16", "config_file": "acc.yaml",
         "deepspeed": "ds.json", "deepspeed_config": "ds.json", "optim": "adamw_torch",
         "lr_scheduler_type": "linear",
         "metric_for_best_model": "loss", "fsdp": "full_shard", "sharded_ddp": "simple",
         "downcast_bf16": "no", "offload_optimizer_device": "cpu", "offload_param_device": "none",
         "num_processes": 2, "compute_environment": "LOCAL_MACHINE", "fp16": True}
TYPES = ("DEEPSPEED", "FSDP", "MULTI_GPU", "NO")
BOOLEANS = {True: ("True", "true", "yes", "T", "y", "1"),
            False: ("False", "false", "no", "F", "n", "0")}
ONE_OF = ({"--use_deepspeed", "--use_fsdp", "--use_megatron_lm", "--multi_gpu", "--tpu"},
          {"--tpu_cluster", "--no_tpu_cluster"}, {"--deepspeed", "--deepspeed_config"})


def table(path, columns):
    """The cells of the rows of a page's tables that have so many columns."""
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        cells = [cell.strip(" |") for cell in cells]
        if line.startswith("| ") and len(cells) == columns and cells[0] not in ("key", "section"):
            yield cells


def theirs(key):
    """DeepSpeed's name of a key of an input file."""
    section, _, name = key.rpartition(".")
    if key in ("optimizer.type", "scheduler.type"):
        return key
    head, _, rest = section.partition(".")
    section = ".".join(part for part in (SECTIONS.get(head, head), rest) if part)
    return f"{section}.{name}" if section else name


def legal_value(draw, legal):
    if "true or false" in legal or legal in ("true", "false", "false or true"):
        return draw.choice((True, False))
    quoted = re.findall(r'"([^"]*)"', legal)
    if quoted and not re.match(r"\d", legal):
        return draw.choice(quoted)
    number = re.match(r"(?:above )?(-?[\d.]+)", legal)
    if number:
        value = float(number[1]) + (1 if "above" in legal else 0)
        return int(value) if value.is_integer() else value
    return [0.9, 0.99] if legal.startswith("two of") else "x"


def deepspeed_keys():
    """Keys of DeepSpeed with a way to draw a value."""
    keys = {}
    for key, _, legal, standing, _ in table(TREE / "inputs/keys.md", 5):
        if standing not in ("ours", "DeepSpeed", "---"):
            keys[theirs(key)] = legal
    for section, names, standing, _ in table(TREE / "inputs/keys.md", 4):
        if standing not in ("hint", "refused"):
            continue
        for name in names.replace("any other", "other").split(", "):
            keys[f"{section}.{name}" if section else name] = None
    return keys


def rows():
    lines = (TREE / "tests/golden/launch_flags.txt").read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines[1:]]


def value_of(draw, kind, name):
    if name in WORDS:
        return WORDS[name]
    return {"bool": draw.choice((True, False)), "flag": True, "int": draw.choice((0, 1, 2)),
            "float": draw.choice((0.5, 1.0))}.get(kind, draw.choice(("x", "all", "10.0.0.1")))


def nested(flat):
    tree = {}
    for key, value in flat.items():
        *sections, name = key.split(".")
        here = tree
        for section in sections:
            here = here.setdefault(section, {})
            if not isinstance(here, dict):
                return None
        here[name] = value
    return tree


def as_json(draw, tree):
    text = json.dumps(tree, indent=draw.choice((None, 2, 4)))
    return draw.choice(("", "\ufeff")) + text + draw.choice(("", "\n// end\n"))


def plain(draw, value):
    if isinstance(value, bool):
        return draw.choice(("true", "True", "yes") if value else ("false", "no", "off"))
    if isinstance(value, str) and value in ("NO", "no"):
        return f"'{value}'"
    if isinstance(value, str):
        return draw.choice((value, f"'{value}'", f'"{value}"'))
    return str(value)


def as_yaml(draw, tree, indent=""):
    """Objects in blocks or in braces, lists in lines or in brackets, keys quoted here and there."""
    lines = []
    for key, value in tree.items():
        name = draw.choice((key, key, f'"{key}"', f"'{key}'"))
        if isinstance(value, dict) and draw.random() < 0.5:
            inner = ", ".join(f"{k}: {plain(draw, v)}" for k, v in value.items())
            lines.append(f"{indent}{name}: {{{inner}}}")
        elif isinstance(value, dict):
            lines += [f"{indent}{name}:", *as_yaml(draw, value, indent + "  ")]
        elif isinstance(value, list) and draw.random() < 0.5:
            lines.append(f"{indent}{name}: [{', '.join(map(str, value))}]")
        elif isinstance(value, list):
            lines += [f"{indent}{name}:", *(f"{indent}- {item}" for item in value)]
        else:
            lines.append(f"{indent}{name}: {plain(draw, value)}{draw.choice(('', '  # so'))}")
    return lines


def configuration_keys():
    """Keys of Accelerate's configuration, those of its sections by the flags of its launcher."""
    keys = {}
    for program, kind, name in rows():
        name = name.removeprefix("--")
        if program == "configuration" and not name.endswith("_config"):
            keys[name] = kind
        if program != "Accelerate":
            continue
        if name.startswith(PLUGIN):
            keys[f"deepspeed_config.{name}"] = kind
        for prefix, section in BY_PREFIX.items():
            if name.startswith(prefix):
                keys[f"{section}.{name}"] = kind
    keys["fp16"] = "bool"
    return keys


class Deck:
    """Deals all of its cards before one comes again."""

    def __init__(self, draw, cards):
        self.draw, self.cards, self.left = draw, list(cards), []

    def deal(self, count):
        dealt = []
        while len(dealt) < count:
            if not self.left:
                self.left = self.draw.sample(self.cards, len(self.cards))
            card = self.left.pop()
            if card not in dealt:
                dealt.append(card)
        return dealt


def flag_words(draw, kind, name, training):
    """A flag as somebody writes it, and the name that a line has to have."""
    written = draw.choice((name, name, "--" + name[2:].replace("_", "-")))
    if draw.random() < 0.2 and name in training:
        ends = [n for n in range(len(name) - 4, len(name))
                if n > 6 and sum(other.startswith(name[:n]) for other in training) == 1]
        written = name[:draw.choice(ends)] if ends else written
    value = value_of(draw, kind, name[2:])
    said = written[:2] + written[2:].replace("-", "_")
    if kind == "flag" or (kind == "bool" and value is True and draw.random() < 0.5):
        return [written], said
    text = str(value)
    if kind == "bool" and training:
        text = draw.choice(BOOLEANS[value])
    return ([f"{written}={text}"] if draw.random() < 0.4 else [written, text]), said


def legal_together(flags):
    """Without all but one of flags that argparse or the launcher takes one of."""
    seen = set()
    for program, kind, name in flags:
        group = next((index for index, names in enumerate(ONE_OF) if name in names), None)
        if group is None or group not in seen:
            seen.add(group)
            yield program, kind, name


class Generator:
    def __init__(self):
        self.draw = random.Random(SEED)
        self.legal = deepspeed_keys()
        self.kinds = configuration_keys()
        check(len(self.legal) > 250, f"only {len(self.legal)} keys of DeepSpeed")
        self.deepspeed = Deck(self.draw, self.legal)
        self.accelerate = Deck(self.draw, (k for k in self.kinds if k != "distributed_type"))
        launch = [tuple(row) for row in rows() if row[0] != "configuration"]
        self.training = {name for program, _, name in launch if program == "Transformers"}
        self.flags = {program: Deck(self.draw, (row for row in launch if row[0] == program))
                      for program in ("Transformers", "Accelerate", "DeepSpeed", "torchrun")}
        self.rows = {*self.legal, *self.kinds, *(name for _, _, name in launch)}

    def deepspeed_file(self):
        keys = self.deepspeed.deal(12)
        values = {}
        for key in keys:
            legal = self.legal[key]
            values[key] = (legal_value(self.draw, legal) if legal else
                           self.draw.choice((2, True, "auto", [1, 2], 0.5, "x")))
        tree = nested(values)
        return None if tree is None else ("ds_config.json", as_json(self.draw, tree), keys)

    def accelerate_file(self):
        keys = self.accelerate.deal(12)
        values = {k: value_of(self.draw, self.kinds[k], k.rpartition(".")[2]) for k in keys}
        values.update({k: ["a", "b"] for k in keys if k in ("commands", "tpu_env", "tpu_vm")})
        values["distributed_type"] = self.draw.choice(TYPES)
        tree, keys = nested(values), [*keys, "distributed_type"]
        if self.draw.random() < 0.25:
            return "conf.json", as_json(self.draw, tree), keys
        return "conf.yaml", "\n".join(as_yaml(self.draw, tree)) + "\n", keys

    def launch_line(self):
        launcher = self.draw.choice(("Accelerate", "DeepSpeed", "torchrun"))
        words = {"Accelerate": ["accelerate", "launch"], "DeepSpeed": ["deepspeed"],
                 "torchrun": ["torchrun"]}[launcher]
        said, names = [], []
        for place, count in ((launcher, 6), ("Transformers", 10)):
            for _, kind, name in legal_together(self.flags[place].deal(count)):
                training = self.training if place == "Transformers" else ()
                more, written = flag_words(self.draw, kind, name, training)
                words += more
                said.append(written)
                names.append(name)
            if place == launcher:
                words.append("train.py")
        return words, said, names


FATES = {"mapped": r"mapped to|given as|taken as", "derived": r"derived|needs .*=\.\.\.",
         "left out": r"left out(?!, unsup)|switched off|null: ",
         "hint": r"hint: |always so: |nothing to set|warning: ",
         "refused": r"zeroapp: error|unsupported"}


def fate_of(key, report, refused):
    """What a line says of the key or flag, its subject: "PLACE: KEY ...". "" if none does."""
    named = re.compile(r"^(?:warning: | E\d+ \[rank 0\] )?(?:[\w.]+:\d+|launch line): "
                       r"(?:--[\w, -]+ and )?" + re.escape(key) + r"(?![\w.])")
    for line in report.splitlines():
        if named.search(line):
            says = [f for f, words in FATES.items() if re.search(words, line)]
            if says:
                return says[0]
    return "refused" if any(named.search(line) for line in refused.splitlines()) else ""


def imported(program, number, generator):
    """Writes and imports one configuration; what becomes of its keys and flags, and their names."""
    words, said, names = generator.launch_line() if number % 3 != 0 else ([], [], [])
    made = None
    while made is None:
        made = generator.deepspeed_file() if number % 2 else generator.accelerate_file()
    name, text, keys = made
    (program.folder / name).write_text(text, encoding="utf-8")
    leave = ("--leave-out-unsupported",) if generator.draw.random() < 0.5 else ()
    result = program.alone("import-deepspeed", name, *GIVEN, *leave, *(("--", *words) if words
                                                                       else ()))
    check(result.status in (0, 2), f"{name} {words}: {text}", result)
    report, _, refused = result.err.partition("zeroapp: error")
    fates = {key: fate_of(key, report, refused) for key in keys + said}
    lost = [key for key, fate in fates.items() if not fate]
    check(not lost, f"{number}: lost without a word {lost} of {name} -- {' '.join(words)}\n{text}",
          result)
    return fates, keys + names, result.status


def main():
    program = Program()
    (program.folder / "ds.json").write_text('{"gradient_clipping": 1.0}')
    (program.folder / "acc.yaml").write_text("distributed_type: MULTI_GPU\nnum_processes: 2\n")
    generator, whole, seen, fates = Generator(), 0, set(), collections.Counter()
    for number in range(COUNT):
        of_one, names, status = imported(program, number, generator)
        fates.update(of_one.values())
        seen.update(names)
        whole += status == 0
    missing = generator.rows - seen
    check(COUNT < ALL_DEALT or not missing, f"no configuration has {sorted(missing)}")
    print(", ".join(f"{count} {fate}" for fate, count in fates.most_common()))
    print(f"{COUNT} configurations, {whole} of them whole: {fates.total()} keys and flags, "
          f"{len(seen)} different ones, 0 lost without a word")


main()
