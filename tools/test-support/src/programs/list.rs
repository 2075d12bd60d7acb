//! The programs: the steps of each with every module that contains its kernels.

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

/// The programs of a folder; those of `corpus/compiled/programs` without one.
pub fn programs(folder: Option<PathBuf>) -> Vec<Program> {
    let compiled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/compiled");
    let folder = folder.unwrap_or(compiled.join("programs"));
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the programs")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let mut programs = Vec::new();
    for file in &files {
        if file.extension().is_none_or(|e| e != "case") {
            continue;
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(file).expect("a text");
        let lines = case::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let named_modules = lines.iter().filter_map(|line| match line {
            Line::Module(path) => Some(compiled.join(path)),
            _ => None,
        });
        let prefix = format!("{name}.");
        let modules_beside = files.iter().filter(|f| {
            let file_name = f.file_name().unwrap_or_default().to_string_lossy();
            file_name.starts_with(&prefix) && file_name.ends_with(".ptx")
        });
        for module in named_modules.chain(modules_beside.cloned()) {
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
