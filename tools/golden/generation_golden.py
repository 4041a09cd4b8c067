#!/usr/bin/env python3
"""Golden texts of a generation: what Hugging Face's generate() writes by greedy search and beams
under each rule, and the distributions that it draws from, into tests/golden/generation.json.

usage: generation_golden.py [OUTDIR]
Needs torch (CPU) and transformers 5.24 in any Python environment; the tests need neither.

The model is a formula, so that the tests have its scores to the bit (h is hash32 of
gpt2_golden.py): behind a text of l tokens that ends with token t, of a source s_0 .. s_n,
  stream = h(h(7 + l mod 4, t), s_0 + 31 s_1 + 31^2 s_2 + ...)          modulo 2^32
  logit of token v = float32(8 (h(stream, v) / 2^32 - 1/2)), and 1.5 more for the end token
It looks back one token alone, so texts run in circles unless a rule forbids it; the length keeps
circles in another order from having the same score. In the file a text is a word of one digit a
token, to base 32.
"""
import functools
import json
import pathlib
import sys

import numpy
import torch
import transformers
from transformers.modeling_outputs import Seq2SeqLMOutput

from gpt2_golden import hash32

VOCABULARY, START, END = 32, 0, 1
PROMPTS = 60
GREEDY = [
    {}, {"min_length": 9}, {"min_new_tokens": 6}, {"repetition_penalty": 1.3},
    {"repetition_penalty": 0.8}, {"no_repeat_ngram_size": 1}, {"no_repeat_ngram_size": 2},
    {"no_repeat_ngram_size": 3}, {"encoder_no_repeat_ngram_size": 1},
    {"encoder_no_repeat_ngram_size": 2}, {"forced_bos_token_id": 5}, {"forced_eos_token_id": 1},
    {"suppress_tokens": [3, 4, 5, 6, 7]}, {"begin_suppress_tokens": [8, 9, 10, 11]},
    {"forced_bos_token_id": 5, "begin_suppress_tokens": [8, 9, 10, 11, 12, 13]},
    {"min_length": 5, "no_repeat_ngram_size": 2, "encoder_no_repeat_ngram_size": 2,
     "repetition_penalty": 1.2, "forced_eos_token_id": 1},
]
MORE = [{"max_new_tokens": 5}, {"max_new_tokens": 7, "min_new_tokens": 7}]
BEAMS = [{}, {"early_stopping": True}, {"early_stopping": "never"}, {"length_penalty": 0.0},
         {"length_penalty": 2.0}, {"length_penalty": -1.0},
         {"length_penalty": 2.0, "early_stopping": "never"}]
DRAWN = [{"temperature": 0.7}, {"temperature": 1.9}, {"top_k": 5}, {"top_p": 0.6}, {"top_p": 0.05},
         {"temperature": 1.5, "top_k": 12, "top_p": 0.8}, {"repetition_penalty": 1.4},
         {"temperature": 0.8, "top_p": 0.9, "no_repeat_ngram_size": 2},
         {"temperature": 0.1}, {"temperature": 10.0}, {"top_k": 1}, {"top_k": 31}, {"top_p": 0.999},
         {"top_k": 8, "top_p": 0.3}, {"temperature": 0.5, "top_k": 20},
         {"temperature": 2.5, "top_p": 0.7}, {"repetition_penalty": 0.6},
         {"repetition_penalty": 3.0, "temperature": 0.7, "top_k": 10},
         {"encoder_no_repeat_ngram_size": 1, "top_p": 0.9},
         {"min_new_tokens": 9, "suppress_tokens": [2, 3, 5], "temperature": 1.3, "top_k": 6}]
TOLD = ((0, [START]), (1, [START, 9, 4, 9, 30, 4]), (2, [START, 5, 5, 5, 6, 5, 5, 7, 31, 2]))
BASE = {"max_length": 16, "num_beams": 1, "do_sample": False, "use_cache": False,
        "decoder_start_token_id": START, "pad_token_id": START, "eos_token_id": END, "top_k": 0}


def prompt_of(number):
    length = 3 + int(hash32(1, number)) % 6
    ids = 2 + hash32(100 + number, numpy.arange(length)) % (VOCABULARY - 2)
    return [int(i) for i in ids] + [END]


@functools.cache
def logits_of(source, length, last):
    told = sum(token * pow(31, i, 2**32) for i, token in enumerate(source)) % 2**32
    stream = hash32(hash32([7 + length % 4], last), told)
    scores = 8 * (hash32(stream, numpy.arange(VOCABULARY)) / 2**32 - 0.5)
    scores[END] += 1.5
    return scores.astype(numpy.float32)


class Formula(transformers.T5ForConditionalGeneration):
    """Whose scores are logits_of(); the encoder is run and not looked at."""

    source = None

    def forward(self, decoder_input_ids=None, **_):
        rows = [logits_of(self.source, len(row), row[-1]) for row in decoder_input_ids.tolist()]
        return Seq2SeqLMOutput(logits=torch.tensor(numpy.stack(rows))[:, None, :])


def text_of(model, source, options):
    model.source = tuple(source)
    config = transformers.GenerationConfig(**{**BASE, **options})
    made = model.generate(torch.tensor([source]), generation_config=config)[0].tolist()
    if END in made:
        made = made[:made.index(END) + 1]
    return "".join("0123456789abcdefghijklmnopqrstuv"[token] for token in made)


def distribution_of(model, source, options, tokens):
    config = transformers.GenerationConfig(**{**BASE, "do_sample": True, **options})
    model.source = tuple(source)
    model._prepare_special_tokens(config, True)
    rules = model._get_logits_processor(config, input_ids_seq_length=1,
                                        encoder_input_ids=torch.tensor([source]))
    scores = torch.tensor(logits_of(tuple(source), len(tokens), tokens[-1]))[None, :]
    return torch.softmax(rules(torch.tensor([tokens]), scores).double(), -1)[0].tolist()


def main():
    folder = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else folder
    torch.set_num_threads(1)
    model = Formula(transformers.T5Config(
        vocab_size=VOCABULARY, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2,
        decoder_start_token_id=START, pad_token_id=START, eos_token_id=END))
    prompts = [prompt_of(number) for number in range(PROMPTS)]
    options = GREEDY + MORE + [{"num_beams": 4, **rule} for rule in GREEDY + MORE + BEAMS[1:]]
    options += [{"num_beams": 4, **a, **b} for a in BEAMS[1:] for b in (GREEDY[7], GREEDY[-1])]
    cases = [{"options": rule, "texts": [text_of(model, prompt, rule) for prompt in prompts]}
             for rule in options]
    drawn = [{"options": rule, "prompt": number, "tokens": tokens,
              "probabilities": distribution_of(model, prompts[number], rule, tokens)}
             for rule in DRAWN for number, tokens in TOLD]
    golden = {"transformers": transformers.__version__, "vocabulary": VOCABULARY,
              "max_length": BASE["max_length"], "prompts": prompts, "cases": cases, "drawn": drawn}
    (out / "generation.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
