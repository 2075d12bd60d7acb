//! The header of a function as text.

use std::collections::BTreeMap;

use ptx_ir::{Function, Module, Operand, Param, TableRange};
use serde::Serialize;

use crate::clean;

/// Parameters, results and directives of a header.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Signature {
    /// Those that a device function returns.
    pub results: Vec<Parameter>,
    /// In order.
    pub params: Vec<Parameter>,
    /// Launch bounds and other directives after the parameters, with their numbers.
    pub directives: BTreeMap<&'static str, Vec<i64>>,
}

/// A parameter or a result.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Parameter {
    /// Its name; `None` in declarations without names.
    pub name: Option<String>,
    /// `.u64 .ptr .global .align 16`
    #[serde(rename = "type")]
    pub ty: String,
}

impl Signature {
    /// Of a function of a module.
    #[must_use]
    pub fn new(module: &Module, function: &Function) -> Self {
        let interface = function.interface;
        let list = |range: TableRange| {
            let all = range.of(module.params()).iter();
            all.map(|param| Parameter::new(module, param)).collect()
        };
        let directives = interface.directives.of(module.interface_directives());
        let numbers = |args| {
            let args = module.pool().slice(args).iter();
            args.filter_map(|arg| module.pool().integer(*arg)).collect()
        };
        let directives = directives.iter().map(|d| {
            let name = d.directive.text().trim_start_matches('.');
            (name, numbers(d.args))
        });
        Self {
            results: list(interface.returns),
            params: list(interface.params),
            directives: directives.collect(),
        }
    }
}

impl Parameter {
    fn new(module: &Module, param: &Param) -> Self {
        let pool = module.pool();
        let mut words: Vec<String> = Vec::new();
        let align = |words: &mut Vec<String>, align: Operand| {
            if let Some(bytes) = pool.integer(align) {
                words.push(format!(".align {bytes}"));
            }
        };
        align(&mut words, param.align);
        words.push(super::type_name(module, param.ty, param.vector));
        if let Some(pointer) = param.ptr {
            words.push(".ptr".to_owned());
            words.extend(pointer.space.map(|space| space.text().to_owned()));
            words.extend(pointer.opaque.map(|ty| ty.text().to_owned()));
            align(&mut words, pointer.align);
        }
        let mut ty = words.join(" ");
        for dim in pool.slice(param.dims) {
            let size = pool.integer(*dim).map(|n| n.to_string());
            ty.push_str(&format!("[{}]", size.unwrap_or_default()));
        }
        Self {
            name: param.name.map(|n| clean(module.name(n)).into_owned()),
            ty,
        }
    }
}
