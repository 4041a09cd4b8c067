#!/usr/bin/env python3
"""A small tokenizer of a DeBERTa, and what others make of texts and of lengths: golden values of
`io/text` and `io/data`.

usage: deberta_pieces.py TEXT [OUTDIR]      writes the folder spm, with spm.model and its settings,
                                            texts.json and longest_first.json, into tests/golden
                                            by default
TEXT is English, as tools/data/web_text.py makes it. A row of texts.json is [text, ids]: those of
the library SentencePiece for each stretch between special tokens. A row of longest_first.json is
[tokens of the first text, of the second, most tokens with three special ones, kept tokens of the
first, of the second] by the package `tokenizers`. The map of characters has a few lines of
SentencePiece's NFKC, so that the file is small.
"""
import json
import pathlib
import random
import re
import shutil
import sys
import tempfile

import python_packages

PACKAGES = ("tokenizers==0.23.3", "sentencepiece==0.2.3")
SPECIAL = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "[UNK]": 3}
MARKS = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", " [MASK] ", "[mask]", "[SEP"]
MAPPED = {"\u00a0": " ", "\u3000": " ", "\u2009": " ", "\t": " ", "\n": " ", "\ufb01": "fi",
          "\u2460": "1", "\uff21": "A", "\u00bd": "1\u20442", "\u212b": "\u00c5",
          "e\u0301": "\u00e9", "\u00ad": ""}
PIECES, TEXTS, CUTS, SEED = 300, 250, 1500, 42
ENGLISH_BYTES = 400_000


def train(lines, prefix, size, **rules):
    """A unigram model with the special pieces of a DeBERTa, as PREFIX.model."""
    import sentencepiece
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=str(prefix), vocab_size=size, pad_id=0,
        bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]",
        unk_piece="[UNK]", model_type="unigram", num_threads=1, max_sentence_length=20000,
        minloglevel=2, **rules)


def save(lines, folder, size, rules_file=None):
    """spm.model in a folder as the published ones are."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="zeroapp-") as scratch:
        prefix = pathlib.Path(scratch) / "spm"
        rules = {"normalization_rule_tsv": str(rules_file)} if rules_file else {}
        train(lines, prefix, size, **rules)
        shutil.copy(f"{prefix}.model", folder / "spm.model")
    settings = {"do_lower_case": False, "vocab_type": "spm"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings) + "\n")


def write_rules(path):
    def points(text):
        return " ".join(f"{ord(c):X}" for c in text)
    path.write_text("".join(f"{points(a)}\t{points(b)}\n" for a, b in MAPPED.items()))


class Reference:
    """SentencePiece between special tokens, which stand for themselves."""

    def __init__(self, folder):
        import sentencepiece
        self.model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spm.model"))
        self.special = {**SPECIAL, "[MASK]": self.model.get_piece_size()}
        self.cut = re.compile("(" + "|".join(map(re.escape, self.special)) + ")")

    def ids(self, text):
        return [id for part in self.cut.split(text) if part
                for id in ([self.special[part]] if part in self.special
                           else self.model.encode(part))]


class LongestFirst:
    """The tokens that the package keeps of two texts; a word is a token."""

    def __init__(self):
        import tokenizers
        model = tokenizers.models.WordLevel({"a": 0, "b": 1, "[CLS]": 2, "[SEP]": 3}, "a")
        self.tokenizer = tokenizers.Tokenizer(model)
        self.tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
        self.tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 2), ("[SEP]", 3)])

    def kept(self, first, second, most):
        self.tokenizer.enable_truncation(most, strategy="longest_first")
        ids = self.tokenizer.encode("a " * first, "b " * second).ids
        return ids.count(0), ids.count(1)


def lengths(count, seed):
    """Rows of two lengths and the most tokens, ties and short limits among them."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        first = draw.randint(0, 40)
        second = draw.choice((first, draw.randint(0, 40), draw.randint(0, 120)))
        rows.append((first, second, draw.randint(5, 64)))
    return rows


def write_rows(path, rows):
    path.write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) +
                    "\n]\n", encoding="utf-8")
    print(f"{path}: {len(rows)} rows, {path.stat().st_size / 1e3:.0f} kB")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    python_packages.use(*PACKAGES)
    import text_samples
    english = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")[:ENGLISH_BYTES].splitlines()
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else \
        python_packages.TREE / "tests" / "golden"
    folder = out / "spm"
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="zeroapp-") as scratch:
        rules = pathlib.Path(scratch) / "rules.tsv"
        write_rules(rules)
        save(english, folder, PIECES, rules)
    reference, rule = Reference(folder), LongestFirst()
    texts = text_samples.samples(english, MARKS, TEXTS, SEED)
    write_rows(folder / "texts.json", [[text, reference.ids(text)] for text in texts])
    write_rows(folder / "longest_first.json",
               [[*row, *rule.kept(*row)] for row in lengths(CUTS, SEED)])


if __name__ == "__main__":
    main()
