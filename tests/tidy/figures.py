"""How large the house is: its figures, and the limits on rooms."""
import collections
import statistics

from source import PRODUCT, room_of

ROOM_LINES = 3300
# A list of things, each of which stands by itself.
LARGE_ROOMS = ("kernels", "io", "config", "graph", "model")


def is_product(source):
    return source.is_cpp and source.top in PRODUCT


def code_lines(source):
    """Lines that hold more than a comment."""
    return sum(1 for line in source.lines if line.strip() and not line.strip().startswith("//"))


def lines_by_room(sources):
    rooms = collections.Counter()
    for source in filter(is_product, sources):
        rooms[room_of(source.path)] += code_lines(source)
    return rooms


def public_headers(sources):
    return [s.path for s in sources if s.top == "include" and s.suffix == ".hpp"]


def rooms_are_small(sources):
    for room, lines in sorted(lines_by_room(sources).items()):
        if lines > ROOM_LINES and room not in LARGE_ROOMS:
            yield f"src/{room}", 1, f"{lines} lines of code, at most {ROOM_LINES}"


def table(sources):
    """The figures, as lines for people."""
    product = [s for s in sources if is_product(s)]
    lengths = sorted(f.length() for s in product for f in s.functions())
    rooms = lines_by_room(sources)
    sizes = ", ".join(f"{room} {lines}" for room, lines in rooms.most_common())
    longest = max(len(s.lines) for s in product)
    yield f"product: {sum(rooms.values())} lines of code in {len(product)} files, the longest " \
          f"{longest} lines; {len(public_headers(sources))} public headers"
    yield f"functions: {len(lengths)}, median {statistics.median(lengths):.0f}, " \
          f"p90 {lengths[int(len(lengths) * 0.9)]}, longest {lengths[-1]}"
    yield f"rooms: {sizes}"


RULES = (rooms_are_small,)
