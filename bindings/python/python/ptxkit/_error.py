"""The exception of the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from ptxkit._native import Diagnostic, Span


class PtxError(Exception):
    """A file, an edit or a request that PTX does not allow.

    ``code`` is the code of the diagnostic, such as ``PTX0501``, and ``span`` the place in the source, if there is one.
    ``diagnostics`` are all diagnostics, if there were several.

    >>> import ptxkit
    >>> try:
    ...     ptxkit.read("no such file.ptx!sm_90")
    ... except OSError as error:
    ...     print(type(error).__name__)
    FileNotFoundError
    """

    code: Optional[str]
    span: Optional[Span]
    diagnostics: tuple[Diagnostic, ...]

    def __init__(
        self,
        message: str,
        code: Optional[str] = None,
        span: Optional[Span] = None,
        diagnostics: Sequence[Diagnostic] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.span = span
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        message = str(self.args[0])
        return f"{self.code}: {message}" if self.code else message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.code, self.span, self.diagnostics)
