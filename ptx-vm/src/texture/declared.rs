//! The properties that a module declares for its variables of type `.texref`, `.samplerref` and `.surfref`.

use std::collections::HashMap;

use ptx_ir::{Declarator, Item, Module, Operand, OperandPool};
use ptx_isa::{Modifier, StateSpace};

use super::description::{AddressMode, Coordinates, FilterMode, Sampler};
use super::store::{OpaqueKind, OpaqueVariable};
use crate::program::HANDLE;

/// The values of address modes, in the order of their numbers. Manual 9.7.10.5.
pub(super) const ADDRESS_MODES: [(&str, AddressMode); 5] = [
    ("wrap", AddressMode::Wrap),
    ("mirror", AddressMode::Mirror),
    ("clamp_ogl", AddressMode::ClampOgl),
    ("clamp_to_edge", AddressMode::ClampToEdge),
    ("clamp_to_border", AddressMode::ClampToBorder),
];

/// The values of filter modes, in the order of their numbers. Manual 9.7.10.5.
pub(super) const FILTER_MODES: [(&str, FilterMode); 2] = [
    ("nearest", FilterMode::Nearest),
    ("linear", FilterMode::Linear),
];

/// The modifiers that query the address modes of the three dimensions.
pub(super) const ADDRESS_QUERIES: [Modifier; 3] = [
    Modifier::AddrMode0,
    Modifier::AddrMode1,
    Modifier::AddrMode2,
];

/// The maximum number of elements of an array that can be bound; a kernel uses at most 256 textures. Manual 9.7.10.1.
const MAX_ELEMENTS: usize = 1 << 12;

/// The fields of the initial value of a variable, as the modifiers that query them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct DeclaredProperties {
    values: Vec<(Modifier, u32)>,
}

impl DeclaredProperties {
    /// The declared value of a property.
    pub(crate) fn get(&self, query: Modifier) -> Option<u32> {
        let mut values = self.values.iter();
        Some(values.find(|(field, _)| *field == query)?.1)
    }

    /// Adds the fields that an initial value contains.
    fn add(&mut self, module: &Module, pool: &OperandPool, fields: &[Operand]) {
        for field in fields {
            let Operand::Field(parts) = *field else {
                continue;
            };
            let (Operand::Name(name), value) = pool.pair(parts) else {
                continue;
            };
            let query = format!(".{}", module.name(name)).parse();
            let value = match value {
                Operand::Name(mode) => mode_number(module.name(mode)),
                other => pool.integer(other).map(|value| value as u32),
            };
            self.values.extend(query.ok().zip(value));
        }
    }

    /// The declared sampler.
    pub(crate) fn sampler(&self, kind: OpaqueKind) -> Sampler {
        let mut sampler = Sampler::default();
        for (mode, query) in sampler.address_modes.iter_mut().zip(ADDRESS_QUERIES) {
            let declared = self.get(query).and_then(|n| ADDRESS_MODES.get(n as usize));
            if let Some((_, declared)) = declared {
                *mode = *declared;
            }
        }
        let filter = self.get(Modifier::FilterMode);
        if let Some((_, filter)) = filter.and_then(|n| FILTER_MODES.get(n as usize)) {
            sampler.filter = *filter;
        }
        let is_normalized = match kind {
            // A separate sampler can only turn off what the texture selects.
            OpaqueKind::Sampler => self.get(Modifier::ForceUnnormalizedCoords) != Some(1),
            _ => self.get(Modifier::NormalizedCoords) == Some(1),
        };
        if is_normalized {
            sampler.coordinates = Coordinates::Normalized;
        }
        sampler
    }
}

/// The number of an address mode or a filter mode.
fn mode_number(name: &str) -> Option<u32> {
    let address = ADDRESS_MODES.iter().position(|(mode, _)| *mode == name);
    let filter = || FILTER_MODES.iter().position(|(mode, _)| *mode == name);
    Some(address.or_else(filter)? as u32)
}

/// The variables of a module for textures, samplers and surfaces, with their addresses. `ranges` are the names and the ranges of addresses of all variables.
pub(crate) fn opaque_variables(
    module: &Module,
    ranges: &[(Box<str>, u64, u64)],
) -> Vec<(u64, OpaqueVariable)> {
    let mut addresses = HashMap::new();
    for (name, start, end) in ranges {
        addresses.entry(&**name).or_insert((*start, *end));
    }
    let mut variables = Vec::new();
    for (_, item) in module.items() {
        let Item::Decl(id) = item else {
            continue;
        };
        let decl = &module.declarations().decls[id];
        let kind = match decl.space.base() {
            StateSpace::Tex => Some(OpaqueKind::Texture),
            _ => decl.ty.known().and_then(OpaqueKind::of),
        };
        let Some(kind) = kind else {
            continue;
        };
        for declarator in module.declarations().declarators(id) {
            let name = module.name(declarator.name);
            let Some(&(start, end)) = addresses.get(name) else {
                continue;
            };
            let properties = declared_properties(module, declarator);
            let elements = (start..end.max(start + 1)).step_by(HANDLE as usize);
            for (index, address) in elements.take(MAX_ELEMENTS).enumerate() {
                let declared = properties.get(index).cloned().unwrap_or_default();
                let variable = OpaqueVariable {
                    name: name.into(),
                    kind,
                    declared,
                    object: None,
                };
                variables.push((address, variable));
            }
        }
    }
    variables
}

/// The properties of each element of a variable. Fields outside of inner braces belong to the first element.
fn declared_properties(module: &Module, declarator: &Declarator) -> Vec<DeclaredProperties> {
    let pool = module.pool();
    let Operand::Vector(list) = declarator.init else {
        return Vec::new();
    };
    let mut worklist = vec![pool.list(list)];
    let mut properties = Vec::new();
    while let Some(parts) = worklist.pop() {
        let mut inner = Vec::new();
        for part in parts {
            if let Operand::Vector(list) = *part {
                inner.push(pool.list(list));
            }
        }
        if inner.is_empty() {
            let mut declared = DeclaredProperties::default();
            declared.add(module, pool, parts);
            properties.push(declared);
        }
        worklist.extend(inner.into_iter().rev());
    }
    properties
}
