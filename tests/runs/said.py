#!/usr/bin/env python3
"""Mistakes that new users make, and what each is told: as tests/golden/said.txt has it, word for
word. A change of a message is a change of that file, made by WRITE=1 in the environment, and is to
be read as somebody reads it who meets the program for the first time."""
import difflib
import gzip
import json
import os
import pathlib
import re
import shutil
import struct
import sys

import torch_file
from program import Program, check

TABLE = pathlib.Path(__file__).resolve().parents[1] / "golden/said.txt"
RUN = ("tiny.toml", "run.output=runs/none")
PLAN = ("plan", "tiny.toml")
PAIRS = ("data", "pairs.toml", "--steps", "1..1")
IMPORT = ("import-deepspeed", "ds.json", "--hf-defaults", "model.layers=2", "model.width=32",
          "model.heads=2", "data.train=synthetic", "data.sequence_length=16")
LAUNCH = (*IMPORT, "--", "deepspeed", "train.py", "--max_steps", "10")

PAIRS_TOML = """
train_micro_batch_size_per_gpu = 1
[model]
family = "t5"
vocab_size = 384
layers = 1
width = 16
heads = 2
inner = 32
[data]
train = "pairs.tsv"
validation_fraction = 0.2
source_length = 16
sequence_length = 16
[run]
steps = 2
threads = 1
[optimizer]
lr = 1e-3
"""


def first_lines(text):
    return json.loads("[" + ",".join(text.splitlines()) + "]")


class World:
    """Files that the mistakes are about."""

    def __init__(self, program):
        self.program, self.folder = program, program.folder
        program.write("pairs.toml", PAIRS_TOML)
        program.write_pairs(20)
        program.write("ds.json", '{"zero_optimization": {"stage": 2}}')
        self.data()
        self.models()
        self.imports()

    def put(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def data(self):
        lines = "".join(json.dumps({"source": f"a {i}", "target": f"b {i}"}) + "\n"
                        for i in range(20))
        self.put("utf16.jsonl", lines.encode("utf-16"))
        self.put("data.jsonl.gz", gzip.compress(lines.encode(), mtime=0))
        self.put("data.zst", b"\x28\xb5\x2f\xfd" + bytes(60))
        self.put("data.zip", b"PK\x03\x04" + bytes(60))
        self.put("data.parquet", b"PAR1" + bytes(60) + b"PAR1")
        self.put("data.pkl", b"\x80\x04\x95" + bytes(60))
        self.put("data.h5", b"\x89HDF\r\n\x1a\n" + bytes(60))
        self.put("listed.json", json.dumps({"data": first_lines(lines)}))
        self.put("semicolons.csv", "source;target\na;b\nc;d\n")
        self.put("no_names.csv", "a cat,un chat\na dog,un chien\n")
        self.put("null.jsonl", lines + '{"source": null, "target": "b"}\n')
        self.put("number.jsonl", lines + '{"source": 7, "target": "b"}\n')
        self.put("blank.jsonl", lines + "\n" + lines)
        self.put("latin1.txt", "caf\xe9 au lait\n".encode("latin-1") * 100)
        self.put("short.txt", "short\n")
        self.put("tokens.bin", struct.pack("<400H", *range(400)))

    def models(self):
        program = self.program
        result = program.alone("tiny.toml", "run.output=runs/good", "run.steps=2",
                               "checkpoint.resume=auto")
        check(result.finished(), "a run to have models of", result)
        program.alone("export", "runs/good", "good")
        self.copy("mamba", config={"model_type": "mamba"})
        self.copy("scaled", config={"scale_attn_by_inverse_layer_idx": True})
        self.copy("other_shape", config={"n_embd": 32})
        self.copy("no_config").joinpath("config.json").unlink()
        pickled = self.copy("pickled")
        (pickled / "model.safetensors").unlink()
        torch_file.write(pickled / "pytorch_model.bin", b"\x80\x02cposix\nsystem\n.")
        cut = self.copy("cut") / "model.safetensors"
        cut.write_bytes(cut.read_bytes()[:-1000])
        few = self.copy("few") / "model.safetensors"
        raw = few.read_bytes().replace(b'"transformer.wpe.weight"', b'"transformer.wqe.weight"')
        few.write_bytes(raw.replace(b'"wpe.weight"', b'"wqe.weight"'))
        headless = self.copy("headless") / "model.safetensors"
        headless.write_bytes(headless.read_bytes().replace(b'"transformer.wpe.weight"',
                                                           b'"score.of.another.task."'))
        (self.folder / "empty").mkdir()
        self.put("tok/tokenizer.json", '{"version": "1.0", "model": {"type": "WordPiece"}}')
        self.put("tok/tokenizer_config.json", '{"tokenizer_class": "GPT2Tokenizer"}')
        self.put("bad_bpe/vocab.json", '{"a": 0, "b": "one"}')
        self.put("bad_bpe/merges.txt", "#version: 0.2\n")
        self.put("bad_pieces/spiece.model", b"\x0a\x0e" + bytes(30))

    def copy(self, name, config=None):
        place = self.folder / name
        shutil.copytree(self.folder / "good", place)
        if config:
            file = place / "config.json"
            file.write_text(json.dumps({**json.loads(file.read_text()), **config}))
        return place

    def imports(self):
        self.put("typo.json", '{"zero_optimisation": {"stage": 2}}')
        self.put("sparse.json", '{"sparse_attention": {"mode": "fixed"}}')
        self.put("utf16.yaml", "mixed_precision: bf16\n".encode("utf-16"))
        self.put("broken.json", '{"zero_optimization": {"stage": 2}')


def imported(name, *words):
    return (IMPORT[0], name, *IMPORT[2:], *words)


# A name, and what is typed.
MISTAKES = (
    ("a key with a typing error", (*RUN, "zero.stagee=1")),
    ("a section with a typing error", (*RUN, "optimzer.lr=1e-3")),
    ("a word for a number", (*RUN, "run.steps=many")),
    ("a stage that there is not", (*RUN, "zero.stage=4")),
    ("batch sizes that do not multiply", (*RUN, "train_batch_size=7",
                                          "gradient_accumulation_steps=2")),
    ("two kinds of 16 bits", (*RUN, "fp16.enabled=true", "bf16.enabled=true")),
    ("offload without ZeRO", (*RUN, "zero.offload_optimizer.device=cpu")),
    ("a disk without a folder", (*RUN, "zero.stage=3", "zero.offload_param.device=nvme")),
    ("an optimizer that is not there", (*RUN, "optimizer.type=Adafactor")),
    ("a schedule that is not there", (*RUN, "scheduler.type=linear")),
    ("data that are not there", (*RUN, "data.train=missing.txt")),
    ("steps and epochs", (*RUN, "run.epochs=2")),
    ("a key twice on the line", (*RUN, "run.steps=3", "run.steps=4")),
    ("a negative length", (*RUN, "data.sequence_length=-1")),
    ("a command with a typing error", ("trian", "tiny.toml")),
    ("an input file that is not there", ("missing.toml",)),
    ("no model to generate from", ("generate", "--prompt", "a")),
    ("a model that is not there", ("generate", "runs/missing", "--prompt", "a")),
    ("no rank", (*PLAN, "--ranks", "0")),
    ("a machine that nobody knows", (*PLAN, "--machine", "h900")),
    ("too little memory", (*PLAN, "memory.device_limit=600KiB")),
    ("too little memory for anything", (*PLAN, "memory.device_limit=1KiB")),
    ("text in UTF-16", (*PAIRS, "data.train=utf16.jsonl")),
    ("text that is compressed by gzip", (*PAIRS, "data.train=data.jsonl.gz")),
    ("text that is compressed by zstd", (*PAIRS, "data.train=data.zst")),
    ("an archive", (*PAIRS, "data.train=data.zip")),
    ("a Parquet file", (*PAIRS, "data.train=data.parquet")),
    ("a pickle", (*PAIRS, "data.train=data.pkl")),
    ("an HDF5 file", (*PAIRS, "data.train=data.h5")),
    ("records in a list of an object", (*PAIRS, "data.train=listed.json")),
    ("a table with semicolons", (*PAIRS, "data.train=semicolons.csv")),
    ("a table without a line of names", (*PAIRS, "data.train=no_names.csv")),
    ("null as a text", (*PAIRS, "data.train=null.jsonl")),
    ("a number as a text", (*PAIRS, "data.train=number.jsonl")),
    ("a blank line within records", (*PAIRS, "data.train=blank.jsonl")),
    ("text that is no UTF-8, for BPE", (*RUN, "data.train=latin1.txt", "data.tokenizer=good")),
    ("a text shorter than a sample", (*RUN, "data.train=short.txt")),
    ("ids beyond the vocabulary", (*RUN, "data.train=tokens.bin", "model.vocab_size=256")),
    ("a tokenizer.json of another type", (*RUN, "data.tokenizer=tok")),
    ("a vocabulary that is damaged", (*RUN, "data.tokenizer=bad_bpe")),
    ("a spiece.model that is damaged", (*PAIRS, "data.tokenizer=bad_pieces")),
    ("a tokenizer's folder that is empty", (*RUN, "data.tokenizer=empty")),
    ("a tokenizer that is not there", (*RUN, "data.tokenizer=missing")),
    ("a model of a kind that is not known", ("import-weights", "mamba", "in")),
    ("a switch with another value", ("import-weights", "scaled", "in")),
    ("weights of another shape", ("import-weights", "other_shape", "in")),
    ("a folder without config.json", ("import-weights", "no_config", "in")),
    ("a pickle of weights", ("import-weights", "pickled", "in")),
    ("weights that are cut", ("import-weights", "cut", "in")),
    ("a tensor that is missing", ("import-weights", "few", "in")),
    ("numbers that are not the model's", (*RUN, "model.init_from=good", "model.layers=3")),
    ("a model without a tensor", (*RUN, "model.init_from=headless")),
    ("what it lacks by a wrong name", (*RUN, "model.init_from=headless",
                                       'model.reinit=["wpe.wieght"]')),
    ("what begins anew without a model", (*RUN, 'model.reinit=["wpe.weight"]')),
    ("a place that is taken", ("export", "runs/good", "good")),
    ("ls of what is no run", ("ls", "empty")),
    ("nothing to resume", (*RUN, "checkpoint.resume=require")),
    ("other data than before", ("tiny.toml", "run.output=runs/good", "run.steps=4",
                                "checkpoint.resume=auto", "data.train=tiny.toml")),
    ("an ended run that is to be another", ("tiny.toml", "run.output=runs/good", "run.steps=4",
                                            "checkpoint.resume=auto", "model.width=32")),
    ("a key of DeepSpeed's with a typing error", imported("typo.json", "run.steps=10")),
    ("a part of DeepSpeed that is not there", imported("sparse.json", "run.steps=10")),
    ("YAML in UTF-16", imported("utf16.yaml", "run.steps=10")),
    ("JSON without its last brace", imported("broken.json", "run.steps=10")),
    ("a launch line in quotes", (*IMPORT, "--", "deepspeed train.py --max_steps 10")),
    ("a dash that a word processor made", (*LAUNCH, "\u2013\u2013learning_rate", "1e-4")),
    ("a flag that may be two", (*LAUNCH, "--adam", "1e-6")),
    ("a rate that is no number", (*LAUNCH, "--learning_rate", "1e-4f")),
)


def shown(words):
    return "zeroapp " + " ".join(f"'{word}'" if re.search(r"[^\w./=:-]", word) else word
                                 for word in words)


def told(program, words):
    """Error lines and questions, without what differs from place to place; of an import that goes
    on, what it says of words that have no twin."""
    lines = program.alone(*words).err.splitlines()
    first = [i for i, line in enumerate(lines)
             if line.startswith(("zeroapp: error", "zeroapp: warning"))]
    if first:
        # A message goes on in lines that begin with blanks.
        lines = [line for i, line in enumerate(lines)
                 if i in first or (i > first[0] and line.startswith("  "))]
    else:
        kept = (" no flag ", "could be short for", "not read")
        lines = [line for line in lines if any(part in line for part in kept)]
    check(lines, f"{shown(words)} says nothing")
    text = "\n".join(lines).replace(str(program.folder) + "/", "").replace(
        str(program.folder), ".")
    text = re.sub(r"(\[rank 0) host \S+\]", r"\1]", text)
    return re.sub(r"\bprocess \d+", "process N", text)


def main():
    program = Program()
    World(program)
    blocks = [f"# {name}\n$ {shown(words)}\n{told(program, words)}\n"
              for name, words in MISTAKES]
    now = "\n".join(blocks)
    if os.environ.get("WRITE"):
        TABLE.write_text(now)
    then = TABLE.read_text()
    if now != then:
        sys.stderr.writelines(difflib.unified_diff(
            then.splitlines(True), now.splitlines(True), "tests/golden/said.txt", "now"))
        sys.exit("failed: messages are others; WRITE=1 takes them over")
    print(f"{len(MISTAKES)} mistakes are told as they were read")


main()
