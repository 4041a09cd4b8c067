#!/usr/bin/env python3
"""Trained DeBERTas of labels have the logits of Hugging Face's class to 1e-5, loaded from our
export; what that class saves, as safetensors or pytorch_model.bin, is imported to the same tensors;
and an import is exported to the same bytes. Without torch and transformers it says SKIP.

usage: classes_in_transformers.py ZEROAPP MPIEXEC
"""
import json
import sys

from labelled import evaluated, letters, rows_of, trained, write_table
from program import Program, check, shared

try:
    import torch
    from transformers import DebertaV2ForSequenceClassification
except ImportError:
    torch = None

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 2
[model]
family = "deberta"
layers = 2
width = 32
heads = 2
inner = 48
dropout = 0.1
[data]
train = "train.jsonl"
validation = "held_out.jsonl"
tokenizer = "bytes"
sequence_length = 40
[run]
steps = 30
threads = 1
[optimizer]
lr = 1e-2
[evaluation]
interval = 30
[export]
at_end = true
"""
SHORT = ("model.position_buckets=8", "model.relative_distance=20")  # texts reach beyond the table
# Settings of each kind of model, the names of its classes, and if it reads two texts.
MODELS = {
    "v2": (("model.convolution=gelu", *SHORT, "model.labels=3"), ("high", "low", "middle"), False),
    "v2_pairs": (("model.convolution=gelu",), ("no", "yes"), True),
    "v3": (("model.labels=3", "zero.stage=3"), ("high", "low", "middle"), True),
    "v3_number": ((*SHORT, "model.labels=1"), (), False)}
SAMPLES, HELD_OUT = 48, 23
MOST_APART = 1e-5
CLS, SEP, PAD = 1, 2, 0


def texts_of(text, has_two):
    return (text, text[::-1].upper()) if has_two else (text + " and so on, " * (len(text) % 4),)


def samples_of(count, seed, names, has_two):
    for kind, text in letters(count, seed, (0, 1) if len(names) == 2 else (0, 0, 1, 1, 2)):
        yield texts_of(text, has_two), names[kind] if names else kind + 0.5


def write_files(program, names, has_two):
    fields = ("premise", "hypothesis") if has_two else ("sentence",)
    for name, count, seed in (("train", SAMPLES, 1), ("held_out", HELD_OUT, 2)):
        rows = [(*texts, label) for texts, label in samples_of(count, seed, names, has_two)]
        write_table(program.folder / f"{name}.jsonl", (*fields, "label"), rows)


def ids_of(texts):
    """What fits: a single text is cut, two texts of these lengths never."""
    ids = [CLS]
    for text in texts:
        ids += [*text.encode()[:38], SEP]
    return ids


def logits_of(model, rows):
    """All rows at once, padded."""
    longest = max(map(len, rows))
    ids = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    with torch.no_grad():
        return model(input_ids=ids, attention_mask=mask).logits.tolist()


def scores_in(path, names):
    first = 2 if names else 0
    _, *rows = rows_of(path)
    return [[float(score) for score in (row[first:] if names else row[:1])] for row in rows]


def apart(ours, theirs):
    check(len(ours) == len(theirs), f"{len(ours)} and {len(theirs)} samples")
    return max(abs(a - b) for row, other in zip(ours, theirs, strict=True)
               for a, b in zip(row, other, strict=True))


def done(program, *words):
    result = program.alone(*words)
    check(result.status == 0, f"{words}", result)
    return result.out


def saved_by_transformers(program, kind, model):
    """Both forms of its files; their folders."""
    folders = [program.folder / f"{kind}_{form}" for form in ("safetensors", "bin")]
    model.save_pretrained(folders[0])
    folders[1].mkdir()
    torch.save(model.state_dict(), folders[1] / "pytorch_model.bin")
    (folders[1] / "config.json").write_bytes((folders[0] / "config.json").read_bytes())
    return folders


def comes_back(program, kind, folder, names):
    """Imported, all tensors are those of the run, and exported again its bytes."""
    place, again = f"{folder.name}_imported", f"{folder.name}_again"
    done(program, "import-weights", folder.name, place)
    told = done(program, "inspect", place, f"runs/{kind}/model")
    check(" tensors equal, 0 differ, 0 only in " in told and told.count(" 0 only in ") == 2,
          f"{folder.name}: {told}")
    done(program, "export", place, again)
    done(program, "import-weights", again, f"{again}_imported")
    done(program, "export", f"{again}_imported", f"{again}_again")
    first = (program.folder / f"runs/{kind}/model/model.safetensors").read_bytes()
    for copy in (again, f"{again}_again"):
        check((program.folder / copy / "model.safetensors").read_bytes() == first,
              f"{copy}: its weights are those of the run")
    config = json.loads((program.folder / again / "config.json").read_text())
    check(tuple(config["id2label"].values()) == (names or ("LABEL_0",)), f"{again}: {config}")


def goes_both_ways(program, kind, settings, names, has_two):
    write_files(program, names, has_two)
    trained(program, kind, 2, *settings, input_file="labels.toml")
    evaluated(program, 1, f"runs/{kind}", "--scores", f"{kind}.scores")
    ours = scores_in(program.folder / f"{kind}.scores", names)
    model = DebertaV2ForSequenceClassification.from_pretrained(
        program.folder / f"runs/{kind}/model", dtype=torch.float32).eval()
    if names:
        check(model.config.id2label == dict(enumerate(names)), f"{kind}: {model.config.id2label}")
    rows = [ids_of(texts) for texts, _ in samples_of(HELD_OUT, 2, names, has_two)]
    found = apart(ours, logits_of(model, rows))
    check(found <= MOST_APART, f"{kind}: logits are {found} apart")
    spread = max(map(max, ours)) - min(map(min, ours))
    check(spread > 1000 * MOST_APART, f"{kind}: scores differ by {spread}, so that this says much")
    print(f"{kind}: {len(ours)} samples, logits of {spread:.3f} at most {found:.1e} apart")
    for folder in saved_by_transformers(program, kind, model):
        comes_back(program, kind, folder, names)
        evaluated(program, 1, folder.name, "data.validation=held_out.jsonl", "data.tokenizer=bytes",
                  "data.sequence_length=40", "--scores", f"{folder.name}.scores")
        found = apart(ours, scores_in(program.folder / f"{folder.name}.scores", names))
        check(found <= MOST_APART, f"{folder.name}: scores are {found} apart")


def main():
    if torch is None:
        print("SKIP torch and transformers are needed; TORCH_PYTHON names a Python with both")
        sys.exit(77)
    program = Program()
    program.write("labels.toml", shared(INPUT))
    for kind, model in MODELS.items():
        goes_both_ways(program, kind, *model)
    print("Transformers and the program have the same models of labels")


main()
