#!/usr/bin/env python3
"""Golden values of tiny decoders of today: the loss, every gradient and greedy texts, as Hugging
Face's own classes compute them.

usage: decoder_golden.py [OUTDIR] [NAME ...]     writes decoder_*.json, into tests/golden by default
Needs torch (CPU) and transformers 5.24 in any Python environment; the tests need neither.

Everything is float64: where the classes compute in float32 whatever their weights are (norms,
frequencies, angles, softmax), their modules see a torch whose float32 is float64. Attention is
"sdpa", or "eager" where scores are capped. There is no dropout.

A weight is float32(offset + amplitude (h(tensor, element) / 2^32 - 1/2)), h as in gpt2_golden.py
and the tensor counted in the order of "tensors". Of a gradient g the file has the norm and 16
projections: sums of g, an element's sign being minus where bit j of h(5000 + tensor, element) is
set. The mean square of differences of projections is on average the square of the difference of
gradients, so that an error of any element shows.

A packed row is computed document by document. "first" says where a token's document begins. The
greedy text continues the first tokens of row 0 without a cache; "margin" is the least distance of
the two best logits on its way. "far" are logits behind drawn tokens, because some texts repeat a
token: as many as prompt and text have, unless a model turns by other frequencies there. The curve
has the rule of gpt2_golden.py with a smaller rate, and its data with one row a micro-batch; a
packed micro-batch has the documents of row 0 or 1, by its stream modulo 2. Two cases have an id of
padding that the data hold often: its row gets no gradient from look-ups.
"""
import base64
import json
import math
import pathlib
import sys

import numpy
import torch
import transformers
from transformers import modeling_rope_utils

import gpt2_golden
from gpt2_golden import CURVE_STEPS, MICRO_BATCHES, AdamW, hash32, initial_weights, micro_batch

LENGTH, SAMPLES, PROMPT, GREEDY, PROJECTIONS = 72, 2, 12, 200, 16
TOLERANCE = 2e-5  # of logits
OPTIMIZER = {**gpt2_golden.OPTIMIZER, "lr": 2e-3}
BASE = {"vocab_size": 131, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None}
FULL, SLIDING = "full_attention", "sliding_attention"
LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
YARN = {"rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0,
        "original_max_position_embeddings": 32}
# Documents of each row.
PACKED = [[30, 1, 41], [20, 52]]
LONG = [1.0 + 0.5 * i for i in range(3)]
SHORT = [1.0 + 0.1 * i for i in range(3)]
# Model type, its settings, and the documents of packed rows.
CASES = {
    "llama_a": ("llama", {"num_key_value_heads": 4, "tie_word_embeddings": False}, None),
    "llama_b": ("llama", {"num_key_value_heads": 1, "tie_word_embeddings": True,
                          "pad_token_id": 109}, None),
    "llama_c": ("llama", {"head_dim": 10, "rope_parameters": LLAMA3}, None),
    "llama_d": ("llama", {"intermediate_size": 77, "vocab_size": 97, "rope_parameters": {
        "rope_type": "linear", "rope_theta": 10000.0, "factor": 3.0}}, None),
    "llama_e": ("llama", {"attention_bias": True, "mlp_bias": True, "rms_norm_eps": 1e-5}, None),
    "qwen2_a": ("qwen2", {"tie_word_embeddings": True, "rope_parameters": YARN}, None),
    "qwen2_b": ("qwen2", {"use_sliding_window": True, "sliding_window": 9,
                          "max_window_layers": 1}, None),
    "qwen3_a": ("qwen3", {"head_dim": 24, "tie_word_embeddings": True}, None),
    "qwen3_b": ("qwen3", {"head_dim": 20, "num_key_value_heads": 1}, PACKED),
    "mistral_a": ("mistral", {"head_dim": 16, "sliding_window": None}, None),
    "mistral_b": ("mistral", {"sliding_window": 7}, None),
    "mistral_c": ("mistral", {"sliding_window": 7}, PACKED),
    "ministral": ("ministral", {"head_dim": 12, "sliding_window": 11,
                                "layer_types": [SLIDING, FULL, SLIDING]}, None),
    "smollm3": ("smollm3", {"no_rope_layers": [1, 0, 1], "use_sliding_window": True,
                            "sliding_window": 13}, None),
    "olmo2": ("olmo2", {"attention_bias": True}, None),
    "olmo3": ("olmo3", {"sliding_window": 15, "num_hidden_layers": 4, "rope_parameters": {
        FULL: YARN, SLIDING: {"rope_type": "default", "rope_theta": 5000.0}}}, PACKED),
    "gemma2": ("gemma2", {"head_dim": 16, "sliding_window": 10, "query_pre_attn_scalar": 20,
                          "attn_logit_softcapping": 5.0, "final_logit_softcapping": 8.0}, None),
    "gemma3_text": ("gemma3_text", {
        "head_dim": 16, "sliding_window": 10, "query_pre_attn_scalar": 20,
        "layer_types": [SLIDING, FULL, SLIDING], "rope_parameters": {
            FULL: {"rope_type": "linear", "rope_theta": 1000000.0, "factor": 8.0},
            SLIDING: {"rope_type": "default", "rope_theta": 10000.0}}}, PACKED),
    "granite": ("granite", {"attention_bias": True, "mlp_bias": True, "embedding_multiplier": 3.0,
                            "attention_multiplier": 0.2, "residual_multiplier": 0.5,
                            "logits_scaling": 2.0, "pad_token_id": 53}, None),
    "phi3": ("phi3", {"sliding_window": 20, "original_max_position_embeddings": 220,
                      "rope_parameters": {
                          "rope_type": "longrope", "rope_theta": 10000.0,
                          "partial_rotary_factor": 0.5, "short_factor": SHORT,
                          "long_factor": LONG}}, None),
    "phi3_long": ("phi3", {"original_max_position_embeddings": 64, "rope_parameters": {
        "rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.5,
        "short_factor": SHORT, "long_factor": LONG}}, None),
    "ministral3": ("ministral3", {"head_dim": 12, "rope_parameters": {
        **YARN, "mscale": 1.0, "mscale_all_dim": 0.5, "llama_4_scaling_beta": 0.2}}, PACKED),
    "seed_oss": ("seed_oss", {"head_dim": 16, "attention_out_bias": True, "mlp_bias": True}, None),
    "exaone4": ("exaone4", {"sliding_window": 8, "num_hidden_layers": 4}, None),
    "hunyuan_v1_dense": ("hunyuan_v1_dense", {"head_dim": 16, "attention_bias": True}, None),
    "hunyuan_alpha": ("hunyuan_v1_dense", {"head_dim": 16, "rope_parameters": {
        "rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0, "alpha": 50.0}}, None),
    "arcee": ("arcee", {"attention_bias": True, "mlp_bias": True}, None),
}


class Wide:
    """torch for the modules of models, with float64 for float32."""
    float = float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


def widen(make):
    wide = Wide()
    torch.set_default_dtype(torch.float64)
    torch.Tensor.float = lambda self, **_: self.double()
    modeling_rope_utils.torch = wide
    sys.modules[make.__module__].torch = wide


# By parts of a name: offset and amplitude.
DRAWN = (("norm.weight", 1.0, 0.52), (".bias", 0.0, 1.04), ("", 0.0, 0.52))


def tensors_of(model):
    """Rows of "tensors": name, shape, offset, amplitude."""
    rows = []
    for name, weight in model.named_parameters():
        offset, amplitude = next(row[1:] for row in DRAWN if row[0] in name)
        if model.config.model_type.startswith("gemma"):
            offset = 0.0
        rows.append((name.removeprefix("model."), list(weight.shape), offset, amplitude))
    return rows


def model_of(kind, settings):
    """The model with its first weights, in float64."""
    config = transformers.AutoConfig.for_model(kind, **{**BASE, **settings})
    capped = getattr(config, "attn_logit_softcapping", None)
    config._attn_implementation = "eager" if capped else "sdpa"
    make = transformers.MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    widen(make)
    model = make(config).double().eval()
    for (_, parameter), value in zip(model.named_parameters(),
                                     initial_weights(tensors_of(model)).values()):
        parameter.data = value.detach()
    return model


def data_of(model, documents):
    vocabulary = model.config.vocab_size
    drawn = hash32(1000, numpy.arange(SAMPLES * (LENGTH + 1))).astype("int64") % vocabulary
    drawn = drawn.reshape(SAMPLES, LENGTH + 1)
    targets = drawn[:, 1:].copy()
    targets[(hash32(3000, numpy.arange(SAMPLES * LENGTH)) % 5 == 0).reshape(targets.shape)] = -1
    data = {"tokens": drawn[:, :-1].tolist()}
    if documents:
        first = []
        for row, lengths in enumerate(documents):
            ends = numpy.cumsum(lengths)
            targets[row, ends - 1] = -1
            first.append([int(end - n) for end, n in zip(ends, lengths) for _ in range(n)])
        data["first"] = first
    return {**data, "targets": targets.tolist()}


def loss_of(model, data, documents):
    total = counted = 0
    for row, (tokens, targets) in enumerate(zip(data["tokens"], data["targets"])):
        begin = 0
        for length in documents[row] if documents else [LENGTH]:
            part = slice(begin, begin + length)
            begin += length
            logits = model(input_ids=torch.tensor([tokens[part]]), use_cache=False).logits[0]
            assert logits.dtype == torch.float64
            labels = torch.tensor(targets[part])
            total = total + torch.nn.functional.cross_entropy(
                logits[labels >= 0], labels[labels >= 0], reduction="sum")
            counted += int((labels >= 0).sum())
    return total / counted, counted


def curve_of(model, documents):
    """Loss and gradient norm of each step, both before its update."""
    config = {"batch": 1, "length": LENGTH, "vocabulary": model.config.vocab_size}
    weights = dict(model.named_parameters())
    optimizer, losses, norms = AdamW(weights, OPTIMIZER), [], []
    for step in range(CURVE_STEPS):
        total = counted = 0
        for stream in range(1 + MICRO_BATCHES * step, 1 + MICRO_BATCHES * (step + 1)):
            tokens, targets = (part.tolist() for part in micro_batch(config, stream))
            lengths = [documents[stream % 2]] if documents else None
            if documents:
                for end in numpy.cumsum(lengths[0]):
                    targets[0][end - 1] = -1
            part, of_part = loss_of(model, {"tokens": tokens, "targets": targets}, lengths)
            total, counted = total + part * of_part, counted + of_part
        mean = total / counted
        gradients = dict(zip(weights, torch.autograd.grad(mean, list(weights.values()))))
        losses.append(mean.item())
        norms.append(optimizer.step(gradients))
    return {"micro_batches": MICRO_BATCHES, "optimizer": OPTIMIZER, "loss": losses, "norm": norms}


@torch.no_grad()
def greedy_of(model, tokens):
    text, margin, first = list(tokens[:PROMPT]), math.inf, None
    while len(text) < PROMPT + GREEDY:
        logits = model(input_ids=torch.tensor([text]), use_cache=False).logits[0, -1]
        best = torch.topk(logits, 2).values
        margin = min(margin, (best[0] - best[1]).item())
        first = logits if first is None else first
        text.append(int(logits.argmax()))
    assert margin > 2 * TOLERANCE, f"{margin}: draw another prompt"
    rope = model.config.rope_parameters
    most = model.config.original_max_position_embeddings if "long_factor" in rope else len(text)
    config = {"batch": 1, "length": min(most, len(text)), "vocabulary": model.config.vocab_size}
    drawn, _ = micro_batch(config, 0)
    far = model(input_ids=drawn, use_cache=False).logits[0, -1]
    return {"prompt": PROMPT, "tokens": text[PROMPT:], "margin": margin, "logits": packed(first),
            "drawn": config["length"], "far": packed(far)}


def packed(numbers):
    return base64.b64encode(numpy.asarray(numbers, "<f8").tobytes()).decode()


def projections(index, gradient):
    flat = gradient.reshape(-1).numpy()
    bits = hash32(5000 + index, numpy.arange(flat.size))
    return [math.fsum(numpy.where(bits >> numpy.uint32(j) & numpy.uint32(1), -flat, flat))
            for j in range(PROJECTIONS)]


def golden(kind, settings, documents):
    model = model_of(kind, settings)
    rows = tensors_of(model)
    data = data_of(model, documents)
    loss, _ = loss_of(model, data, documents)
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    hub = {key: value for key, value in model.config.to_dict().items() if value is not None}
    hub["architectures"] = [type(model).__name__]
    # Meaningful where null is no absent key.
    for key in ("sliding_window", "pad_token_id", "bos_token_id"):
        hub.setdefault(key, getattr(model.config, key, None))
    hub = {key: value for key, value in hub.items()
           if value is not None or hasattr(model.config, key)}
    return {
        "made_by": "tools/golden/decoder_golden.py",
        "with": f"transformers {transformers.__version__}, torch {torch.__version__}",
        "hub": hub, "data": data, "loss": loss.item(),
        "greedy": greedy_of(model, data["tokens"][0]), "curve": curve_of(model, documents),
        "tensors": [dict(zip(("name", "shape", "offset", "amplitude"), row),
                         norm=gradient.norm().item(), projections=packed(projections(i, gradient)))
                    for i, (row, gradient) in enumerate(zip(rows, gradients))]}


def main():
    tree = pathlib.Path(__file__).resolve().parents[2]
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tree / "tests" / "golden"
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name in sys.argv[2:] or CASES:
        result = golden(*CASES[name])
        path = out / f"decoder_{name}.json"
        path.write_text(json.dumps(result) + "\n")
        print(f"{path}: loss {result['loss']!r}, margin {result['greedy']['margin']:.1e}, "
              f"{path.stat().st_size / 1e3:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
