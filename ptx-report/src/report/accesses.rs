//! The memory accesses of a function.

use std::collections::HashMap;

use ptx_analysis::memory_access::{self, Provenance};
use ptx_analysis::values::VariableRef;
use ptx_ir::facts::Space;
use serde::Serialize;

use super::context::FunctionContext;
use crate::clean;
use crate::function_stats::Access as AccessKind;
use crate::function_values::{Coalescing, is_param};
use crate::labels::Labeled;

/// A memory access of an instruction.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Access {
    /// The line of the instruction in the file.
    pub line: u32,
    /// Its line in the original program: `a.cu:11`.
    pub source: Option<String>,
    /// The id of its block.
    pub block: u32,
    /// The number of loops that contain it.
    pub loop_depth: u32,
    /// Opcode and modifiers.
    pub mnemonic: String,
    /// The state space, including the inferred one of a generic address.
    pub space: Labeled<Space>,
    /// The kind of the access.
    pub access: Labeled<ptx_isa::Access>,
    /// The number of bytes that a thread accesses, if known.
    pub bytes: Option<u64>,
    /// The number of elements of a vector.
    pub vector: usize,
    /// The largest power of two that is known to divide the address.
    pub alignment: u64,
    /// The address as an affine form.
    pub address: Option<String>,
    /// The accessed object: that of a parameter, or a variable.
    pub object: Option<String>,
    /// The access pattern of the lanes of a warp, if known.
    pub coalescing: Option<Coalescing>,
    /// The number of sectors that contiguous accesses of the same size need.
    pub least_sectors: Option<u64>,
}

/// The memory accesses of a function that a report lists.
#[derive(Default)]
pub(super) struct ListedAccesses {
    pub(super) accesses: Vec<Access>,
    /// The indices of accesses that could be one vector access.
    pub(super) adjacent: Vec<Vec<usize>>,
}

impl ListedAccesses {
    /// Lists the accesses except those to parameters and mbarrier objects, and those that may be to any state space.
    pub(super) fn new(function: &FunctionContext<'_>) -> Self {
        let Some(values) = function.values else {
            return Self::default();
        };
        let mut accesses = Vec::new();
        // The index in `accesses` of each listed access of the analysis.
        let mut indices = HashMap::new();
        for (index, access) in values.accesses().all().iter().enumerate() {
            if is_param(access) || access.space == Space::Any || access.access.is_mbarrier {
                continue;
            }
            indices.insert(index, accesses.len());
            accesses.push(Access::new(access, function));
        }
        let adjacent = values
            .accesses()
            .adjacent()
            .iter()
            .map(|group| {
                group
                    .accesses
                    .iter()
                    .filter_map(|index| indices.get(index).copied())
                    .collect()
            })
            .filter(|group: &Vec<usize>| group.len() > 1)
            .collect();
        Self { accesses, adjacent }
    }
}

impl Access {
    fn new(access: &memory_access::Access, function: &FunctionContext<'_>) -> Self {
        let kind = AccessKind::new(&access.access, function.facts.body());
        let block = function.analysis.cfg().of_statement(access.stmt);
        let coalescing = function
            .values
            .and_then(|values| Coalescing::with_text(access, &values.text(function.names)));
        Self {
            line: function.line(access.stmt),
            source: function.source(access.stmt),
            block: block.map_or(0, |b| b.as_u32()),
            loop_depth: block.map_or(0, |b| function.analysis.loops().depth(b)),
            mnemonic: function.mnemonic(access.inst),
            space: Labeled(access.space),
            access: kind.access,
            bytes: kind.bytes,
            vector: kind.vector,
            alignment: access.alignment,
            address: access
                .address
                .zip(function.values)
                .map(|(form, values)| values.text(function.names).form(&form)),
            object: access
                .provenance
                .map(|provenance| object_name(provenance, function)),
            least_sectors: coalescing
                .as_ref()
                .zip(access.access.bytes)
                .and_then(|(coalescing, bytes)| coalescing.least_sectors(bytes)),
            coalescing,
        }
    }
}

/// The name of the object that an address points into.
fn object_name(provenance: Provenance, function: &FunctionContext<'_>) -> String {
    let module = function.module();
    let local = |variable| {
        let variable = function.facts.body().vars().get(variable);
        variable.map(|v| (v.name, v.number))
    };
    let (name, offset) = match provenance {
        Provenance::Parameter { variable, offset } => (local(variable), offset),
        Provenance::Variable(VariableRef::Local(variable)) => (local(variable), 0),
        Provenance::Variable(VariableRef::Module(symbol)) => {
            let symbol = module.symbols().get(symbol);
            (symbol.map(|s| (s.name, s.number)), 0)
        }
        _ => (None, 0),
    };
    let Some((name, number)) = name else {
        return String::new();
    };
    let number = number.map_or(String::new(), |n| n.to_string());
    let name = clean(module.name(name)).into_owned();
    match offset {
        0 => name + &number,
        offset => format!("{name}{number}[{offset}]"),
    }
}
