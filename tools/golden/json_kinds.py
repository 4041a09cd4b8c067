"""Tokenizers of each kind that io/text reads from a tokenizer.json, trained on the spot by the
package `tokenizers`, and texts that part them from wrong readers.
"""
import json
import pathlib
import random
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tools" / "data"))
import bpe_golden  # noqa: E402
import bpe_package  # noqa: E402

PACKAGE = bpe_package.tokenizers()
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3, QWEN = (CONTRACTION + numbers + REST for numbers in (r"\p{N}{1,3}", r"\p{N}"))
MARK = "\u2581"
VOCABULARY = 1500
# No merge builds these, so only ignore_merges takes them.
UNBUILT = ("zeropq", "\u0120qzero", "q\u0120q")
# Text, and flags: some are prefixes of others, some take blanks, some stand in words.
ADDED = (("<s>", {"special": True}), ("</s>", {"special": True}), ("<|a|>", {"special": True}),
         ("<|a|>b", {}), ("<|im_end|>", {"special": True, "rstrip": True}),
         ("<mask>", {"special": True, "lstrip": True}), ("wordy", {"single_word": True}),
         ("caf\u00e9s", {"normalized": True}), ("two words", {"normalized": True}),
         ("both", {"lstrip": True, "rstrip": True, "single_word": True}),
         ("\u00c5ng", {"normalized": True, "special": True}))
PALETTE = (list("'\u017f's'S'RE'Ve'lL\u2019s"), list(" \u2581 \u2581a"),
           list("\u1100\u1161\u11a8\uac00\uac01\u0344\u212b\u1e9b\u0323\u0307"),
           list("e\u0301\u0327\u0345\u0334a\u030a\u05b4\u0f71\u0f72\u0f74\U0001d15e\u0958"),
           ["zeropq", " qzero", "q q"], list("\r\n \n\r"),
           list("12345\u0664\u2167\u00bd\U0001fbf0"),
           [text for text, _ in ADDED], ["<0x41>", "<0x0A>", "<unk>"])


def random_texts(count, seed):
    """As bpe_golden makes them, with the names of tokens and what normalizers change."""
    draw = random.Random(seed)

    def piece():
        if draw.random() < 0.4:
            return bpe_golden.random_text(draw)[:draw.randint(1, 6)]
        return draw.choice(draw.choice(PALETTE))
    return ["".join(piece() for _ in range(draw.randint(1, 14))) for _ in range(count)]


def train(texts, pre_tokenizer, special, alphabet=(), size=None):
    tokenizer = PACKAGE.Tokenizer(PACKAGE.models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    trainer = PACKAGE.trainers.BpeTrainer(vocab_size=size or VOCABULARY, show_progress=False,
                                          special_tokens=list(special),
                                          initial_alphabet=list(alphabet))
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


def byte_level(texts, cut, **flags):
    """A byte-level BPE behind the pre-tokenizers `cut`."""
    last = PACKAGE.pre_tokenizers.ByteLevel(add_prefix_space=flags.pop("prefix", False),
                                            use_regex=flags.pop("use_regex", False))
    steps = PACKAGE.pre_tokenizers.Sequence([*cut, last]) if cut else last
    vocabulary, merges = train(texts, steps, (), PACKAGE.pre_tokenizers.ByteLevel.alphabet(),
                               flags.pop("size", None))
    for word in UNBUILT:
        vocabulary.setdefault(word, len(vocabulary))
    tokenizer = PACKAGE.Tokenizer(PACKAGE.models.BPE(vocabulary, merges, **flags))
    tokenizer.pre_tokenizer = steps
    tokenizer.decoder = PACKAGE.decoders.ByteLevel()
    return tokenizer


def pieces(texts, lost_bytes=(), **flags):
    """A BPE with marks for blanks and, but for some, a token for each byte."""
    special = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256) if byte not in lost_bytes)]
    rule = PACKAGE.pre_tokenizers.Metaspace(MARK, "always", True)
    vocabulary, merges = train(texts, rule, special)
    vocabulary.setdefault(MARK * 2, len(vocabulary))
    if MARK in vocabulary:
        merges.append((MARK, MARK))
    model = PACKAGE.models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True, **flags)
    tokenizer = PACKAGE.Tokenizer(model)
    tokenizer.decoder = PACKAGE.decoders.Sequence([
        PACKAGE.decoders.Replace(MARK, " "), PACKAGE.decoders.ByteFallback(),
        PACKAGE.decoders.Fuse(), PACKAGE.decoders.Strip(" ", 1, 0)])
    return tokenizer


def split(regex):
    return PACKAGE.pre_tokenizers.Split(PACKAGE.Regex(regex), "isolated")


def add_tokens(tokenizer):
    for text, flags in ADDED:
        token = PACKAGE.AddedToken(text, **{"normalized": False, **flags})
        if flags.get("special"):
            tokenizer.add_special_tokens([token])
        else:
            tokenizer.add_tokens([token])


def frame(tokenizer, template):
    tokens = [(text, tokenizer.token_to_id(text)) for text in ("<s>", "</s>")]
    return PACKAGE.processors.TemplateProcessing(single=template, special_tokens=tokens)


def legacy_normalizer():
    return PACKAGE.normalizers.Sequence([PACKAGE.normalizers.Prepend(MARK),
                                         PACKAGE.normalizers.Replace(" ", MARK)])


def make_byte_level(texts):
    """Pairs (name, tokenizer) of the byte-level kinds."""
    processors = PACKAGE.processors
    llama3 = byte_level(texts, [split(LLAMA3)], ignore_merges=True)
    add_tokens(llama3)
    llama3.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False),
                                                 frame(llama3, "<s> $A")])
    yield "llama3", llama3
    qwen = byte_level(texts, [split(QWEN)])
    qwen.normalizer = PACKAGE.normalizers.NFC()
    qwen.post_processor = processors.ByteLevel(trim_offsets=False)
    add_tokens(qwen)
    yield "qwen", qwen
    for name, each in (("smollm", True), ("digits", False)):
        digits = byte_level(texts, [PACKAGE.pre_tokenizers.Digits(individual_digits=each)],
                            use_regex=True)
        add_tokens(digits)
        yield name, digits
    for name, prefix in (("gpt2", False), ("prefix", True)):
        gpt2 = byte_level(texts, [], use_regex=True, prefix=prefix)
        add_tokens(gpt2)
        gpt2.post_processor = frame(gpt2, "$A </s>")
        yield name, gpt2


def make_pieces(texts):
    """Pairs (name, tokenizer) of the kinds with marks for blanks."""
    legacy = pieces(texts, fuse_unk=True)
    legacy.normalizer = legacy_normalizer()
    add_tokens(legacy)
    legacy.post_processor = frame(legacy, "<s> $A")
    yield "legacy", legacy
    for scheme, cuts in (("first", False), ("always", False), ("never", False), ("always", True),
                         ("first", True)):
        marks = pieces(texts, fuse_unk=True)
        marks.pre_tokenizer = PACKAGE.pre_tokenizers.Metaspace(MARK, scheme, cuts)
        add_tokens(marks)
        if cuts:
            marks.decoder = PACKAGE.decoders.Metaspace(MARK, scheme, cuts)
        yield f"metaspace_{scheme}{'_split' if cuts else ''}", marks
    for fuses in (False, True):
        partial = pieces(texts, lost_bytes=range(0x90, 0xB0), fuse_unk=fuses)
        partial.normalizer = legacy_normalizer()
        add_tokens(partial)
        yield f"partial_{'fused' if fuses else 'apart'}", partial
    gemma = pieces(texts, fuse_unk=True)
    gemma.normalizer = PACKAGE.normalizers.Replace(" ", MARK)
    gemma.pre_tokenizer = PACKAGE.pre_tokenizers.Split(" ", "merged_with_previous")
    gemma.decoder = PACKAGE.decoders.Sequence([
        PACKAGE.decoders.Replace(MARK, " "), PACKAGE.decoders.ByteFallback(),
        PACKAGE.decoders.Fuse()])
    add_tokens(gemma)
    yield "gemma", gemma


def kinds(texts):
    yield from make_byte_level(texts)
    yield from make_pieces(texts)


def save(tokenizer, folder, merges_as_texts):
    """Writes tokenizer.json, with merges as texts as older versions of the package wrote them."""
    content = json.loads(tokenizer.to_str())
    if merges_as_texts:
        content["model"]["merges"] = [" ".join(pair) for pair in content["model"]["merges"]]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False),
                                           encoding="utf-8")


def words(tokenizer, text):
    """The bytes of each word of the normalised text."""
    if tokenizer.normalizer is not None:
        text = tokenizer.normalizer.normalize_str(text)
    if tokenizer.pre_tokenizer is None:
        found = [text]
    else:
        found = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
    is_bytes = isinstance(tokenizer.decoder, PACKAGE.decoders.ByteLevel)
    return [len(word) if is_bytes else len(word.encode()) for word in found if word]
