//! NVIDIA's library, and its functions.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;

use crate::locate;

/// A function with words as parameters and a word as the result.
pub(crate) type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;

/// The handle of a loaded library.
struct Library(*mut c_void);

// SAFETY: the functions of the loader take handles from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// Loads the library when it is first needed.
fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let paths = locate::candidates();
        let opened = paths.iter().find_map(|path| {
            let name = CString::new(path.as_os_str().as_bytes()).ok()?;
            // The library finds its own functions, not those of this library, which have the same names.
            let flags = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND;
            // SAFETY: a text that ends with a zero byte.
            let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
            (!handle.is_null()).then_some(Library(handle))
        });
        if opened.is_none() {
            eprintln!(
                "ptxkit: NVRTC is not installed where the replacement looks; the environment variable PTXKIT_NVRTC names the path of libnvrtc.so"
            );
        }
        opened
    });
    library.as_ref()
}

/// A function of the library; `None` if it has none of this name.
pub(crate) fn function(name: &CStr) -> Option<Function> {
    let library = library()?;
    // SAFETY: the handle of a library that stays open, and a text that ends with a zero byte.
    let address = unsafe { libc::dlsym(library.0, name.as_ptr()) };
    if address.is_null() {
        return None;
    }
    // SAFETY: the address of a function whose parameters are integers and pointers, six at most, as those of all functions that are passed on.
    Some(unsafe { std::mem::transmute::<*mut c_void, Function>(address) })
}
