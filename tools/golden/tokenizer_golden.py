#!/usr/bin/env python3
"""Two tokenizers of encoder-decoders, trained on a text and saved by Transformers, and what it
makes of some hundred texts: golden values of `io/text`.

usage: tokenizer_golden.py TEXT [OUTDIR]      writes the folders pieces and chat_bpe, each with the
                                              tokenizer and texts.json, into tests/golden by default
TEXT is English, as tools/data/web_text.py makes it. texts.json has one row a text: [text, ids,
what they decode to without special tokens]. The ids of `pieces` are those of T5Tokenizer, which is
the library SentencePiece itself in this last version of Transformers 4. Those of `chat_bpe` are
BlenderbotTokenizerFast's, which AutoTokenizer gives, and BlenderbotTokenizer in Transformers 5.
"""
import json
import pathlib
import shutil
import sys
import tempfile

import python_packages

TRANSFORMERS = "4.57.1"
PACKAGES = (f"transformers=={TRANSFORMERS}", "tokenizers==0.22.2", "sentencepiece==0.2.3",
            "protobuf==7.36.2")
PIECES, WORDS, TEXTS, SEED = 400, 700, 250, 24
ENGLISH_BYTES = 400_000
SENTINELS = ["<extra_id_0>", "<extra_id_1>", "<extra_id_10>", "<extra_id_99>", "<extra_id_100>",
             "</s>", "<pad>", "<unk>", " <extra_id_2> ", "<extra_id_3>\n"]
MARKS = ["__start__", "__end__", "__null__", "__unk__", "__end__ __start__", " <mask>", "</s>"]


def save_pieces(lines, folder, size):
    """A unigram model with T5's ids of pad, eos and unk, in a folder of T5Tokenizer's."""
    import sentencepiece
    import transformers
    with tempfile.TemporaryDirectory(prefix="zeroapp-") as scratch:
        prefix = str(pathlib.Path(scratch) / "spiece")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_prefix=prefix, vocab_size=size, pad_id=0,
            eos_id=1, unk_id=2, bos_id=-1, model_type="unigram", num_threads=1,
            max_sentence_length=20000, minloglevel=2)
        tokenizer = transformers.T5Tokenizer(prefix + ".model", legacy=True)
        tokenizer.save_pretrained(folder)
    return transformers.T5Tokenizer.from_pretrained(folder)


def save_words(lines, folder, size):
    """A byte-level BPE with ParlAI's special tokens, in a folder of BlenderbotTokenizer's."""
    import tokenizers
    import transformers
    words = tokenizers.ByteLevelBPETokenizer(add_prefix_space=True)
    words.train_from_iterator(lines, vocab_size=size, show_progress=False,
                              special_tokens=["__null__", "__start__", "__end__", "__unk__"])
    with tempfile.TemporaryDirectory(prefix="zeroapp-") as scratch:
        words.save_model(scratch)
        slow = transformers.BlenderbotTokenizer(
            f"{scratch}/vocab.json", f"{scratch}/merges.txt", bos_token="__start__",
            eos_token="__end__", unk_token="__unk__", pad_token="__null__", sep_token="__end__",
            cls_token="__start__", add_prefix_space=True)
        slow.save_pretrained(folder)
    return transformers.BlenderbotTokenizerFast.from_pretrained(folder)


def ids_of(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False)


def text_of(tokenizer, ids):
    return tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


def write_rows(folder, tokenizer, texts):
    rows = []
    for text in texts:
        ids = ids_of(tokenizer, text)
        rows.append(json.dumps([text, ids, text_of(tokenizer, ids)], separators=(",", ":")))
    path = folder / "texts.json"
    path.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    print(f"{path}: {len(rows)} texts, {path.stat().st_size / 1e3:.0f} kB")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    python_packages.use(*PACKAGES)
    import bpe_golden
    import text_samples
    english = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")[:ENGLISH_BYTES].splitlines()
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else \
        python_packages.TREE / "tests" / "golden"
    odd = bpe_golden.random_texts(500, SEED)
    for name, save, size, special in (("pieces", save_pieces, PIECES, SENTINELS),
                                      ("chat_bpe", save_words, WORDS, MARKS)):
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        more = odd if name == "chat_bpe" else []
        tokenizer = save(english + more, folder, size)
        write_rows(folder, tokenizer, text_samples.samples(english, special, TEXTS, SEED + 1))


if __name__ == "__main__":
    main()
