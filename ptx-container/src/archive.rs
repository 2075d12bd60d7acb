//! The members of an archive (`.a`, `.lib`).
//!
//! Long names are cut, because in a crafted archive all members could share one long name.

use std::ops::Range;
use std::sync::Arc;

use ptx_ir::Code;

use crate::error::ContainerError;

/// The maximum length of a name in bytes.
const MAX_NAME: usize = 256;
/// The size of the header of a member in bytes.
const HEADER: usize = 60;

/// A member with a file.
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    /// The range of the content in the archive.
    pub(crate) range: Range<usize>,
}

/// Iterates over the members that contain files.
pub(crate) struct Members<'a> {
    bytes: &'a [u8],
    /// The offset of the next member.
    offset: usize,
    /// The table of long names of archives of GNU and Windows.
    long_names: &'a [u8],
}

impl<'a> Members<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            offset: b"!<arch>\n".len(),
            long_names: &[],
        }
    }

    fn fail(&mut self, code: Code, message: &str) -> Option<Result<Member, ContainerError>> {
        let error = ContainerError::new(code, self.offset, message);
        self.offset = self.bytes.len();
        Some(Err(error))
    }
}

impl Iterator for Members<'_> {
    type Item = Result<Member, ContainerError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let remaining = self.bytes.get(self.offset..)?;
            if remaining.is_empty() {
                return None;
            }
            let Some(header) = remaining.get(..HEADER) else {
                return self.fail(
                    Code::TruncatedContainer,
                    "the header of a member is truncated",
                );
            };
            let (Some(size), true) = (number(&header[48..58]), header.ends_with(b"`\n")) else {
                return self.fail(Code::MalformedContainer, "expected the header of a member");
            };
            let mut start = self.offset + HEADER;
            let end = start.saturating_add(size);
            let Some(content) = self.bytes.get(start..end) else {
                return self.fail(Code::TruncatedContainer, "a member is truncated");
            };
            // Members begin at even offsets.
            self.offset = end.saturating_add(end % 2).min(self.bytes.len());
            let name = match header[..16].trim_ascii_end() {
                b"//" => {
                    self.long_names = content;
                    continue;
                }
                // Tables of symbols.
                b"/" | b"/SYM64/" => continue,
                [b'/', digits @ ..] => {
                    let offset = number(digits).unwrap_or(usize::MAX);
                    self.long_names.get(offset..).unwrap_or_default()
                }
                // In archives of BSD, a long name precedes the content.
                [b'#', b'1', b'/', digits @ ..] => {
                    let len = number(digits).unwrap_or(0).min(content.len());
                    start += len;
                    &content[..len]
                }
                name => name,
            };
            return Some(Ok(Member {
                name: String::from_utf8_lossy(trimmed_name(name)).into(),
                range: start..end,
            }));
        }
    }
}

/// A name up to its end, which is marked by a newline, a zero byte, spaces or a slash.
fn trimmed_name(name: &[u8]) -> &[u8] {
    let name = name.get(..MAX_NAME).unwrap_or(name);
    let len = name.iter().position(|byte| matches!(byte, b'\n' | 0));
    let name = name[..len.unwrap_or(name.len())].trim_ascii_end();
    name.strip_suffix(b"/").unwrap_or(name)
}

/// Parses a decimal number that may be followed by spaces.
fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits.trim_ascii_end())
        .ok()?
        .parse()
        .ok()
}
