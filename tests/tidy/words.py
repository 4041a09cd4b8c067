"""Words that do not belong in the tree. No pattern here matches itself."""
import re

from source import PRODUCT, room_of


OPENING = re.compile(r"(?:^|(?<=[.?] ))(Of|That of|Those|Who|Whoever|Whose|Likewise)\b")
COMMENT = re.compile(r"^([^\"]*?(?:\"[^\"]*\"[^\"]*?)*)//[/<]* ?(.*)$")


class Word:
    def __init__(self, pattern, why, applies, in_code=False):
        self.pattern, self.why = re.compile(pattern), why
        self.applies, self.in_code = applies, in_code


def everywhere(source):
    return True


def cpp(source):
    return source.is_cpp


def product(source):
    return source.is_cpp and source.top in PRODUCT


def product_but_ends(source):
    """A rank that cannot end together with its peers ends where the session says, and a child that
    has outlived its rank when the launcher has ended."""
    return product(source) and source.path not in ("src/main.cpp", "src/launch/session.cpp",
                                                   "src/launch/stuck_launcher.cpp")


def product_but_models(source):
    return product(source) and room_of(source.path) != "model"


def product_but_samples(source):
    """Families name the inputs of their graphs, kinds of data their columns."""
    return product_but_models(source) and "io/data/" not in source.path


def explained(source):
    return source.is_cpp or source.is_script


def builds(source):
    return source.is_cpp or source.is_cmake or source.name == "CMakePresets.json"


WORDS = (
    Word(r"\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b|\b[Hh]ac[k]s?\b", "unfinished business", everywhere),
    Word(r"(?i)@autho[r]|\bautho[r]s?:|\bcopyrigh[t]\b", "an author's mark", everywhere),
    Word(r"(//|#|\*).*\b20\d\d-[01]\d-[0-3]\d\b", "a date in a comment", everywhere),
    Word(r"(?i)\bsand[b]ox|\bai agen[t]|\bagen[t]s?\b|\bsession's helpe[r]|/wor[k]/|/tmp/[w]/",
         "a word of somebody's workplace", everywhere),
    Word(r"\bassert\s*\(", "assert: ZERO_REQUIRE is always on", cpp, True),
    Word(r"(?<![\w.>])((_|quick_)?exit|_Exit)\s*\(\s*[^)\s]", "exit outside main.cpp: throw",
         product_but_ends, True),
    Word(r"(std|(?<!\w))::(abort|terminate)\b", "abort: throw Error", product, True),
    Word(r"(?<!operator )\bnew\b\s*[\w:(\[]", "raw new: values and unique_ptr", product, True),
    Word(r"(?i)gpt-?2|deberta(?!v2tokenizer)|blenderbot|(?<![a-z0-9])(t5|llama)(?![a-z0-9])",
         "a family of models: say it by model::Architecture", product_but_models),
    Word(r'"(tokens|targets)"', "a column of a kind of data: go through the list of inputs",
         product_but_samples),
    Word(r'(//[/<]*|#|""") ?O[f]\b', "a comment that begins with it has no subject", explained),
    Word(r"-ffast-mat[h]|-Ofas[t]|(?<!no-)fast-mat[h]", "arithmetic that is not IEEE", builds),
)


def without_comment(source, line):
    return re.sub(r"(^|\s)#.*" if source.is_cmake else r"//.*", "", line)


def forbidden_words(sources):
    for source in sources:
        lines = {True: source.code.splitlines(), False: source.lines}
        for word in WORDS:
            if not word.applies(source):
                continue
            for number, line in enumerate(lines[word.in_code], 1):
                if word.applies is builds:
                    line = without_comment(source, line)
                found = word.pattern.search(line)
                if found:
                    yield source.path, number, f"'{found[0].strip()}': {word.why}"


def comments(source):
    """Each comment as (number, text) of its lines; one that follows code begins anew."""
    found = []
    for number, line in enumerate(source.lines, 1):
        part = COMMENT.match(line)
        if not part or part[1].strip() or not part[2].strip():
            yield found
            found = []
        if part and part[2].strip():
            found.append((number, part[2].strip()))
    yield found


def sentences_have_subjects(sources):
    """No sentence of a comment opens as if another went on, wherever in its lines it begins."""
    for source in sources:
        for comment in comments(source) if source.is_cpp else ():
            end = ""
            for number, text in comment:
                before = f"{end} " if end else ""
                found = OPENING.search(before + text, len(before))
                if found:
                    yield source.path, number, f"'{found[0]}': a sentence has a subject and a verb"
                end = text


OPERATIONS = "include/zero/graph/operations.hpp"
KINDS = re.compile(r"extern const Operation ([^;]+);")


def operations_stay_in_their_files(sources):
    """What tells kinds of ops apart is a property of the operation, so no other file names one."""
    by_path = {source.path: source for source in sources}
    if OPERATIONS not in by_path:
        return
    kinds = re.findall(r"\w+", " ".join(KINDS.findall(by_path[OPERATIONS].code)))
    names = re.compile(r"\b(" + "|".join(kinds) + r")\b")
    for source in sources:
        own = source.path == OPERATIONS or source.path.startswith("src/graph/ops/")
        if own or not product(source):
            continue
        for number, line in enumerate(source.code.splitlines(), 1):
            found = names.search(line)
            if found:
                yield source.path, number, f"'{found[0]}': say it by a member of graph::Operation"


PAIRS = re.compile(r"(?<!std::)(?<![a-z])pairs?(?![a-z])|Pair(?=[A-Z]|s?\b)")
PAIR_FILES = 12
# Rooms that hold samples of two texts and objectives, and files in which a pair is something else.
PAIR_ROOMS = ("io/", "include/zero/io/", "src/model/", "include/zero/model/")
OTHER_PAIRS = ("src/plan/", "include/zero/plan/", "src/compile/", "src/graph/",
               "include/zero/graph/", "include/zero/kernels/", "kernels/", "src/config/import/",
               "src/advise/placement.cpp", "src/config/key_assignment.cpp",
               "include/zero/config/read_config.hpp")


def files_of_pairs(sources):
    """The product's files that know samples of two texts, beside the rooms that hold them."""
    return [source.path for source in sources
            if product(source) and not source.path.startswith(PAIR_ROOMS + OTHER_PAIRS) and
            any(PAIRS.search(line) for line in source.lines)]


def pairs_stay_in_their_rooms(sources):
    """Whatever is learnt is a row, model::Objective: no other file needs to know one of them."""
    found = files_of_pairs(sources)
    for path in found[PAIR_FILES:]:
        yield path, 1, f"knows pairs of texts, as {', '.join(found[:PAIR_FILES])} do"


RULES = (forbidden_words, sentences_have_subjects, operations_stay_in_their_files,
         pairs_stay_in_their_rooms)
