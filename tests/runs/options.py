#!/usr/bin/env python3
"""Settings of a run that no other test starts the whole program with: what each one does."""
import json
import math

import token_files
from program import Program, check, check_refused

STEPS = 6
SEED = 1  # the default of run.seed


def bits_of_steps(result):
    return [line["loss_hex"] for line in result.metrics]


def bits(result):
    return bits_of_steps(result), result.state()


def hashes_are_left_out_where_asked(program, plain):
    result = trained(program, "run.state_hash=false")
    check(bits_of_steps(result) == bits_of_steps(plain), "without a hash the same steps", result)
    hashes = [result.summary[name] for name in ("state_sha256", "state_xxh3")]
    check(hashes == [None, None], f"null, not {hashes}", result)
    try:
        result.state()
    except SystemExit as refused:
        check("run.state_hash = true takes them" in str(refused), f"a sentence: {refused}")
    else:
        check(False, "null is compared with nothing")
    hashes = plain.state()
    check([len(text) for text in hashes] == [64, 32], f"hexadecimal digits: {hashes}", plain)


def trained(program, *settings):
    result = program.train(2, *settings)
    check(result.finished(), f"{settings}: trains to the end", result)
    return result


def evaluation_changes_no_bit_of_the_training(program, plain):
    result = trained(program, "evaluation.interval=2")
    check(bits(result) == bits(plain), "evaluation between steps changes no bit", result)
    for step in (2, 4, 6):
        times = result.out.count(f"evaluation after step {step} ")
        check(times == 1, f"one evaluation after step {step}, not {times}", result)
    check(plain.out.count("evaluation after step") == 1, "without it one after the last", plain)
    check(result.summary["eval_loss"] == plain.summary["eval_loss"], "the same loss", result)


def stop_at_ends_early_with_the_bits_of_the_whole_run(program, plain):
    result = trained(program, "run.stop_at=3")
    check("finished step 3 of 6" in result.out, "says where it ended", result)
    check(result.summary["steps"] == 3, "three steps in summary.json", result)
    check(bits(result)[0] == bits(plain)[0][:3], "the first three steps, bit by bit", result)


def generated(program, seed):
    """What generate draws behind a newline from the model that the last run has exported."""
    result = program.alone("generate", "runs/tiny", "--prompt", "\n", "--tokens", "200",
                           "--temperature", "0.8", "--seed", str(seed))
    check(result.status == 0 and result.out[0] == "\n", "generates", result)
    return result.out[1:-1]


def samples_are_written_once_at_the_end(program, plain):
    path = program.folder / "runs/tiny/sample.txt"
    check(not path.exists(), "no sample.txt unless asked for", plain)
    result = trained(program, "evaluation.show_samples=2", "evaluation.interval=2",
                     "export.at_end=true")
    check(bits(result) == bits(plain), "sampling changes no bit", result)
    samples = path.read_text(errors="replace")
    drawn = [generated(program, seed) for seed in (SEED, SEED + 1)]
    rest = samples.removeprefix(drawn[0] + "\n\n")
    check(samples != rest != drawn[1] + "\n", f"{samples!r}, but generate draws {drawn}", result)


def samples_go_by_generation(program):
    """As generate does with the same rules."""
    result = trained(program, "evaluation.show_samples=2", "export.at_end=true",
                     "generation.num_beams=3", "generation.max_new_tokens=12",
                     "generation.no_repeat_ngram_size=2")
    check("samples     2 texts after the last step, which take of each rank" in result.out, "said",
          result)
    samples = (program.folder / "runs/tiny/sample.txt").read_text(errors="replace")
    (program.folder / "runs/tiny/model/generation_config.json").unlink()
    asked = program.alone("generate", "runs/tiny", "--prompt", "\n", "--num-beams", "3",
                          "--tokens", "12", "--no-repeat-ngram-size", "2")
    text = asked.out[1:-1]
    check(samples == f"{text}\n\n{text}\n", f"{samples!r}, generate: {asked.out!r}", asked)


def samples_are_decoded_by_the_runs_tokenizer(program):
    """It has 256 tokens that are no bytes: their numbers follow GPT-2's alphabet."""
    folder = program.folder / "bpe"
    folder.mkdir()
    letters = dict(list(token_files.BPE_VOCABULARY.items())[:256])
    (folder / "vocab.json").write_text(json.dumps(letters), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    result = trained(program, "data.tokenizer=bpe", "model.vocab_size=256",
                     "evaluation.show_samples=1", "export.at_end=true")
    check("\nsamples     1 text after the last step" in result.out, "said at the start", result)
    sample = (program.folder / "runs/tiny/sample.txt").read_text(errors="replace")
    drawn = generated(program, SEED)
    check(sample == drawn + "\n", f"{sample!r}, but generate draws {drawn!r}", result)


def samples_that_cannot_be_are_refused_at_the_start(program, plain):
    (program.folder / "ids.bin").write_bytes(token_files.token_file(list(range(1000)) * 2))
    tokens = program.train(2, "data.train=ids.bin", "model.vocab_size=1000",
                           "evaluation.show_samples=1")
    check_refused(tokens, 2, "evaluation.show_samples: nothing here can decode the 1000 tokens")
    check("step 1 " not in tokens.out, "before step 1", tokens)
    # Weights of 12 MiB, and what steps leave free is less.
    wide = ("model.width=256", "model.layers=4", "data.sequence_length=8",
            "evaluation.show_samples=1")
    plan = json.loads(program.alone("plan", "tiny.toml", "--ranks", "2", "--json", *wide).out)
    room = plan["arena_bytes"] + 1000
    large = program.train(2, f"memory.device_limit={room}", *wide)
    check_refused(large, 6, "of it for the texts of evaluation.show_samples, a rank",
                  "cheapest change that fits: ")
    check("step 1 " not in large.out, "before step 1", large)


def the_breakdown_names_the_regions(program, plain):
    result = trained(program, "wall_clock_breakdown=true")
    check("time of each region a step" in result.out, "prints the table", result)
    for region in ("linear", "adam", "decide"):
        check(f"\n  {region} " in result.out, f"a line of {region}", result)
    check("time of each region" not in plain.out, "no table unless asked for", plain)
    check(bits(result) == bits(plain), "the table changes no bit", result)


def a_constant_loss_scale_stays(program):
    result = trained(program, "fp16.enabled=true", "fp16.loss_scale=128")
    check({line["loss_scale"] for line in result.metrics} == {128}, "128 in every step", result)
    check(not any(line["skipped"] for line in result.metrics), "no step is skipped", result)


def a_constant_loss_scale_ends_by_bad_steps(program):
    result = program.train(2, "fp16.enabled=true", "fp16.loss_scale=4294967296",
                           "numerics.max_bad_steps=2")
    check_refused(result, 7, "3 steps in a row were not finite, up to step 3")


def a_dynamic_loss_scale_ends_at_its_minimum(program):
    scale = ("fp16.enabled=true", "fp16.initial_scale_power=32", "fp16.min_loss_scale=2147483648")
    result = program.train(2, *scale, "fp16.hysteresis=1")
    check_refused(result, 7, "step 2 overflowed with the loss scale at its minimum")
    check(result.metrics[0]["skipped"], "the first overflow halves the scale", result)


def a_dry_run_prints_the_plan_and_touches_nothing(program):
    result = program.alone("tiny.toml", "zero.stage=2", "--dry-run")
    check(result.status == 0 and "stage 2, 1 rank, " in result.out, "prints the plan", result)
    check(not (program.folder / "runs").exists(), "makes no folder", result)
    refused = program.alone("tiny.toml", "memory.device_limit=100000", "--dry-run")
    check(refused.status == 6, f"status 6, not {refused.status}", refused)


def a_threshold_below_every_unit_is_a_warning_with_its_place(program):
    """The smallest unit of two ranks is the embedding: 290 rows of 64, padded to 20480 elements."""
    key = "zero.stage3_param_persistence_threshold"
    begin = f"zeroapp: warning: command line: {key}: "
    for value, ranks, warns in ((20479, 2, True), (20480, 2, False), (0, 2, False)):
        typed = ("zero.stage=3", f"{key}={value}", "run.steps=1")
        plan = program.alone("plan", "tiny.toml", *typed, "--ranks", str(ranks))
        run = program.train(ranks, *typed)
        check(plan.status == 0 and run.finished(), f"{key} = {value} is taken", run)
        for result in (plan, run):
            told = f"{begin}{value} has no effect" in result.err
            check(told == warns, f"a warning of {value}: {warns}, not {told}", result)
            check(not warns or "embedding, has 20480 elements" in result.err, "the size", result)
    silent = program.train(2, "zero.stage=3", "run.steps=1")
    check(key not in silent.err, "no word of a default", silent)


def fp32_on_the_wire_is_auto_and_says_so(program):
    typed = ("bf16.enabled=true", "zero.stage=1", "train_batch_size=12")
    plain, rounded = trained(program, *typed), trained(program, *typed,
                                                       "communication_data_type=bf16")
    fp32 = trained(program, *typed, "communication_data_type=fp32")
    check(bits(fp32) == bits(plain), "fp32 has the bits of auto", fp32)
    check(fp32.summary["sent"] == plain.summary["sent"], "and its bytes", fp32)
    told = 'communication_data_type: "fp32" is done as "auto"'
    check(told in fp32.err and told not in plain.err, "which it says", fp32)
    check(bits(rounded) != bits(plain), "bf16 rounds", rounded)
    loss, other = (result.metrics[-1]["loss"] for result in (plain, rounded))
    check(abs(loss - other) < 1e-2, f"and changes a loss of {loss} to {other}", rounded)
    for setting, works in (("numerics.reproducible=true", "numerics.reproducible = false"),
                           ("numerics.gradient_dtype=fp32", 'gradient_dtype = "compute"'),
                           ("bf16.enabled=false", "bf16.enabled = true"),
                           ("fp16.enabled=true", "bf16.enabled = true")):
        settings = ["bf16.enabled=true", "communication_data_type=bf16", setting]
        if setting.startswith(("bf16", "fp16")):
            settings = settings[1:]
        check_refused(program.alone("plan", "tiny.toml", *settings), 2, works)


def validation_is_read_from_its_own_file(program, plain):
    program.write("other.txt", "A rose is a rose is a rose.\n" * 60)
    own = ("data.validation_fraction=0", "data.validation=other.txt")
    result = trained(program, *own)
    tokens = result.summary["eval_tokens"]
    check(tokens == 5 * 32, f"five samples of 32 tokens, not {tokens} tokens", result)
    loss = result.summary["eval_loss"]
    check(0 < loss < 2 * math.log(256), f"a loss of {loss}", result)
    check(loss != plain.summary["eval_loss"], "another text has another loss", result)


def a_checkpoint_has_the_permissions_that_were_asked_for(program):
    for asked in ("0700", "0750", "0755", "0770"):
        trained(program, "checkpoint.interval=6", f"checkpoint.permissions={asked}")
        folder = program.folder / "runs/tiny/checkpoints/step00000006"
        modes = [f"{path.stat().st_mode & 0o777:04o}" for path in (folder, *folder.glob("*.h5"))]
        of_file = f"{int(asked, 8) & 0o666:04o}"
        check(modes[0] == asked and set(modes[1:]) == {of_file}, f"{asked}, not {modes}")


def a_rank_alone_leaves_nothing_in_the_folder_of_temporary_files(program):
    """Nor can it fail where others that start or end at that time make and remove theirs. Open MPI
    5 makes a folder that is its own."""
    blocked = program.folder / "no_folder"
    blocked.write_text("a file")
    result = program.train(1, "run.steps=1", env={"TMPDIR": str(blocked)})
    if program.open_mpi() >= 5:
        return check_refused(result, 5, f"{blocked} is no folder", "name another in TMPDIR")
    check(result.finished() and not result.err, "it needs none", result)


def a_plan_says_for_how_many_threads(program):
    """As a run here: as the command line, the input file or OMP_NUM_THREADS says."""
    for words, threads in ((("run.threads=0",), "2 threads"), ((), "1 thread"),
                           (("--threads", "3"), "3 threads")):
        told = program.alone("plan", "tiny.toml", *words, env={"OMP_NUM_THREADS": "2"})
        check(f"   for {threads} a rank\n" in told.out, f"{words}: {threads}", told)
    check_refused(program.alone("plan", "tiny.toml", "--machine", "v100_32g", "--threads", "3"), 2,
                  "--threads: a plan for GPUs is the same", "leave it out")


def main():
    program = Program()
    a_plan_says_for_how_many_threads(program)
    a_dry_run_prints_the_plan_and_touches_nothing(program)
    plain = trained(program)
    check(len(plain.metrics) == STEPS, "one line a step", plain)
    hashes_are_left_out_where_asked(program, plain)
    samples_are_written_once_at_the_end(program, plain)
    samples_go_by_generation(program)
    samples_are_decoded_by_the_runs_tokenizer(program)
    samples_that_cannot_be_are_refused_at_the_start(program, plain)
    evaluation_changes_no_bit_of_the_training(program, plain)
    stop_at_ends_early_with_the_bits_of_the_whole_run(program, plain)
    the_breakdown_names_the_regions(program, plain)
    a_constant_loss_scale_stays(program)
    a_constant_loss_scale_ends_by_bad_steps(program)
    a_dynamic_loss_scale_ends_at_its_minimum(program)
    validation_is_read_from_its_own_file(program, plain)
    a_threshold_below_every_unit_is_a_warning_with_its_place(program)
    a_checkpoint_has_the_permissions_that_were_asked_for(program)
    fp32_on_the_wire_is_auto_and_says_so(program)
    a_rank_alone_leaves_nothing_in_the_folder_of_temporary_files(program)
    print("all options act")


main()
