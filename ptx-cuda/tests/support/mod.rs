//! The library as programs load it, for tests.
#![allow(dead_code, reason = "each test uses a part")]

use std::env;
use std::ffi::{CString, c_void};
use std::fs;
use std::path::{Path, PathBuf};

/// The path of the library, which Cargo builds for the tests of this package.
pub fn library_path() -> PathBuf {
    let executable = env::current_exe().unwrap();
    let deps = executable.parent().unwrap();
    let mut folders = [deps, deps.parent().unwrap()].into_iter();
    folders
        .find_map(|folder| {
            let path = folder.join("libptx_cuda.so");
            path.exists().then_some(path)
        })
        .expect("the library is built with the tests")
}

/// A new folder for a test, with links to the library under the names of the driver and the runtime library.
pub fn library_folder(test: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("ptx-cuda-{test}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let library = library_path();
    for name in [
        "libcuda.so.1",
        "libcudart.so.12",
        "libcudart.so.13",
        "libcudart.so",
    ] {
        let link = folder.join(name);
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&library, link).unwrap();
    }
    folder
}

/// A loaded library.
pub struct Library(*mut c_void);

impl Library {
    /// Loads a library.
    pub fn open(path: &Path) -> Self {
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the path is a text that ends with a zero byte.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!handle.is_null(), "{path:?} cannot be loaded");
        Self(handle)
    }

    /// The address of a function; `None` if the library has none with that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        let name = CString::new(name).unwrap();
        // SAFETY: the library is loaded, and the name ends with a zero byte.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address.addr())
    }

    /// Calls a function with integers or addresses, at most ten; further ones are 0.
    pub fn call(&self, name: &str, arguments: &[usize]) -> u32 {
        type Function = extern "C" fn(
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
        ) -> u32;
        let address = self.find(name).unwrap_or_else(|| panic!("no {name}"));
        // SAFETY: a function of the C interface can be called with more arguments than it has.
        let function: Function = unsafe { std::mem::transmute(address) };
        let mut a = [0; 16];
        a[..arguments.len()].copy_from_slice(arguments);
        function(
            a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
            a[14], a[15],
        )
    }

    /// Calls a function that has to succeed.
    pub fn succeed(&self, name: &str, arguments: &[usize]) {
        assert_eq!(self.call(name, arguments), 0, "{name}");
    }
}

/// The address of a value.
pub fn at<T>(value: &T) -> usize {
    std::ptr::from_ref(value).expose_provenance()
}

/// The address of a value that a function writes.
pub fn to<T>(value: &mut T) -> usize {
    std::ptr::from_mut(value).expose_provenance()
}

/// The names of the functions in a list of `api`, with those of the variants for per-thread default streams.
pub fn listed_functions(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split(' ');
        let symbol = fields.next().unwrap();
        names.push(symbol.to_owned());
        let suffix = fields.find(|field| field.starts_with("_pt"));
        names.extend(suffix.map(|suffix| format!("{symbol}{suffix}")));
    }
    names.sort();
    names.dedup();
    names
}

/// The names of the functions that the sources of a folder of the package export.
pub fn exported_functions(folder: &str) -> Vec<String> {
    let mut names = Vec::new();
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
    for file in files {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for function in text.split("extern \"C\" fn ").skip(1) {
            let end = function.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let name = &function[..end.unwrap()];
            // The types of pointers to functions have no name.
            names.extend((!name.is_empty()).then(|| name.to_owned()));
        }
    }
    names
}
