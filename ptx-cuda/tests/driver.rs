//! All functions of the driver API, called with arguments that are null or wrong: each returns a status, and none stops the program.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails if a function does"
)]

mod support;

use std::fs;
use std::path::Path;

use support::{Library, exported_functions, library_folder, listed_functions};

/// The names of all functions.
fn names() -> Vec<String> {
    listed_functions(include_str!("../api/driver.txt"))
}

/// The functions whose first parameter is a handle.
fn with_handle() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/driver");
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for part in text.split("pub extern \"C\" fn ").skip(1) {
            let (name, rest) = part.split_once('(').unwrap();
            let first = rest.split([',', ')']).next().unwrap();
            if first.ends_with(": Raw") {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// The result of a function that panicked.
const UNKNOWN: u32 = 999;

#[test]
fn null_and_wrong_arguments_are_errors() {
    let folder = library_folder("driver");
    let library = Library::open(&folder.join("libcuda.so.1"));
    let mut not_initialized = 0;
    for name in names().iter().filter(|name| *name != "cuInit") {
        let status = library.call(name, &[]);
        assert_ne!(status, UNKNOWN, "{name}");
        not_initialized += usize::from(status == 3);
    }
    assert!(not_initialized > 200, "{not_initialized}");
    library.succeed("cuInit", &[0]);
    let mut context = 0usize;
    let place = std::ptr::from_mut(&mut context).expose_provenance();
    library.succeed("cuDevicePrimaryCtxRetain", &[place, 0]);
    for name in names() {
        // Some functions change the current context.
        library.succeed("cuCtxSetCurrent", &[context]);
        let status = library.call(&name, &[]);
        assert_ne!(status, UNKNOWN, "{name}");
    }
    let functions = with_handle();
    assert!(functions.len() > 100, "{}", functions.len());
    for name in functions {
        library.succeed("cuCtxSetCurrent", &[context]);
        for handle in [0x1234, usize::MAX, context + 1] {
            let status = library.call(&name, &[handle]);
            assert_ne!(status, 0, "{name}");
            assert_ne!(status, UNKNOWN, "{name}");
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

/// The test above calls all functions of the list.
#[test]
fn all_exported_functions_are_listed() {
    let listed = names();
    let exported = exported_functions("src/driver");
    assert!(exported.len() > 350, "{}", exported.len());
    for name in exported {
        assert!(listed.binary_search(&name).is_ok(), "{name}");
    }
}
