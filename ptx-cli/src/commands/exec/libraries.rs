//! The folder with the libraries and programs that a CUDA program finds instead of NVIDIA's.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;

use super::shared_object::{Architecture, SharedObject};

/// The name of the library.
const LIBRARY: &str = "libptx_cuda.so";
/// The variable with the path of the library.
const LIBRARY_VARIABLE: &str = "PTXKIT_CUDA_LIBRARY";
/// The names of the driver library.
const DRIVER: [&str; 2] = ["libcuda.so.1", "libcuda.so"];
/// The names of the runtime library, which are also the versions of its functions.
const RUNTIME: [&str; 2] = ["libcudart.so.12", "libcudart.so.13"];
/// The name of the runtime library that programs load of which they do not know the version. It is the newest one, unless the program has loaded another.
const UNVERSIONED_RUNTIME: &str = "libcudart.so";
/// The name under which this program behaves as ptxas.
pub(super) const PTXAS: &str = "ptxas";

/// A library of NVIDIA that makes machine code, and that programs do without if it has no functions.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Hidden {
    /// The linker, without which cuda.core and numba-cuda pass PTX to the driver
    #[value(name = "nvjitlink")]
    NvJitLink,
}

impl Hidden {
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::NvJitLink => &["libnvJitLink.so.12", "libnvJitLink.so.13"],
        }
    }
}

/// A library of NVIDIA that programs call through another one.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Replaced {
    /// The compiler, so that it returns PTX where programs ask for machine code
    #[value(name = "nvrtc")]
    Nvrtc,
}

impl Replaced {
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Nvrtc => &["libnvrtc.so.12", "libnvrtc.so.13"],
        }
    }

    /// The name of the file of the replacement, which is beside the library with the driver.
    const fn file(self) -> &'static str {
        match self {
            Self::Nvrtc => "libptx_nvrtc.so",
        }
    }
}

/// The libraries of NVIDIA that the program does not find.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Changes {
    /// Hide this library of NVIDIA from the program: nvjitlink
    #[arg(long, value_name = "LIBRARY", value_delimiter = ',', value_enum)]
    hide: Vec<Hidden>,
    /// Replace this library of NVIDIA by one that returns PTX: nvrtc
    #[arg(long, value_name = "LIBRARY", value_delimiter = ',', value_enum)]
    replace: Vec<Replaced>,
}

/// Finds the library: the given path, that of the variable, beside this program, or in `../lib/ptxkit`.
pub(super) fn find(library: Option<&Path>) -> Result<PathBuf> {
    let named = library.map(Path::to_owned);
    if let Some(path) = named.or_else(|| env::var_os(LIBRARY_VARIABLE).map(PathBuf::from)) {
        return fs::canonicalize(&path).with_context(|| path.display().to_string());
    }
    let program = env::current_exe()?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let candidates = [
        folder.join(LIBRARY),
        folder.join("../lib/ptxkit").join(LIBRARY),
    ];
    let existing = candidates.iter().find(|path| path.is_file());
    match existing {
        Some(path) => Ok(fs::canonicalize(path)?),
        None => bail!(
            "{LIBRARY} is neither in {} nor in ../lib/ptxkit of it: `cargo build -p ptxkit-cuda` builds it; `--library` or {LIBRARY_VARIABLE} names another path",
            folder.display()
        ),
    }
}

/// Writes the libraries and the replacement for ptxas to a folder, and returns the environment variables for a program.
pub(super) fn write(
    folder: &Path,
    library: &Path,
    changes: &Changes,
) -> Result<Vec<(&'static str, OsString)>> {
    let architecture =
        Architecture::current().context("`exec` needs a processor of type x86-64 or AArch64")?;
    let Some(path) = library.to_str() else {
        bail!("{}: the path is not UTF-8", library.display());
    };
    for name in DRIVER {
        link(library, &folder.join(name))?;
    }
    let versions = RUNTIME.map(|name| (name, Some(name)));
    for (name, version) in versions.into_iter().chain([(UNVERSIONED_RUNTIME, None)]) {
        let object = SharedObject {
            architecture,
            name,
            needed: Some(path),
            version,
        };
        write_object(folder, &object)?;
    }
    let ptxas = folder.join(PTXAS);
    link(&env::current_exe()?, &ptxas)?;
    let mut variables = vec![
        ("LD_LIBRARY_PATH", with_folder(folder, "LD_LIBRARY_PATH")),
        ("TRITON_PTXAS_PATH", ptxas.clone().into()),
        ("TRITON_PTXAS_BLACKWELL_PATH", ptxas.into()),
        ("TRITON_LIBCUDA_PATH", folder.into()),
        ("CUPY_COMPILE_WITH_PTX", "1".into()),
    ];
    let mut objects: Vec<(&str, Option<String>)> = Vec::new();
    for hidden in &changes.hide {
        objects.extend(hidden.names().iter().map(|name| (*name, None)));
    }
    for replaced in &changes.replace {
        let path = replacement(folder, library, *replaced)?;
        let names = replaced.names().iter();
        objects.extend(names.map(|name| (*name, Some(path.clone()))));
    }
    let mut preloaded = OsString::new();
    for (name, needed) in objects {
        let object = SharedObject {
            architecture,
            name,
            needed: needed.as_deref(),
            version: Some(name),
        };
        write_object(folder, &object)?;
        preloaded.push(folder.join(name));
        preloaded.push(":");
    }
    if !preloaded.is_empty() {
        preloaded.push(env::var_os("LD_PRELOAD").unwrap_or_default());
        variables.push(("LD_PRELOAD", preloaded));
    }
    Ok(variables)
}

/// Makes a link of a replacement in the folder, and returns its path.
fn replacement(folder: &Path, library: &Path, replaced: Replaced) -> Result<String> {
    let target = library.with_file_name(replaced.file());
    if !target.is_file() {
        bail!(
            "{} does not exist: `cargo build -p ptxkit-nvrtc` builds it",
            target.display()
        );
    }
    let path = folder.join(replaced.file());
    link(&target, &path)?;
    let path = path.into_os_string().into_string();
    path.map_err(|path| anyhow::anyhow!("{}: the path is not UTF-8", path.display()))
}

/// The folder, and those that a variable lists.
fn with_folder(folder: &Path, variable: &str) -> OsString {
    let mut folders = folder.as_os_str().to_owned();
    if let Some(others) = env::var_os(variable).filter(|others| !others.is_empty()) {
        folders.push(":");
        folders.push(others);
    }
    folders
}

fn write_object(folder: &Path, object: &SharedObject<'_>) -> Result<()> {
    let path = folder.join(object.name);
    fs::write(&path, object.bytes()).with_context(|| path.display().to_string())
}

/// Makes a symbolic link, which replaces another one.
fn link(target: &Path, path: &Path) -> Result<()> {
    if path.is_symlink() {
        fs::remove_file(path)?;
    }
    symlink(target, path).with_context(|| path.display().to_string())
}

/// A folder that is removed at the end.
pub(super) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates a folder that only this user can read.
    pub(super) fn new() -> Result<Self> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
        let name = format!("ptxkit-exec-{}-{time}", process::id());
        let path = env::temp_dir().join(name);
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| path.display().to_string())?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A value as a shell reads it.
pub(super) fn quoted(value: &OsStr) -> String {
    let text = value.to_string_lossy();
    format!("'{}'", text.replace('\'', r"'\''"))
}
