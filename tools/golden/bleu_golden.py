#!/usr/bin/env python3
"""Corpora of pairs of texts with the BLEU that sacreBLEU gives them: golden values of
`model/text_scores`.

usage: bleu_golden.py TEXT [OUT]      writes tests/golden/bleu.json by default
TEXT is English, as tools/data/web_text.py makes it. The file holds one row a corpus: [hypotheses,
references, BLEU, its four precisions, brevity penalty, [tokens, tokens of the references]].
"""
import json
import pathlib
import random
import sys

import python_packages

SACREBLEU = "2.6.0"
PACKAGES = (f"sacrebleu=={SACREBLEU}",)
CORPORA, SEED = 40, 24
# What the rules of 13a, and those of white space, decide about.
PIECES = ("&quot;", "&amp;lt;", "&gt;", "<skipped>", "1,000.5", "U.S.", "3-4", "-", "--", "\u3000",
          "\u00a0", "\u2028", "\x1c", "\x85", "\u2009", "\u1680", "\u205f", "\u3002", "\u00bf",
          "\u2026", "e.g.,", "50%", "$5", "a.b.c", ".,", "..", "5.", ".5", "7,", ",8", "don't",
          "\u65e5\u672c", "\t", "\u00ab", "\u00bb", "[x]", "{y}", "~", "a/b", "caf\u00e9.",
          "\u00e9,\u00e9", "the", "the", "of", "a", "Lord",
          "\U0001f600", "\u200b", "\ufeff", "'", "\"", "_", "#1")


def odd_line(draw):
    return "".join(draw.choice(PIECES) + draw.choice(("", " ", " ", "  "))
                   for _ in range(draw.randint(0, 15)))


def changed(draw, line):
    """The line with some words left out, repeated, moved or replaced."""
    words = line.split(" ")
    for _ in range(draw.randint(0, 1 + len(words) // 4)):
        at = draw.randrange(len(words))
        words[at:at + 1] = draw.choice(([], [words[at]] * 2, [draw.choice(PIECES)],
                                        [draw.choice(words)]))
        if not words:
            return ""
    return " ".join(words)


def corpus(draw, lines):
    """Up to 30 pairs. Some corpora are too short for four words in a row, or have no match."""
    short = draw.random() < 0.2
    odd = draw.choice((0, 0.3, 1))
    hypotheses, references = [], []
    for _ in range(draw.randint(1, 3 if short else 30)):
        line = odd_line(draw) if draw.random() < odd else draw.choice(lines)
        if short:
            line = " ".join(line.split(" ")[:draw.randint(0, 4)])
        other = draw.random()
        references.append(line)
        hypotheses.append(line if other < 0.1 else "" if other < 0.15 else
                          draw.choice(lines) if other < 0.2 else changed(draw, line))
    return hypotheses, references


def corpora(lines, count, seed):
    draw = random.Random(seed)
    return [corpus(draw, lines) for _ in range(count)]


def score(hypotheses, references):
    import sacrebleu
    return sacrebleu.corpus_bleu(hypotheses, [references])


def with_line_ends(found):
    """The same pairs with ends of lines within a text, which a file of lines cannot hold."""
    return tuple([text.replace("- ", "-\n").replace(" the", "\nthe") for text in side]
                 for side in found)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    python_packages.use(*PACKAGES)
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else \
        python_packages.TREE / "tests" / "golden" / "bleu.json"
    lines = [line[:200] for line in
             pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()[:2000]]
    rows = []
    for hypotheses, references in corpora(lines, CORPORA, SEED):
        pairs = hypotheses[:12], references[:12]
        if len(rows) % 4 == 0:
            pairs = with_line_ends(pairs)
        found = score(*pairs)
        rows.append(json.dumps([*pairs, found.score, found.precisions, found.bp,
                                [found.sys_len, found.ref_len]], separators=(",", ":")))
    out.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    print(f"{out}: {len(rows)} corpora, {out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
