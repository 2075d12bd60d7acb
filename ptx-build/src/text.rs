//! Text that is written piece by piece. Its bytes are UTF-8: only whole strings are added and removed.

use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use ptx_ir::Span;

/// Text without the cost of checking character boundaries.
#[derive(Clone, Default, Debug)]
pub(crate) struct Text(Vec<u8>);

impl Text {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(crate) fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Adds an ASCII character.
    #[inline]
    pub(crate) fn push(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Adds a short text of a constant length: no call is needed to copy it.
    #[inline]
    pub(crate) fn push_array<const N: usize>(&mut self, text: &[u8; N]) {
        self.0.extend_from_slice(text);
    }

    /// Adds the first `len` bytes of an array.
    #[inline]
    pub(crate) fn push_short<const N: usize>(&mut self, bytes: &[u8; N], len: u8) {
        let start = self.0.len();
        self.0.extend_from_slice(bytes);
        self.0.truncate(start + usize::from(len));
    }

    /// Adds a decimal number.
    #[inline]
    pub(crate) fn push_number(&mut self, value: u64) {
        match u32::try_from(value) {
            Ok(small) if small < 100_000_000 => {
                let digits = eight_digits(small);
                let zeros = (digits.trailing_zeros() / 8).min(7);
                let digits = (digits | 0x3030_3030_3030_3030) >> (8 * zeros);
                self.push_short(&digits.to_le_bytes(), 8 - zeros as u8);
            }
            _ => {
                let _ = write!(self, "{value}");
            }
        }
    }

    /// Adds a line; gives where its text is.
    pub(crate) fn push_line(&mut self, text: &str) -> Span {
        let start = self.len();
        self.push_str(text);
        let span = Span::at(start, self.len());
        self.push(b'\n');
        span
    }

    #[inline]
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    pub(crate) fn reserve(&mut self, len: usize) {
        self.0.reserve_exact(len);
    }

    pub(crate) fn split_off(&mut self, at: usize) -> Self {
        Self(self.0.split_off(at.min(self.0.len())))
    }

    /// The text from a place on.
    pub(crate) fn after(&self, start: usize) -> &str {
        let bytes = self.0.get(start..).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }

    /// Removes the newline at the end, if there is one.
    pub(crate) fn pop_newline(&mut self) -> bool {
        let has_newline = self.0.ends_with(b"\n");
        if has_newline {
            self.0.pop();
        }
        has_newline
    }
}

/// The digits of a number below 10⁸, a byte each, the first one in the lowest byte: halves are split in parallel.
#[inline]
const fn eight_digits(value: u32) -> u64 {
    let fours = (value / 10_000) as u64 | ((value % 10_000) as u64) << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x7F_0000_007F;
    let twos = ((fours - 100 * hundreds) << 16) + hundreds;
    let tens = ((twos * 103) >> 10) & 0x000F_000F_000F_000F;
    ((twos - 10 * tens) << 8) + tens
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

/// The text of a module, with its header.
#[derive(Default, Debug)]
pub(crate) struct ModuleText {
    text: Text,
    header: usize,
    /// The memory of the last short text that was added.
    spare: Text,
}

impl ModuleText {
    /// How long it is after the header.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.text.len() - self.header
    }

    /// Replaces the header.
    pub(crate) fn set_header(&mut self, header: &str) {
        self.text.0.splice(..self.header, header.bytes());
        self.header = header.len();
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a text. The shorter of both is copied.
    pub(crate) fn push_text(&mut self, mut new: Text) {
        if self.text.len() < new.len() {
            new.0.splice(..0, self.text.0.drain(..));
            core::mem::swap(&mut self.text, &mut new);
        } else {
            self.text.0.append(&mut new.0);
        }
        new.truncate(0);
        self.spare = new;
    }

    /// An empty text.
    pub(crate) fn spare(&mut self) -> Text {
        core::mem::take(&mut self.spare)
    }

    /// Adds a line; gives where its text is.
    pub(crate) fn push_line(&mut self, text: &str) -> Span {
        let start = self.len();
        self.push_str(text);
        let span = Span::at(start, self.len());
        self.push_str("\n");
        span
    }

    /// All of it.
    pub(crate) fn as_str(&self) -> &str {
        self.text.after(0)
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.text.0
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::Text;

    #[test]
    fn numbers_are_written_with_all_digits() {
        let ends = (0..20).flat_map(|n| [10u64.pow(n) - 1, 10u64.pow(n), 7 * 10u64.pow(n.min(18))]);
        for number in ends
            .chain((0..100_000_000).step_by(7_919))
            .chain([u64::MAX])
        {
            let mut text = Text::default();
            text.push_number(number);
            assert_eq!(text.after(0), number.to_string());
        }
    }
}
