//! Writes files so that no reader sees a part of them.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// How many names are tried for the new file.
const MOST_NAMES: u32 = 100;

/// Writes a file, or replaces it by another one with the same permissions. The text is written to a file beside it, which then gets
/// its name: a reader, or a user who interrupts this program, has the old text or the new one. A link stays, and what it leads
/// to is replaced. A device or a pipe is written to; so is a file in a directory where no other file can be made.
pub(crate) fn replace_file(path: &Path, text: &[u8]) -> io::Result<()> {
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = match fs::symlink_metadata(&place) {
        Ok(old) if old.is_file() => Some(old),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        _ => return fs::write(path, text),
    };
    if old.as_ref().is_some_and(|old| old.permissions().readonly()) {
        // A file that must not be written is not replaced either.
        OpenOptions::new().write(true).open(&place)?;
    }
    let (beside, mut file) = match create_beside(&place) {
        Ok(created) => created,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return fs::write(path, text),
        Err(error) => return Err(error),
    };
    let written = file.write_all(text).and_then(|()| {
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        drop(file);
        fs::rename(&beside, &place)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// A new file in the directory of another one.
fn create_beside(path: &Path) -> io::Result<(PathBuf, fs::File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let process = std::process::id();
    for number in 0..MOST_NAMES {
        // A long name may not get any longer.
        let start: String = name.chars().take(50).collect();
        let beside = path.with_file_name(format!(".{start}.{process}.{number}.tmp"));
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&beside)
        {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
