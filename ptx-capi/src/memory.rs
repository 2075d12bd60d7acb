//! Memory of the caller.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::slice;

use crate::status::Failure;

/// Bytes: a name, or a text in UTF-8. There is no zero byte after them, and `data` may be null if `len` is 0.
///
/// A string that a function returns belongs to the object that it is about, and is valid until that is freed. An empty string is
/// also returned for what does not exist.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct ptxkit_string {
    /// The first byte.
    pub data: *const c_char,
    /// The number of bytes.
    pub len: usize,
}

impl Default for ptxkit_string {
    fn default() -> Self {
        Self::of("")
    }
}

impl ptxkit_string {
    /// The string of a text that outlives the object that it is about.
    pub(crate) const fn of(text: &str) -> Self {
        Self::bytes_of(text.as_bytes())
    }

    pub(crate) const fn bytes_of(text: &[u8]) -> Self {
        Self {
            data: text.as_ptr().cast(),
            len: text.len(),
        }
    }

    /// The bytes, during a call to which the string was passed.
    pub(crate) fn bytes(&self) -> Result<&[u8], Failure> {
        list(&self.data, self.len).map(bytes)
    }

    /// The text, if it is UTF-8.
    pub(crate) fn text(&self) -> Result<&str, Failure> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Failure::argument("a string is not UTF-8"))
    }
}

/// Characters of C as bytes.
fn bytes(chars: &[c_char]) -> &[u8] {
    // SAFETY: `c_char` is `i8` or `u8`, which have the size, alignment and valid values of `u8`.
    unsafe { slice::from_raw_parts(chars.as_ptr().cast(), chars.len()) }
}

/// The elements at a pointer that was passed to this call.
pub(crate) fn list<T>(data: &*const T, len: usize) -> Result<&[T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Failure::argument("a pointer is null"));
    }
    if !data.is_aligned() || len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure::argument("a list is not aligned, or too long"));
    }
    // SAFETY: the header requires that `data` points to `len` initialized elements that do not change during the call. The
    // pointer is neither null nor misaligned, and the size is at most `isize::MAX`. The result lives as long as the borrow of
    // the argument, which is a local of the call.
    Ok(unsafe { slice::from_raw_parts(*data, len) })
}

/// What a pointer refers to.
pub(crate) fn given<T>(pointer: Option<&T>) -> Result<&T, Failure> {
    pointer.ok_or_else(|| Failure::argument("a pointer is null"))
}

/// Writes a new object to a place of the caller. The place is empty while the call runs, also if it fails.
pub(crate) fn create<T>(
    out: Option<&mut MaybeUninit<Option<Box<T>>>>,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    let place = out.ok_or_else(|| Failure::argument("the pointer to the result is null"))?;
    let place = place.write(None);
    *place = Some(Box::new(make()?));
    Ok(())
}

/// Frees an object; null is nothing.
pub(crate) fn free<T>(object: Option<Box<T>>) {
    crate::status::get(|| {
        drop(object);
        Some(())
    });
}
