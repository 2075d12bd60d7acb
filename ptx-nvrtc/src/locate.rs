//! Where NVIDIA's library is: programs look for it themselves, and find the replacement instead.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable with the path of the library.
const VARIABLE: &str = "PTXKIT_NVRTC";
/// The names of the library, the newest first.
const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];
/// The folders of the library in the packages of PyPI, relative to the folder of all packages.
const PACKAGE_FOLDERS: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];
/// The name of the folder of all packages.
const PACKAGES: &str = "site-packages";
/// The name of the file of this library.
const REPLACEMENT: &str = "libptx_nvrtc.so";

/// Paths of existing files that may be the library, the most likely one first: that of the variable, those in packages of a Python program, and those in the folders
/// of the loader and of toolkits.
pub(crate) fn candidates() -> Vec<PathBuf> {
    if let Some(path) = env::var_os(VARIABLE) {
        return vec![PathBuf::from(path)];
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut folders: Vec<PathBuf> = Vec::new();
    for packages in package_folders(&maps) {
        folders.extend(PACKAGE_FOLDERS.iter().map(|folder| packages.join(folder)));
    }
    if let Some(paths) = env::var_os("LD_LIBRARY_PATH") {
        folders.extend(env::split_paths(&paths));
    }
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        folders.extend(env::var_os(variable).map(|folder| Path::new(&folder).join("lib64")));
    }
    folders.push("/usr/local/cuda/lib64".into());
    folders.push("/usr/lib/x86_64-linux-gnu".into());
    folders.push("/usr/lib/aarch64-linux-gnu".into());
    let paths = folders
        .iter()
        .flat_map(|folder| NAMES.iter().map(move |name| folder.join(name)));
    paths.filter(|path| is_original(path)).collect()
}

/// The folders of Python packages, from the mapped files of the process.
fn package_folders(maps: &str) -> BTreeSet<PathBuf> {
    let paths = maps
        .lines()
        .filter_map(|line| line.find('/').and_then(|start| line.get(start..)));
    paths
        .filter_map(|path| {
            let mut folders = Path::new(path).ancestors();
            folders.find(|folder| folder.file_name() == Some(OsStr::new(PACKAGES)))
        })
        .map(Path::to_owned)
        .collect()
}

/// Whether a file exists, and is not the replacement: `ptxkit exec` writes small libraries with the same names, beside a link of the name of the replacement.
fn is_original(path: &Path) -> bool {
    path.is_file() && !path.with_file_name(REPLACEMENT).exists()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::package_folders;

    #[test]
    fn packages_are_those_of_mapped_files() {
        let maps = "7f00-7f10 r-xp 00000000 fe:00 12 /a b/env/lib/python3.11/site-packages/cuda/bindings/x.so\n\
                    7f10-7f20 r-xp 00000000 fe:00 13 /usr/lib/libc.so.6\n\
                    7f20-7f30 rw-p 00000000 00:00 0 [heap]\n";
        let folders = package_folders(maps);
        let expected = Path::new("/a b/env/lib/python3.11/site-packages");
        assert_eq!(
            folders.iter().map(AsRef::as_ref).collect::<Vec<&Path>>(),
            [expected]
        );
    }
}
