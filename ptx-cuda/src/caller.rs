//! Access to memory of the caller: results, strings, arrays and objects.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

use crate::status::{Outcome, Status};

/// A pointer of the caller to memory for a result, which may be null.
pub type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// Writes a result. Fails if the pointer is null.
pub(crate) fn set<T>(result: Out<'_, T>, value: T) -> Outcome<()> {
    result.ok_or(Status::INVALID_VALUE)?.write(value);
    Ok(())
}

/// Writes a result that the caller may not want.
pub(crate) fn set_if_wanted<T>(result: Out<'_, T>, value: T) {
    if let Some(result) = result {
        result.write(value);
    }
}

/// The object of a pointer of the caller. Fails if it is null.
pub(crate) fn given<T>(pointer: Option<&T>) -> Outcome<&T> {
    pointer.ok_or(Status::INVALID_VALUE)
}

/// A text of the caller that ends with a zero byte. Fails if the pointer is null, or the text not UTF-8.
pub(crate) fn text<'a>(text: *const c_char) -> Outcome<&'a str> {
    if text.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the documentation of the API requires a text that ends with a zero byte and does not change during the call. The result is used during the call only.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Status::INVALID_VALUE)
}

/// The elements of an array of the caller. Fails if the pointer is null or misaligned while the array has elements.
pub(crate) fn slice<'a, T>(data: *const T, len: usize) -> Outcome<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() || !data.is_aligned() || len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the documentation of the API requires that `data` points to `len` elements that do not change during the call. The pointer is neither null nor
    // misaligned, and the size is at most `isize::MAX`. The result is used during the call only.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// The memory of the caller for the elements of an array. Fails if the pointer is null or misaligned while the array has elements.
pub(crate) fn slice_mut<'a, T>(data: *mut T, len: usize) -> Outcome<&'a mut [MaybeUninit<T>]> {
    if len == 0 {
        return Ok(&mut []);
    }
    if data.is_null() || !data.is_aligned() || len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the documentation of the API requires that `data` points to memory for `len` elements that nothing else uses during the call. The pointer is neither
    // null nor misaligned, the size is at most `isize::MAX`, and the elements need not be initialized. The result is used during the call only.
    Ok(unsafe { std::slice::from_raw_parts_mut(data.cast(), len) })
}

/// The bytes of memory at an address of the host, which may be misaligned for other types.
pub(crate) fn bytes<'a>(address: usize, len: usize) -> Outcome<&'a [u8]> {
    slice(address as *const u8, len)
}

/// Copies a value from memory of the caller, which need not be aligned. Fails if the pointer is null.
pub(crate) fn read<T: Copy>(pointer: *const T) -> Outcome<T> {
    if pointer.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the documentation of the API requires that the pointer is one to a value of the type. `T` is `Copy`.
    Ok(unsafe { pointer.read_unaligned() })
}

/// Writes a text and a zero byte to memory of `len` bytes, and cuts it to fit.
pub(crate) fn set_text(memory: *mut c_char, len: usize, text: &str) -> Outcome<()> {
    let memory = slice_mut(memory, len)?;
    let Some((last, rest)) = memory.split_last_mut() else {
        return Err(Status::INVALID_VALUE);
    };
    last.write(0);
    for (place, byte) in rest.iter_mut().zip(text.bytes().chain([0])) {
        place.write(byte as c_char);
    }
    Ok(())
}

/// Copies bytes between addresses of this process. The ranges may overlap.
pub(crate) fn copy(from: usize, to: usize, len: usize) {
    if len > 0 {
        // SAFETY: the callers have checked addresses of the device; for addresses of the host, the documentation of the API requires memory of that size. Nothing in this
        // crate holds a reference to either range.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, len) }
    }
}

/// The paths of the libraries of this process, as it loaded them.
pub(crate) fn loaded_libraries() -> Vec<String> {
    extern "C" fn add(
        library: *mut libc::dl_phdr_info,
        _bytes: libc::size_t,
        names: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes an information that exists during the call, and the pointer that `dl_iterate_phdr` got, which is one to the vector below.
        let (library, names) = unsafe { (&*library, &mut *names.cast::<Vec<String>>()) };
        names.extend(text(library.dlpi_name).map(str::to_owned));
        0
    }
    let mut names: Vec<String> = Vec::new();
    let pointer: *mut Vec<String> = &mut names;
    // SAFETY: the function gets a pointer to the vector, which nothing else uses during the call.
    unsafe {
        libc::dl_iterate_phdr(Some(add), pointer.cast());
    }
    names
}

/// Writes bytes to an address of this process.
pub(crate) fn put(bytes: &[u8], address: usize) {
    copy(bytes.as_ptr().expose_provenance(), address, bytes.len());
}

unsafe extern "C" {
    /// The standard output of the C library.
    static stdout: *mut libc::FILE;
}

/// Writes bytes to the standard output of the C library, whose buffer the program uses, too.
pub(crate) fn write_to_standard_output(bytes: &[u8]) {
    // SAFETY: the bytes are initialized, and the C library locks the stream. The program does not assign another stream while it calls this library.
    unsafe {
        libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stdout);
    }
}

/// Calls a function of this crate at the end of the process.
pub(crate) fn at_exit(function: extern "C" fn()) {
    // SAFETY: the C library calls the function at the end of the process, or when this library is unloaded, whichever is first.
    unsafe {
        libc::atexit(function);
    }
}
