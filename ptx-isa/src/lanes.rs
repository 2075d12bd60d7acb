//! Selections of bytes and half words, written after a video operand: `.b2`, `.h10`, `.b3210`.

use core::fmt;

/// Which bytes or half words of one or two registers are selected, highest first as they are written.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct LaneSelector {
    half: bool,
    count: u8,
    lanes: [u8; 4],
}

impl LaneSelector {
    /// Reads `.h`, one or two digits up to 3, or `.b`, one to four digits up to 7.
    pub fn from_text(text: &[u8]) -> Option<Self> {
        let (half, digits) = match text {
            [b'.', b'h', digits @ ..] => (true, digits),
            [b'.', b'b', digits @ ..] => (false, digits),
            _ => return None,
        };
        let (most, highest) = if half { (2, b'3') } else { (4, b'7') };
        if digits.is_empty()
            || digits.len() > most
            || !digits.iter().all(|d| (b'0'..=highest).contains(d))
        {
            return None;
        }
        let mut lanes = [0; 4];
        for (lane, digit) in lanes.iter_mut().zip(digits) {
            *lane = digit - b'0';
        }
        Some(Self {
            half,
            count: digits.len() as u8,
            lanes,
        })
    }

    /// Whether half words are selected, not bytes.
    pub const fn is_half(self) -> bool {
        self.half
    }

    /// The selected lanes, highest first; 4 and above are in the second register.
    pub fn lanes(&self) -> &[u8] {
        self.lanes.get(..usize::from(self.count)).unwrap_or(&[])
    }
}

impl fmt::Display for LaneSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.half { ".h" } else { ".b" })?;
        self.lanes().iter().try_for_each(|lane| write!(f, "{lane}"))
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::LaneSelector;

    #[test]
    fn texts() {
        for text in [
            ".b0", ".b3", ".h1", ".h10", ".h33", ".b7654", ".b32", ".b210",
        ] {
            let selector = LaneSelector::from_text(text.as_bytes()).unwrap();
            assert_eq!(selector.to_string(), text);
        }
        for text in [
            "", ".", ".b", ".h", ".h4", ".h210", ".b8", ".b32107", "b0", ".x0", ".b64",
        ] {
            let ok = text == ".b64";
            assert_eq!(
                LaneSelector::from_text(text.as_bytes()).is_some(),
                ok,
                "{text}"
            );
        }
        assert_eq!(
            LaneSelector::from_text(b".b7654").unwrap().lanes(),
            [7, 6, 5, 4]
        );
        assert!(LaneSelector::from_text(b".h0").unwrap().is_half());
    }
}
