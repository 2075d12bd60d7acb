//! The header of a function as text, and the types and sizes of variables.

use std::collections::BTreeMap;

use ptx_ir::{Declarations, Function, Module, Operand, OperandPool, Param, TableRange, TypeName};
use ptx_isa::StateSpace;
use serde::Serialize;

use crate::clean;

/// Parameters, results and directives of a header.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Signature {
    /// The values that a device function returns.
    pub results: Vec<Parameter>,
    /// The parameters in order.
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
    /// Describes the header of a function of `module`.
    #[must_use]
    pub fn new(module: &Module, function: &Function) -> Self {
        let interface = function.interface;
        let parameters = |range: TableRange| {
            range
                .of(module.params())
                .iter()
                .map(|param| Parameter::new(module, param))
                .collect()
        };
        let directives = interface
            .directives
            .of(module.interface_directives())
            .iter()
            .map(|directive| {
                let name = directive.directive.text().trim_start_matches('.');
                let numbers = module
                    .pool()
                    .slice(directive.args)
                    .iter()
                    .filter_map(|argument| module.pool().integer(*argument))
                    .collect();
                (name, numbers)
            })
            .collect();
        Self {
            results: parameters(interface.returns),
            params: parameters(interface.params),
            directives,
        }
    }

    /// The directives with their numbers: `.maxntid 128, 1, 1; .minnctapersm 2`.
    #[must_use]
    pub fn directives_text(&self) -> String {
        let texts: Vec<String> = self
            .directives
            .iter()
            .map(|(name, numbers)| {
                let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
                format!(".{name} {}", numbers.join(", "))
                    .trim_end()
                    .to_owned()
            })
            .collect();
        texts.join("; ")
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
        words.push(type_name(module, param.ty, param.vector));
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

/// `.b32`, `.v4.f32`.
#[must_use]
pub fn type_name(module: &Module, ty: TypeName, vector: u8) -> String {
    let text = match ty {
        TypeName::Known(ty) => ty.text(),
        TypeName::Unknown(name) => &clean(module.name(name)),
    };
    match vector {
        0 | 1 => text.to_owned(),
        n => format!(".v{n}{text}"),
    }
}

/// The bytes of all variables in a state space, without padding between them.
pub fn bytes_of(declarations: &Declarations, pool: &OperandPool, space: StateSpace) -> u64 {
    declarations
        .decls
        .iter()
        .filter(|(_, decl)| decl.space.base() == space)
        .flat_map(|(id, decl)| {
            declarations.declarators(id).iter().map(|declarator| {
                let size = decl.layout(declarator, pool).and_then(|layout| layout.size);
                let count = u64::try_from(pool.integer(declarator.count).unwrap_or(1)).unwrap_or(0);
                size.unwrap_or(0).saturating_mul(count)
            })
        })
        .fold(0, u64::saturating_add)
}
