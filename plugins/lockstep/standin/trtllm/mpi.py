"""The two calls of MPI that a rank needs, from the Open MPI that started it."""

from __future__ import annotations

import ctypes

LIBRARY = "libmpi.so.40"  # Open MPI 4
LENGTH = 256


def share(text: str) -> str:
    """Join the job and return what rank 0 gave; only its text counts.

    Raises
    ------
    OSError
        When there is no such library, or the job cannot be joined.
    """
    library = ctypes.CDLL(LIBRARY, mode=ctypes.RTLD_GLOBAL)
    if library.MPI_Init(None, None):
        raise OSError("MPI_Init failed")
    world = ctypes.byref(ctypes.c_char.in_dll(library, "ompi_mpi_comm_world"))
    kind = ctypes.byref(ctypes.c_char.in_dll(library, "ompi_mpi_byte"))
    buffer = ctypes.create_string_buffer(text.encode(), LENGTH)
    if library.MPI_Bcast(buffer, LENGTH, kind, 0, world):
        raise OSError("MPI_Bcast failed")
    return buffer.value.decode()
