//! What checkers report.

use core::fmt;

use ptx_ir::{FuncId, InstId, Span};

use super::Checker;

/// The kinds of reports. Their codes are stable.
macro_rules! findings {
    ($($name:ident = $number:literal, $checker:ident, $title:literal;)*) => {
        /// The kind of a report. Codes are stable: a number is never given to another kind.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Finding {
            $(#[doc = $title] $name = $number,)*
        }

        impl Finding {
            /// Every kind, in the order of the codes.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// A short description.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)*
                }
            }

            /// The checker that finds it.
            #[must_use]
            pub const fn checker(self) -> Checker {
                match self {
                    $(Self::$name => Checker::$checker,)*
                }
            }
        }
    };
}

findings! {
    OutOfBounds = 1, Memcheck, "an access out of bounds";
    Misaligned = 2, Memcheck, "a misaligned access";
    UseAfterFree = 3, Memcheck, "an access to memory that was freed";
    InvalidFree = 4, Memcheck, "an invalid call of `free`";
    ReadOnly = 5, Memcheck, "a store to memory that is only read";

    UnwrittenMemory = 101, Initcheck, "a read of memory that was never written";
    UnwrittenRegister = 102, Initcheck, "a read of a register that was never written";

    MissingThreads = 201, Synccheck, "a barrier that not all threads reach";
    DivergentBarrier = 202, Synccheck, "an aligned barrier in divergent code";
    BarrierCount = 203, Synccheck, "threads that disagree about a barrier";
    LaneMask = 204, Synccheck, "a mask that does not name the lanes that execute the instruction";
    NotMbarrier = 205, Synccheck, "an operation on memory without an mbarrier object";
    MbarrierExists = 206, Synccheck, "an mbarrier object that is initialized again";
    MbarrierCount = 207, Synccheck, "a count of an mbarrier object that is out of range";
    MbarrierAccess = 208, Synccheck, "an ordinary access to an mbarrier object";
    CopyNotAwaited = 209, Synccheck, "an access before an asynchronous copy is complete";

    Race = 301, Racecheck, "a data race";
}

impl Finding {
    /// Its code: `RUN0301`.
    #[must_use]
    pub fn code(self) -> String {
        format!("RUN{:04}", self as u16)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.code())
    }
}

/// A thread at an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Occurrence {
    /// The function that the thread executed.
    pub function: FuncId,
    /// The name of the function.
    pub name: String,
    /// The instruction; `None` at the end of the function.
    pub inst: Option<InstId>,
    /// Where the instruction is in the source of the module.
    pub span: Option<Span>,
    /// The text of the instruction.
    pub instruction: String,
    /// `%ctaid` of the thread.
    pub block: [u32; 3],
    /// `%tid` of the thread.
    pub thread: [u32; 3],
}

impl fmt::Display for Occurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(
            f,
            "in `{}` at `{}`, block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})",
            self.name, self.instruction
        )
    }
}

/// Something that a checker found.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Its kind.
    pub finding: Finding,
    /// The kernel that was launched.
    pub kernel: String,
    /// What is wrong.
    pub message: String,
    /// The first thread for which it was found.
    pub at: Occurrence,
    /// The other side: of a race the earlier access, of freed memory the call of `free`, and what that thread did.
    pub other: Option<(Occurrence, String)>,
    /// How it can be corrected.
    pub help: String,
    /// How often it was found at this instruction.
    pub count: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (finding, kernel) = (self.finding, &self.kernel);
        writeln!(
            f,
            "{}[{finding}]: {}",
            finding.checker().name(),
            self.message
        )?;
        writeln!(f, "  {}, kernel `{kernel}`", self.at)?;
        if let Some((other, what)) = &self.other {
            writeln!(f, "  {what} {other}")?;
        }
        if self.count > 1 {
            writeln!(f, "  found {} times", self.count)?;
        }
        write!(f, "  help: {}", self.help)
    }
}
