//! The memory accesses of a function.

use std::collections::HashMap;

use ptx_analysis::memory_access::{self, Provenance};
use ptx_analysis::values::VariableRef;
use ptx_ir::Module;
use ptx_ir::facts::Space;
use serde::Serialize;

use super::function::Of;
use crate::clean;
use crate::function_stats::Access as Kind;
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

/// The accesses, and the numbers of those that could be one vector access.
pub(super) fn of(of: &Of<'_>) -> (Vec<Access>, Vec<Vec<usize>>) {
    let Some(values) = of.values else {
        return (Vec::new(), Vec::new());
    };
    let mut found = Vec::new();
    let mut numbers = HashMap::new();
    for (at, access) in values.accesses().all().iter().enumerate() {
        if is_param(access) || access.space == Space::Any || access.access.is_mbarrier {
            continue;
        }
        numbers.insert(at, found.len());
        found.push(one(of, access));
    }
    let adjacent = values.accesses().adjacent().iter().map(|group| {
        let accesses = group.accesses.iter();
        accesses.filter_map(|at| numbers.get(at).copied()).collect()
    });
    let adjacent = adjacent.filter(|group: &Vec<usize>| group.len() > 1);
    (found, adjacent.collect())
}

fn one(of: &Of<'_>, access: &memory_access::Access) -> Access {
    let kind = Kind::new(&access.access, of.facts.body());
    let block = of.analysis.cfg().of_statement(access.stmt);
    let text = of.values.map(|v| v.text(of.names));
    let coalescing = Coalescing::of(access);
    let least_sectors = coalescing.as_ref().zip(access.access.bytes);
    Access {
        line: of.line(access.stmt),
        source: of.source(access.stmt),
        block: block.map_or(0, |b| b.as_u32()),
        loop_depth: block.map_or(0, |b| of.analysis.loops().depth(b)),
        mnemonic: of
            .signature(access.inst)
            .map_or(String::new(), |s| s.text().to_owned()),
        space: Labeled(access.space),
        access: kind.access,
        bytes: kind.bytes,
        vector: kind.vector,
        alignment: access.alignment,
        address: access
            .address
            .zip(text)
            .map(|(form, text)| text.form(&form)),
        object: access.provenance.map(|p| object(p, of.module(), of)),
        least_sectors: least_sectors.and_then(|(c, bytes)| c.least_sectors(bytes)),
        coalescing,
    }
}

/// The name of the object that an address points into.
fn object(of: Provenance, module: &Module, function: &Of<'_>) -> String {
    let local = |variable| {
        let variable = function.facts.body().vars().get(variable);
        variable.map(|v| (v.name, v.number))
    };
    let (name, offset) = match of {
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
