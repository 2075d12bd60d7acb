"""Read, check, analyze and rewrite NVIDIA PTX.

>>> import ptxkit
>>> module = ptxkit.parse(".version 8.0\\n.target sm_90\\n.entry k() { ret; }")
>>> module.functions["k"].instructions[0].opcode
'ret'
"""

from ptxkit._error import PtxError
from ptxkit._native import (
    Diagnostic,
    Function,
    Functions,
    Instruction,
    Instructions,
    Module,
    Span,
    parse,
    read,
)

__all__ = [
    "Diagnostic",
    "Function",
    "Functions",
    "Instruction",
    "Instructions",
    "Module",
    "PtxError",
    "Span",
    "parse",
    "read",
]
