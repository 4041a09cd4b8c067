#!/usr/bin/env python3
"""Golden values of tiny T5s and BlenderBots: loss and every gradient, as Hugging Face's own classes
compute them.

usage: pairs_golden.py [OUTDIR]      writes t5_*.json and blenderbot_*.json, into tests/golden by
                                     default
Needs torch (CPU) and transformers in any Python environment; the tests need neither.

Everything is float64: where T5 computes in float32 whatever its weights are (the mean square of a
norm, the softmax), the cast is left out. There is no dropout. The models differ in what those of
their family differ in: for T5 the feed-forward (ReLU or gated tanh GELU) and the head (the table of
tokens or its own); as many layers in both stacks or not, a source longer or shorter than the
target, label smoothing.

A weight is float32(offset + amplitude (h(tensor, element) / 2^32 - 1/2)), h as in gpt2_golden.py
and the tensor counted in the order of "tensors". Samples of different lengths are padded: a source
with 0 behind source_count ids, a target with labels of -1 that nothing counts. "previous" is what
Hugging Face makes of the labels: shifted by one behind the id that starts a text, with 0 for what
does not count. The loss is that of its LabelSmoother, which adds in float32: the mean over counted
labels of (1 - e) (-log p(label)) + e times the mean of -log p over all classes.

A head of its own: T5 1.1 says it by tie_word_embeddings = false. Transformers 5 takes from it that
the head's input is not scaled, and ties the tables of a model without weights all the same.
"""
import base64
import contextlib
import json
import pathlib
import sys

import numpy
import torch
import transformers
from transformers.models.blenderbot.modeling_blenderbot import shift_tokens_right

from gpt2_golden import hash32, initial_weights

T5 = {"vocab_size": 37, "d_model": 16, "d_kv": 6, "d_ff": 24, "num_layers": 2,
      "num_decoder_layers": 2, "num_heads": 2, "relative_attention_num_buckets": 8,
      "relative_attention_max_distance": 10, "dropout_rate": 0.1, "layer_norm_epsilon": 1e-6,
      "feed_forward_proj": "relu", "tie_word_embeddings": True, "pad_token_id": 0,
      "eos_token_id": 1, "decoder_start_token_id": 0, "is_encoder_decoder": True,
      "model_type": "t5"}
BLENDERBOT = {"vocab_size": 37, "d_model": 20, "encoder_layers": 1, "decoder_layers": 2,
              "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 24,
              "decoder_ffn_dim": 24, "max_position_embeddings": 14, "activation_function": "gelu",
              "dropout": 0.1, "attention_dropout": 0.0, "activation_dropout": 0.0,
              "scale_embedding": True, "tie_word_embeddings": True, "pad_token_id": 0,
              "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
              "is_encoder_decoder": True, "model_type": "blenderbot"}
# Ids of each sample, source and target; the longest says what all are padded to.
CASES = {
    "t5_a": (T5, {}, 0.0, [(13, 9), (5, 4), (8, 7)]),
    "t5_b": (T5, {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False,
                  "num_decoder_layers": 1}, 0.1, [(4, 11), (7, 12)]),
    "t5_c": (T5, {"feed_forward_proj": "gated-gelu", "num_layers": 1, "num_heads": 3, "d_kv": 4},
             0.2, [(12, 12), (1, 12), (12, 2)]),
    "blenderbot_a": (BLENDERBOT, {}, 0.0, [(12, 6), (4, 8)]),
    "blenderbot_b": (BLENDERBOT, {"encoder_layers": 2, "decoder_layers": 1, "decoder_ffn_dim": 32},
                     0.1, [(5, 14), (6, 3), (2, 9)]),
}
CLASSES = {"t5": (transformers.T5Config, transformers.T5ForConditionalGeneration),
           "blenderbot": (transformers.BlenderbotConfig,
                          transformers.BlenderbotForConditionalGeneration)}


def padded(rows, fill):
    length = max(map(len, rows))
    return [row + [fill] * (length - len(row)) for row in rows]


def drawn(stream, count, hub):
    """Ids behind those that mean something, and the one that ends a text."""
    end = hub["eos_token_id"]
    first, most = end + 1, hub["vocab_size"] - end - 1
    return [int(first + h % most) for h in hash32(stream, numpy.arange(count - 1))] + [end]


def pairs(lengths, hub):
    sources = [drawn(1000 + i, s, hub) for i, (s, _) in enumerate(lengths)]
    targets = [drawn(2000 + i, t, hub) for i, (_, t) in enumerate(lengths)]
    following = padded(targets, -1)
    previous = [[hub["decoder_start_token_id"]] + [max(label, 0) for label in row[:-1]]
                for row in following]
    return {"source": padded(sources, 0), "source_count": [s for s, _ in lengths],
            "previous": previous, "next": following}


@contextlib.contextmanager
def without_casts():
    """T5 casts to float32 by these two."""
    to, to_float = torch.Tensor.to, torch.Tensor.float
    torch.Tensor.to = lambda self, *a, **k: self if a[:1] == (torch.float32,) else to(self, *a, **k)
    torch.Tensor.float = lambda self: self
    try:
        yield
    finally:
        torch.Tensor.to, torch.Tensor.float = to, to_float


# By parts of a name: offset and amplitude. Scores and logits are of some size.
DRAWN = (("norm.weight", 1.0, 0.4), (".bias", 0.0, 0.4), ("relative_attention_bias", 0.0, 2.0),
         ("model.shared", 0.0, 0.6), ("shared", 0.0, 3.0), ("", 0.0, 0.9))


def tensors_of(model):
    """Rows of "tensors": name, shape, offset, amplitude."""
    return [(name, list(w.shape), *next(row[1:] for row in DRAWN if row[0] in name))
            for name, w in model.named_parameters()]


def shifted(model, labels):
    """What the model's class reads where it is given labels."""
    config = model.config
    if config.model_type == "t5":
        return model.prepare_decoder_input_ids_from_labels(labels)
    return shift_tokens_right(labels, config.pad_token_id, config.decoder_start_token_id)


def loss_of(model, data, smoothing):
    source = torch.tensor(data["source"])
    counts = torch.tensor(data["source_count"])
    labels = torch.tensor(data["next"])
    labels = labels.masked_fill(labels < 0, -100)
    assert shifted(model, labels).tolist() == data["previous"]
    with without_casts():
        out = model(input_ids=source, labels=labels,
                    attention_mask=torch.arange(source.shape[1])[None] < counts[:, None])
    assert out.logits.dtype == torch.float64
    minus_log = -torch.nn.functional.log_softmax(out.logits, dim=-1)
    counted = labels >= 0
    own = minus_log.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    return ((1 - smoothing) * own + smoothing * minus_log.mean(dim=-1))[counted].mean()


def untie(model):
    """Gives the head a table of its own where the settings ask for one."""
    assert not model.config.scale_decoder_outputs
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())


def model_of(base, settings):
    """The model with its first weights, in float64."""
    hub = {**base, **settings}
    make_config, make_model = CLASSES[hub["model_type"]]
    config = make_config(**hub)
    config._attn_implementation = "eager"
    model = make_model(config).double().eval()
    if not hub["tie_word_embeddings"]:
        untie(model)
    for name, value in initial_weights(tensors_of(model)).items():
        model.get_parameter(name).data = value.detach()
    return model


def golden(base, settings, smoothing, lengths):
    hub = {**base, **settings}
    model = model_of(base, settings)
    rows = tensors_of(model)
    data = pairs(lengths, hub)
    loss = loss_of(model, data, smoothing)
    loss.backward()
    return {
        "made_by": "tools/golden/pairs_golden.py",
        "with": f"transformers {transformers.__version__}, torch {torch.__version__}",
        "hub": hub, "label_smoothing": smoothing, "data": data, "loss": loss.item(),
        "tensors": [dict(zip(("name", "shape", "offset", "amplitude"), row),
                         gradient=base64.b64encode(model.get_parameter(row[0]).grad.numpy()
                                                   .astype("<f8").tobytes()).decode())
                    for row in rows]}


def main():
    tree = pathlib.Path(__file__).resolve().parents[2]
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tree / "tests" / "golden"
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name, case in CASES.items():
        result = golden(*case)
        path = out / f"{name}.json"
        path.write_text(json.dumps(result) + "\n")
        print(f"{path}: loss {result['loss']!r}, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
