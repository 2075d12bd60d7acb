//! Copies that happen at once, as the arguments of phi functions do.

use alloc::vec::Vec;

use ptx_ir::Code;
use ptx_isa::{ScalarType, TypeKind};

use super::FunctionBuilder;
use crate::error::{BuildError, BuildErrorKind};
use crate::handle::Reg;
use crate::handle_owner::Handle;
use crate::operand::OperandExpr;

/// The type with which a register is moved: bits of its width where its own type is not one of moves.
const fn move_type(ty: ScalarType) -> ScalarType {
    match (ty.kind(), ty.bits()) {
        (TypeKind::Float | TypeKind::Bits, 16) => ScalarType::B16,
        (TypeKind::Float, 32 | 64) | (TypeKind::Signed | TypeKind::Unsigned, 16..) => ty,
        (_, 32) => ScalarType::B32,
        (_, 64) => ScalarType::B64,
        (_, 128) => ScalarType::B128,
        _ => ty,
    }
}

/// The registers that copies write, in order, each with its copy.
fn writers(copies: &[(Reg, OperandExpr)]) -> Vec<(Reg, usize)> {
    let writers = copies.iter().enumerate().map(|(i, (to, _))| (*to, i));
    let mut writers: Vec<(Reg, usize)> = writers.collect();
    writers.sort_unstable();
    writers
}

impl FunctionBuilder<'_> {
    /// Copies values to registers, all at once: each source is read before any register is written. The copies are ordered so
    /// that this holds, and a cycle is broken with a fresh register. A register keeps its type; both sides of a copy must have
    /// types that a `mov` accepts together.
    ///
    /// ```
    /// # use ptx_build::ModuleBuilder;
    /// # use ptx_isa::{PtxVersion, ScalarType as T, Target};
    /// # let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    /// # let mut k = m.kernel("k")?;
    /// let (a, b, c) = (k.reg(T::B32), k.reg(T::B32), k.reg(T::B32));
    /// k.parallel_copy(&[(a, b.into()), (b, a.into()), (c, a.into())])?;
    /// # k.finish()?;
    /// assert!(m.text().contains("mov.b32 %r3, %r1;\n\tmov.b32 %r4, %r1;\n\tmov.b32 %r1, %r2;\n\tmov.b32 %r2, %r4;"), "{}", m.text());
    /// # Ok::<(), ptx_build::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A register is written twice ([`Argument`](BuildErrorKind::Argument)), or a copy is illegal. Nothing is added then.
    pub fn parallel_copy(&mut self, copies: &[(Reg, OperandExpr)]) -> Result<(), BuildError> {
        if let Some((to, _)) = copies.iter().find(|(to, _)| self.type_of(*to).is_none()) {
            let (owners, place) = (&self.module.tables.handle_owners, &self.body.name);
            return Err(owners.refuse(Handle::Reg(*to), Some(place)));
        }
        let written = writers(copies);
        if let Some([(twice, _), _]) = written.windows(2).find(|w| w[0].0 == w[1].0) {
            let message = format!("`{}` is written by two copies", self.name_of(*twice));
            let help = "give each register one source";
            let error = BuildError::new(BuildErrorKind::Argument, message, help);
            return Err(error.with_code(Code::OperandKind));
        }
        let mut copies: Vec<(Reg, OperandExpr)> = copies.to_vec();
        copies.retain(|(to, from)| *from != OperandExpr::Reg(*to));
        self.all_or_none(|f| f.sequential_copies(&copies))
    }

    fn sequential_copies(&mut self, copies: &[(Reg, OperandExpr)]) -> Result<(), BuildError> {
        let writers = writers(copies);
        let mut sources: Vec<OperandExpr> = copies.iter().map(|(_, from)| from.clone()).collect();
        let writer = |from: &OperandExpr| match from {
            OperandExpr::Reg(reg) => {
                let place = writers.binary_search_by_key(reg, |(to, _)| *to).ok()?;
                writers.get(place).map(|(_, copy)| *copy)
            }
            _ => None,
        };
        // For each copy, the copies that read the register that it writes, and the number of these that are not made yet.
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); copies.len()];
        for (i, from) in sources.iter().enumerate() {
            if let Some(written) = writer(from) {
                readers[written].push(i);
            }
        }
        let mut waiting: Vec<usize> = readers.iter().map(Vec::len).collect();
        let mut is_made = vec![false; copies.len()];
        let ready = (0..copies.len()).rev().filter(|i| waiting[*i] == 0);
        let mut ready: Vec<usize> = ready.collect();
        let mut next = 0;
        loop {
            while let Some(i) = ready.pop() {
                self.copy(copies[i].0, sources[i].clone())?;
                is_made[i] = true;
                if let Some(read) = writer(&sources[i]) {
                    waiting[read] -= 1;
                    if waiting[read] == 0 && !is_made[read] {
                        ready.push(read);
                    }
                }
            }
            // The rest are cycles: each register is read by one of the copies that are left.
            while is_made.get(next) == Some(&true) {
                next += 1;
            }
            let Some((to, _)) = copies.get(next) else {
                return Ok(());
            };
            let Some(ty) = self.type_of(*to) else {
                return Ok(());
            };
            let temporary = self.reg(ty);
            self.copy(temporary, OperandExpr::Reg(*to))?;
            for reader in readers[next].iter().filter(|r| !is_made[**r]) {
                sources[*reader] = OperandExpr::Reg(temporary);
            }
            ready.push(next);
        }
    }

    fn copy(&mut self, to: Reg, from: OperandExpr) -> Result<(), BuildError> {
        match self.type_of(to) {
            Some(ty) => self.mov().typed(move_type(ty), (to, from)),
            None => Ok(()),
        }
    }
}
