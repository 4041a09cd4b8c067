#!/usr/bin/env python3
"""profile.trace = true leaves trace.json: what each lane of each rank did in the last steps."""
import json

from program import Program, check

BODIES = "bodies"


def read_trace(program, result):
    path = program.folder / "runs/tiny/trace.json"
    check(path.exists(), "trace.json is written", result)
    return json.loads(path.read_text())["traceEvents"]


class Track:
    """One thread of one rank: its name and its complete events in the order of their begins."""

    def __init__(self, name, events):
        self.name = name
        self.events = sorted(events, key=lambda event: event["ts"])

    def seconds(self):
        return sum(event["dur"] for event in self.events) / 1e6


def tracks_of(events, rank):
    own = [event for event in events if event["pid"] == rank]
    names = {event["tid"]: event["args"]["name"] for event in own if event["name"] == "thread_name"}
    return [Track(name, [event for event in own if event["ph"] == "X" and event["tid"] == thread])
            for thread, name in names.items()]


def no_op_begins_before_the_one_ahead_has_ended(track, result):
    for one, next_one in zip(track.events, track.events[1:]):
        check(one["ts"] + one["dur"] <= next_one["ts"] + 0.002,
              f"{track.name}: {one} and {next_one} do not overlap", result)


def every_wait_is_an_arrow(events, result):
    tails = {event["id"]: event for event in events if event["ph"] == "s"}
    heads = {event["id"]: event for event in events if event["ph"] == "f"}
    check(tails and tails.keys() == heads.keys(), "every arrow has two ends", result)
    check(all(tails[i]["ts"] <= heads[i]["ts"] for i in tails), "no arrow points back", result)


def ops_lie_inside_their_bodies(tracks, result):
    bodies = next(track for track in tracks if track.name == BODIES).events
    first, last = bodies[0]["ts"], bodies[-1]["ts"] + bodies[-1]["dur"]
    for track in tracks:
        check(first <= track.events[0]["ts"], f"{track.name} begins in a body", result)
        end = track.events[-1]["ts"] + track.events[-1]["dur"]
        check(end <= last + 0.002, f"{track.name} ends in a body", result)
    return [event["name"] for event in bodies]


def every_op_of_the_model_names_its_unit(events, result):
    of_graph = [event["args"] for event in events if "micro_batch" in event.get("args", {})]
    units = {arguments.get("unit") for arguments in of_graph}
    check({"embedding", "h.0", "h.1"} == units, f"by name: {units}", result)
    check(not any("layer" in arguments for arguments in of_graph), "and by no number", result)


def main():
    program = Program()
    plain = program.train(2, "zero.stage=3")
    check(not (program.folder / "runs/tiny/trace.json").exists(), "none unless asked for", plain)
    result = program.train(2, "zero.stage=3", "profile.trace=true", "evaluation.interval=5")
    check(result.finished(), "trains to the end", result)
    check(result.state() == plain.state(), "the same bits", result)
    events = read_trace(program, result)
    every_wait_is_an_arrow(events, result)
    every_op_of_the_model_names_its_unit(events, result)
    total = 0
    for rank in (0, 1):
        tracks = tracks_of(events, rank)
        names = {track.name for track in tracks}
        check({"compute", "gather", "reduce", BODIES} <= names, f"a track a lane: {names}", result)
        for track in tracks:
            no_op_begins_before_the_one_ahead_has_ended(track, result)
        # Steps 1 to 6 with an update of their own after 5 and 6: eight bodies, all that are kept.
        bodies = ops_lie_inside_their_bodies(tracks, result)
        steps = ["step 1", "step 2", "step 3", "step 4", "step 5", "finish 5", "step 6", "finish 6"]
        check(bodies == steps, f"the last bodies in order: {bodies}", result)
        total += sum(track.seconds() for track in tracks if track.name != BODIES)
    # Only training runs Adam, so that all of it is in the trace.
    adam = [event["dur"] / 1e6 for event in events if event["name"] == "adam"]
    region = result.summary["regions"]["adam"]
    check(abs(sum(adam) / 2 - region["mean"]) < 1e-4 + 0.01 * region["mean"],
          f"Adam took {sum(adam) / 2} s by the trace, {region} by the summary", result)
    check(len(adam) == 2 * region["calls"], "every call is an event", result)
    check(total > sum(adam), "other ops took time too", result)
    print("a track a lane")


main()
