"""Where a fault can be put into C++ code, and one of them drawn by lot.

Places are found in the text alone, without types, so a few faults do not compile; the one who draws
then draws again.
"""
import dataclasses
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/tidy"))
from source import strip_cpp  # noqa: E402 (found by the line above)

OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "&&": "||",
            "||": "&&"}
SHIFTED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
OTHER = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "+=": "-=", "-=": "+=", "*=": "+=",
         "|=": "&=", "&=": "|=", "++": "--", "--": "++"}
CONDITION = re.compile(r"\bif \(")
COMPARISON = re.compile(r" (==|!=|<=|>=|<|>|&&|\|\|) ")
NOT = re.compile(r"(?<![\w)!])!(?=[\w(])")
ARITHMETIC = re.compile(r"(?<= )(\+=|-=|\*=|\|=|&=|[-+*/%])(?= )|(?<=[(\s])(\+\+|--)(?=\w)")
PRIMARY = r"[A-Za-z_][\w.]*(?:\(\))?|\d[\w.]*"
OPERANDS = re.compile(rf"(?<![\w.)\]>:&])({PRIMARY}) ([-/%]) ({PRIMARY})(?![\w(\[.:-])")
ARGUMENTS = re.compile(rf"(?<=\w\()({PRIMARY}), ({PRIMARY})(?=[,)])")
COMMUTES = re.compile(r"\b(min|max|lcm|gcd)\($")
CALL = re.compile(r"(?!(return|throw|co_\w+|delete|using|static_assert|sizeof)\b)"
                  r"[\w:.\[\]*>-]+(<[\w:, ]+>)?\(.*\)$", re.S)
ASSIGNMENT = re.compile(r"\*?[A-Za-z_][\w.\[\]()>+-]* (=|\+=|-=|\*=|/=|%=|\|=|&=|<<=|>>=) .*", re.S)
STEP = re.compile(r"(\+\+|--)[\w.\[\]>-]+$|[\w.\[\]>-]+(\+\+|--)$")
GUARD = re.compile(r"(if|for) \(.*", re.S)
JUMP = re.compile(r"(return|break|continue)$")
INTEGER = re.compile(r"(?<![\w.'])(0[xX][\da-fA-F]+|\d+)(?=[uUlL]*\b)(?![.\w']*[.'])")
REAL = re.compile(r"(?<![\w.'])(\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?=f?\b|f?[^\w.])")
TRUTH = re.compile(r"\b(true|false)\b")
OPEN, CLOSE = "([{", ")]}"


@dataclasses.dataclass(frozen=True, order=True)
class Fault:
    """text[start:end] of a file becomes `after`."""

    path: str
    start: int
    end: int
    kind: str
    before: str
    after: str

    def put_into(self, text):
        return text[:self.start] + self.after + text[self.end:]


def end_of_group(code, start):
    """Behind the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(code)):
        depth += (code[place] in OPEN) - (code[place] in CLOSE)
        if depth == 0:
            return place + 1
    return len(code)


def operand_ends(code, left, right):
    """From where to where the operands of a logical operator at left..right reach."""
    start, depth = left, 0
    while start > 0 and (depth or code[start - 1] not in "([{;,?:="):
        depth += (code[start - 1] in CLOSE) - (code[start - 1] in OPEN)
        start -= 1
        if depth == 0 and code[start:start + 2] in ("&&", "||"):
            start += 2
            break
        if depth == 0 and code.startswith("return ", start):
            start += len("return ")
            break
    end, depth = right, 0
    while end < len(code) and (depth or code[end] not in ")]};,?:"):
        if depth == 0 and code[end:end + 2] in ("&&", "||"):
            break
        depth += (code[end] in OPEN) - (code[end] in CLOSE)
        end += 1
    return start, end


def negated(code, text):
    for found in CONDITION.finditer(code):
        end = end_of_group(code, found.end() - 1) - 1
        start = code.rfind(";", found.end(), end) + 1 or found.end()
        start += len(text[start:end]) - len(text[start:end].lstrip())
        yield start, end, f"!({text[start:end]})"
    for found in COMPARISON.finditer(code):
        yield *found.span(1), OPPOSITE[found[1]]
    for found in NOT.finditer(code):
        yield *found.span(), ""


def shifted(code, text):
    for found in COMPARISON.finditer(code):
        if found[1] in SHIFTED:
            yield *found.span(1), SHIFTED[found[1]]


def operand(code, text):
    for found in COMPARISON.finditer(code):
        if found[1] in ("&&", "||"):
            start, end = operand_ends(code, *found.span())
            yield start, found.end(), ""
            yield found.start(), end, ""
    for found in OPERANDS.finditer(code):
        yield *found.span(), f"{found[3]} {found[2]} {found[1]}"
    for found in ARGUMENTS.finditer(code):
        if found[1] != found[2] and not COMMUTES.search(code, 0, found.start()):
            yield *found.span(), f"{found[2]}, {found[1]}"
    for found in ARITHMETIC.finditer(code):
        sign = found[1] or found[2]
        yield *found.span(), OTHER[sign]


def statements(code):
    """(start, end) of what stands between braces and semicolons outside of parentheses."""
    start, depth = 0, 0
    for place, char in enumerate(code):
        depth += (char in "([") - (char in ")]")
        if depth == 0 and char in "{};":
            if char == ";":
                yield start, place
            start = place + 1


def statement(code, text):
    for start, end in statements(code):
        words = code[start:end].strip()
        if any(kind.match(words) for kind in (CALL, ASSIGNMENT, STEP, GUARD, JUMP)):
            yield code.index(words, start), end, "\n" * words.count("\n")


def constant(code, text):
    for found in INTEGER.finditer(code):
        value = int(found[1], 16 if found[1][:2] in ("0x", "0X") else 10)
        yield *found.span(1), str(value + 1)
        if value > 0:
            yield *found.span(1), str(value - 1)
    for found in REAL.finditer(code):
        yield *found.span(1), repr(2 * float(found[1]) or 1.0)
    for found in TRUTH.finditer(code):
        yield *found.span(1), "false" if found[1] == "true" else "true"


KINDS = {"negated": negated, "shifted": shifted, "operand": operand, "left out": statement,
         "constant": constant}


def faults_of(path, text):
    """Every fault of a file: {kind: [Fault]}."""
    code = strip_cpp(text)
    return {kind: sorted({Fault(path, start, end, kind, text[start:end], after)
                          for start, end, after in find(code, text) if end > start})
            for kind, find in KINDS.items()}


class Lot:
    """All faults of some files, and the `number`-th that is drawn; `attempt` counts those of this
    number that did not compile."""

    def __init__(self, seed, texts):
        self.seed = seed
        self.faults = {kind: [] for kind in KINDS}
        for path, text in sorted(texts.items()):
            for kind, found in faults_of(path, text).items():
                self.faults[kind] += found

    def draw(self, number, attempt):
        lot = random.Random(f"{self.seed} {number} {attempt}")
        return lot.choice(self.faults[lot.choice([k for k in KINDS if self.faults[k]])])
