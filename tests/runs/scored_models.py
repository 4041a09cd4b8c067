"""Small models and texts to score, made here of numbers that are the same everywhere: what
runs/scores.py scores and runs/scores_in_lm_eval.py gives to lm-eval."""
import json
import math
import struct

from token_files import LETTER_OF_BYTE

LENGTH = 64  # positions of the models
WORDS = ("yes no apple river seven green stone hand cloud bread über naïve 東京 run runs running "
         "walk it is of the a to and so").split()
RECORDS, DOCUMENTS = 200, 24
BARE_FROM = 150  # records from here on have no blank in front of their choices
PLAIN = ("\n", "  ", "\t", " ")


class Draws:
    """A generator of numbers that is the same everywhere."""

    def __init__(self, seed):
        self.state = seed

    def below(self, end):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self.state >> 33) % end

    def normal(self):
        """Near a normal number: of twelve uniform ones, as their sum is exact in a double."""
        return sum(self.below(1 << 20) for _ in range(12)) / (1 << 20) - 6

    def words(self, count):
        return [WORDS[self.below(len(WORDS))] for _ in range(count)]


def merges():
    """Each word joins from the left, and then with a blank in front."""
    made = []
    for word in WORDS:
        symbols = [LETTER_OF_BYTE[byte] for byte in word.encode()]
        while len(symbols) > 1:
            made.append((symbols[0], symbols[1]))
            symbols[:2] = [symbols[0] + symbols[1]]
        made.append((LETTER_OF_BYTE[ord(" ")], symbols[0]))
    return list(dict.fromkeys(made))


def tokenizer_files(special, has_template):
    """The files of a byte-level BPE whose text begins with the special token, by a template."""
    vocabulary = {}
    for entry in [*LETTER_OF_BYTE.values(), *(left + right for left, right in merges()), special]:
        vocabulary.setdefault(entry, len(vocabulary))
    number = vocabulary.pop(special)
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
             "use_regex": True}
    template = {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": special, "type_id": 0}},
                           {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                         {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {special: {"id": special, "ids": [number], "tokens": [special]}}}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": number, "content": special, "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": True}],
        "normalizer": None, "pre_tokenizer": level,
        "post_processor": template if has_template else level, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocabulary, "merges": [f"{left} {right}" for left, right in merges()]}}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": special,
                "eos_token": special, "model_max_length": LENGTH}
    return number + 1, {"tokenizer.json": tokenizer, "tokenizer_config.json": settings}


def write_safetensors(path, tensors):
    """tensors: name -> (shape, values)."""
    header, body = {}, b""
    for name, (shape, values) in tensors.items():
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(struct.pack("<Q", len(head)) + head + body)


class Weights:
    """Tensors in the making, which are drawn or constant."""

    def __init__(self, seed):
        self.draws, self.tensors = Draws(seed), {}

    def draw(self, name, *shape, deviation):
        count = math.prod(shape)
        self.tensors[name] = (list(shape),
                              [deviation * self.draws.normal() for _ in range(count)])

    def fill(self, name, *shape, value):
        self.tensors[name] = (list(shape), [value] * math.prod(shape))


def gpt2(vocabulary, number):
    width, layers = 32, 2
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": layers,
              "n_embd": width, "n_head": 4, "n_positions": LENGTH, "n_ctx": LENGTH,
              "vocab_size": vocabulary, "bos_token_id": number, "eos_token_id": number}
    weights = Weights(5)
    weights.draw("transformer.wte.weight", vocabulary, width, deviation=0.5)
    weights.draw("transformer.wpe.weight", LENGTH, width, deviation=0.05)
    for i in range(layers):
        block = f"transformer.h.{i}."
        for norm in ("ln_1", "ln_2"):
            weights.fill(block + norm + ".weight", width, value=1.0)
            weights.fill(block + norm + ".bias", width, value=0.0)
        for name, rows, columns in (("attn.c_attn", width, 3 * width),
                                    ("attn.c_proj", width, width), ("mlp.c_fc", width, 4 * width),
                                    ("mlp.c_proj", 4 * width, width)):
            weights.draw(f"{block}{name}.weight", rows, columns, deviation=0.08)
            weights.fill(f"{block}{name}.bias", columns, value=0.0)
    weights.fill("transformer.ln_f.weight", width, value=0.8)
    weights.fill("transformer.ln_f.bias", width, value=0.0)
    return config, weights.tensors


def llama(vocabulary, number):
    width, layers, heads, key_heads, inner = 32, 2, 4, 2, 48
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": width,
              "num_hidden_layers": layers, "num_attention_heads": heads,
              "num_key_value_heads": key_heads, "intermediate_size": inner, "hidden_act": "silu",
              "max_position_embeddings": LENGTH, "vocab_size": vocabulary, "rms_norm_eps": 1e-5,
              "rope_theta": 10000.0, "tie_word_embeddings": True, "attention_bias": False,
              "mlp_bias": False, "bos_token_id": number, "eos_token_id": number}
    weights = Weights(6)
    weights.draw("model.embed_tokens.weight", vocabulary, width, deviation=0.5)
    keys = width // heads * key_heads
    for i in range(layers):
        block = f"model.layers.{i}."
        for norm in ("input_layernorm", "post_attention_layernorm"):
            weights.fill(f"{block}{norm}.weight", width, value=1.0)
        for name, rows, columns in (("self_attn.q_proj", width, width),
                                    ("self_attn.k_proj", keys, width),
                                    ("self_attn.v_proj", keys, width),
                                    ("self_attn.o_proj", width, width),
                                    ("mlp.gate_proj", inner, width), ("mlp.up_proj", inner, width),
                                    ("mlp.down_proj", width, inner)):
            weights.draw(f"{block}{name}.weight", rows, columns, deviation=0.1)
    weights.fill("model.norm.weight", width, value=0.8)
    return config, weights.tensors


MODELS = {"gpt2": (gpt2, "<|endoftext|>", False), "llama": (llama, "<s>", True)}


def write_model(folder, name):
    """A folder as Hugging Face's, whose model likes to say a word again."""
    model, special, has_template = MODELS[name]
    vocabulary, files = tokenizer_files(special, has_template)
    config, tensors = model(vocabulary, vocabulary - 1)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    for file, content in files.items():
        (folder / file).write_text(json.dumps(content))
    write_safetensors(folder / "model.safetensors", tensors)


def records():
    """Contexts of all kinds: none, long ones, blanks at the end; choices that say the last word
    again, and others."""
    draws, made = Draws(11), []
    for i in range(RECORDS):
        words = draws.words(70 if i % 9 == 4 else 1 + draws.below(12))
        context = "" if i % 20 == 7 else " ".join(words) + (PLAIN[i % 4] if i % 7 == 3 else "")
        choices = [" ".join(draws.words(1 + draws.below(3))) for _ in range(2 + i % 3)]
        answer = draws.below(len(choices))
        if i % 3 == 0:
            choices[answer] = words[-1]
        made.append({"context": context, "choices": choices, "answer": answer})
        if i >= BARE_FROM:
            made[-1]["target_delimiter"] = ""
    return made


def documents():
    """Texts of less than a window, of one and of several."""
    draws = Draws(12)
    made = [" ".join(draws.words(1 + draws.below(160))) for _ in range(DOCUMENTS)]
    made[3] = "\n" + made[3] + "\u3000 end \n"
    return [{"text": text} for text in made]


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
