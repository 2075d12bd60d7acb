//! An analysis of many files: for each kernel its loops, its live registers, and its accesses to global memory in loops.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ptx_analysis::calls::CallGraph;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::FunctionKind;
use ptx_ir::facts::{ModuleFacts, Space};
use ptx_isa::StateSpace;

/// The results for a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The name.
    pub name: String,
    /// The number of functions of the module that the kernel may call, directly or through others.
    pub callees: usize,
    /// The number of natural loops.
    pub loops: usize,
    /// The depth of the innermost loop; 1 for a loop that is in no other.
    pub depth: u32,
    /// The greatest number of live registers, in units of 32 bits.
    pub pressure: u32,
    /// The number of instructions in loops that access global memory.
    pub accesses_in_loops: usize,
}

/// Analyzes the kernels of a file.
#[must_use]
pub fn kernels(text: &[u8]) -> Vec<Kernel> {
    let module = ptx_parse::parse(text).module;
    let facts = ModuleFacts::new(&module);
    let calls = CallGraph::new(&facts);
    let mut kernels = Vec::new();
    for (id, function, _) in module.definitions() {
        let Some(facts) = facts.function(id) else {
            continue;
        };
        if function.kind != FunctionKind::Entry {
            continue;
        }
        let analysis = FunctionAnalysis::new(facts);
        kernels.push(Kernel {
            name: module.name(function.name).to_owned(),
            callees: calls.reachable([id]).len() - 1,
            loops: analysis.loops().len(),
            depth: analysis
                .loops()
                .iter()
                .map(|(_, l)| l.depth())
                .max()
                .unwrap_or(0),
            pressure: analysis.pressure().units,
            accesses_in_loops: accesses_in_loops(&analysis),
        });
    }
    kernels
}

fn accesses_in_loops(analysis: &FunctionAnalysis<'_>) -> usize {
    let facts = analysis.facts();
    analysis
        .cfg()
        .blocks()
        .filter(|(id, _)| analysis.loops().depth(*id) > 0)
        .flat_map(|(_, block)| block.insts(facts.body()))
        .filter(|(_, inst)| {
            let mut accesses = facts.inst(*inst).memory();
            accesses.any(|access| access.space == Space::State(StateSpace::Global))
        })
        .count()
}

/// Returns the `.ptx` files in a folder and the folders inside it, sorted by path.
///
/// # Errors
///
/// If a folder cannot be read.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            paths.extend(files(&path)?);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
