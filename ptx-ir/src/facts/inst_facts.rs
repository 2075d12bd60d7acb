//! The facts that follow from a mnemonic and the shape of its operands.

use alloc::vec::Vec;
use ptx_isa::internals::{Control, EffectKind, FormMatch, Nesting, Size, SlotAssignment, Spaces};
use ptx_isa::{
    Access, AsyncPhase, Completion, ConvergenceScope, Form, Marks, Modifier, Proxy,
    ResultUniformity, Role, ScalarType, StateSpace,
};

use super::Space;
use super::registers::RegAccess;

/// The position of an operand of the form among those of the instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum OperandPart {
    /// The whole operand.
    Whole,
    /// One half, if a pair is written.
    Half(u8),
    /// A component of a vector, or a part of a bracketed operand.
    Part(u8),
}

/// An operand of the form that is written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// The index of the operand of the form.
    pub(super) operand: u8,
    pub(super) name: &'static str,
    /// The index of the operand of the instruction that contains it.
    pub(super) written: u8,
    pub(super) inside: OperandPart,
    /// The access to the registers in it.
    pub(super) usage: RegAccess,
    pub(super) role: Role,
    /// The type of the operand, or of each component of a vector.
    pub(super) ty: Option<ScalarType>,
    pub(super) marks: Marks,
    /// For a result: the threads in which it is the same.
    pub(super) uniformity: Option<ResultUniformity>,
}

/// The number of bytes of an access.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Bytes {
    Unknown,
    Fixed(u32),
    /// The value of a part.
    Value(u8),
}

/// Memory that is reached through an operand, or through none.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct AccessFacts {
    /// The index of the address among the parts.
    pub(super) part: Option<u8>,
    pub(super) access: Access,
    pub(super) space: Space,
    pub(super) bytes: Bytes,
    /// The index among the parts of the operand that is loaded or stored.
    pub(super) data: Option<u8>,
    /// The memory contains an mbarrier object.
    pub(super) mbarrier: bool,
    /// The memory contains a tensor map.
    pub(super) map: bool,
    pub(super) order: Option<Modifier>,
    pub(super) scope: Option<Modifier>,
}

macro_rules! flags {
    ($($name:ident = $bit:literal;)*) => {
        $(pub(super) const $name: u16 = 1 << $bit;)*
    };
}

/// The bits of [`FormFacts::flags`].
pub(super) struct Flag;

impl Flag {
    flags! {
        CARRY_READ = 0;
        CARRY_WRITE = 1;
        VOLATILE = 2;
        FENCE = 3;
        BARRIER = 4;
        UNIFORM = 5;
        ONE_THREAD = 6;
        SIDE = 7;
        MULTIMEM = 8;
        MATRIX_MULTIPLY = 9;
        MATRIX_MOVE = 10;
    }
}

/// The facts about all instructions with one mnemonic and one shape of operands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FormFacts {
    /// The instruction is in the table.
    pub(super) known: bool,
    /// The form and the modifiers in its slots.
    pub(super) form: Option<(&'static Form, SlotAssignment)>,
    /// The section of the PTX ISA manual that describes the form; empty for an unknown instruction.
    pub(super) section: &'static str,
    pub(super) parts: Vec<Part>,
    pub(super) accesses: Vec<AccessFacts>,
    pub(super) control: Option<Control>,
    pub(super) converge: Option<ConvergenceScope>,
    /// The index among the parts of the mask of lanes.
    pub(super) member_mask: Option<u8>,
    pub(super) steps: Vec<(Completion, AsyncPhase)>,
    pub(super) proxy: Option<Proxy>,
    pub(super) order: Option<Modifier>,
    pub(super) scope: Option<Modifier>,
    pub(super) flags: u16,
}

impl FormFacts {
    /// The facts about an unknown instruction.
    pub(super) const UNKNOWN: Self = Self {
        known: false,
        form: None,
        section: "",
        parts: Vec::new(),
        accesses: Vec::new(),
        control: None,
        converge: None,
        member_mask: None,
        steps: Vec::new(),
        proxy: None,
        order: None,
        scope: None,
        flags: 0,
    };

    /// The facts about a form with the given modifiers in its slots and the given operands.
    #[must_use]
    pub(super) fn new(selection: &FormMatch<'_>) -> Self {
        let mut facts = Self {
            known: true,
            form: Some((selection.form(), *selection.assignment())),
            section: selection.form().section(),
            ..Self::UNKNOWN
        };
        facts.add_parts(selection);
        facts.add_accesses(selection);
        for effect in selection.effects() {
            facts.add_effect(selection, effect);
        }
        // An ordinary access without an order is weak.
        let is_atomic = facts
            .accesses
            .iter()
            .any(|a| a.access == Access::ReadModifyWrite);
        let is_ordinary = !is_atomic && facts.proxy.is_none() && !facts.accesses.is_empty();
        if facts.order.is_none() && is_ordinary {
            facts.order = Some(Modifier::Weak);
        }
        facts.order_accesses();
        facts
    }

    /// Sets the order of each access: that of the instruction, unless its accesses differ. An asynchronous operation that an mbarrier
    /// tracks completes there with `.release` at `.cluster` scope (9.7.9.12, 9.7.9.25, 9.7.13.7). The accesses of copies and the
    /// reads of reductions are weak.
    fn order_accesses(&mut self) {
        let starts = |c: Completion| self.steps.contains(&(c, AsyncPhase::Start));
        let is_tracked = starts(Completion::Mbarrier);
        let is_asynchronous = is_tracked || starts(Completion::Bulk);
        let (order, scope) = (self.order, self.scope);
        for access in &mut self.accesses {
            (access.order, access.scope) = if is_tracked && access.mbarrier {
                (Some(Modifier::Release), Some(Modifier::Cluster))
            } else if !is_asynchronous {
                (order, scope)
            } else if access.map {
                (None, None)
            } else if order.is_none() || access.access == Access::Read {
                (Some(Modifier::Weak), None)
            } else {
                (order, scope)
            };
        }
    }

    fn add_parts(&mut self, selection: &FormMatch<'_>) {
        for (index, operand) in selection.form().operands().iter().enumerate() {
            let Some(written) = selection.operands().written(index) else {
                continue;
            };
            // An optional part of a bracketed operand has a place even if it is absent.
            if selection.operands().get(index).is_none() {
                continue;
            }
            let part = selection.operands().part(index) as u8;
            self.parts.push(Part {
                operand: index as u8,
                name: operand.name(),
                written: written as u8,
                inside: match operand.nesting() {
                    Nesting::Bracket(_) | Nesting::Vector(_) => OperandPart::Part(part),
                    Nesting::Pair => OperandPart::Half(1),
                    Nesting::Whole => OperandPart::Half(0),
                    _ => OperandPart::Whole,
                },
                usage: match operand.role() {
                    Role::Def | Role::Rets => RegAccess::Write,
                    Role::ReadWrite => RegAccess::ReadWrite,
                    _ => RegAccess::Read,
                },
                role: operand.role(),
                ty: operand
                    .ty()
                    .scalar_type(selection.assignment(), selection.form()),
                marks: operand.marks(),
                uniformity: selection.form().result_uniformity(index),
            });
        }
    }

    /// The index among the parts of an operand of the form.
    fn part(&self, operand: u8) -> Option<u8> {
        let index = self.parts.iter().position(|p| p.operand == operand)?;
        Some(index as u8)
    }

    fn add_accesses(&mut self, selection: &FormMatch<'_>) {
        for (index, part) in (0u8..).zip(self.parts.iter()) {
            let Some(operand) = selection.form().operands().get(usize::from(part.operand)) else {
                continue;
            };
            if operand.access() == Access::None {
                continue;
            }
            if operand.marks().contains(Marks::MULTIMEM) {
                self.flags |= Flag::MULTIMEM;
            }
            let bytes = match operand.size() {
                Size::Fixed(bytes) => Bytes::Fixed(bytes.into()),
                Size::Like(data) => match selection.width(data.into()) {
                    Some(bits) => Bytes::Fixed(bits.div_ceil(8)),
                    None => Bytes::Unknown,
                },
                Size::Value(count) => self.part(count).map_or(Bytes::Unknown, Bytes::Value),
                _ => Bytes::Unknown,
            };
            let data = match operand.size() {
                Size::Like(data) => self.part(data),
                _ => None,
            };
            self.accesses.push(AccessFacts {
                part: Some(index),
                access: operand.access(),
                space: space(selection, operand),
                bytes,
                data,
                mbarrier: operand.marks().contains(Marks::MBARRIER),
                map: operand.marks().contains(Marks::TENSORMAP),
                order: None,
                scope: None,
            });
        }
    }

    fn add_effect(&mut self, selection: &FormMatch<'_>, effect: EffectKind) {
        match effect {
            EffectKind::Order(word) => self.order = selection.word(word).or(self.order),
            EffectKind::Scope(word) => self.scope = selection.word(word).or(self.scope),
            EffectKind::Proxy(proxy) => self.proxy = Some(proxy),
            EffectKind::Control(control) => self.control = Some(control),
            EffectKind::Converge(group) => self.converge = Some(group),
            EffectKind::Lanes(operand) => self.member_mask = self.part(operand),
            EffectKind::Async(completion, step) => self.steps.push((completion, step)),
            EffectKind::Memory(access, space) => self.accesses.push(AccessFacts {
                part: None,
                access,
                space: space.state_space().map_or(Space::Any, Space::State),
                bytes: Bytes::Unknown,
                data: None,
                mbarrier: false,
                map: false,
                order: None,
                scope: None,
            }),
            EffectKind::CarryRead => self.flags |= Flag::CARRY_READ,
            EffectKind::CarryWrite => self.flags |= Flag::CARRY_WRITE,
            EffectKind::Volatile => self.flags |= Flag::VOLATILE,
            EffectKind::Fence => self.flags |= Flag::FENCE,
            EffectKind::Barrier => self.flags |= Flag::BARRIER,
            EffectKind::Uniform => self.flags |= Flag::UNIFORM,
            EffectKind::OneThread => self.flags |= Flag::ONE_THREAD,
            EffectKind::MatrixMultiply => self.flags |= Flag::MATRIX_MULTIPLY,
            EffectKind::MatrixMove => self.flags |= Flag::MATRIX_MOVE,
            // An instruction with an effect that is unknown here must not be moved.
            _ => self.flags |= Flag::SIDE,
        }
    }

    pub(super) const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// The space of the memory at an address.
fn space(selection: &FormMatch<'_>, operand: &ptx_isa::internals::FormOperand) -> Space {
    let marks = operand.marks();
    if marks.contains(Marks::TMEM) {
        return Space::Tensor;
    }
    if marks.contains(Marks::TEXTURE) {
        return Space::Texture;
    }
    if marks.contains(Marks::SURFACE) {
        return Space::Surface;
    }
    // A tensor map is read through a generic address, also one in a parameter or a constant: ptxas does not check its space.
    let reads_tensor_map = marks.contains(Marks::TENSORMAP) && operand.access() == Access::Read;
    match operand.spaces() {
        Spaces::OneOf(&[Modifier::Global]) | Spaces::GenericOr(&[Modifier::Global])
            if reads_tensor_map =>
        {
            Space::Generic
        }
        Spaces::Slot(slot) => selection
            .word(ptx_isa::internals::ModifierSource::Slot(slot))
            .and_then(|word| word.state_space())
            .map_or(Space::Generic, Space::State),
        Spaces::OneOf(list) | Spaces::GenericOr(list) => {
            let is_generic = matches!(operand.spaces(), Spaces::GenericOr(_));
            let mut allowed = list.iter().filter_map(|w| w.state_space());
            let first = allowed.next();
            // The written space may be a window of the allowed one, such as `.shared::cta` of `.shared`.
            let written = written_space(selection, |s| first.is_none_or(|f| f.base() == s.base()));
            match (written, first) {
                (Some(space), _) => Space::State(space),
                (None, _) if is_generic => Space::Generic,
                (None, Some(space)) if allowed.next().is_none() => Space::State(space),
                (None, _) => Space::Any,
            }
        }
        // ptxas does not check its state space.
        _ if marks.contains(Marks::MBARRIER) => {
            let shared = written_space(selection, |s| s.base() == StateSpace::Shared);
            Space::State(shared.unwrap_or(StateSpace::Shared))
        }
        _ if marks.contains(Marks::TENSORMAP) => Space::Generic,
        _ => written_space(selection, |_| true).map_or(Space::Any, Space::State),
    }
}

/// The state space among the modifiers that satisfies a condition; `None` if several do.
fn written_space(
    selection: &FormMatch<'_>,
    condition: impl Fn(StateSpace) -> bool,
) -> Option<StateSpace> {
    let mut spaces = (0..selection.form().slot_count())
        .flat_map(|slot| selection.assignment().words(slot))
        .filter_map(|word| word.state_space())
        .filter(|&space| condition(space));
    let first = spaces.next()?;
    spaces.all(|s| s == first).then_some(first)
}
