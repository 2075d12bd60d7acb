//! Errors of a run as diagnostics, as those of the checker are shown.

use ptx_ir::{Code, Diagnostic, Span};

use crate::{RunError, StopReason};

impl StopReason {
    /// The code of its diagnostic; `None` if it is about the launch, not about what is executed.
    #[must_use]
    pub const fn code(&self) -> Option<Code> {
        Some(match self {
            Self::NoKernel | Self::Launch(_) | Self::Cancelled => return None,
            Self::OutOfBounds(_) => Code::AddressOutOfBounds,
            Self::Misaligned(_) => Code::MisalignedAddress,
            Self::Trap => Code::Trap,
            Self::Deadlock => Code::Deadlock,
            Self::StepLimit => Code::StepLimit,
            Self::StackLimit => Code::StackLimit,
            Self::BadTarget => Code::BadJump,
            Self::Unsupported(_) => Code::Unsupported,
            Self::Undefined(_) => Code::CallWithoutBody,
            Self::Assertion(_) => Code::FailedAssertion,
            Self::Invalid(_) => Code::UndefinedBehavior,
        })
    }

    /// What to do about it.
    const fn help(&self) -> &'static str {
        match self {
            Self::NoKernel | Self::Launch(_) | Self::Cancelled => "",
            Self::OutOfBounds(_) => {
                "compare the index with the size of the buffer, and the order of the arguments with that of the parameters"
            }
            Self::Misaligned(_) => {
                "an address is a multiple of the bytes that the instruction accesses, those of all elements of a vector together"
            }
            Self::Trap => "the program found an error itself: look at the branches that lead here",
            Self::Deadlock => "a barrier may be in a branch that some of its threads do not take",
            Self::StepLimit => "a loop may not end; a longer run needs a higher limit",
            Self::StackLimit => {
                "a recursion may not end; a deeper one needs a higher limit of nested calls or of the stack"
            }
            Self::BadTarget => {
                "the register of the target may not be set, or an index may be beyond its table"
            }
            Self::Unsupported(_) => "only a GPU executes this instruction",
            Self::Undefined(_) => {
                "link the module that defines the function, as `ptxkit link` does"
            }
            Self::Assertion(_) => "the message is that of the source",
            Self::Invalid(_) => "the PTX ISA manual does not say what happens",
        }
    }
}

impl RunError {
    /// The error as a diagnostic in the source of the module; `None` if it is about the launch, not about what is executed.
    ///
    /// Without an instruction, as where all threads wait, it is at the place that is given, such as the name of the kernel.
    #[must_use]
    pub fn diagnostic(&self, kernel: Span) -> Option<Diagnostic> {
        let code = self.reason.code()?;
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        let message = match self.span {
            Some(_) => format!(
                "{}, in block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})",
                self.reason
            ),
            None => self.reason.to_string(),
        };
        let span = self.span.unwrap_or(kernel);
        Some(Diagnostic::error(code, span, message).with_help(self.reason.help()))
    }
}
