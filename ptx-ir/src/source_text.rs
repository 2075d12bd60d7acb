//! The bytes that a module was read from.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

/// The bytes that a module was read from. Copies share them.
///
/// ```
/// use ptx_ir::{Limits, SourceText};
/// let source = SourceText::from(b".version 8.0\n.target sm_80\n".to_vec());
/// let module = ptx_parse::parse_with(source.clone(), &Limits::default()).module;
/// assert!(core::ptr::eq(module.source(), &source[..]));
/// ```
#[derive(Clone, Default)]
pub struct SourceText(Bytes);

#[derive(Clone, Default)]
enum Bytes {
    #[default]
    None,
    Shared(Arc<[u8]>),
    Owned(Arc<Vec<u8>>),
    Foreign(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

impl SourceText {
    /// The bytes of any owner, such as a memory map, without a copy. The owner must give the same bytes at each call, or spans
    /// are about other text.
    ///
    /// ```
    /// let owner: Box<[u8]> = (*b".version 8.0\n").into();
    /// let text = ptx_ir::SourceText::from_owner(owner);
    /// assert_eq!(&text[..8], b".version");
    /// ```
    #[must_use]
    pub fn from_owner(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self(Bytes::Foreign(Arc::new(owner)))
    }

    /// The bytes; a copy if they are shared or belong to another owner.
    ///
    /// ```
    /// let text = ptx_ir::SourceText::from(b"ret;".to_vec());
    /// let shared = text.clone();
    /// assert_eq!(text.into_vec(), b"ret;");
    /// assert_eq!(shared.into_vec(), b"ret;");
    /// ```
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Bytes::None => Vec::new(),
            Bytes::Shared(bytes) => bytes.to_vec(),
            Bytes::Foreign(owner) => (*owner).as_ref().to_vec(),
            Bytes::Owned(bytes) => Arc::try_unwrap(bytes).unwrap_or_else(|b| b.to_vec()),
        }
    }
}

impl Deref for SourceText {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::None => &[],
            Bytes::Shared(bytes) => bytes,
            Bytes::Owned(bytes) => bytes,
            Bytes::Foreign(owner) => (**owner).as_ref(),
        }
    }
}

/// Takes the bytes without a copy.
impl From<Vec<u8>> for SourceText {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Bytes::Owned(Arc::new(bytes)))
    }
}

/// Takes the bytes without a copy.
impl From<Arc<[u8]>> for SourceText {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self(Bytes::Shared(bytes))
    }
}

/// Copies the bytes.
impl From<&[u8]> for SourceText {
    fn from(bytes: &[u8]) -> Self {
        Self(Bytes::Shared(bytes.into()))
    }
}

/// The number of bytes.
impl fmt::Debug for SourceText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceText({} bytes)", self.len())
    }
}
