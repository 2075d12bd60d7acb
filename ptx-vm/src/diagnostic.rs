//! Converts errors of a run into diagnostics.

use ptx_ir::{Code, Diagnostic, Span};

use crate::{RunError, StopReason};

/// The advice for an access outside of a surface.
pub(crate) const OUTSIDE_SURFACE: &str = "check the coordinates against the size of the surface; the first one counts bytes in `suld.b`, `sust.b` and `sured.b`, texels in `.p`";

impl StopReason {
    /// The code of its diagnostic; `None` if the reason concerns the launch, not the executed code.
    #[must_use]
    pub const fn code(&self) -> Option<Code> {
        Some(match self {
            Self::NoKernel | Self::Launch(_) | Self::Canceled => return None,
            Self::OutOfBounds(_) | Self::OutsideSurface(_) => Code::AddressOutOfBounds,
            Self::Misaligned(_) => Code::MisalignedAddress,
            Self::Trap => Code::Trap,
            Self::Deadlock => Code::Deadlock,
            Self::StepLimit => Code::StepLimit,
            Self::TimeLimit(_) => Code::TimeLimit,
            Self::MemoryLimit(_) => Code::MemoryLimit,
            Self::StackLimit => Code::StackLimit,
            Self::BadTarget => Code::BadJump,
            Self::Unsupported(_) => Code::Unsupported,
            Self::Undefined(_) => Code::CallWithoutBody,
            Self::Assertion(_) => Code::FailedAssertion,
            Self::Invalid(_) => Code::UndefinedBehavior,
        })
    }

    /// Advice on a fix.
    const fn help(&self) -> &'static str {
        match self {
            Self::NoKernel | Self::Launch(_) | Self::Canceled => "",
            Self::OutOfBounds(_) => {
                "check the index against the size of the buffer, and the order of the arguments against that of the parameters"
            }
            Self::OutsideSurface(_) => OUTSIDE_SURFACE,
            Self::Misaligned(_) => {
                "the address must be a multiple of the size of the access; for a vector, of the size of all elements together"
            }
            Self::Trap => "the program detected an error: check the branches that lead here",
            Self::Deadlock => {
                "nothing changes any more what the threads wait for: a thread that has to arrive, to write or to copy took another branch, ended or waits itself"
            }
            Self::StepLimit => "a loop may not terminate; increase the limit for longer runs",
            Self::TimeLimit(_) => "a loop may not terminate; increase the limit for longer runs",
            Self::MemoryLimit(_) => {
                "the kernel may use memory without end; increase the limit if it needs more"
            }
            Self::StackLimit => {
                "a recursion may not terminate; increase the limit of nested calls or of the stack for deeper recursion"
            }
            Self::BadTarget => {
                "the register with the target may be uninitialized, or an index may be beyond the end of its table"
            }
            Self::Unsupported(_) => {
                "this is a gap of the virtual machine, not an error of the program: a GPU executes the instruction; `docs/vm.md` lists what is not supported"
            }
            Self::Undefined(_) => {
                "link the module that defines the function, for example with `ptxkit link`"
            }
            Self::Assertion(_) => "the message comes from the source",
            Self::Invalid(_) => "the behavior is undefined according to the PTX ISA manual",
        }
    }
}

impl RunError {
    /// The error as a diagnostic in the source of the module; `None` if it concerns the launch, not the executed code.
    ///
    /// An error without an instruction, such as a deadlock, is reported at the span `kernel`, such as that of the name of the kernel.
    #[must_use]
    pub fn diagnostic(&self, kernel: Span) -> Option<Diagnostic> {
        let code = self.reason.code()?;
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        let mut message = self.reason.to_string();
        if let Some(wait) = self.waits.first() {
            message.push_str(&format!(": {wait}"));
        }
        if self.span.is_some() {
            let thread = format!("in block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})");
            message.push_str(&format!(", {thread}"));
        }
        let span = self.span.unwrap_or(kernel);
        let mut diagnostic = Diagnostic::error(code, span, message).with_help(self.reason.help());
        for wait in self.waits.iter().skip(1) {
            let ([bx, by, bz], [tx, ty, tz]) = (wait.block, wait.thread);
            let label = format!("{wait}, in block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})");
            diagnostic = diagnostic.with_label(wait.span.unwrap_or(kernel), label);
        }
        Some(diagnostic)
    }
}
