"""How objects are made again that were pickled."""

from __future__ import annotations

from typing import Optional

from ptxkit._native import Function, Instruction, Module
from ptxkit._native import parse as _parse


def parse(source: bytes, name: Optional[str]) -> Module:
    """A module."""
    return _parse(source, name)


def function(module: Module, index: int) -> Function:
    """A function of a module."""
    return module.functions[index]


def instruction(module: Module, index: int) -> Instruction:
    """An instruction of a module, counted over all functions."""
    return module.instructions[index]
