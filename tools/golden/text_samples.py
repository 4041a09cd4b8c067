"""Texts on which tokenizers and metrics are compared: real lines, real lines with special tokens
in them, and random ones of all planes of Unicode."""
import random

from bpe_golden import PALETTE, any_character

FIXED = ("", " ", "  ", "\n", "\t \u00a0", "a", " a", "  a  b  ", "a\n", "\u2581", "a\u2581b",
         "\u2581 a", "caf\u00e9 cafe\u0301 \ufb01 \u2460 \uff21", "\ufeffa", "a\u200bb", "\u00ada",
         "\x00\x01\x7f", "a\x1cb",
         "x" * 300, " ".join("ab" * 60), "don't  we've'll", "1,000.50 (5%)",
         "\U0001f468\u200d\U0001f469 \U0001f1e6\U0001f1e7", "\u0e01\u0e33 \u1e9b\u0323 \u212b")


def random_text(draw, special):
    """1 to 40 pieces: any characters, those that decide about cuts, words and special tokens."""
    share = draw.choice((0, 0.5, 1))
    choices = [*PALETTE, special, ["the", "and", "Lord "], list(" \u2581\u2009\u3000")]
    return "".join(any_character(draw) if draw.random() < share else
                   draw.choice(draw.choice(choices)) for _ in range(draw.randint(1, 40)))


def with_special(draw, line, special):
    words = line.split(" ")
    for token in draw.sample(special, min(3, len(special))):
        words.insert(draw.randint(0, len(words)), token)
    return draw.choice((" ", "", "  ")).join(words) if draw.random() < 0.2 else " ".join(words)


def samples(lines, special, count, seed):
    """`count` texts: four tenths real lines, two with special tokens, the others random."""
    draw = random.Random(seed)
    real = [draw.choice(lines) for _ in range(count * 6 // 10)]
    plain = count * 4 // 10
    marked = [with_special(draw, line, special) for line in real[plain:]]
    odd = [random_text(draw, special) for _ in range(count - len(real) - len(FIXED))]
    return [*FIXED, *real[:plain], *marked, *odd]
