#!/usr/bin/env python3
"""Frozen parameters: their bytes never change, the others train as they would beside them, to the
same bytes at every stage, home and rank count; plans, checkpoints and banners leave them out; a
resume keeps to the list, and a pattern that means nothing is refused with the nearest name."""
import json
import struct

from program import FOUR_STEPS, OFFLOADED, PAIRS, Program, check, check_refused

INPUT = """
train_batch_size = 8
train_micro_batch_size_per_gpu = 2
gradient_clipping = 0
[model]
family = "t5"
layers = 2
width = 16
heads = 2
head_width = 12
inner = 24
""" + PAIRS + FOUR_STEPS.replace("lr = 1e-2", "lr = 1e-2\nweight_decay = 0.1")
# A unit whole, and of two others a part: the table of tokens and one layer's queries and the rest.
PATTERNS = ("shared.weight", "encoder.block.0.*",
            "decoder.block.1.layer.0.SelfAttention.[qkv].weight")
FREEZE = "model.freeze=" + json.dumps(PATTERNS)
MORE = "model.freeze=" + json.dumps(PATTERNS + ("encoder.block.1.*",))
BF16 = ("bf16.enabled=true", "checkpoint.async=true")
FP16 = ("fp16.enabled=true", "fp16.initial_scale_power=8")


def is_frozen(tensor):
    return (tensor == "shared.weight" or tensor.startswith("encoder.block.0.")
            or tensor.startswith("decoder.block.1.layer.0.SelfAttention.")
            and tensor[-8] in "qkv")


def trained(program, name, ranks, *settings):
    result = program.wait(program.start(ranks, *settings, f"run.output=runs/{name}",
                                        input_file="t5.toml"), run=name)
    check(result.finished(), f"{name}: {ranks} ranks with {settings}", result)
    return result


def tensors(program, name):
    """The bytes of each tensor of an exported model."""
    data = (program.folder / f"runs/{name}/model/model.safetensors").read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:begin])
    return {tensor: data[begin + row["data_offsets"][0]:begin + row["data_offsets"][1]]
            for tensor, row in header.items() if tensor != "__metadata__"}


def others_train_as_in_a_whole_training(program):
    trained(program, "whole", 1, "run.steps=1")
    out = trained(program, "one", 1, FREEZE, "run.steps=1").out
    check("of them frozen, " in out, f"the banner counts them: {out}")
    check("another name" not in out, f"shared.weight is the table's own name: {out}")
    alias = trained(program, "alias", 1, 'model.freeze=["lm_head.weight"]', "run.steps=1").out
    check('frozen      "lm_head.weight" means shared.weight, of which' in alias, f"said: {alias}")
    trained(program, "four", 2, FREEZE, "zero.stage=2")
    whole, one, four = (tensors(program, name) for name in ("whole", "one", "four"))
    check(sum(map(is_frozen, whole)) == 13, f"13 tensors are frozen of {sorted(whole)}")
    for tensor in whole:
        kept = is_frozen(tensor)
        check((one[tensor] == whole[tensor]) != kept,
              f"after a step {tensor} is {'not ' if kept else ''}as in a whole training")
        check((four[tensor] == one[tensor]) == kept,
              f"after four {tensor} is {'as' if kept else 'other than'} after one")


def trains_alike_everywhere(program):
    fp32 = ((1, 0, ()), (2, 1, ()), (4, 2, ()), (2, 3, ()), (2, 3, OFFLOADED))
    for precision, cases in (((), fp32), (BF16, (fp32[0], fp32[2], fp32[4])),
                             (FP16, (fp32[0], fp32[3]))):
        states = {trained(program, f"case{i}{''.join(precision)[:4]}", ranks, FREEZE,
                          f"zero.stage={stage}", *homes, *precision).state()
                  for i, (ranks, stage, homes) in enumerate(cases)}
        check(len(states) == 1, f"{precision}: one state and not {states}")


# Sizes at which each unit takes several blocks of 2048 elements of a rank.
WIDTH, INNER, BIAS = 128, 512, 64
LARGER = (f"model.width={WIDTH}", "model.head_width=64", f"model.inner={INNER}")
ATTENTION, FORWARD = 4 * WIDTH * WIDTH, 2 * WIDTH * INNER
ENCODER, DECODER = ATTENTION + FORWARD + 2 * WIDTH, 2 * ATTENTION + FORWARD + 3 * WIDTH
# Elements of the units: the table with the last norms, and the blocks, of which the first of each
# stack has the bias of distances.
UNITS = {"whole": (258 * WIDTH, ENCODER + BIAS, ENCODER, DECODER + BIAS, DECODER),
         "frozen": (2 * WIDTH, 0, ENCODER, DECODER + BIAS, DECODER - 3 * ATTENTION // 4)}


def plans_nothing_for_them(program):
    made = {}
    for name, settings in (("whole", ()), ("frozen", (FREEZE,))):
        result = program.alone("plan", "t5.toml", "--ranks", "2", "--json", "zero.stage=2",
                               "bf16.enabled=true", *LARGER, *settings)
        made[name] = json.loads(result.out)
    numel = made["frozen"]["frozen_parameters"]
    check(made["whole"]["frozen_parameters"] == 0 and
          numel == sum(UNITS["whole"]) - sum(UNITS["frozen"]), f"{numel} are frozen")
    for use, element in (("gradients", 4), ("optimizer state", 10)):
        fall = made["whole"]["formula_bytes"][use] - made["frozen"]["formula_bytes"][use]
        check(fall == element * numel / 2, f"{use}: the formula falls by {fall}")
        for name, units in UNITS.items():
            shard = sum(-(-unit // 4096) for unit in units) * 2048
            planned = made[name]["bytes"][use]
            check(planned == element * shard, f"{name}: {use} take {planned}, not {shard} each")
    sent = [made[name]["sent"]["reduce_scatter"]["elements"] for name in ("whole", "frozen")]
    check(sent[1] < sent[0], f"gradients sent: {sent}")


def goes_on_with_the_same_list(program):
    straight = trained(program, "straight", 2, FREEZE, "zero.stage=1")
    trained(program, "parts", 2, FREEZE, "zero.stage=3", "run.stop_at=2")
    again = trained(program, "parts", 1, FREEZE)
    check("going on from step 2" in again.out and again.state() == straight.state(),
          "a resume has the bytes of a straight run", again)
    shown = program.alone("inspect", "runs/parts").out.split()
    for name, times in (("shared.weight", 1), ("encoder.block.0.layer.1.layer_norm.weight", 1),
                        ("encoder.block.1.layer.1.layer_norm.weight", 4)):
        check(shown.count(name) == times, f"a checkpoint holds {name} {shown.count(name)} times")
    for settings, words in (((), "shared.weight was frozen there and is trained now"),
                            ((MORE,), "was trained there and is frozen now")):
        refused = program.alone("t5.toml", "run.output=runs/parts", "run.steps=5", *settings)
        check_refused(refused, 3, "model.freeze", words, "model.init_from")
    begun = trained(program, "begun", 1, "model.init_from=runs/parts", "run.steps=1")
    check(begun.summary["eval_loss"] > 0, "weights begin another training", begun)


def refuses_what_means_nothing(program):
    for pattern, words in (("shared.weigt", 'did you mean "shared.weight"?'),
                           ("encoder.block.0.layer.0.SelfAttention.q.weight", "means a part of"),
                           ("*", "nothing is trained")):
        check_refused(program.alone("plan", "t5.toml", f'model.freeze=["{pattern}"]'), 2,
                      "model.freeze", words)


def main():
    program = Program()
    program.write_pairs(50)
    program.write("t5.toml", INPUT)
    others_train_as_in_a_whole_training(program)
    trains_alike_everywhere(program)
    plans_nothing_for_them(program)
    goes_on_with_the_same_list(program)
    refuses_what_means_nothing(program)
    print("what is frozen stays as it is")


main()
