//! Access to memory of the caller: strings, arrays and objects. All unsafe code of the crate is here.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use crate::status::Failure;

/// A sequence of bytes, usually a name or another text in UTF-8. No zero byte follows it, and `data` may be null if `len` is 0.
///
/// A string that a function returns belongs to the object that was passed to the function, and is valid until that object is freed. A function also
/// returns an empty string if there is no value.
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
        Self::new("")
    }
}

impl ptxkit_string {
    /// Creates a string for the caller. `text` must live as long as the object that was passed to the call.
    pub(crate) const fn new(text: &str) -> Self {
        Self::from_bytes(text.as_bytes())
    }

    /// Creates a string for the caller, like [`new`](Self::new).
    pub(crate) const fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            data: bytes.as_ptr().cast(),
            len: bytes.len(),
        }
    }

    /// The bytes of a string that was passed to the call.
    pub(crate) fn bytes(&self) -> Result<&[u8], Failure> {
        slice(&self.data, self.len).map(as_bytes)
    }

    /// The text of a string that was passed to the call. Fails if it is not UTF-8.
    pub(crate) fn text(&self) -> Result<&str, Failure> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Failure::argument("a string is not UTF-8"))
    }
}

/// Converts characters of C to bytes.
fn as_bytes(chars: &[c_char]) -> &[u8] {
    // SAFETY: `c_char` is `i8` or `u8`, which have the size, alignment and valid values of `u8`.
    unsafe { std::slice::from_raw_parts(chars.as_ptr().cast(), chars.len()) }
}

/// The elements of an array that was passed to the call. Fails if the pointer is null or misaligned, or the array too large for the address space.
pub(crate) fn slice<T>(data: &*const T, len: usize) -> Result<&[T], Failure> {
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
    Ok(unsafe { std::slice::from_raw_parts(*data, len) })
}

/// The object of a pointer that was passed to the call. Fails if it is null.
pub(crate) fn non_null<T>(pointer: Option<&T>) -> Result<&T, Failure> {
    pointer.ok_or_else(|| Failure::argument("a pointer is null"))
}

/// Writes a new object to `result`, a pointer of the caller to a pointer. During the call, and if it fails, the pointer of the caller is null.
pub(crate) fn create<T>(
    result: Option<&mut MaybeUninit<Option<Box<T>>>>,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    let result = result.ok_or_else(|| Failure::argument("the pointer to the result is null"))?;
    let object = result.write(None);
    *object = Some(Box::new(make()?));
    Ok(())
}

/// Frees an object. Does nothing for null.
pub(crate) fn free<T>(object: Option<Box<T>>) {
    crate::status::get(|| {
        drop(object);
        Some(())
    });
}
