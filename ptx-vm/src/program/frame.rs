//! Parameters, results and local variables of a function.

use std::collections::HashMap;

use ptx_ir::{Binding, Body, Function, Module, Param, VarId};
use ptx_isa::StateSpace;

use super::layout::{Layout, Members, declaration_order};
use super::step::Argument;
use crate::lanes::Place;

/// The layout of what a function has on the stack of a thread; of a kernel, its parameters are elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    pub(crate) bytes: u64,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) results: Vec<Parameter>,
    /// The offset of the last parameter if each call determines its size; it is at the end of the frame.
    pub(crate) unsized_parameter: Option<u64>,
    pub(super) places: HashMap<VarId, Position>,
    /// The bytes of each variable in the frame.
    pub(super) sizes: HashMap<VarId, u64>,
    /// The bytes of an element of each variable.
    pub(super) elements: HashMap<VarId, u64>,
}

/// The place of a variable in memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Position {
    /// At an offset in the frame.
    Frame(u64),
    /// At an offset in the parameters of the kernel.
    Kernel(u64),
}

/// A parameter or a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Parameter {
    /// The bytes of the parameter; 0 where its size is not known.
    pub(crate) bytes: u64,
    pub(crate) place: Argument,
}

impl Parameter {
    /// The offset of the parameter in memory; 0 if it is a register.
    pub(crate) const fn offset(&self) -> u64 {
        match self.place {
            Argument::Memory(offset) => offset,
            _ => 0,
        }
    }
}

impl Frame {
    /// The frame of a function; `register` gives the places of registers.
    pub(super) fn new(
        module: &Module,
        function: &Function,
        body: &Body,
        register: impl Fn(&Param) -> Vec<Place>,
    ) -> Self {
        let mut frame = Self::default();
        let mut layout = Layout::default();
        let is_entry = function.kind == ptx_ir::FunctionKind::Entry;
        let (params, results) = (function.interface.params, function.interface.returns);
        let mut kernel = Layout::default();
        for param in params.of(module.params()) {
            let space = if is_entry { &mut kernel } else { &mut layout };
            let parameter = frame.parameter(module, param, space, is_entry, &register);
            frame.parameters.push(parameter);
        }
        for param in results.of(module.params()) {
            let parameter = frame.parameter(module, param, &mut layout, false, &register);
            frame.results.push(parameter);
        }
        let members = Members::new(body);
        for id in declaration_order(body) {
            let decl = &body.declarations().decls[id];
            if !matches!(decl.space.base(), StateSpace::Local | StateSpace::Param) {
                continue;
            }
            for declarator in body.declarations().declarators(id) {
                let Some(space) = decl.layout(declarator, body.pool()) else {
                    continue;
                };
                let count = body.pool().integer(declarator.count).unwrap_or(1);
                let Binding::Var(var) = declarator.binding else {
                    continue;
                };
                // The members of a range follow each other.
                let align = space.align.max(1);
                let size = space
                    .size
                    .unwrap_or(0)
                    .div_ceil(align)
                    .saturating_mul(align);
                let total = size.saturating_mul(count.max(1) as u64);
                let offset = layout.add(total, space.align);
                frame.places.insert(var, Position::Frame(offset));
                frame.sizes.insert(var, total);
                let element = decl.ty.known().map(|ty| u64::from(ty.bits() / 8));
                frame.elements.extend(element.map(|bytes| (var, bytes)));
                for &(member, number) in members.of(body, var) {
                    let element_offset = offset.saturating_add(size.saturating_mul(number.into()));
                    frame.places.insert(member, Position::Frame(element_offset));
                    frame.sizes.insert(member, size);
                    frame.elements.extend(element.map(|bytes| (member, bytes)));
                }
            }
        }
        // Frames begin at multiples of 16.
        layout.add(0, 16);
        frame.bytes = layout.bytes();
        if let Some(last) = params.of(module.params()).last() {
            frame.place_unsized_parameter(module, last);
        }
        frame
    }

    /// Puts a parameter without a size at the end.
    fn place_unsized_parameter(&mut self, module: &Module, last: &Param) {
        let has_size = last.layout(module.pool()).is_none_or(|l| l.size.is_some());
        let Binding::Var(var) = last.binding else {
            return;
        };
        if has_size || matches!(self.places.get(&var), Some(Position::Kernel(_))) {
            return;
        }
        let offset = self.bytes;
        self.unsized_parameter = Some(offset);
        self.places.insert(var, Position::Frame(offset));
        if let Some(parameter) = self.parameters.last_mut() {
            parameter.place = Argument::Memory(offset);
        }
    }

    fn parameter(
        &mut self,
        module: &Module,
        param: &Param,
        layout: &mut Layout,
        is_kernel: bool,
        register: impl Fn(&Param) -> Vec<Place>,
    ) -> Parameter {
        let layout_of_parameter = param.layout(module.pool());
        let (size, align) = layout_of_parameter.map_or((0, 1), |l| (l.size.unwrap_or(0), l.align));
        let offset = layout.add(size, align);
        if let Binding::Var(var) = param.binding {
            let position = if is_kernel {
                Position::Kernel(offset)
            } else {
                Position::Frame(offset)
            };
            self.places.insert(var, position);
            let element = param.ty.known().map(|ty| u64::from(ty.bits() / 8));
            self.elements.extend(element.map(|bytes| (var, bytes)));
        }
        let place = match register(param) {
            registers if registers.is_empty() => Argument::Memory(offset),
            registers => Argument::Registers(registers),
        };
        Parameter { bytes: size, place }
    }
}
