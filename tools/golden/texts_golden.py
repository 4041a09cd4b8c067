#!/usr/bin/env python3
"""Golden texts of tiny T5s and BlenderBots: what Hugging Face's generate() writes with them by
greedy search and beams under each rule, into tests/golden/texts_*.json.

usage: texts_golden.py [OUTDIR]
Needs torch (CPU) and transformers 5.23 in any Python environment; the tests need neither. Takes
some minutes.

Models and weights are made as in pairs_golden.py, in float64, with other amplitudes, so that texts
differ; rules and words as in generation_golden.py. Several ids end a text. Sources of one length
are written for together, so that none is padded. "close" are the texts, by case and prompt, on
whose way two scores that were compared lay within 1e-4 of each other: another arithmetic may choose
the other one.
"""
import json
import pathlib
import sys

import torch
import transformers

from generation_golden import BEAMS, GREEDY, PROMPTS
from gpt2_golden import initial_weights
from pairs_golden import BLENDERBOT, CLASSES, T5, drawn, tensors_of, untie

DIGITS = "0123456789abcdefghijklmnopqrstuv"
CLOSE = 1e-4
LENGTH = 14
LENGTHS = (3, 6, 9)
# Settings, ids that end a text beside the model's, factors of the amplitudes of layers and tables.
MODELS = {
    "texts_t5": (T5, {"vocab_size": 32}, [24, 9], (2.5, 1.0)),
    "texts_t5_gated": (T5, {"vocab_size": 32, "feed_forward_proj": "gated-gelu",
                            "tie_word_embeddings": False, "num_decoder_layers": 1},
                       [31, 12], (2.5, 1.0)),
    "texts_blenderbot": (BLENDERBOT, {"vocab_size": 32, "max_position_embeddings": LENGTH},
                         [28, 5], (4.0, 0.4)),
}


BEAMS_KEPT = 4


class Gaps:
    """The least distance of two scores between which the search for each text has drawn a line:
    behind those that go on, behind those that may end, behind the best."""

    def __init__(self, texts):
        self.least = [float("inf")] * texts
        self.topk, self.argmax = torch.topk, torch.argmax

    def look(self, scores, count):
        rows = scores.reshape(-1, scores.shape[-1]).double()
        for number, row in enumerate(rows):
            best = torch.sort(row[row > -1e8], descending=True).values
            text = number * len(self.least) // len(rows)
            for line in {1 if count <= BEAMS_KEPT else BEAMS_KEPT, count}:
                if line < len(best):
                    self.least[text] = min(self.least[text], (best[line - 1] - best[line]).item())

    def __enter__(self):
        def topk(scores, k, *rest, **more):
            self.look(scores, k)
            return self.topk(scores, k, *rest, **more)

        def argmax(scores, *rest, **more):
            if scores.is_floating_point():
                self.look(scores, 1)
            return self.argmax(scores, *rest, **more)
        torch.topk, torch.argmax = topk, argmax
        return self

    def __exit__(self, *_):
        torch.topk, torch.argmax = self.topk, self.argmax


def model_of(hub, factors):
    make_config, make_model = CLASSES[hub["model_type"]]
    model = make_model(make_config(**hub)).double().eval()
    if not hub["tie_word_embeddings"]:
        untie(model)
    layers, tables = factors
    rows = [(name, shape, offset,
             amplitude * (tables if "shared" in name else layers if amplitude == 0.9 else 1))
            for name, shape, offset, amplitude in tensors_of(model)]
    for name, value in initial_weights(rows).items():
        model.get_parameter(name).data = value.detach()
    model.generation_config = transformers.GenerationConfig()
    return model, rows


def cases_of(hub):
    end = hub["eos_token_id"]
    greedy = [{**rule, **({"forced_eos_token_id": end} if "forced_eos_token_id" in rule else {})}
              for rule in GREEDY]
    beams = greedy + BEAMS[1:] + [{**a, **b} for a in BEAMS[1:] for b in (greedy[7], greedy[-1])]
    return greedy + [{"num_beams": BEAMS_KEPT, **rule} for rule in beams]


def written(model, hub, ends, sources, options):
    config = transformers.GenerationConfig(**{
        "max_length": LENGTH, "num_beams": 1, "do_sample": False, "eos_token_id": ends,
        **{key: hub[key] for key in ("decoder_start_token_id", "pad_token_id")}, **options})
    with Gaps(len(sources)) as gaps:
        made = model.generate(torch.tensor(sources), generation_config=config).tolist()
    for text, least in zip(made, gaps.least):
        stops = [place for place in range(1, len(text)) if text[place] in ends]
        yield "".join(DIGITS[token] for token in text[:(stops + [LENGTH])[0] + 1]), least < CLOSE


def golden(base, settings, more_ends, factors):
    hub = {**base, **settings}
    ends = [hub["eos_token_id"]] + more_ends
    model, rows = model_of(hub, factors)
    each = PROMPTS // len(LENGTHS)
    prompts = [drawn(3000 + number, LENGTHS[number // each], hub) for number in range(PROMPTS)]
    cases, close = [], []
    for number, options in enumerate(cases_of(hub)):
        texts = []
        for first in range(0, PROMPTS, each):
            for text, is_close in written(model, hub, ends, prompts[first:first + each], options):
                if is_close:
                    close.append([number, len(texts)])
                texts.append(text)
        cases.append({"options": options, "texts": texts})
        print(options, *texts[::15], len(close), flush=True)
    return {"made_by": "tools/golden/texts_golden.py",
            "with": f"transformers {transformers.__version__}, torch {torch.__version__}",
            "hub": hub, "max_length": LENGTH, "ends": ends, "prompts": prompts, "close": close,
            "cases": cases,
            "tensors": [dict(zip(("name", "shape", "offset", "amplitude"), row)) for row in rows]}


def main():
    folder = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else folder
    torch.set_num_threads(1)
    for name, case in MODELS.items():
        (out / f"{name}.json").write_text(json.dumps(golden(*case), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
