#!/usr/bin/env python3
"""Every flag of the programs that start trainings, and every key of Accelerate's configuration.

usage: launch_flags.py [OUT]       writes tests/golden/launch_flags.txt by default
Needs pip and the network: some 180 MB into build/wheels. Wheels are read, never run. DeepSpeed has
a source archive alone, whose setup.py pip runs to learn its name: start this where that may be run.

A line is "program kind name". The kind is flag (takes no value), bool (may take one), int, float or
text; of Transformers it follows from the field's type. Names are written with underscores, as all
of these parsers take them. Both sides of a release are read where flags came or went.
"""
import ast
import pathlib
import subprocess
import sys
import tarfile
import zipfile

TREE = pathlib.Path(__file__).resolve().parents[2]
WHEELS = TREE / "build" / "wheels"
PACKAGES = {"Transformers": ("transformers", ("4.30.2", "4.57.1", "5.24.0")),
            "Accelerate": ("accelerate", ("0.21.0", "1.11.0", "1.15.0")),
            "DeepSpeed": ("deepspeed", ("0.19.8",)),
            "torchrun": ("torch", ("2.15.0",))}
# A wheel for another machine is the smallest one, and its Python is the same.
PLATFORM = ("--platform", "macosx_14_0_arm64", "--only-binary=:all:", "--python-version", "3.12")
FILES = {"Transformers": ("training_args.py", "training_args_seq2seq.py"),
         "Accelerate": ("commands/launch.py", "commands/config/config_args.py"),
         "DeepSpeed": ("launcher/runner.py", "deepspeed/__init__.py"),
         "torchrun": ("distributed/run.py", "distributed/launch.py")}
DATACLASSES = {"Transformers": ("TrainingArguments", "Seq2SeqTrainingArguments"),
               "Accelerate": ("BaseConfig", "ClusterConfig", "SageMakerConfig")}
SWITCHES = ("store_true", "store_false", "check_env")


def archive(package, version):
    found = sorted(WHEELS.glob(f"{package}-{version}[-.]*"))
    if not found:
        WHEELS.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        f"{package}=={version}", "-d", str(WHEELS),
                        *(PLATFORM if package == "torch" else ())], check=True)
        found = sorted(WHEELS.glob(f"{package}-{version}[-.]*"))
    return found[0]


def sources(path, wanted):
    """The syntax trees of the files whose names end so."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            names = [n for n in wheel.namelist() if n.endswith(wanted)]
            return [ast.parse(wheel.read(n)) for n in names]
    with tarfile.open(path) as tar:
        names = [n for n in tar.getnames() if n.endswith(wanted)]
        return [ast.parse(tar.extractfile(n).read()) for n in names]


def fields(tree, classes):
    """Names, annotations and defaults of the dataclasses that the file has."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in classes:
            for line in node.body:
                if isinstance(line, ast.AnnAssign):
                    default = ast.unparse(line.value) if line.value else ""
                    yield line.target.id, ast.unparse(line.annotation), default


def kind_of_field(annotation):
    for kind in ("bool", "int", "float"):
        if annotation in (kind, f"Optional[{kind}]", f"{kind} | None"):
            return kind
    return "text"


def of_dataclasses(tree):
    """As HfArgumentParser makes flags of fields: a bool that is true has a flag that denies it."""
    for name, annotation, default in fields(tree, DATACLASSES["Transformers"]):
        if "init=False" in default:
            continue
        kind = kind_of_field(annotation)
        yield kind, f"--{name}"
        if kind == "bool" and "default=True" in default:
            yield "flag", f"--no_{name}"


def of_parsers(tree):
    """Each add_argument() with a name that begins with two dashes."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument"):
            continue
        given = {k.arg: ast.unparse(k.value).strip("'") for k in node.keywords if k.arg}
        kind = "flag" if given.get("action") in SWITCHES else given.get("type", "text")
        names = [a.value for a in node.args if isinstance(a, ast.Constant)]
        for name in names:
            if name.startswith("--") and name != "--help":
                yield kind if kind in ("flag", "int", "float", "bool") else "text", name


def rows():
    for program, (package, versions) in PACKAGES.items():
        for version in versions:
            for tree in sources(archive(package, version), FILES[program]):
                make = of_dataclasses if program == "Transformers" else of_parsers
                for kind, name in make(tree):
                    yield program, kind, "--" + name[2:].replace("-", "_")
                if program == "Accelerate":
                    for name, annotation, _ in fields(tree, DATACLASSES[program]):
                        yield "configuration", kind_of_field(annotation), name


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else TREE / "tests/golden/launch_flags.txt"
    kinds = {}
    for program, kind, name in rows():
        kinds[program, name] = kind
    versions = "; ".join(f"{program} {', '.join(numbers)}"
                         for program, (_, numbers) in PACKAGES.items())
    lines = [f"# Made by tools/golden/launch_flags.py of {versions}."]
    lines += [f"{program} {kind} {name}" for (program, name), kind in sorted(kinds.items())]
    pathlib.Path(out).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{out}: {len(lines) - 1} rows")


if __name__ == "__main__":
    main()
