"""Who may include whom."""
import re

from source import PRODUCT, room_of

# From the bottom of the house up; rooms of one group are neighbours and do not know each other.
GROUPS = (("base",), ("device", "config"), ("kernels",), ("io", "comm"), ("graph",), ("model",),
          ("plan",), ("compile",), ("run",), ("launch",), ("setup",), ("state",),
          ("advise", "save"), ("stored", "text", "monitor"), ("train",), ("replay",),
          ("machine", "report"), ("explain",), ("usage",), ("commands",), ("main",))
# The two headers that are the wrapping: what a stream is to Kokkos and to a GPU's runtime.
WRAPPERS = ("include/zero/device/space.hpp", "include/zero/device/gpu_runtime.hpp")
BASE_ONLY = ("config",)
PLAIN_ROOMS = ("graph", "model", "plan", "compile")
VENDOR = re.compile(
    r"^(Kokkos_|KokkosExp|mpi|cuda|cublas|cudnn|cutlass/|cute/|cufile|nccl|nvtx|oneapi/|dnnl|mkl"
    r"|cblas|openblas|hdf5|H5|liburing|hwloc|openssl/|sentencepiece|xxhash)")


def allowed(room):
    """The rooms that `room` may include, itself among them; None if the house has no such room."""
    below = []
    for group in GROUPS:
        if room in group:
            return {room, *(("base",) if room in BASE_ONLY else below)}
        below += group
    return None


def edges(sources):
    """Every include edge leads to the left in the list of rooms."""
    for source in sources:
        if not source.is_cpp or source.top not in PRODUCT:
            continue
        room = room_of(source.path)
        if allowed(room) is None:
            yield source.path, 1, f"'{room}' is no room of the house"
            continue
        for line, quote, file in source.includes():
            target = room_of(file)
            if quote == '"' and target is None:
                yield source.path, line, f"'{file}' is not named from the root"
            if target is not None and target not in allowed(room):
                yield source.path, line, f"room {room} may not include '{file}' of room {target}"


def vendor_headers(sources):
    """Kokkos, MPI and vendor headers stay in .cpp files and private headers of rooms that run."""
    by_name = {s.path: s for s in sources if s.is_cpp}
    for source in by_name.values():
        if source.top not in PRODUCT or source.path in WRAPPERS:
            continue
        plain = room_of(source.path) in PLAIN_ROOMS
        if source.top != "include" and not plain:
            continue
        for line, _, file in source.includes():
            seen = vendor_behind(file, by_name, set())
            if VENDOR.match(file):
                place = f"room {room_of(source.path)}" if plain else "include/zero"
                yield source.path, line, f"vendor header '{file}' in {place}"
            elif seen and plain:
                yield source.path, line, f"'{file}' brings vendor header '{seen}' into a plain room"


def vendor_behind(file, by_name, visited):
    """A vendor header that including `file` brings along, or None."""
    path = "include/" + file if file.startswith("zero/") else file
    if path in visited or path not in by_name:
        return None
    visited.add(path)
    for _, _, inner in by_name[path].includes():
        found = inner if VENDOR.match(inner) else vendor_behind(inner, by_name, visited)
        if found:
            return found
    return None


def own_header_first(sources):
    """A .cpp that implements a header of include/zero includes it before all else."""
    paths = {s.path for s in sources}
    for source in sources:
        if source.suffix != ".cpp" or source.top not in PRODUCT or source.top == "include":
            continue
        stem = re.sub(r"^src/", "", source.path)[: -len(".cpp")]
        own = f"zero/{stem}.hpp"
        includes = list(source.includes())
        if f"include/{own}" in paths and (not includes or includes[0][2] != own):
            yield source.path, includes[0][0] if includes else 1, f"'{own}' must be included first"


def reached(sources):
    """Every header is included by some other file."""
    used = set()
    for source in sources:
        for _, _, file in source.includes() if source.is_cpp else ():
            used.add("include/" + file if file.startswith("zero/") else file)
    for source in sources:
        if source.suffix == ".hpp" and source.top != "cmake" and source.path not in used:
            yield source.path, 1, "nothing includes this header"


def contracts(sources):
    """A header of include/zero is read by product code of another room; no private one is."""
    readers = {}
    for source in sources:
        if not source.is_cpp or source.top not in PRODUCT:
            continue
        room = room_of(source.path)
        for line, quote, file in source.includes():
            readers.setdefault(file, set()).add(room)
            private = quote == '"' and not file.startswith("zero/")
            if private and room_of(file) not in (room, None):
                yield source.path, line, f"'{file}' is private to room {room_of(file)}"
    for source in sources:
        if source.top != "include" or source.suffix != ".hpp":
            continue
        if not readers.get(source.path[len("include/"):], set()) - {room_of(source.path)}:
            yield source.path, 1, "no other room reads it: a header of one room lies in its sources"


RULES = (edges, vendor_headers, own_header_first, reached, contracts)
