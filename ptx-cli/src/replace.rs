//! Atomic writing of files: no reader sees a part of a file.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The largest number of names that are tried for the new file.
const MAX_NAMES: u32 = 100;

/// Writes a file, or replaces an existing one, as [`NewFile`] does.
pub(crate) fn replace_file(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = NewFile::replace(path)?;
    file.write_all(text)?;
    file.finish()
}

/// A file that gets its name when it is complete. Until then it is in the same directory under the name `.NAME.PROCESS.NUMBER.tmp`:
/// a reader has the old text or the new one, also if this program is interrupted. Without [`finish`](Self::finish), it is
/// removed. A file that is replaced keeps its permissions. A symbolic link stays, and its target is replaced. A device or
/// a pipe is written directly, and so is a file in a directory where no other file can be created.
#[derive(Debug)]
pub(crate) struct NewFile {
    file: File,
    /// `None` if the file is written directly, and after it has got its name.
    temporary: Option<Temporary>,
}

/// A file under a temporary name.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    /// The path of the complete file.
    final_path: PathBuf,
    /// The permissions of the file that is replaced.
    permissions: Option<Permissions>,
    existing: Existing,
}

/// The treatment of a file that exists under the final name.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Existing {
    Replace,
    Keep,
}

impl NewFile {
    /// Creates a file at a path, or replaces the file there.
    pub(crate) fn replace(path: &Path) -> io::Result<Self> {
        let final_path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let permissions = match fs::symlink_metadata(&final_path) {
            Ok(existing) if existing.is_file() => Some(existing.permissions()),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            _ => return Self::direct(path),
        };
        if permissions.as_ref().is_some_and(Permissions::readonly) {
            // A read-only file is not replaced either. This returns the error of the system.
            OpenOptions::new().write(true).open(&final_path)?;
        }
        match Self::temporary(final_path, permissions, Existing::Replace) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Self::direct(path),
            result => result,
        }
    }

    /// Creates a file at a path where neither a file nor a link exists.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            // This returns the error of the system, unless the file has been removed meanwhile.
            Ok(_) => Ok(Self {
                file: OpenOptions::new().write(true).create_new(true).open(path)?,
                temporary: None,
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Self::temporary(path.to_owned(), None, Existing::Keep)
            }
            Err(error) => Err(error),
        }
    }

    fn direct(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::create(path)?,
            temporary: None,
        })
    }

    fn temporary(
        final_path: PathBuf,
        permissions: Option<Permissions>,
        existing: Existing,
    ) -> io::Result<Self> {
        let (path, file) = create_temporary(&final_path)?;
        let temporary = Some(Temporary {
            path,
            final_path,
            permissions,
            existing,
        });
        Ok(Self { file, temporary })
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let Some(temporary) = &mut self.temporary else {
            return Ok(());
        };
        if let Some(permissions) = temporary.permissions.take() {
            self.file.set_permissions(permissions)?;
        }
        temporary.rename()?;
        self.temporary = None;
        Ok(())
    }
}

impl Temporary {
    fn rename(&self) -> io::Result<()> {
        if self.existing == Existing::Replace {
            return fs::rename(&self.path, &self.final_path);
        }
        // Unlike renaming, linking does not replace an existing file. Some file systems have no hard links.
        match fs::hard_link(&self.path, &self.final_path) {
            Ok(()) => fs::remove_file(&self.path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            Err(_) if fs::symlink_metadata(&self.final_path).is_err() => {
                fs::rename(&self.path, &self.final_path)
            }
            Err(error) => Err(error),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(&temporary.path);
        }
    }
}

/// Creates a file with a temporary name in the directory of another file.
fn create_temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let process = std::process::id();
    for number in 0..MAX_NAMES {
        // The temporary name of a file with a long name must not exceed the limit of the file system.
        let start: String = name.chars().take(50).collect();
        let temporary = path.with_file_name(format!(".{start}.{process}.{number}.tmp"));
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)
        {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new directory, which is removed in the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ptxkit-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// The names of the files in a directory.
    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn an_interrupted_write_leaves_the_old_file() {
        let folder = Folder::new("interrupted");
        let path = folder.0.join("a");
        fs::write(&path, "old").unwrap();
        let mut file = NewFile::replace(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(&folder.0), ["a"]);
        replace_file(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(&folder.0), ["a"]);
    }

    #[test]
    fn a_new_file_replaces_no_other_one() {
        let folder = Folder::new("created");
        let path = folder.0.join("a");
        let (mut first, mut second) = (
            NewFile::create(&path).unwrap(),
            NewFile::create(&path).unwrap(),
        );
        first.write_all(b"first").unwrap();
        second.write_all(b"second").unwrap();
        assert!(!path.exists());
        first.finish().unwrap();
        let kind = second.finish().map_err(|e| e.kind());
        assert_eq!(kind, Err(ErrorKind::AlreadyExists));
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(names(&folder.0), ["a"]);
        let kind = NewFile::create(&path).map(drop).map_err(|e| e.kind());
        assert_eq!(kind, Err(ErrorKind::AlreadyExists));
    }

    #[cfg(unix)]
    #[test]
    fn permissions_links_and_devices_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = Folder::new("links");
        let (path, link) = (folder.0.join("a"), folder.0.join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        symlink("a", &link).unwrap();
        replace_file(&link, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        // A link that leads nowhere is in the way of a new file.
        symlink("nowhere", folder.0.join("dangling")).unwrap();
        let dangling = NewFile::create(&folder.0.join("dangling"));
        assert!(dangling.is_err());
        replace_file(Path::new("/dev/null"), b"text").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
