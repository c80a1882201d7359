"""The table of pointers through which a loaded shared library calls functions of others (ELF, 64 bits, any processor)."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from collections.abc import Iterator

_PT_DYNAMIC = 2
_STRINGS, _SYMBOLS, _RELOCATIONS, _RELOCATIONS_SIZE, _CALLS, _CALLS_SIZE = 5, 6, 7, 8, 23, 2  # DT_STRTAB, ..., DT_PLTRELSZ
_HEADER, _ENTRY, _RELOCATION = map(struct.Struct, ("=IIQQQQQQ", "=qQ", "=QQq"))
_SYMBOL_SIZE = 24
_READ_WRITE = 3


class _Library(ctypes.Structure):
    """The first fields of C's struct dl_phdr_info."""

    _fields_ = [("base", ctypes.c_size_t), ("path", ctypes.c_char_p), ("headers", ctypes.c_size_t), ("count", ctypes.c_uint16)]


def replace_import(path: str, name: str, by: str) -> bool:
    """Make the library at `path` call the function `by` wherever it calls the C function `name`; False if the system
    does not support it.
    """
    c = ctypes.CDLL(None)
    if not hasattr(c, "dl_iterate_phdr") or struct.calcsize("P") != 8:
        return False
    places = list(_pointers(c, os.path.realpath(path), name.encode()))
    pointer = ctypes.cast(getattr(c, by), ctypes.c_void_p).value
    c.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for place in places:
        # with full RELRO the table is read-only after loading
        page = place - place % mmap.PAGESIZE
        if c.mprotect(page, place + 8 - page, _READ_WRITE):
            return False
        ctypes.c_void_p.from_address(place).value = pointer
    return bool(places)


def _pointers(c: ctypes.CDLL, path: str, name: bytes) -> Iterator[int]:
    """The addresses of the pointers through which the library at `path` calls the function `name` of another library.
    """
    base, dynamic = _dynamic_section(c, path)

    def address(tag: int) -> int:
        return dynamic[tag] if dynamic[tag] >= base else base + dynamic[tag]  # some processors' entries are not relocated

    for table, size in ((_CALLS, _CALLS_SIZE), (_RELOCATIONS, _RELOCATIONS_SIZE)):
        if dynamic.get(table):
            for offset, info, _ in _RELOCATION.iter_unpack(ctypes.string_at(address(table), dynamic[size])):
                # the upper half of r_info is the index of the symbol
                symbol = info >> 32
                at = ctypes.c_uint32.from_address(address(_SYMBOLS) + symbol * _SYMBOL_SIZE) if symbol else None
                if at is not None and ctypes.string_at(address(_STRINGS) + at.value) == name:
                    yield base + offset


def _dynamic_section(c: ctypes.CDLL, path: str) -> tuple[int, dict[int, int]]:
    """The base address of a loaded library and the entries of its dynamic section."""
    found: tuple[int, dict[int, int]] = (0, {})

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Library), ctypes.c_size_t, ctypes.c_void_p)
    def look(pointer, size, nothing):  # type: ignore[no-untyped-def]
        nonlocal found
        library = pointer.contents
        if not library.path or os.path.realpath(os.fsdecode(library.path)) != path:
            return 0
        headers = ctypes.string_at(library.headers, library.count * _HEADER.size)
        for kind, _, _, address, _, _, length, _ in _HEADER.iter_unpack(headers):
            if kind == _PT_DYNAMIC:
                found = library.base, dict(_ENTRY.iter_unpack(ctypes.string_at(library.base + address, length)))
        return 1

    c.dl_iterate_phdr(look, None)
    return found
