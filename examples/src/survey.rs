//! An analysis of many files: for each kernel its loops, its live registers, and its accesses to global memory in loops.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ptx_analysis::calls::CallGraph;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::facts::{ModuleFacts, Space};
use ptx_ir::{FunctionKind, Statement};
use ptx_isa::StateSpace;

/// What is found about a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// The functions of the module that it may call, directly or not.
    pub callees: usize,
    /// The number of its natural loops.
    pub loops: usize,
    /// How deep they are nested.
    pub depth: u32,
    /// The greatest number of live registers, in units of 32 bits.
    pub pressure: u32,
    /// The instructions in loops that access global memory.
    pub accesses_in_loops: usize,
}

/// The kernels of a file.
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
    let inside = |&(id, _): &(_, _)| analysis.loops().depth(id) > 0;
    let blocks = analysis.cfg().blocks().filter(inside);
    let statements = blocks.flat_map(|(_, b)| facts.body().range(b.first, b.end));
    let accesses = statements.filter(|&(_, statement)| match statement {
        Statement::Inst(inst) => {
            let mut memory = facts.inst(inst).memory();
            memory.any(|access| access.space == Space::State(StateSpace::Global))
        }
        _ => false,
    });
    accesses.count()
}

/// Every `.ptx` file in a folder and the folders inside it, in order.
///
/// # Errors
///
/// If a folder cannot be read.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
