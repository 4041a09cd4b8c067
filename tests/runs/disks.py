"""Users without rights and disks of many kinds, for scripts that try them."""
import ctypes
import os
import resource
import subprocess

NOBODY = 65534
NEW_MOUNTS = 0x00020000  # CLONE_NEWNS


def skip(what, why):
    print(f"SKIP {what}: {why}")


def succeeds(*line):
    return subprocess.run(line, capture_output=True, check=False).returncode == 0


def become_nobody():
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 10, 64 << 10))
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def mount_image(image, mib, folder):
    """A file system over a loop device, of a file `image` that takes room as it is written."""
    with open(image, "wb") as file:
        file.truncate(mib << 20)
    made = succeeds("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1,nodiscard", str(image))
    return made and succeeds("mount", "-o", "loop", str(image), str(folder))


def unmount(place, *names):
    """At once, or, where a failing disk keeps its file system busy, as soon as it lets go."""
    for name in names:
        folder = str(place / name)
        if not succeeds("umount", folder):
            succeeds("umount", "--lazy", folder)


def private_mounts():
    """Mounts that end with this process."""
    return (os.geteuid() == 0 and ctypes.CDLL(None).unshare(NEW_MOUNTS) == 0
            and succeeds("mount", "--make-rprivate", "/"))
