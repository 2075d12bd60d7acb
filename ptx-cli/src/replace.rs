//! Writes files so that no reader sees a part of them.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How many names are tried for the new file.
const MOST_NAMES: u32 = 100;

/// Writes a file, or replaces it by another one, as [`NewFile`] does.
pub(crate) fn replace_file(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = NewFile::replace(path)?;
    file.write_all(text)?;
    file.finish()
}

/// A file that gets its name when it is complete. Until then it is in the same directory under the name `.NAME.PROCESS.NUMBER.tmp`:
/// a reader has the old text or the new one, also if this program is interrupted. Without [`finish`](Self::finish), it is
/// removed. A file that is replaced keeps its permissions. A symbolic link stays, and what it leads to is replaced. A device or
/// a pipe is written to; so is a file in a directory where no other file can be made.
#[derive(Debug)]
pub(crate) struct NewFile {
    file: File,
    /// `None` if the place itself is written to, and after the end.
    beside: Option<Beside>,
}

/// A file that does not have its name yet.
#[derive(Debug)]
struct Beside {
    path: PathBuf,
    place: PathBuf,
    /// Those of the file that it replaces.
    permissions: Option<Permissions>,
    /// Whether a file of this name may be replaced.
    replaces: bool,
}

impl NewFile {
    /// A file at a path where another one may be.
    pub(crate) fn replace(path: &Path) -> io::Result<Self> {
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let old = match fs::symlink_metadata(&place) {
            Ok(old) if old.is_file() => Some(old.permissions()),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            _ => return Self::in_place(path),
        };
        if old.as_ref().is_some_and(Permissions::readonly) {
            // A file that must not be written is not replaced either.
            OpenOptions::new().write(true).open(&place)?;
        }
        match Self::beside(place, old, true) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Self::in_place(path),
            result => result,
        }
    }

    /// A file at a path where no other one is, nor a link.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            // The system words the error.
            Ok(_) => match OpenOptions::new().write(true).create_new(true).open(path) {
                Ok(file) => Ok(Self { file, beside: None }),
                Err(error) => Err(error),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Self::beside(path.to_owned(), None, false)
            }
            Err(error) => Err(error),
        }
    }

    fn in_place(path: &Path) -> io::Result<Self> {
        let (file, beside) = (File::create(path)?, None);
        Ok(Self { file, beside })
    }

    fn beside(
        place: PathBuf,
        permissions: Option<Permissions>,
        replaces: bool,
    ) -> io::Result<Self> {
        let (path, file) = create_beside(&place)?;
        let beside = Some(Beside {
            path,
            place,
            permissions,
            replaces,
        });
        Ok(Self { file, beside })
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let Some(beside) = &mut self.beside else {
            return Ok(());
        };
        if let Some(permissions) = beside.permissions.take() {
            self.file.set_permissions(permissions)?;
        }
        beside.name()?;
        self.beside = None;
        Ok(())
    }
}

impl Beside {
    fn name(&self) -> io::Result<()> {
        if self.replaces {
            return fs::rename(&self.path, &self.place);
        }
        // A second name is never that of another file. Some file systems have no second names.
        match fs::hard_link(&self.path, &self.place) {
            Ok(()) => fs::remove_file(&self.path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            Err(_) if fs::symlink_metadata(&self.place).is_err() => {
                fs::rename(&self.path, &self.place)
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
        if let Some(beside) = &self.beside {
            let _ = fs::remove_file(&beside.path);
        }
    }
}

/// A new file in the directory of another one.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
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
