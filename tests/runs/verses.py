"""Trainings on verses, which need packages of Debian and a time that tests watch."""
import concurrent.futures
import pathlib
import shutil
import time

from patience import Patience
from signals import children_of

KING_JAMES = pathlib.Path("/usr/share/sword/mods.d/engKJV2006eb.conf")


def can_learn(model):
    """False, after a line of SKIP, without the packages of tools/setup.sh --pairs."""
    found = shutil.which("spm_train") and shutil.which("mod2imp") and KING_JAMES.exists()
    if not found:
        print(f"SKIP {model}: no verses to learn from; tools/setup.sh --pairs installs them")
    return bool(found)


def timed(process, wait):
    """What wait(process) returns at its end, and the seconds that its ranks had time for."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        ended, patience = pool.submit(wait, process), Patience([])
        while not ended.done():
            patience.pids = list(children_of(process.pid))
            patience.look()
            time.sleep(0.1)
    return ended.result(), patience.seconds
