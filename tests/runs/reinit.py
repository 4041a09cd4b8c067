#!/usr/bin/env python3
"""Parameters that model.reinit draws anew are those of a training from nothing, to the bit, and all
others those of model.init_from: for folders, runs and checkpoints, at every stage, home and rank
count. A model that lacks some is refused without it, and a resume never draws again."""
import json
import shutil
import struct

from program import Program, check, check_refused, read_safetensors

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 2
[model]
family = "t5"
layers = 2
width = 16
heads = 2
inner = 24
classifier = "untied"
dropout = 0.1
[data]
train = "pairs.tsv"
source_length = 20
target_length = 12
validation_fraction = 0.2
[run]
steps = 3
threads = 1
[optimizer]
lr = 1e-2
[numerics]
reproducible = true
[export]
at_end = true
"""
STILL = ("run.steps=1", "optimizer.lr=0.0")
# A unit whole, a part of another one, and a parameter of three tensors.
PATTERNS = ("encoder.block.1.*", "lm_head.weight", "decoder.block.0.layer.0.SelfAttention.[qkv].*")
REINIT = "model.reinit=" + json.dumps(PATTERNS)
HEAD = 'model.reinit=["lm_head.*"]'
OFFLOADED = ("zero.offload_optimizer.device=cpu", "zero.offload_param.device=nvme",
             "zero.offload_param.nvme_path=.")
CASES = ((1, 0, ()), (2, 1, ()), (4, 2, ()), (2, 3, ()), (4, 3, OFFLOADED))


def is_drawn(tensor):
    return (tensor == "lm_head.weight" or tensor.startswith("encoder.block.1.")
            or tensor.startswith("decoder.block.0.layer.0.SelfAttention.") and tensor[-8] in "qkv")


def trained(program, name, ranks, *settings):
    result = program.wait(program.start(ranks, *settings, f"run.output=runs/{name}",
                                        input_file="t5.toml"), run=name)
    check(result.finished(), f"{name}: {ranks} ranks with {settings}", result)
    return result


def tensors(program, name):
    return read_safetensors(program.folder / f"runs/{name}/model/model.safetensors")[1]


def drawn_as_from_nothing(program):
    trained(program, "nothing", 1, *STILL)
    trained(program, "source", 2, "zero.stage=3")
    fresh, source = tensors(program, "nothing"), tensors(program, "source")
    places = ("runs/source/model", "runs/source", "runs/source/checkpoints/step00000003")
    for i, (ranks, stage, homes) in enumerate(CASES):
        name, place = f"drawn{i}", places[i % len(places)]
        out = trained(program, name, ranks, *STILL, f"zero.stage={stage}", *homes, REINIT,
                      f"model.init_from={place}").out
        for tensor, content in tensors(program, name).items():
            wanted, words = (fresh, "drawn") if is_drawn(tensor) else (source, "kept")
            check(content == wanted[tensor], f"{place} at stage {stage}: {tensor} is {words}")
    check("drawn anew  8 parameters: " in out and " and 3 more\n" in out, f"counted: {out}")
    check(fresh["lm_head.weight"] != source["lm_head.weight"], "the source has learnt")


def altered(program, name, change):
    """A folder of the source's model, whose tensors `change` has changed."""
    folder = program.folder / name
    shutil.copytree(program.folder / "runs/source/model", folder)
    header, content = read_safetensors(folder / "model.safetensors")
    shapes = {tensor: row["shape"] for tensor, row in header.items()}
    change(shapes)
    made, data = {}, b""
    for tensor, shape in shapes.items():
        count = 4
        for extent in shape:
            count *= extent
        kept = content.get(tensor, b"")
        made[tensor] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + count]}
        data += kept if len(kept) == count else bytes(count)
    words = json.dumps(made).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(words)) + words + data)
    return f"model.init_from={name}"


def a_folder_without_the_head(shapes):
    del shapes["lm_head.weight"]
    shapes["classification_head.dense.weight"] = [16, 16]
    shapes["classification_head.out_proj.weight"] = [3, 16]


def a_head_of_another_shape(shapes):
    shapes["lm_head.weight"] = [100, 16]


def lacking_models_are_refused_or_completed(program):
    for name, change, found in (("headless", a_folder_without_the_head, "found nothing"),
                                ("other", a_head_of_another_shape, "found F32 [100, 16]")):
        begin = altered(program, name, change)
        for words in (("t5.toml", "run.output=runs/none"), ("plan", "t5.toml")):
            result = program.alone(*words, begin)
            check_refused(result, 3, 'or write model.reinit = ["lm_head.*"] to draw it anew')
            check(found in result.err, f"{name}: {found!r}", result)
        check_refused(program.alone("t5.toml", "run.output=runs/none", begin,
                                    'model.reinit=["shared.weight"]'), 3, "lm_head.*")
        states = {}
        for i, (ranks, stage, homes) in enumerate(CASES):
            result = trained(program, f"{name}{i}", ranks, begin, HEAD, f"zero.stage={stage}",
                             *homes)
            states[result.state()] = result.out
        check(len(states) == 1, f"{name}: one state and not {list(states)}")
        out = next(iter(states.values()))
        check("drawn anew  1 parameter: lm_head.weight\n" in out, f"it says so: {out}")
        passed = ("passed over 2 tensors of other heads: classification_head.dense.weight, "
                  "classification_head.out_proj.weight\n")
        check((passed in out) == (name == "headless"), f"other heads are counted: {out}")
    check_refused(program.alone("eval", "headless", "data.validation=pairs.tsv"), 3,
                  "take both from one place. The first of them")


def a_resume_draws_nothing(program):
    straight = trained(program, "straight", 1, "model.init_from=headless", HEAD)
    settings = ("checkpoint.resume=auto", "model.init_from=headless")
    trained(program, "halves", 2, *settings, HEAD, "zero.stage=2", "run.stop_at=2")
    shutil.rmtree(program.folder / "headless")
    other = 'model.reinit=["shared.weight"]'
    rest = trained(program, "halves", 1, *settings, other)
    check("going on from step 2" in rest.out and "drawn anew" not in rest.out, "it goes on", rest)
    check(rest.state() == straight.state(), "and ends as without a stop", rest)


def patterns_that_mean_nothing_are_refused(program):
    for pattern, words in (("lm_haed.weight", 'did you mean "lm_head.weight"?'),
                           ("decoder.block.0.layer.0.SelfAttention.q.weight", "means a part of")):
        check_refused(program.alone("plan", "t5.toml", "model.init_from=runs/source",
                                    f'model.reinit=["{pattern}"]'), 2, "model.reinit", words)
    check_refused(program.alone("plan", "t5.toml", HEAD), 2, "model.reinit", "model.init_from")


def main():
    program = Program()
    program.write_pairs(50)
    program.write("t5.toml", INPUT)
    drawn_as_from_nothing(program)
    lacking_models_are_refused_or_completed(program)
    a_resume_draws_nothing(program)
    patterns_that_mean_nothing_are_refused(program)
    print("what is drawn anew is as from nothing, the rest as it was")


main()
