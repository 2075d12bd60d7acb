//! Errors of launches.

use core::fmt;

/// The reason why a launch did not complete.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StopReason {
    /// The module has no kernel with the name.
    NoKernel,
    /// The dimensions, the dynamic shared memory or the arguments of the launch are invalid, with a description.
    Launch(String),
    /// An access to an address outside of all memory.
    OutOfBounds(u64),
    /// An access outside of a surface with the modifier `.trap`, with a description.
    OutsideSurface(String),
    /// An access to an address that is not a multiple of its size.
    Misaligned(u64),
    /// `trap` was executed.
    Trap,
    /// No thread can continue: all of them wait.
    Deadlock,
    /// More instructions were executed than allowed.
    StepLimit,
    /// The launch took more time than allowed.
    TimeLimit(core::time::Duration),
    /// The machine needs more memory of the host than allowed, with a description.
    MemoryLimit(String),
    /// The call depth or the local memory of a thread exceeds its limit.
    StackLimit,
    /// A called address is not that of a function, or a branch index is beyond the end of its table.
    BadTarget,
    /// An instruction that is not supported, with the reason.
    Unsupported(String),
    /// A call of a function without a body.
    Undefined(String),
    /// `__assertfail` was called with this message.
    Assertion(String),
    /// The launch was canceled, by [`Progress::cancel`](crate::Progress::cancel).
    Canceled,
    /// Undefined behavior according to the PTX ISA manual, with a description.
    Invalid(String),
}

/// A wait of threads at the end of a launch, at one instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Wait {
    /// The description of what the threads wait for, such as `for barrier 0, at which 32 of 64 threads have arrived`.
    pub what: String,
    /// The number of threads that wait.
    pub threads: u64,
    /// The function that they execute.
    pub function: String,
    /// The text of the instruction.
    pub instruction: String,
    /// The span of the instruction in the source of the module; empty for an instruction that was inserted or built.
    pub span: Option<ptx_ir::Span>,
    /// `%ctaid` of the first thread.
    pub block: [u32; 3],
    /// `%tid` of the first thread.
    pub thread: [u32; 3],
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.threads {
            1 => write!(f, "1 thread waits {}", self.what),
            threads => write!(f, "{threads} threads wait {}", self.what),
        }
    }
}

/// The error that ended a launch, and its position.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RunError {
    /// The reason.
    pub reason: StopReason,
    /// The function that was executed.
    pub function: String,
    /// The text of the instruction; empty before the first one.
    pub instruction: String,
    /// The span of the instruction in the source of the module; empty for an instruction that was inserted or built.
    pub span: Option<ptx_ir::Span>,
    /// `%ctaid` of the thread.
    pub block: [u32; 3],
    /// `%tid` of the thread.
    pub thread: [u32; 3],
    /// The waits of threads, if the launch ended by a deadlock or by a limit of steps or time.
    pub waits: Vec<Wait>,
}

impl RunError {
    pub(crate) const fn new(reason: StopReason) -> Self {
        Self {
            reason,
            function: String::new(),
            instruction: String::new(),
            span: None,
            block: [0; 3],
            thread: [0; 3],
            waits: Vec::new(),
        }
    }

    /// The error of a launch that is impossible, with a description.
    pub(crate) fn impossible(why: impl Into<String>) -> Self {
        Self::new(StopReason::Launch(why.into()))
    }
}

impl StopReason {
    /// The reason for an instruction whose action the machine does not support.
    pub(crate) fn unsupported_action(action: ptx_isa::Action) -> Self {
        // Meanings are sentences: "Reads a texture."
        let meaning = action.meaning().trim_end_matches('.');
        let (initial, remainder) =
            meaning.split_at(meaning.chars().next().map_or(0, char::len_utf8));
        Self::Unsupported(format!("it {}{remainder}", initial.to_lowercase()))
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKernel => f.write_str("the module has no such kernel"),
            Self::Launch(why) => write!(f, "invalid launch: {why}"),
            Self::OutOfBounds(address) => write!(f, "address {address:#x} is out of bounds"),
            Self::OutsideSurface(description) => f.write_str(description),
            Self::Misaligned(address) => write!(f, "address {address:#x} is misaligned"),
            Self::Trap => f.write_str("`trap` was executed"),
            Self::Deadlock => f.write_str("deadlock: no thread can continue"),
            Self::StepLimit => f.write_str("the limit of executed instructions was reached"),
            Self::TimeLimit(limit) => {
                write!(f, "the time limit of {} s was reached", limit.as_secs_f64())
            }
            Self::MemoryLimit(description) => f.write_str(description),
            Self::StackLimit => f.write_str("the stack limit was reached"),
            Self::BadTarget => f.write_str("the target of the call or branch does not exist"),
            Self::Unsupported(why) => write!(f, "the instruction is not supported: {why}"),
            Self::Undefined(name) => write!(f, "function `{name}` has no body"),
            Self::Assertion(message) => write!(f, "assertion failed: {message}"),
            Self::Canceled => f.write_str("the launch was canceled"),
            Self::Invalid(description) => f.write_str(description),
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        if let Some(wait) = self.waits.first() {
            write!(f, ": {wait}")?;
        }
        if self.function.is_empty() {
            return Ok(());
        }
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(
            f,
            " in `{}` at `{}`, block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})",
            self.function, self.instruction
        )
    }
}

impl core::error::Error for RunError {}

impl From<crate::memory::Fault> for StopReason {
    fn from(fault: crate::memory::Fault) -> Self {
        match fault {
            crate::memory::Fault::OutOfBounds(address) if crate::memory::is_multimem(address) => {
                Self::Invalid(format!(
                    "address {address:#x} is a multimem address, which only instructions for multimem addresses may access"
                ))
            }
            crate::memory::Fault::OutOfBounds(address) => Self::OutOfBounds(address),
            crate::memory::Fault::Misaligned(address) => Self::Misaligned(address),
            crate::memory::Fault::NoMemory => Self::MemoryLimit(
                "the memory limit was reached: global memory needs 64 KiB more".into(),
            ),
        }
    }
}
