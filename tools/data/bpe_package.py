"""The one package of PyPI that scripts here use, at the version that zeroapp's ids are equal to.

`tokenizers` is taken from the Python that runs, if it has this version, else from .deps/python,
where pip puts it at the first call (3.4 MB); nothing outside the tree changes. Of an installed tree
~/.cache/zeroapp takes the place of .deps.
"""
import importlib
import importlib.metadata
import os
import pathlib
import subprocess
import sys

VERSION = "0.23.3"
TREE = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
# An installed tree belongs to somebody else.
FOLDER = (TREE / ".deps" if (TREE / "CMakeLists.txt").exists() else CACHE / "zeroapp") / "python"


def present():
    """Whether `import tokenizers` would find the pinned version."""
    try:
        return importlib.metadata.version("tokenizers") == VERSION
    except importlib.metadata.PackageNotFoundError:
        return False


def download():
    # Without its dependencies: they serve only to fetch vocabularies from a hub.
    line = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--no-deps", "--upgrade", "--target", str(FOLDER), f"tokenizers=={VERSION}"]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    if ran.returncode == 0:
        return
    why = (ran.stderr.strip().splitlines() or ["pip failed"])[-1]
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: cannot download tokenizers {VERSION}: {why}\n"
             f"  with a network and pip (Debian: python3-pip): {' '.join(line)}\n"
             f"  without: copy {FOLDER} from a machine that has it")


def tokenizers():
    """The module, downloaded first where it is missing; ends the script if that fails."""
    if not present():
        sys.path.insert(0, str(FOLDER))
        importlib.invalidate_caches()
    if not present():
        download()
        importlib.invalidate_caches()
    return importlib.import_module("tokenizers")


def read_model(package, folder):
    vocabulary, merges = (str(pathlib.Path(folder) / name) for name in ("vocab.json", "merges.txt"))
    try:
        return package.models.BPE.from_file(vocabulary, merges)
    except Exception as error:  # the package throws no class of its own
        raise ValueError(f"{folder}: {error}; tools/data/bpe.py TEXT --vocab-size 50257 --out "
                         f"{folder} makes the tokenizer") from error


def byte_level_bpe(folder=None):
    """GPT-2's kind of tokenizer, with vocab.json and merges.txt of a folder or, to be trained,
    empty. Throws ValueError if they are missing or damaged."""
    package = tokenizers()
    result = package.Tokenizer(read_model(package, folder) if folder else package.models.BPE())
    result.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False)
    result.decoder = package.decoders.ByteLevel()
    return result
