"""How long processes have had time for what they were to do: on a busy machine the seconds in which
their threads were kept waiting for a core, which others had, are not counted."""
import pathlib
import time


def waits_of(pids):
    """Seconds that each thread of theirs was kept waiting so far."""
    waits = {}
    for pid in pids:
        try:
            for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
                waits[stat.parent.name] = int(stat.read_text().split()[1]) * 1e-9
        except (OSError, IndexError):
            pass  # it has ended, or one of its threads has
    return waits


class Patience:
    """`seconds` that they have had, as of the last look()."""

    def __init__(self, pids):
        self.pids, self.seconds = pids, 0
        self.before, self.waits = time.monotonic(), waits_of(pids)

    def look(self):
        now, waits = time.monotonic(), waits_of(self.pids)
        kept = max((wait - self.waits.get(thread, 0) for thread, wait in waits.items()), default=0)
        self.seconds += max(0, now - self.before - kept)
        self.before, self.waits = now, waits
        return self.seconds
