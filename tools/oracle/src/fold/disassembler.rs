//! Runs `nvdisasm` on cubins.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::assembler::cache_folder;
use crate::shared::Shared;

/// The program `nvdisasm`.
pub(super) struct Disassembler(PathBuf);

impl Disassembler {
    /// The program of the variable `NVDISASM`, the one on `PATH`, or the one that `.ci/run` installs. Without any, an error where programs
    /// are required, else a warning.
    pub(super) fn find(shared: &Shared) -> Result<Option<Self>> {
        let path = std::env::var_os("NVDISASM")
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
            .or_else(on_path)
            .or_else(installed);
        if path.is_none() {
            if shared.requires_ptxas() {
                bail!("no nvdisasm: set NVDISASM or put it on PATH");
            }
            println!(
                "!!! NO NVDISASM: CONSTANTS OF PTXAS NOT COMPARED (set NVDISASM or put it on PATH) !!!"
            );
        }
        Ok(path.map(Self))
    }

    /// The code of a cubin as text, with the encoding of each instruction.
    pub(super) fn run(&self, cubin: &[u8]) -> Result<String> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("module.cubin");
        fs::write(&path, cubin)?;
        let mut command = Command::new(&self.0);
        command.args(["-c", "-ndf", "-hex"]).arg(&path);
        let output = command.output().context("running nvdisasm")?;
        if !output.status.success() {
            bail!("nvdisasm: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join("nvdisasm"))
        .find(|program| program.is_file())
}

/// The program in the Python environment `$XDG_CACHE_HOME/ptxkit-nvdisasm`.
fn installed() -> Option<PathBuf> {
    fs::read_dir(cache_folder()?.join("ptxkit-nvdisasm/lib"))
        .ok()?
        .flatten()
        .map(|python| python.path().join("site-packages/nvidia/cu13/bin/nvdisasm"))
        .find(|program| program.is_file())
}
