"""Read, check, analyze and rewrite NVIDIA PTX.

>>> import ptxkit
>>> module = ptxkit.parse(".version 8.0\\n.target sm_90\\n.entry k() { ret; }")
>>> module.functions["k"].instructions[0].opcode
'ret'
"""

from ptxkit._error import PtxError
from ptxkit._native import (
    Block,
    Cfg,
    Diagnostic,
    Diff,
    Edge,
    Explanation,
    Function,
    FunctionDiff,
    Functions,
    Guard,
    Instruction,
    Instructions,
    Loop,
    MemoryAccess,
    Module,
    Operand,
    Parameter,
    Pressure,
    Reason,
    Register,
    Requirements,
    Site,
    SourceLine,
    Span,
    Variable,
    explain,
    link,
    parse,
    read,
)
from ptxkit._native import Batch, Batches, Scan, Table, scan

__all__ = [
    "Block",
    "Cfg",
    "Diagnostic",
    "Diff",
    "Edge",
    "Explanation",
    "Function",
    "FunctionDiff",
    "Functions",
    "Guard",
    "Instruction",
    "Instructions",
    "Loop",
    "MemoryAccess",
    "Module",
    "Operand",
    "Parameter",
    "Pressure",
    "PtxError",
    "Reason",
    "Register",
    "Requirements",
    "Site",
    "SourceLine",
    "Span",
    "Variable",
    "explain",
    "link",
    "parse",
    "read",
]
__all__ += ["Batch", "Batches", "Scan", "Table", "scan"]
