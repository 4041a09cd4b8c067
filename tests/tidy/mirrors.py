"""What must exist on both sides: a test and its header, a key and its line, code and its layout."""
import posixpath
import re
import shutil
import subprocess

FREE_TESTS = ("runs", "tidy", "support")
STARTED_FROM = ("perf", "tools", "cmake", "jobscripts")  # those of tests are started by ctest
CONFIG, REFERENCE = "include/zero/config/run_config.hpp", "inputs/reference.toml"
# Sections of RunConfig in headers of their own.
OTHER_SECTIONS = ("include/zero/config/data_keys.hpp", "include/zero/config/generation_keys.hpp",
                  "include/zero/config/monitor_keys.hpp", "include/zero/config/optimizer_keys.hpp")
CAMPAIGNS, PROMISES = "tests/campaigns.txt", "tests/promises.md"
STARTED = "tests/programs.cmake"  # where the tests named runs.NAME are
SHOWN_BY = re.compile(r"\*\*(\w+)\*\*|\b(runs\.\w+|\w+(?:/\w+)+)")
SCRIPT = re.compile(r"(?<![\w/.-])((?:perf|tests|tools)/[\w/]+\.(?:py|sh))\b")
BENCHMARK = re.compile(r"\bperf/perf_(\w+)")
FUZZER = re.compile(r"--target fuzz_(\w+)")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)[^)]*\)")
NAMED = re.compile(r"`((?:[\w-]+/)*)(\w+\.(?:hpp|cpp))`"
                   r"|(?<![\w./-])((?:include/zero|src|kernels|io)/[\w/]+\.[ch]pp)")
STRUCT = re.compile(r"^struct (\w+) \{(.*?)^\};", re.S | re.M)
MEMBER = re.compile(
    r"^  (?P<kind>[\w:<>, ]+?) (?P<name>\w+)(?: = [^;]*)?;"
    r"(?: *///< (?:(?P<dotted>[a-z_0-9]+\.[a-z_0-9.]+)\b|\[(?P<section>[\w.]+)\]))?", re.M)


def tests_have_sources(sources):
    """A test has the name of a header or, where one header serves several files, of one of them,
    or of its twins: x_a.cpp and x_b.cpp, host/x.cpp and gpu/x.cpp."""
    paths = {s.path for s in sources}
    twins = {re.sub(r"(?:/(?:host|gpu|cuda))?(/[^/]*?)(?:_(?:plain|x86|absent|engine))?\.cpp$",
                    r"\1.cpp", path) for path in paths}
    for source in sources:
        parts = source.path.split("/")
        if parts[0] != "tests" or not source.name.endswith("_test.cpp") or parts[1] in FREE_TESTS:
            continue
        stem = source.path[len("tests/"):-len("_test.cpp")]
        public, own = f"include/zero/{stem}.hpp", (f"{stem}.hpp", f"{stem}.cpp")
        if (paths | twins).isdisjoint((public, *own, *(f"src/{path}" for path in own))):
            yield source.path, 1, f"mirrors no source: there is no {public} and no {stem}.cpp"


def config_keys(text):
    """(offset, section, key) of every key that the headers declare; section "" is the top."""
    structs = {found[1]: (found.start(2), found[2]) for found in STRUCT.finditer(text)}
    offset, body = structs["RunConfig"]
    for member in MEMBER.finditer(body):
        kind, name, dotted = member["kind"], member["name"], member["dotted"]
        if kind.endswith("Config"):
            start, inner = structs[kind]
            for key in MEMBER.finditer(inner):
                if key["kind"] in ("ModelNumbers", "StartNames", "std::vector<DataPart>"):
                    continue  # keys of the families; what no key sets; what another key shares
                yield start + key.start("name"), member["section"] or name, key["name"]
        else:
            section, _, key = (dotted or name).rpartition(".")
            yield offset + member.start("name"), section, key


def place_in(sources, offset):
    """(path, line) of an offset in the texts one behind the other."""
    for source in sources:
        if offset < len(source.text):
            return source.path, source.text.count("\n", 0, offset) + 1
        offset -= len(source.text)
    raise ValueError(f"{offset} beyond {sources[-1].path}")


def reference_keys(text):
    """"section.key" of every line of the reference, commented-out ones included."""
    section = ""
    for line in text.splitlines():
        if found := re.match(r"\s*#?\s*\[([\w.]+)\]", line):
            section = found[1]
        elif found := re.match(r"\s*#?\s*(\w+)\s*=", line):
            yield f"{section}.{found[1]}"


def keys_have_lines(sources):
    """inputs/reference.toml shows every key of the configuration."""
    by_path = {s.path: s for s in sources}
    if CONFIG not in by_path:
        return
    if REFERENCE not in by_path:
        yield REFERENCE, 1, f"is missing: it shows every key of {CONFIG}"
        return
    headers = [by_path[path] for path in (CONFIG, *OTHER_SECTIONS) if path in by_path]
    shown = set(reference_keys(by_path[REFERENCE].text))
    for offset, section, key in config_keys("".join(header.text for header in headers)):
        if f"{section}.{key}" not in shown:
            name = f"{section}.{key}".lstrip(".")
            yield *place_in(headers, offset), f"{name} has no line in {REFERENCE}"


def campaign_sources(command, benchmarks):
    """The files in the tree that a campaign's command runs."""
    yield from SCRIPT.findall(command)
    for name in BENCHMARK.findall(command):
        yield benchmarks.get(name, f"perf/{name.replace('_', '/', 1)}_bench.cpp")
    for name in FUZZER.findall(command):
        yield f"tests/fuzz/{name}.cpp"


def campaigns_have_programs(sources):
    """What tools/test_long.sh would start is there."""
    paths = {s.path for s in sources}
    table = next((s for s in sources if s.path == CAMPAIGNS), None)
    if not table:
        return
    benchmarks = {p[len("perf/"):-len("_bench.cpp")].replace("/", "_"): p
                  for p in paths if p.startswith("perf/") and p.endswith("_bench.cpp")}
    for number, line in enumerate(table.text.splitlines(), 1):
        if line.startswith("#"):
            continue
        for path in campaign_sources(line.rpartition("|")[2], benchmarks):
            if path not in paths:
                yield CAMPAIGNS, number, f"{path} does not exist"


def names_of_tests(sources):
    """What the last column of the promises may name: files of tests, scripts, campaigns."""
    texts = {s.path: s.text for s in sources}
    scripts = re.findall(r"zero_test_program\((\w+)", texts.get(STARTED, ""))
    campaigns = re.findall(r"^([a-z]\w*) \|", texts.get(CAMPAIGNS, ""), re.M)
    files = [path[len("tests/"):-len("_test.cpp")] for path in texts if path.endswith("_test.cpp")]
    return {*(f"runs.{name}" for name in scripts), *campaigns, *files}


def promises_are_shown(sources):
    """No promise stands twice, and each test that shows one is there."""
    table = next((s for s in sources if s.path == PROMISES), None)
    names, promised = names_of_tests(sources), set()
    for number, line in enumerate(table.lines if table else (), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("| ") or cells[0] == "promise":
            continue
        if cells[0] in promised:
            yield PROMISES, number, "stands twice"
        promised.add(cells[0])
        shown_by = re.sub(r"\([^)]*\)|\S*/\*", "", cells[-1])
        for name in SHOWN_BY.findall(shown_by):
            if "".join(name) not in names:
                yield PROMISES, number, f"{''.join(name)} does not exist"


def links_lead_somewhere(sources):
    """What a page links to is there, and every page of doc/ is linked from another one."""
    paths = {s.path for s in sources}
    linked = set()
    for source in sources:
        for number, line in enumerate(source.lines if source.suffix == ".md" else (), 1):
            for target in LINK.findall(line):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(source.path), target))
                linked.add(path)
                if path not in paths:
                    yield source.path, number, f"links to {target}, which does not exist"
    for path in sorted(paths):
        if path.startswith("doc/") and path.endswith(".md") and path not in linked:
            yield path, 1, "no page links to it"


def guides_name_files(sources):
    """A source that a guide names is there; x.cpp stands for any."""
    paths = {s.path for s in sources if s.is_cpp}
    names = {posixpath.basename(path) for path in paths}
    for source in sources:
        if source.suffix != ".md" or source.name == "CHANGELOG.md":
            continue
        for number, line in enumerate(source.lines, 1):
            for folder, name, path in NAMED.findall(line):
                stem = posixpath.basename(name or path).rpartition(".")[0]
                is_there = path in paths if path else name in names and any(
                    f"/{other}".endswith(f"/{folder}{name}") for other in paths)
                if not is_there and not re.fullmatch(r"x(_\w+)?", stem):
                    yield source.path, number, f"names {folder}{name or path}, which does not exist"


def scripts_can_be_started(sources):
    """A script that names its interpreter is executable, where pages say to start scripts."""
    for source in sources:
        if source.top in STARTED_FROM and source.text.startswith("#!") and not source.is_executable:
            yield source.path, 1, f"cannot be started: run chmod +x {source.path}"


def clang_format():
    """The clang-format whose layout is the house's (14), or None."""
    for name in ("clang-format-14", "clang-format"):
        program = shutil.which(name)
        if not program:
            continue
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        if re.search(r"version 14\.", version.stdout):
            return program
    return None


def layout(sources, root):
    """clang-format finds nothing to change."""
    files = [s.path for s in sources if s.is_cpp]
    program = clang_format()
    if not files or not program:
        return
    ran = subprocess.run([program, "--dry-run", "--style=file", *files], cwd=root,
                         capture_output=True, text=True, check=False)
    seen = set()
    for found in re.finditer(r"^(\S+?):(\d+):\d+: (?:warning|error)", ran.stderr, re.M):
        if found[1] not in seen:
            seen.add(found[1])
            yield found[1], int(found[2]), f"not laid out: run {program} -i on it"


RULES = (tests_have_sources, keys_have_lines, campaigns_have_programs, promises_are_shown,
         links_lead_somewhere, guides_name_files, scripts_can_be_started)
