"""Addresses and formats of objects with the buffer protocol."""

from __future__ import annotations

import ctypes
from typing import Any


class _View(ctypes.Structure):
    """`Py_buffer` of CPython."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


# Prototypes of this module only: attributes of `ctypes.pythonapi` are shared with other packages.
_POINTER = ctypes.POINTER(_View)
_get = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, _POINTER, ctypes.c_int)(("PyObject_GetBuffer", ctypes.pythonapi))
_release = ctypes.PYFUNCTYPE(None, _POINTER)(("PyBuffer_Release", ctypes.pythonapi))


def address(contiguous: Any) -> int:
    """The address of the first byte of a contiguous object with the buffer protocol; 0 if it is empty."""
    view = _View()
    _get(contiguous, ctypes.byref(view), 0)
    start = view.buf
    _release(ctypes.byref(view))
    return start or 0


def element_format(view: memoryview) -> str:
    """The format of the elements. Unions and packed structures of ctypes have the format `B`; those of their fields are added."""
    types: list[Any] = [type(view.obj)]
    formats: dict[str, None] = {view.format: None}
    seen = set()
    while types:
        current = types.pop()
        if current in seen:
            continue
        seen.add(current)
        if issubclass(current, (ctypes.Structure, ctypes.Union)):
            for base in current.__mro__:
                types.extend(field[1] for field in vars(base).get("_fields_", ()))
        elif issubclass(current, ctypes.Array):
            types.append(current._type_)
        elif len(seen) > 1:
            formats[memoryview(current()).format] = None
    return "".join(formats)
