//! The registers of a function and the elements of its vector registers, which dataflow analyses follow separately.
//!
//! They have dense numbers, called *variables*: registers in the order of their ids, a vector register one number for each
//! element. A statement that names a whole vector register names all its elements.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::facts::RegLane;
use ptx_ir::{Body, RegId};
use ptx_isa::RegisterClass;

/// The numbers of the registers of a body and of their elements.
#[derive(Clone, Debug)]
pub struct Variables {
    /// Where the numbers of each register begin; empty where all registers are scalars.
    starts: Vec<u32>,
    /// The register of each number; empty likewise.
    registers: Vec<RegId>,
    len: u32,
}

impl Variables {
    /// Numbers the registers of a body.
    #[must_use]
    pub fn new(body: &Body) -> Self {
        let lanes = |r: &ptx_ir::Register| {
            let decl = body.reg_decls().get(r.decl);
            u32::from(decl.map_or(1, |d| d.vector.max(1)))
        };
        let vectors = body.reg_decls().values().any(|d| d.vector > 1);
        if !vectors {
            return Self {
                starts: Vec::new(),
                registers: Vec::new(),
                len: body.registers().len() as u32,
            };
        }
        let mut starts = Vec::with_capacity(body.registers().len() + 1);
        let mut registers = Vec::new();
        for (id, register) in body.registers().iter() {
            starts.push(registers.len() as u32);
            registers.extend((0..lanes(register)).map(|_| id));
        }
        let len = registers.len() as u32;
        starts.push(len);
        Self {
            starts,
            registers,
            len,
        }
    }

    /// The number of variables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the body mentions no register.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The variables that an instruction mentions.
    #[inline]
    #[must_use]
    pub fn of(&self, place: RegLane) -> Range<u32> {
        let id = place.register.as_u32();
        if self.starts.is_empty() {
            return id..id + 1;
        }
        let bound = |i: usize| self.starts.get(i).copied().unwrap_or(self.len);
        let (start, end) = (bound(id as usize), bound(id as usize + 1));
        match place.lane {
            // A selector of a scalar, or one beyond its vector, is an error: it denotes the whole register.
            Some(lane) if start + u32::from(lane) < end && end - start > 1 => {
                let at = start + u32::from(lane);
                at..at + 1
            }
            _ => start..end,
        }
    }

    /// The register, or the element of a vector register, with this number.
    #[inline]
    #[must_use]
    pub fn place(&self, variable: u32) -> RegLane {
        let Some(&register) = self.registers.get(variable as usize) else {
            return RegId::new(variable).into();
        };
        let range = self.of(register.into());
        RegLane {
            register,
            lane: (range.len() > 1).then_some((variable - range.start) as u8),
        }
    }

    /// The class of register that holds it; `None` where its type is unknown.
    #[must_use]
    pub fn class(&self, body: &Body, variable: u32) -> Option<RegisterClass> {
        let register = body.registers().get(self.place(variable).register)?;
        let ty = body.reg_decls().get(register.decl)?.ty.known()?;
        ty.register_class()
    }
}
