//! The registers of a function and the elements of its vector registers, which dataflow analyses follow separately.
//!
//! Their dense numbers are called *variables*: registers are in the order of their ids, and a vector register has one number for each
//! element. A statement that names a whole vector register names all its elements.

use alloc::vec::Vec;
use core::iter::repeat_n;

use ptx_ir::facts::RegisterComponent;
use ptx_ir::{Body, EntityId as _, RegId};
use ptx_isa::RegisterClass;

use crate::dataflow::{JoinSemiLattice, SparseSet};

crate::ids::ids! {
    /// A register of a function, or an element of a vector register: see [`Variables`].
    ///
    /// The SSA form has further variables, whose numbers follow: the carry flag ([`Ssa::carry`](crate::ssa::Ssa::carry)), and cells of local memory.
    VariableId;
}

/// The numbers of the registers of a body and of their elements.
#[derive(Clone, Debug)]
pub struct Variables {
    /// The first variable of each register, and the end of the last one; empty where all registers are scalars.
    starts: Vec<u32>,
    /// The register of each variable; empty where all registers are scalars.
    registers: Vec<RegId>,
    /// The class of the register of each variable.
    classes: Vec<Option<RegisterClass>>,
}

impl Variables {
    /// Numbers the registers of a body.
    #[must_use]
    pub fn new(body: &Body) -> Self {
        let has_vectors = body.reg_decls().values().any(|d| d.vector > 1);
        let mut variables = Self {
            starts: Vec::new(),
            registers: Vec::new(),
            classes: Vec::with_capacity(body.registers().len()),
        };
        for (id, register) in body.registers().iter() {
            let declaration = body.reg_decls().get(register.decl);
            let class = declaration.and_then(|d| d.ty.known()?.register_class());
            let elements = declaration.map_or(1, |d| usize::from(d.vector.max(1)));
            if has_vectors {
                variables.starts.push(variables.classes.len() as u32);
                variables.registers.extend(repeat_n(id, elements));
            }
            variables.classes.extend(repeat_n(class, elements));
        }
        if has_vectors {
            variables.starts.push(variables.classes.len() as u32);
        }
        variables
    }

    /// The number of variables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Returns whether the body mentions no register.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// All variables, in the order of their numbers.
    #[must_use]
    pub fn ids(&self) -> VariableRange {
        VariableRange {
            start: 0,
            end: self.classes.len() as u32,
        }
    }

    /// The variables that an instruction mentions.
    #[inline]
    #[must_use]
    pub fn of(&self, place: RegisterComponent) -> VariableRange {
        let id = place.register.as_u32();
        if self.starts.is_empty() {
            return VariableRange {
                start: id,
                end: id + 1,
            };
        }
        let bound = |i: usize| {
            self.starts
                .get(i)
                .copied()
                .unwrap_or(self.classes.len() as u32)
        };
        let (start, end) = (bound(id as usize), bound(id as usize + 1));
        match place.component {
            // A selector of a scalar, or one beyond its vector, is an error: it denotes the whole register.
            Some(element) if start + u32::from(element) < end && end - start > 1 => {
                let variable = start + u32::from(element);
                VariableRange {
                    start: variable,
                    end: variable + 1,
                }
            }
            _ => VariableRange { start, end },
        }
    }

    /// The register, or the element of a vector register, with this number.
    #[inline]
    #[must_use]
    pub fn place(&self, variable: VariableId) -> RegisterComponent {
        let Some(&register) = self.registers.get(variable.index()) else {
            return RegId::new(variable.0).into();
        };
        let range = self.of(register.into());
        RegisterComponent {
            register,
            component: (range.len() > 1).then_some((variable.0 - range.start) as u8),
        }
    }

    /// The class of the register that holds a variable; `None` if its type is unknown.
    #[inline]
    #[must_use]
    pub fn class(&self, variable: VariableId) -> Option<RegisterClass> {
        self.classes.get(variable.index()).copied().flatten()
    }
}

/// Consecutive variables: those of a register or of an element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VariableRange {
    start: u32,
    end: u32,
}

impl VariableRange {
    /// The first variable. A register has at least one.
    #[must_use]
    pub const fn first(&self) -> VariableId {
        VariableId(self.start)
    }

    /// The variable of a scalar register or of an element; `None` for a whole vector register.
    #[must_use]
    pub fn single(&self) -> Option<VariableId> {
        (self.len() == 1).then_some(self.first())
    }

    /// Returns whether a variable is one of them.
    #[must_use]
    pub fn contains(&self, variable: &VariableId) -> bool {
        (self.start..self.end).contains(&variable.0)
    }
}

impl Iterator for VariableRange {
    type Item = VariableId;

    fn next(&mut self) -> Option<VariableId> {
        let variable = (self.start < self.end).then_some(VariableId(self.start))?;
        self.start += 1;
        Some(variable)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.end.saturating_sub(self.start) as usize;
        (len, Some(len))
    }
}

impl ExactSizeIterator for VariableRange {}

/// A set of variables. Its memory is linear in its elements.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct VariableSet(SparseSet);

impl VariableSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(SparseSet::new())
    }

    /// Returns whether the set contains a variable. Logarithmic in its size.
    #[must_use]
    pub fn contains(&self, variable: VariableId) -> bool {
        self.0.contains(variable.0)
    }

    /// Adds a variable; returns whether the set changed.
    pub fn insert(&mut self, variable: VariableId) -> bool {
        self.0.insert(variable.0)
    }

    /// Removes a variable; returns whether the set changed.
    pub fn remove(&mut self, variable: VariableId) -> bool {
        self.0.remove(variable.0)
    }

    /// The number of variables.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Returns whether the set has no variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The variables, ascending.
    pub fn iter(&self) -> impl Iterator<Item = VariableId> + '_ {
        self.0.iter().map(VariableId)
    }
}

/// Sets are joined by their union.
impl JoinSemiLattice for VariableSet {
    fn join(&mut self, other: &Self) -> bool {
        self.0.join(&other.0)
    }
}

impl FromIterator<VariableId> for VariableSet {
    fn from_iter<I: IntoIterator<Item = VariableId>>(variables: I) -> Self {
        Self(variables.into_iter().map(|variable| variable.0).collect())
    }
}
