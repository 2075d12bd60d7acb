//! Runs nvdisasm on the machine code that ptxas writes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, process};

use anyhow::{Context as _, Result, bail};
use ptx_report::clean;
use ptx_report::sass::Disassembly;

/// The nvdisasm that an option names, else the one beside ptxas, else the one on PATH.
///
/// # Errors
///
/// There is no nvdisasm.
pub(crate) fn find(option: Option<&Path>, ptxas: &Path) -> Result<PathBuf> {
    if let Some(path) = option {
        return Ok(path.to_owned());
    }
    let name = format!("nvdisasm{}", env::consts::EXE_SUFFIX);
    let path = env::var_os("PATH").unwrap_or_default();
    let ptxas_folder = ptxas.parent().map(Path::to_owned);
    let folders = ptxas_folder.into_iter().chain(env::split_paths(&path));
    let mut programs = folders.map(|folder| folder.join(&name));
    programs.find(|program| program.is_file()).with_context(|| {
        let ptxas = clean(&ptxas.to_string_lossy()).into_owned();
        format!(
            "no nvdisasm beside {ptxas} or on PATH: name one with --nvdisasm; `pip install nvidia-cuda-nvdisasm` installs it"
        )
    })
}

/// Disassembles a cubin.
///
/// # Errors
///
/// nvdisasm cannot be started, or it does not accept the file.
pub(crate) fn disassemble(nvdisasm: &Path, cubin: &Path) -> Result<Disassembly> {
    let output = Command::new(nvdisasm)
        .args(["-c", "-gp"])
        .arg(cubin)
        .stdin(Stdio::null())
        .output()
        .with_context(|| nvdisasm.display().to_string())?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let line = message.lines().next().unwrap_or("no message");
        bail!("{}: {}", nvdisasm.display(), clean(line));
    }
    Ok(Disassembly::parse(&String::from_utf8_lossy(&output.stdout)))
}

/// A file in the folder for temporary files, which is removed at the end.
pub(crate) struct TemporaryFile(PathBuf);

impl TemporaryFile {
    /// Creates an empty file whose name is new.
    pub(crate) fn new(extension: &str) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        for _ in 0..1000 {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("ptxkit-{}-{number}.{extension}", process::id());
            let path = env::temp_dir().join(name);
            match fs::File::create_new(&path) {
                Ok(_) => return Ok(Self(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(|| path.display().to_string()),
            }
        }
        bail!("no new name for a temporary file")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // Nothing depends on the file any more.
        let _ = fs::remove_file(&self.0);
    }
}
