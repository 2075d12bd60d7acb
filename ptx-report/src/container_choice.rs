//! The selection of modules in a file by a path such as `libfoo.so!sm_90`.

use std::fmt;
use std::path::{Path, PathBuf};

use ptx_container::ContainerEntry;
use wildmatch::WildMatch;

/// A selection of modules in a file: a name, a number, a target, a member of an archive, or a pattern for one of these with `*`
/// and `?`.
#[derive(Clone, Debug)]
pub struct Choice(String);

impl Choice {
    /// Splits `libfoo.so!sm_90` into the file and the selection of modules. An existing file with `!` in its name takes precedence.
    ///
    /// ```
    /// use std::path::Path;
    /// use ptx_report::container_choice::Choice;
    /// let (file, choice) = Choice::divide(Path::new("Cargo.toml!sm_90"));
    /// assert_eq!(file, Path::new("Cargo.toml"));
    /// assert_eq!(choice.unwrap().to_string(), "sm_90");
    /// assert!(Choice::divide(Path::new("missing!sm_90")).1.is_none());
    /// ```
    #[must_use]
    pub fn divide(path: &Path) -> (PathBuf, Option<Self>) {
        let text = path.to_string_lossy();
        let parts = text
            .rsplit_once('!')
            .filter(|(file, _)| !path.exists() && Path::new(file).is_file());
        match parts {
            Some((file, choice)) => (file.into(), Some(Self(choice.to_owned()))),
            None => (path.to_owned(), None),
        }
    }

    /// Whether a module is selected.
    #[must_use]
    pub fn fits(&self, entry: &ContainerEntry) -> bool {
        let pattern = WildMatch::new(&self.0);
        entry.number().to_string() == self.0
            || pattern.matches(&entry.name())
            || pattern.matches(&entry.target())
            || entry.member().is_some_and(|member| pattern.matches(member))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
