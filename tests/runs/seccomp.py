"""System calls that a container would forbid."""
import ctypes
import errno
import os
import platform
import struct

from program import check

# process_vm_readv, process_vm_writev.
PROCESS_VM = {"x86_64": (310, 311), "aarch64": (270, 271)}
OPENAT = {"x86_64": 257, "aarch64": 56}
IO_URING_SETUP = 425  # on every processor
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, JUMP_IF_SET, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, THIRD_ARGUMENT = 0, 32  # where they lie in what a filter sees
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


def process_vm_numbers():
    return PROCESS_VM[platform.machine()]


def forbid(numbers):
    """These system calls fail with EPERM from now on, in this process and all that it starts."""
    count = len(numbers)
    code = [(LOAD, 0, 0, NUMBER)]
    code += [(JUMP_IF_EQUAL, count - i, 0, number) for i, number in enumerate(numbers)]
    install(code + [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | errno.EPERM)])


def forbid_direct():
    """Opening a file with O_DIRECT fails with EINVAL, as on a file system that has none."""
    install([(LOAD, 0, 0, NUMBER), (JUMP_IF_EQUAL, 0, 3, OPENAT[platform.machine()]),
             (LOAD, 0, 0, THIRD_ARGUMENT), (JUMP_IF_SET, 0, 1, os.O_DIRECT),
             (RETURN, 0, 0, ERRNO | errno.EINVAL), (RETURN, 0, 0, ALLOW)])


def install(code):
    words = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    program = Filter(len(code), ctypes.addressof(words))
    libc = ctypes.CDLL(None)
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges")
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)) == 0, "a filter")
