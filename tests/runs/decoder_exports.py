#!/usr/bin/env python3
"""A folder of each row of decoders, as Transformers saves it, is imported and exported to the same
bytes of every tensor and the same config.json, but for the order of keys, those of the dtype, both
spellings of rope and our own. So it is after a training that starts from it, but for weights. A
training on packed documents under windows goes on at other ranks, stages and homes."""
import json
import pathlib
import random

from program import OFFLOADED, Program, check, read_safetensors, shared

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
# A case of each row.
ROWS = ("llama_c", "qwen2_b", "qwen3_b", "mistral_c", "ministral", "smollm3", "olmo2", "olmo3",
        "gemma2", "gemma3_text", "granite", "phi3", "ministral3", "seed_oss", "exaone4",
        "hunyuan_v1_dense", "arcee")
# The older spelling lacks their ropes of layers with a window.
ONLY_NEW = ("olmo3", "gemma3_text")
SPELLINGS = {"rope_theta", "rope_scaling", "rope_parameters", "rope_local_base_freq",
             "partial_rotary_factor"}
DTYPES = {"dtype", "torch_dtype"}
OWN = {"zeroapp"}
# What files of the hub have, and no network reads.
MORE = {"_name_or_path": "somewhere/else", "use_cache": False, "transformers_version": "4.40.1",
        "task_specific_params": {"text-generation": {"max_length": 50, "do_sample": True}},
        "unheard_of": None}
TYPES = {"float32": ("F32", 4), "bfloat16": ("BF16", 2)}
PACKED = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 1
[model]
init_from = "%s"
[data]
train = "documents.jsonl"
sequence_length = 24
packing = "documents"
[run]
steps = 6
threads = 1
[optimizer]
lr = 1e-3
[numerics]
reproducible = true
[export]
at_end = true
"""


def write_safetensors(path, tensors):
    """`tensors` has the dtype, the shape and the bytes of each name."""
    rows, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, content) in tensors.items():
        rows[name] = {"dtype": dtype, "shape": shape,
                      "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    header = json.dumps(rows).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


def tensors_of(golden, dtype, numbers):
    """Random weights: 16 bits of a sign, an exponent of 1 or less, and a fraction."""
    kind, size = TYPES[dtype]
    tensors = {}
    for tensor in golden["tensors"]:
        numel = 1
        for extent in tensor["shape"]:
            numel *= extent
        halves = [numbers.getrandbits(16) & 0x83FF | 0x3C00 for _ in range(numel)]
        content = b"".join(half.to_bytes(2, "little").rjust(size, b"\0") for half in halves)
        name = tensor["name"]
        name = name if name.startswith("lm_head.") else "model." + name
        tensors[name] = (kind, tensor["shape"], content)
    return tensors


def in_older_spelling(config):
    """As Transformers 4 writes rope; null is no scaling."""
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    share = rope.pop("partial_rotary_factor", None)
    if share is not None:
        config["partial_rotary_factor"] = share
    config["rope_scaling"] = rope if rope["rope_type"] != "default" else None
    config["torch_dtype"] = config.pop("dtype")


def folder_of(program, name, number):
    """Every other folder has bf16, shards, and the older spelling."""
    golden = json.loads((GOLDEN / f"decoder_{name}.json").read_text())
    other = number % 2 == 1
    config = {**golden["hub"], **MORE, "dtype": "bfloat16" if other else "float32"}
    tensors = tensors_of(golden, config["dtype"], random.Random(number))
    if other and name not in ONLY_NEW:
        in_older_spelling(config)
    folder = program.folder / f"{name}_saved"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    if other:
        names = sorted(tensors)
        shards = {f"model-0000{i + 1}-of-00002.safetensors": names[i::2] for i in range(2)}
        for file, part in shards.items():
            write_safetensors(folder / file, {tensor: tensors[tensor] for tensor in part})
        (folder / "model.safetensors.index.json").write_text(json.dumps({
            "metadata": {"total_size": 1},
            "weight_map": {tensor: file for file, part in shards.items() for tensor in part}}))
    else:
        write_safetensors(folder / "model.safetensors", tensors)
    return config, tensors


def check_config(what, folder, config):
    again = json.loads((folder / "config.json").read_text())
    for key in SPELLINGS & set(config):
        check(again.get(key) == config[key], f"{what}: {key} is {again.get(key)}")
    for key in ("rope_theta", "rope_scaling", "rope_parameters", *DTYPES):
        check(key in again, f"{what}: {key} is written, too")
    passed = SPELLINGS | DTYPES | OWN
    left, right = ({key: value for key, value in one.items() if key not in passed}
                   for one in (config, again))
    check(left == right, f"{what}: config.json has {again}, not {config}")


def goes_there_and_back(program, name, number):
    config, tensors = folder_of(program, name, number)
    result = program.alone("import-weights", f"{name}_saved", f"{name}_imported")
    check(result.status == 0, f"{name}: is imported", result)
    result = program.alone("export", f"{name}_imported", f"{name}_again")
    check(result.status == 0, f"{name}: is exported", result)
    again = program.folder / f"{name}_again"
    rows, stored = read_safetensors(again / "model.safetensors")
    check(set(stored) == set(tensors), f"{name}: {set(stored) ^ set(tensors)}")
    for tensor, (dtype, shape, content) in tensors.items():
        row = rows[tensor]
        check((row["dtype"], row["shape"]) == (dtype, shape), f"{name}: {tensor} is {row}")
        check(stored[tensor] == content, f"{name}: the bytes of {tensor}")
    check_config(name, again, config)
    return config


def part_of(program, name, run, ranks, *settings):
    """A part of a training on packed documents; returns the hashes of its state."""
    program.write(f"{name}.toml", shared(PACKED % f"{name}_saved"))
    result = program.wait(
        program.start(ranks, f"run.output=runs/{run}", *settings, "checkpoint.resume=auto",
                      input_file=f"{name}.toml"), run=run)
    check(result.finished(), f"{run} on {ranks} ranks with {settings}", result)
    return result.state()


def stays_through_a_training(program, name, config):
    part_of(program, name, name, 2, "zero.stage=3", "run.stop_at=2")
    part_of(program, name, name, 1)
    check_config(f"{name}, trained", program.folder / f"runs/{name}/model", config)
    program.alone("export", f"runs/{name}", f"{name}_later")
    check_config(f"{name}, exported", program.folder / f"{name}_later", config)


def goes_on_at_other_ranks(program, name):
    """Under windows; each part has another stage, rank count and home."""
    whole = part_of(program, name, "whole", 2, "zero.stage=3")
    part_of(program, name, "parts", 4, "zero.stage=1", "run.stop_at=2")
    part_of(program, name, "parts", 1, "zero.stage=0", "run.stop_at=4")
    last = part_of(program, name, "parts", 2, "zero.stage=3", *OFFLOADED)
    check(last == whole, f"one state at any ranks and stages, not {last} and {whole}")


def write_documents(program):
    numbers = random.Random(5)
    records = [{"input_ids": [numbers.randrange(131) for _ in range(numbers.randint(1, 20))]}
               for _ in range(60)]
    program.write("documents.jsonl", "".join(json.dumps(one) + "\n" for one in records))


def main():
    program = Program()
    configs = {}
    for number, name in enumerate(ROWS):
        configs[name] = goes_there_and_back(program, name, number)
    write_documents(program)
    for name in ("qwen3_b", "granite"):
        stays_through_a_training(program, name, configs[name])
    goes_on_at_other_ranks(program, "mistral_c")
    print("folders come back as they were")


if __name__ == "__main__":
    main()
