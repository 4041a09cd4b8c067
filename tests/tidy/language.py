"""How plain the language is: comments that open without a subject, words a sentence, pages.

A comment is a run of // lines, or a ///< behind code. It is headless if it opens as HEADLESS does.
A sentence ends at a full stop, a question mark, an exclamation mark or the end of its paragraph.
"""
import collections
import re

from source import PRODUCT, TOKEN, line_of, room_of

HEADLESS_PERCENT, HEADER_WORDS, PAGE_WORDS = 3.0, 12.0, 20.0
PAGES, WORDS_IN_PAGES, WORDS_IN_CHANGELOG = 20, 24_000, 600
CHANGELOG = "CHANGELOG.md"
HEADLESS = re.compile(
    r"(What|Whether|How|Where|Why|Which|Who|Whose|Of|That|Those|One|The same)\b")
LINE = re.compile(r"//(/?<?) ?(.*)")
SENTENCE_END = re.compile(r"(?<=[.?!])[*)\"]*\s+")
NO_PROSE = ("```", "    ", "|", "#", "<!--", "![")
ITEM = re.compile(r"\s*(?:[-*]|\d+\.) ")


def comments(source):
    """Each comment as the list of its lines."""
    found, before = [], None
    for token in TOKEN.finditer(source.text):
        part = LINE.match(token[0])
        if not part:
            continue
        begin = source.text.rfind("\n", 0, token.start()) + 1
        is_alone = not source.text[begin:token.start()].strip()
        is_member = part[1] == "/<"
        if not is_alone and not is_member:
            continue
        number = line_of(source.text, token.start())
        if is_alone and (number - 1, is_member) == before:
            found[-1].append(part[2])
        else:
            found.append([part[2]])
        before = (number, is_member)
    return found


def paragraphs_of_comment(lines):
    return "\n".join(lines).split("\n\n")


def paragraphs_of_page(page):
    """Text without headings, tables, pictures and what is fenced or indented."""
    found, is_fenced = [""], False
    for line in page.lines:
        is_fenced ^= line.startswith("```")
        if is_fenced or not line.strip() or line.startswith(NO_PROSE):
            found.append("")
        elif ITEM.match(line):
            found.append(ITEM.sub("", line, 1))
        else:
            found[-1] += f" {line.strip()}"
    return found


def words_in(text):
    return sum(1 for word in text.split() if re.search(r"\w", word))


def count_words(source):
    """Words as `wc -w` counts them, bars of tables among them."""
    return len(source.text.split())


def sentence_lengths(paragraphs):
    """Words of each sentence."""
    counts = (words_in(sentence) for paragraph in paragraphs
              for sentence in SENTENCE_END.split(paragraph))
    return [count for count in counts if count]


def mean(numbers):
    return sum(numbers) / len(numbers) if numbers else 0.0


def percent(part, whole):
    return 100.0 * part / whole if whole else 0.0


def by_room(sources):
    """{room: [its sources]} of the product."""
    rooms = collections.defaultdict(list)
    for source in sources:
        if source.is_cpp and source.top in PRODUCT:
            rooms[room_of(source.path)].append(source)
    return rooms


def headless(sources):
    """(headless comments, all comments)."""
    opened = [comment[0] for source in sources for comment in comments(source)]
    return sum(1 for line in opened if HEADLESS.match(line)), len(opened)


def header_lengths(sources):
    """Words of each sentence in the comments of public headers."""
    headers = [s for s in sources if s.top == "include"]
    return [count for header in headers for comment in comments(header)
            for count in sentence_lengths(paragraphs_of_comment(comment))]


def pages(sources):
    return [s for s in sources if s.path.startswith("doc/") and s.suffix == ".md"]


def page_lengths(sources):
    return [count for page in pages(sources)
            for count in sentence_lengths(paragraphs_of_page(page))]


def figures_of(sources):
    """A room's (percent of headless comments, words a sentence in headers)."""
    return percent(*headless(sources)), mean(header_lengths(sources))


def place_of(room):
    return room if room in ("kernels", "io") else f"src/{room}"


def exceeds(figure, limit):
    return round(figure, 1) > limit


def comments_have_heads(sources):
    for room, files in sorted(by_room(sources).items()):
        share = percent(*headless(files))
        if exceeds(share, HEADLESS_PERCENT):
            yield (place_of(room), 1,
                   f"{share:.1f} % of comments open headless, at most {HEADLESS_PERCENT} %")


def headers_are_terse(sources):
    for room, files in sorted(by_room(sources).items()):
        words = mean(header_lengths(files))
        if exceeds(words, HEADER_WORDS):
            yield f"include/zero/{room}", 1, f"{words:.1f} words a sentence, at most {HEADER_WORDS}"


def pages_are_short(sources):
    words = mean(page_lengths(sources))
    if exceeds(words, PAGE_WORDS):
        yield "doc", 1, f"{words:.1f} words a sentence, at most {PAGE_WORDS}"
    count = sum(count_words(page) for page in pages(sources))
    if len(pages(sources)) > PAGES or count > WORDS_IN_PAGES:
        yield "doc", 1, f"{len(pages(sources))} pages and {count} words, " \
                        f"at most {PAGES} and {WORDS_IN_PAGES}"


def changelog_is_short(sources):
    for source in sources:
        if source.path == CHANGELOG and count_words(source) > WORDS_IN_CHANGELOG:
            what = f"{count_words(source)} words, at most {WORDS_IN_CHANGELOG}"
            yield CHANGELOG, 1, what


def by_size(figures):
    """Figures of rooms as words, the largest first."""
    ordered = sorted(figures.items(), key=lambda figure: -figure[1])
    return ", ".join(f"{room} {figure:.1f}" for room, figure in ordered if figure)


def table(sources):
    """The figures, as a line for people."""
    rooms = by_room(sources)
    product = [source for files in rooms.values() for source in files]
    shares = by_size({room: percent(*headless(files)) for room, files in rooms.items()})
    words = by_size({room: mean(header_lengths(files)) for room, files in rooms.items()})
    in_pages = sum(count_words(page) for page in pages(sources))
    in_changelog = sum(count_words(s) for s in sources if s.path == CHANGELOG)
    yield f"language: {percent(*headless(product)):.1f} % of {headless(product)[1]} comments are " \
          f"headless ({shares}); {mean(header_lengths(product)):.1f} words a sentence in headers " \
          f"({words}), {mean(page_lengths(sources)):.1f} in doc/; {len(pages(sources))} pages of " \
          f"{in_pages} words, {CHANGELOG} {in_changelog}"


RULES = (comments_have_heads, headers_are_terse, pages_are_short,
         changelog_is_short)
