//! A service that stores modules from untrusted sources: limits for the input, cached analyses, threads that share them, diagnostics as
//! JSON, and a comparison with the previous version.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, RwLock};

use ptxkit::analysis::function_analysis::{FunctionAnalysis, SavedAnalysis};
use ptxkit::diff::{Equality, ModuleDiff};
use ptxkit::ir::facts::{FactTables, ModuleFacts};
use ptxkit::ir::{Diagnostic, FuncId, Limits, Module};
use serde::Serialize;

/// A module with its cached facts, analyses and diagnostics.
#[derive(Debug)]
struct Entry {
    module: Module,
    facts: Arc<FactTables>,
    analyses: HashMap<FuncId, SavedAnalysis>,
    diagnostics: Vec<Diagnostic>,
}

impl Entry {
    fn new(text: Vec<u8>) -> Self {
        let mut limits = Limits::default();
        (limits.source_bytes, limits.nesting, limits.diagnostics) = (8 << 20, 64, 100);
        let parsed = ptxkit::parse::parse_with(text, &limits);
        let (module, mut diagnostics) = (parsed.module, parsed.diagnostics);
        diagnostics.extend(ptxkit::verify::verify(&module, &Default::default()));
        let facts = ModuleFacts::new(&module);
        let functions = module
            .definitions()
            .filter_map(|(id, ..)| facts.function(id));
        let analyses = functions
            .map(|function| (function.id(), FunctionAnalysis::new(function).save()))
            .collect();
        let facts = facts.tables().clone();
        Self {
            module,
            facts,
            analyses,
            diagnostics,
        }
    }
}

/// The answer to a new version of a module.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The errors and warnings of the new version.
    pub diagnostics: Vec<Diagnostic>,
    /// The functions that differ from the previous version.
    pub changed: Vec<String>,
}

/// Modules by name.
#[derive(Debug, Default)]
pub struct Store {
    entries: RwLock<HashMap<String, Arc<Entry>>>,
}

impl Store {
    /// Replaces the module with this name.
    pub fn put(&self, name: &str, text: Vec<u8>) -> Result<Answer, Box<dyn Error + '_>> {
        let entry = Arc::new(Entry::new(text));
        let previous = self.entries.write()?.insert(name.into(), entry.clone());
        let mut changed = Vec::new();
        if let Some(previous) = previous {
            let diff = ModuleDiff::new(&previous.module, &entry.module, Equality::Statements);
            for function in diff
                .functions
                .iter()
                .filter(|function| !function.is_equal())
            {
                let new = function.right.map(|id| entry.module.function_name(id));
                let old = function.left.map(|id| previous.module.function_name(id));
                changed.extend(new.or(old).map(str::to_owned));
            }
        }
        Ok(Answer {
            diagnostics: entry.diagnostics.clone(),
            changed,
        })
    }

    /// Returns the number of 32-bit registers that are live at the same time in a function.
    pub fn pressure(&self, name: &str, function: &str) -> Result<u32, Box<dyn Error + '_>> {
        let entry = self
            .entries
            .read()?
            .get(name)
            .cloned()
            .ok_or("no such module")?;
        let facts = ModuleFacts::with_tables(&entry.module, entry.facts.clone())?;
        let id = entry.module.function(function).ok_or("no such function")?;
        let (facts, saved) = facts
            .function(id)
            .zip(entry.analyses.get(&id))
            .ok_or("no body")?;
        Ok(FunctionAnalysis::resume(facts, saved)?.pressure().units)
    }
}
