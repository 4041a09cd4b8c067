#!/usr/bin/env python3
"""Steps far above those before them are skipped, alike on any ranks, at any stage, and by a run
that was stopped among them."""
import shutil
import statistics

from program import Program, check

FACTOR, MOST = 1.0, 2
WINDOW = 200
STEPS = 260
TRAIN = ("model.layers=1", "model.width=32", "data.sequence_length=16", "train_batch_size=4",
         "optimizer.lr=1e-3", "numerics.reproducible=true", f"run.steps={STEPS}",
         "run.log_interval=100", "checkpoint.resume=auto", f"numerics.max_bad_steps={MOST}")
ON = (*TRAIN, f"numerics.spike_factor={FACTOR}")


def fresh(program):
    shutil.rmtree(program.folder / "runs", ignore_errors=True)


def train(program, ranks, *settings):
    result = program.train(ranks, *settings)
    check(result.finished(), f"{settings} on {ranks} ranks trains", result)
    return result


def outcome(result):
    return [(line["loss_hex"], line["skipped"]) for line in result.metrics], result.state()


def expected_spikes(lines):
    """The same rule over the lines of a run."""
    window, spikes, in_row = [], [], 0
    for line in lines:
        values = line["loss"], line["grad_norm"]
        limits = [statistics.fmean(column) + FACTOR * statistics.pstdev(column)
                  for column in zip(*window)] if len(window) == WINDOW else None
        is_spike = limits and in_row < MOST and any(a > b for a, b in zip(values, limits))
        if is_spike:
            spikes.append(line["step"])
            in_row += 1
        else:
            window, in_row = [*window, values][-WINDOW:], 0
    return spikes


def spikes_are_skipped(program):
    fresh(program)
    straight = train(program, 1, *ON)
    spikes = [line["step"] for line in straight.metrics if line.get("spike")]
    check(spikes and spikes == expected_spikes(straight.metrics),
          f"the rule's spikes are {expected_spikes(straight.metrics)}, not {spikes}", straight)
    check(all(line["skipped"] == (line["step"] in spikes) for line in straight.metrics),
          "no other step is skipped", straight)
    check(straight.summary["spikes"] == len(spikes), "they are counted", straight)
    check(straight.summary["updates"] == STEPS - len(spikes), "and update nothing", straight)
    check("  skipped as a spike" in straight.out, "a line says so", straight)
    return straight, spikes


def ranks_stages_and_stops_change_nothing(program, straight, spikes):
    fresh(program)
    train(program, 2, *ON, "zero.stage=3", f"run.stop_at={spikes[0]}")
    train(program, 1, *ON, f"run.stop_at={spikes[1]}")
    result = train(program, 2, *ON, "zero.stage=1", "zero.offload_optimizer.device=cpu",
                   "zero.offload_optimizer.speculate=true")
    check(outcome(result) == outcome(straight), "the same bytes", result)
    check(result.summary["spikes"] == len(spikes), "all launches count", result)


def no_spike_changes_nothing(program):
    fresh(program)
    plain = train(program, 1, *TRAIN, "run.stop_at=205")
    fresh(program)
    result = train(program, 1, *TRAIN, "run.stop_at=205", "numerics.spike_factor=1e6")
    check(outcome(result) == outcome(plain), "limits that nothing reaches change no bit", result)
    check(plain.summary["spikes"] == 0, "none is counted", plain)


def main():
    program = Program()
    straight, spikes = spikes_are_skipped(program)
    ranks_stages_and_stops_change_nothing(program, straight, spikes)
    no_spike_changes_nothing(program)
    print("every spike is skipped")


if __name__ == "__main__":
    main()
