//! The programs: the steps of each with every module that has its kernels.

use std::fs;
use std::path::{Path, PathBuf};

use super::case::{self, Line};

/// A program with one of its modules.
pub struct Program {
    pub title: String,
    /// The text of the steps.
    pub steps: String,
    pub module: PathBuf,
}

/// The programs of a folder; without one, those of `corpus/compiled/programs`.
pub fn programs(folder: Option<PathBuf>) -> Vec<Program> {
    let compiled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/compiled");
    let folder = folder.unwrap_or(compiled.join("programs"));
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the programs")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let mut programs = Vec::new();
    for file in files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "case"))
    {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(file).expect("a text");
        let lines = case::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let named = lines.iter().filter_map(|line| match line {
            Line::Module(path) => Some(compiled.join(path)),
            _ => None,
        });
        let prefix = format!("{name}.");
        let own = files.iter().filter(|f| {
            let of = f.file_name().unwrap_or_default().to_string_lossy();
            of.starts_with(&prefix) && of.ends_with(".ptx")
        });
        for module in named.chain(own.cloned()) {
            let kernels = module.file_stem().unwrap_or_default().to_string_lossy();
            let title = match kernels.strip_prefix(&prefix) {
                Some(variant) => format!("{name}::{variant}"),
                None => format!("{name}::{kernels}"),
            };
            programs.push(Program {
                title,
                steps: text.clone(),
                module,
            });
        }
    }
    programs
}
