//! Registers of a function, fresh ones and those with a name, and its variables.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_isa::{ScalarType, StateSpace};

use super::body::{Fresh, RegisterInfo};
use super::{FunctionBuilder, Meaning};
use crate::declaration::Declaration;
use crate::error::Error;
use crate::operand::Reg;

/// The beginning of the names of fresh registers.
fn prefix(ty: ScalarType) -> String {
    match ty {
        ScalarType::Pred => "%p".into(),
        ScalarType::B16 => "%rs".into(),
        ScalarType::B32 => "%r".into(),
        ScalarType::B64 => "%rd".into(),
        ScalarType::B128 => "%rq".into(),
        ScalarType::F32 => "%f".into(),
        ScalarType::F64 => "%fd".into(),
        ScalarType::F16 => "%h".into(),
        _ => format!("%{}_", ty.text().trim_start_matches('.')),
    }
}

impl FunctionBuilder<'_> {
    /// A fresh register: `%r1`, `%rd2`, `%f3`, `%p1`, …
    #[inline]
    pub fn reg(&mut self, ty: ScalarType) -> Reg {
        let place = self.body.fresh_of.get(ty.index()).copied().flatten();
        let at = match place {
            Some(at) => usize::from(at),
            None => self.add_fresh(ty),
        };
        let start = self.body.register_names.len() as u32;
        if let Some(fresh) = self.body.fresh.get_mut(at) {
            fresh.count += 1;
            self.body.register_names.push_str(&fresh.prefix);
            let _ = write!(self.body.register_names, "{}", fresh.count);
        }
        self.push_register(start, ty, 1, false)
    }

    pub(super) fn add_fresh(&mut self, ty: ScalarType) -> usize {
        let mut prefix = prefix(ty);
        let taken = |prefix: &str| {
            let names = &self.body.names;
            let mut alike = names
                .range(prefix.to_string()..)
                .take_while(|(n, _)| n.starts_with(prefix));
            let number = |n: &str| n.bytes().all(|b| b.is_ascii_digit());
            alike.any(|(n, _)| number(n.strip_prefix(prefix).unwrap_or_default()))
                || self
                    .module
                    .tables
                    .names
                    .iter()
                    .any(|n| n.starts_with(prefix))
        };
        while taken(&prefix) {
            prefix.push('_');
        }
        let at = self.body.fresh.len();
        self.body.fresh.push(Fresh {
            ty,
            prefix,
            count: 0,
        });
        if let Some(place) = self.body.fresh_of.get_mut(ty.index()) {
            *place = Some(at as u8);
        }
        at
    }

    pub(super) fn push_register(
        &mut self,
        start: u32,
        ty: ScalarType,
        vector: u8,
        parameter: bool,
    ) -> Reg {
        let index = self.body.registers.len() as u32;
        self.body.registers.push(RegisterInfo {
            start,
            end: self.body.register_names.len() as u32,
            ty,
            vector,
            visible: true,
            is_parameter: parameter,
        });
        Reg {
            owner: self.body.owner,
            index,
        }
    }

    pub(super) fn add_register(
        &mut self,
        ty: ScalarType,
        vector: u8,
        name: &str,
        parameter: bool,
    ) -> Result<Reg, Error> {
        let index = self.body.registers.len() as u32;
        self.claim(name, Meaning::Register(index))?;
        let start = self.body.register_names.len() as u32;
        self.body.register_names.push_str(name);
        Ok(self.push_register(start, ty, vector, parameter))
    }

    /// A register with a name, declared here, in the scope that is open.
    pub fn named_reg(&mut self, ty: ScalarType, name: &str) -> Result<Reg, Error> {
        self.named_vector(ty, 1, name)
    }

    /// A vector register of 2 or 4 elements (1 is a scalar), declared here.
    pub fn named_vector(&mut self, ty: ScalarType, vector: u8, name: &str) -> Result<Reg, Error> {
        let declaration = Declaration::new(StateSpace::Reg, ty, name).vector(vector);
        let text = declaration.statement(&self.module.tables)?;
        self.check(&text, &[])?;
        let reg = self.add_register(ty, vector, name, false)?;
        self.body.line(&text);
        Ok(reg)
    }

    /// Registers `name0`, `name1`, …, declared here in one range.
    pub fn reg_range(&mut self, ty: ScalarType, name: &str, count: u32) -> Result<Vec<Reg>, Error> {
        let declaration = Declaration::new(StateSpace::Reg, ty, name).range(count);
        let text = declaration.statement(&self.module.tables)?;
        self.check(&text, &[])?;
        let mut all = Vec::new();
        for number in 0..count {
            all.push(self.add_register(ty, 1, &format!("{name}{number}"), false)?);
        }
        self.body.line(&text);
        Ok(all)
    }

    /// The name of a register.
    pub fn name_of(&self, reg: Reg) -> &str {
        let known = self.body.registers.get(reg.index as usize);
        let known = known.filter(|_| reg.owner == self.body.owner);
        known.map_or("", |info| self.body.register_name(info))
    }

    /// The type of a register of this function.
    pub fn type_of(&self, reg: Reg) -> Option<ScalarType> {
        let known = self.body.registers.get(reg.index as usize);
        known.filter(|_| reg.owner == self.body.owner).map(|r| r.ty)
    }
}
