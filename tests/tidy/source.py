"""What the rules know about a file: its room, its code without comments, its functions."""
import ast
import pathlib
import re

PRODUCT = ("include", "src", "kernels", "io")
TOPS = PRODUCT + ("tests", "perf", "tools", "cmake", "inputs", "jobscripts", "doc")
CPP = {".hpp", ".cpp", ".cuh", ".cu", ".h"}
SCRIPTS = {".py", ".sh", ".cmake", ".mk"}
TEXTS = {".md", ".svg", ".toml", ".json", ".txt", ".yml"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


class Source:
    """One file of the tree; `path` is relative to the root and has forward slashes."""

    def __init__(self, path, text, is_executable=False):
        self.path = path
        self.is_executable = is_executable
        self.text = text
        self.lines = text.splitlines()
        self.suffix = pathlib.PurePosixPath(path).suffix
        self.name = pathlib.PurePosixPath(path).name
        self.top = path.split("/")[0]
        self.is_cpp = self.suffix in CPP
        self.is_cmake = self.name == "CMakeLists.txt" or self.suffix == ".cmake"
        self.is_script = self.suffix in SCRIPTS or self.is_cmake
        self.code = strip_cpp(text) if self.is_cpp else text

    def includes(self):
        """(line, quote, file) of each #include."""
        for found in INCLUDE.finditer(self.text):
            yield line_of(self.text, found.start(2)), found[1], found[2]

    def functions(self):
        if self.is_cpp:
            return cpp_functions(self.code)
        return python_functions(self.text) if self.suffix == ".py" else []


def room_of(path):
    """The room that a file, or the file an #include names, belongs to; None outside the house."""
    parts = path.split("/")
    if parts[0] == "include":
        parts = parts[1:]
    if parts[0] == "zero" and len(parts) > 2:
        return parts[1]
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else "main"
    return parts[0] if parts[0] in ("kernels", "io") and len(parts) > 1 else None


def read_tree(root):
    """Every text file of the tree that the rules look at, sorted by path."""
    root = pathlib.Path(root)
    found = [p for p in root.iterdir() if p.is_file()]
    for top in TOPS:
        found += [p for p in (root / top).rglob("*") if p.is_file()]
    sources = []
    for path in sorted(found):
        known = path.suffix in CPP | SCRIPTS | TEXTS or path.name == "CMakeLists.txt"
        if known and path.stat().st_size < 2_000_000:
            text = path.read_text(encoding="utf-8", errors="replace")
            is_executable = bool(path.stat().st_mode & 0o100)
            sources.append(Source(path.relative_to(root).as_posix(), text, is_executable))
    return sources


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/'
    r'|R"(?P<raw>[^(\s]*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.S | re.M,
)


def strip_cpp(text):
    """The code without comments, literals and preprocessor lines; lines stay where they are."""

    def blank(found):
        return re.sub(r"[^\n]", " ", found[0])

    return TOKEN.sub(blank, text)


class Function:
    """Lines are counted from 1, both ends belong to it; `nesting` is its deepest control block."""

    def __init__(self, name, first, last, nesting):
        self.name, self.first, self.last, self.nesting = name, first, last, nesting

    def length(self):
        return self.last - self.first + 1


CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum)\b(?![^{]*\)\s*$)|^\s*extern\s*$")
TAIL = re.compile(r"\)[\s\w&:<>,*\[\]{}]*(->[^{;]*)?$", re.S)


def is_control(head):
    return bool(re.match(r"\s*(else|do|try|if|for|while|switch|catch)\b", head))


def is_function(head):
    """Whether a brace after `head`, outside functions, opens a function's body."""
    plain = re.sub(r"\boperator\s*[^\s\w(]+", "operator_", head)
    plain = re.sub(r"\boperator_?\s*\(\s*\)", "operator_", plain)
    if re.search(r"=\s*\[[^\]]*\]", plain):
        return True  # a named lambda
    outside = re.sub(r"\([^()]*\)", "()", re.sub(r"\([^()]*\)", "", plain))
    outside = re.sub(r"<[^<>]*>", "", outside)
    return bool(TAIL.search(plain)) and not re.search(r"(?<![=!<>])=(?!=)", outside)


def is_member_initialiser(head):
    """Whether the brace after `head` initialises a member in a constructor's list: `: size_`{n}."""
    return bool(re.search(r"\)\s*(noexcept)?\s*:[^:].*[\w>]\s*$", head, re.S))


def function_name(head):
    found = re.search(r"([~\w:]+|operator\s*\S+?)\s*\(", head)
    return found[1] if found else "lambda"


class BraceScanner:
    """Walks the braces of stripped code and collects its functions."""

    def __init__(self, code):
        self.code = code
        self.stack = []  # of (kind, head, first line, nesting so far)
        self.found = []
        self.deepest = 0

    def kind_of(self, head):
        if any(kind == "function" for kind, _, _ in self.stack):
            return "control" if is_control(head) else "block"
        if is_member_initialiser(head):
            return "initialiser"
        if CONTAINER.search(head) and not is_function(re.sub(r"\balignas\([^)]*\)", "", head)):
            return "container"
        return "function" if is_function(head) else "block"

    def open(self, head, line):
        kind = self.kind_of(head)
        self.stack.append((kind, head, line))
        if kind == "function":
            self.deepest = 0
        controls = sum(k == "control" for k, _, _ in self.stack)
        self.deepest = max(self.deepest, controls)

    def close(self, line):
        """The head that goes on after this brace."""
        if not self.stack:
            return ""
        kind, head, first = self.stack.pop()
        if kind == "function":
            self.found.append(Function(function_name(head), first, line, self.deepest))
        return head + "{}" if kind == "initialiser" else ""

    def scan(self):
        head, first, line, parens = "", None, 1, 0
        for char in self.code:
            if char == "{":
                self.open(head, first or line)
                head, first = "", None
            elif char == "}":
                head = self.close(line)
                first = line if head else None
            elif char == ";" and parens == 0:
                head, first = "", None
            else:
                head += char
                if not char.isspace():
                    first = first or line
            parens = max(0, parens + (char == "(") - (char == ")")) if char in "()" else parens
            line += char == "\n"
        return self.found


def cpp_functions(code):
    return BraceScanner(code).scan()


def python_functions(text):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, kinds)]
    return [Function(n.name, n.lineno, n.end_lineno, 0) for n in nodes]
