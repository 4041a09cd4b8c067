#!/usr/bin/env python3
"""The recipes of packaging, CITATION.cff and CONTRIBUTING.md: their syntax, as far as Python reads
it, one version, one commit that is there, and a line that uses each."""
import ast
import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = TREE / "packaging"
SPACK = PACKAGING / "spack/packages/zeroapp/package.py"
COMMIT = re.compile(r"\b[0-9a-f]{40}\b")
INSTRUCTIONS = {"ARG", "FROM", "RUN", "COPY", "WORKDIR", "LABEL", "ENV", "USER", "ENTRYPOINT",
                "CMD"}
SECTIONS = {"arguments", "files", "post", "environment", "labels", "runscript", "test"}
# What a screen holds.
MOST_LINES = 40


def check(holds, what):
    if not holds:
        sys.exit(f"failed: {what}")


def version():
    return re.search(r"project\(zeroapp VERSION ([\d.]+)", (TREE / "CMakeLists.txt").read_text())[1]


def calls(tree, name):
    """The first words of the calls of a function, in their order."""
    return [ast.literal_eval(node.args[0]) for node in ast.walk(tree)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name
            and isinstance(node.args[0], ast.Constant)]


def spack_is_python():
    tree = ast.parse(SPACK.read_text())
    check(calls(tree, "version") == [version()], f"{SPACK.name}: version {version()}")
    check(set(calls(tree, "variant")) == {"uring", "sentencepiece", "tests"}, "its variants")
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bases = {base.id for base in classes[0].bases}
    check(classes[0].name == "Zeroapp" and "CudaPackage" in bases, "cuda and cuda_arch, too")
    check("mpi" in calls(tree, "depends_on"), "what it needs")
    return COMMIT.findall(SPACK.read_text())


def read_easyconfig(path):
    names = {"SOURCE_TAR_GZ": "%(name)s-%(version)s.tar.gz", "SYSTEM": {"name": "system"},
             "SHLIB_EXT": "so"}
    exec(compile(path.read_text(), path, "exec"), names)  # the language of such a file
    chain = names["toolchain"]
    name = f"{names['name']}-{names['version']}-{chain['name']}-{chain['version']}.eb"
    check(path.name == name, f"{path.name} is called {name}")
    for key in ("easyblock", "description", "sources", "sanity_check_paths", "moduleclass"):
        check(names.get(key), f"{path.name}: {key}")
    return names


def easybuild_is_python():
    """A recipe that lies beside zeroapp's is one that it needs, and EasyBuild lacks."""
    found = {path: read_easyconfig(path) for path in PACKAGING.glob("easybuild/*.eb")}
    own = [path for path, names in found.items() if names["name"] == "zeroapp"]
    check(len(own) == 1, f"one recipe of zeroapp: {own}")
    check(found[own[0]]["version"] == version(), f"{own[0].name}: version {version()}")
    for path, names in found.items():
        needed = (names["name"], names["version"])
        check(path == own[0] or needed in found[own[0]]["dependencies"], f"{needed} is needed")
    return COMMIT.findall(own[0].read_text())


def containerfile_is_read():
    text = (PACKAGING / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    words = {line.split()[0] for line in lines}
    check(words <= INSTRUCTIONS, f"Containerfile: {words - INSTRUCTIONS}")
    stages = re.findall(r"^FROM \S+ AS (\w+)", text, re.M)
    for line in lines:
        stage = re.match(r"COPY --from=(\w+)", line)
        check(not stage or stage[1] in stages, f"Containerfile: {line}")
    check("revision=${COMMIT}" in text and re.search(r"^USER (?!root)", text, re.M),
          "Containerfile: its commit, and no root")


def images_take_nothing_that_was_built():
    """A cache of cmake names the folder of its tree, and is refused in another."""
    left_out = (TREE / ".containerignore").read_text().splitlines()
    for line in (TREE / ".gitignore").read_text().splitlines():
        if line.startswith("/"):
            check(line.strip("/") in left_out, f".containerignore: {line}")
    files = re.search(r"^%files\n((?:    .*\n)+)", (PACKAGING / "zeroapp.def").read_text(), re.M)[1]
    check(files.split()[0] == "zeroapp.tar" and
          "git archive -o zeroapp.tar " in (PACKAGING / "README.md").read_text(),
          f"zeroapp.def: the files of a commit, not {files}")


def definition_is_read():
    text = (PACKAGING / "zeroapp.def").read_text()
    sections = set(re.findall(r"^%(\w+)", text, re.M))
    check(sections == SECTIONS, f"zeroapp.def: {sections ^ SECTIONS}")
    check(len(re.findall(r"^Bootstrap: docker$", text, re.M)) == 2, "zeroapp.def: two stages")
    named = set(re.findall(r"\{\{ (\w+) \}\}", text))
    given = set(re.findall(r"^    (\w+)=", text.split("%files")[0], re.M))
    check(named <= given, f"zeroapp.def: {named - given} have no default")
    scripts = r"^%(?:post|runscript|test|environment)\n((?:    .*\n|\n)+)"
    for script in re.findall(scripts, text, re.M):
        script = re.sub(r"\{\{ \w+ \}\}", "word", script)
        done = subprocess.run(["sh", "-n"], input=script, text=True, capture_output=True,
                              check=False)
        check(done.returncode == 0, f"zeroapp.def: {done.stderr}")


def citation_is_read():
    text = (TREE / "CITATION.cff").read_text()
    for key in ("cff-version", "message", "type", "title", "version", "authors", "abstract"):
        check(re.search(rf"^{key}: *\S*", text, re.M), f"CITATION.cff: {key}")
    check(f"\nversion: {version()}\n" in text, f"CITATION.cff: version {version()}")
    for line in text.splitlines():
        check(re.match(r" *(- )?[\w-]+:|    *\S|  - \S|  \S", line), f"CITATION.cff: {line!r}")


def pages_name_what_is_there():
    readme = (PACKAGING / "README.md").read_text()
    for path in PACKAGING.rglob("*"):
        if path.is_file() and path.name not in ("README.md", "repo.yaml"):
            check(f"`{path.relative_to(PACKAGING)}`" in readme, f"README names {path}")
    guide = (TREE / "CONTRIBUTING.md").read_text()
    check(len(guide.splitlines()) <= MOST_LINES and "(doc/growing.md)" in guide, "one screen")


def commits_are_there(commits):
    check(len(set(commits)) == 1, f"one commit: {set(commits)}")
    asked = ["git", "-C", TREE, "cat-file", "-e", f"{commits[0]}:cmake/install.cmake"]
    whole = subprocess.run(["git", "-C", TREE, "rev-parse", "--is-shallow-repository"], text=True,
                           capture_output=True, check=False)
    if whole.stdout.strip() != "false":
        print("the commit is not looked up: no clone, or a shallow one")
        return
    check(subprocess.run(asked, check=False, capture_output=True).returncode == 0,
          f"{commits[0]} has an installation")


def main():
    commits = spack_is_python() + easybuild_is_python()
    containerfile_is_read()
    images_take_nothing_that_was_built()
    definition_is_read()
    citation_is_read()
    pages_name_what_is_there()
    commits_are_there(commits)
    print("the recipes are read")


main()
