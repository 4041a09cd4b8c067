#!/usr/bin/env python3
"""Golden values of tokenizer.json: a small tokenizer of each kind, and texts with what the package
`tokenizers` makes of them.

usage: tokenizer_json_golden.py TEXT [OUTDIR]   writes tokenizer.json and texts.json of each kind,
                                                into folders of tests/golden/json by default
TEXT is English, as tools/data/web_text.py makes it. texts.json has one row a text: [text, ids, ids
with special names as text, bytes of each word, text of the ids, text without special tokens].
"""
import json
import pathlib
import sys

import bpe_golden
import json_kinds

VOCABULARY, LEARNT, TEXTS, SEED = 560, 60_000, 60, 30
KINDS = ("llama3", "qwen", "smollm", "prefix", "legacy", "metaspace_first", "partial_fused",
         "gemma")
FIXED = ("", " ", "a", " a", "'\u017f 'S 'LL", "12345", "\r\n \n a", "zeropq qzero",
         "<s><|a|>b <|im_end|>  x <mask>wordy wordyx both", "e\u0301 \u1100\u1161\u11a8 \u212b",
         "\u65e5\u672c \U0001f600", "<unk><0x41>", "Hello  world")


def row(tokenizer, text):
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    tokenizer.encode_special_tokens = True
    plain = tokenizer.encode(text, add_special_tokens=False).ids
    tokenizer.encode_special_tokens = False
    return [text, ids, plain, json_kinds.words(tokenizer, text),
            tokenizer.decode(ids, skip_special_tokens=False),
            tokenizer.decode(ids, skip_special_tokens=True)]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    english = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")[:LEARNT]
    default = json_kinds.TREE / "tests" / "golden" / "json"
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else default
    json_kinds.VOCABULARY = VOCABULARY
    learnt = english.splitlines(keepends=True)
    texts = [*FIXED, english[:500],
             *(text[:60] for text in json_kinds.random_texts(TEXTS, SEED)),
             *(text[:30] for text in bpe_golden.random_texts(TEXTS // 3, SEED))]
    for number, (kind, tokenizer) in enumerate(json_kinds.kinds(learnt)):
        if kind not in KINDS:
            continue
        json_kinds.save(tokenizer, out / kind, merges_as_texts=number % 2 == 1)
        rows = [json.dumps(row(tokenizer, text), separators=(",", ":")) for text in texts]
        (out / kind / "texts.json").write_text("[\n" + ",\n".join(rows) + "\n]\n",
                                               encoding="utf-8")
        print(kind)


if __name__ == "__main__":
    main()
