//! The errors of containers.

use std::fmt;
use std::sync::Arc;

use ptx_ir::Code;

/// An error of a file, or of a part of it, that cannot be read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ContainerError {
    code: Code,
    offset: u64,
    member: Option<Arc<str>>,
    message: String,
}

impl ContainerError {
    pub(crate) fn new(code: Code, offset: usize, message: impl Into<String>) -> Self {
        Self {
            code,
            offset: offset as u64,
            member: None,
            message: message.into(),
        }
    }

    /// Sets the archive member that contains the error.
    pub(crate) fn within(mut self, member: Option<&Arc<str>>) -> Self {
        self.member = member.cloned();
        self
    }

    /// The code, one of `PTX11xx`.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The offset of the error in the file, in bytes.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The name of the archive member that contains the error; `None` outside of archives.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        self.member.as_deref()
    }

    /// The message, which names the expected and the actual input, without the location.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Writes the code, the location and the message: `PTX1102: member k.o: byte 0x40: the entry is truncated`.
impl fmt::Display for ContainerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.code)?;
        if let Some(member) = &self.member {
            write!(f, "member {member}: ")?;
        }
        write!(f, "byte {:#x}: {}", self.offset, self.message)
    }
}

impl std::error::Error for ContainerError {}
