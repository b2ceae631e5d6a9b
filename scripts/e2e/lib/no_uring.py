"""Runs a program where the system refuses io_uring, as containers do: a seccomp filter answers io_uring_setup with EPERM.

python no_uring.py PROGRAM ARGUMENT ..."""

import ctypes
import os
import struct
import sys

IO_URING_SETUP = 425  # on every architecture
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, EPERM = 0x7FFF0000, 0x00050001


def refuse():
    program = [(LOAD, 0, 0, 0), (JUMP_EQUAL, 0, 1, IO_URING_SETUP), (RETURN, 0, 0, EPERM), (RETURN, 0, 0, ALLOW)]
    words = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(words, len(words))

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("program", ctypes.c_void_p)]

    libc = ctypes.CDLL(None, use_errno=True)
    described = Filter(len(program), ctypes.addressof(buffer))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(described), 0, 0
    ):
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    refuse()
    os.execvp(sys.argv[1], sys.argv[1:])
