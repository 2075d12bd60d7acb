//! Versions of the PTX ISA.

use core::fmt;

use crate::{UnknownKeyword, generated};

/// A version of the PTX ISA, as a module declares it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PtxVersion {
    /// The major version.
    pub major: u8,
    /// The minor version.
    pub minor: u8,
}

/// The first software that supports a version.
pub(crate) struct Release {
    pub(crate) version: PtxVersion,
    pub(crate) toolkit: Option<&'static str>,
    pub(crate) driver: Option<&'static str>,
}

static VERSIONS: [PtxVersion; generated::version::RELEASES.len()] = {
    let mut versions = [PtxVersion::new(0, 0); generated::version::RELEASES.len()];
    let mut i = 0;
    while i < versions.len() {
        versions[i] = generated::version::RELEASES[i].version;
        i += 1;
    }
    versions
};

impl PtxVersion {
    /// Every released version, in ascending order.
    pub const KNOWN: &'static [Self] = &VERSIONS;
    /// The newest version in the tables.
    pub const CURRENT: Self = VERSIONS[VERSIONS.len() - 1];

    /// `major.minor`
    #[must_use]
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// Reads `9.2`: digits, a point, digits. [`str::parse`] does the same for text.
    ///
    /// ```
    /// use ptx_isa::PtxVersion;
    /// assert_eq!(PtxVersion::from_text(b"8.5"), Some(PtxVersion::new(8, 5)));
    /// assert_eq!("8.5".parse(), Ok(PtxVersion::new(8, 5)));
    /// assert!("8".parse::<PtxVersion>().is_err());
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn from_text(text: &[u8]) -> Option<Self> {
        let point = text.iter().position(|&b| b == b'.')?;
        Some(Self::new(
            number(text.get(..point)?)?,
            number(text.get(point + 1..)?)?,
        ))
    }

    /// Whether the version exists.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.release().is_some()
    }

    /// Whether the version is newer than [`Self::CURRENT`] and may be the version of a file: at most one major version later, with
    /// one digit after the point, as in all versions so far.
    #[must_use]
    pub fn is_newer(self) -> bool {
        self > Self::CURRENT && self.major <= Self::CURRENT.major + 1 && self.minor < 10
    }

    /// The first CUDA toolkit that supports the version.
    #[must_use]
    pub fn toolkit(self) -> Option<&'static str> {
        self.release()?.toolkit
    }

    /// The oldest driver for Linux that compiles the version, according to the release notes of [`Self::toolkit`].
    #[must_use]
    pub fn driver(self) -> Option<&'static str> {
        self.release()?.driver
    }

    fn release(self) -> Option<&'static Release> {
        let index = Self::KNOWN.binary_search(&self).ok()?;
        generated::version::RELEASES.get(index)
    }
}

impl core::str::FromStr for PtxVersion {
    type Err = UnknownKeyword;

    fn from_str(text: &str) -> Result<Self, UnknownKeyword> {
        Self::from_text(text.as_bytes()).ok_or(UnknownKeyword)
    }
}

fn number(digits: &[u8]) -> Option<u8> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u8, |n, &d| {
        let digit = d.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n.checked_mul(10)?.checked_add(digit)
    })
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
