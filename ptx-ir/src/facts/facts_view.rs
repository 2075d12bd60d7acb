//! What is known of one instruction.

use ptx_isa::{
    Action, AsyncPhase, Completion, ConvergenceScope, Form, Marks, Modifier, Proxy,
    ResultUniformity, Role, SlotAssignment,
};

use super::inst_facts::{Flag, FormFacts, Part};
use super::registers::{Leaves, Mentions, RegAccess, RegLane, operand_of, plain};
use crate::{Body, Guard, Inst, InstId, Module, Operand};

/// What is known of one instruction. Answers are read from the table and the operands; nothing is allocated.
#[derive(Copy, Clone, Debug)]
pub struct Facts<'a> {
    pub(super) module: &'a Module,
    pub(super) body: &'a Body,
    pub(super) id: InstId,
    pub(super) form: &'a FormFacts,
    pub(super) never_returns: bool,
}

impl<'a> Facts<'a> {
    fn inst(&self) -> Option<&'a Inst> {
        self.body.insts.get(self.id)
    }

    fn written_operands(&self) -> &'a [Operand] {
        self.body.operands(self.id)
    }

    pub(super) fn operand_at(&self, part: &Part) -> Option<Operand> {
        operand_of(self.body, self.written_operands(), part)
            .first()
            .copied()
    }

    /// The operand that a part of the form denotes.
    pub(super) fn part(&self, index: u8) -> Operand {
        let part = self.form.parts.get(usize::from(index));
        part.and_then(|p| self.operand_at(p))
            .unwrap_or(Operand::Absent)
    }

    /// The same with what happens to it.
    pub(super) fn part_with_usage(&self, index: u8) -> Option<(Operand, RegAccess)> {
        let part = self.form.parts.get(usize::from(index))?;
        Some((self.operand_at(part)?, part.usage))
    }

    /// The first operand of a role.
    pub(super) fn operand_with_role(&self, role: Role) -> Option<Operand> {
        let part = self.form.parts.iter().find(|p| p.role == role)?;
        self.operand_at(part)
    }

    ptx_isa::getters! {
        /// The module.
        module: &'a Module = module;
        /// The body of the function.
        body: &'a Body = body;
        /// The instruction.
        id: InstId = id;
    }

    /// Whether the table knows the instruction; else everything that follows is the worst that may be.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.form.known
    }

    /// The section of the PTX ISA manual that describes it, such as `9.7.3.3` for `add.f32`; empty where the table does not know
    /// it. The third number tells the family.
    #[must_use]
    pub fn section(&self) -> &'static str {
        self.form.section
    }

    /// What it does, if its results are not a function of its operands.
    #[must_use]
    pub fn action(&self) -> Option<Action> {
        self.form.form?.0.action()
    }

    /// Its guard.
    #[must_use]
    pub fn guard(&self) -> Option<Guard> {
        self.inst()?.guard()
    }

    /// The register of its guard, and whether it is inverted.
    #[must_use]
    pub fn guard_register(&self) -> Option<(RegLane, bool)> {
        let guard = self.guard()?;
        match plain(self.body, self.body.pool.get(guard.predicate)) {
            (Operand::Reg(register), lane) => Some((RegLane { register, lane }, guard.negated)),
            _ => None,
        }
    }

    /// Every register it mentions, with what happens to it; the guard is read.
    #[inline]
    #[must_use]
    pub fn registers(&self) -> Mentions<'a> {
        Mentions::new(self.body, self.inst(), self.form)
    }

    /// The registers it reads, that of its guard included.
    pub fn reads(&self) -> impl Iterator<Item = RegLane> + use<'a> {
        let read = self.registers().filter(|m| m.usage.reads());
        read.map(|m| m.place)
    }

    /// The registers it writes for certain.
    pub fn writes(&self) -> impl Iterator<Item = RegLane> + use<'a> {
        let written = self.registers().filter(|m| m.usage.writes());
        written.map(|m| m.place)
    }

    /// The registers it may write, but need not: under a guard, or because it is unknown.
    pub fn conditional_writes(&self) -> impl Iterator<Item = RegLane> + use<'a> {
        let written = self.registers().filter(|m| m.usage.may_write());
        written.map(|m| m.place)
    }

    /// Whether it reads the carry flag.
    #[must_use]
    pub fn reads_carry(&self) -> bool {
        !self.is_known() || self.form.has(Flag::CARRY_READ)
    }

    /// Whether it changes the carry flag.
    #[must_use]
    pub fn writes_carry(&self) -> bool {
        !self.is_known() || self.form.has(Flag::CARRY_WRITE)
    }

    /// The threads that must execute it together.
    #[must_use]
    pub fn convergence(&self) -> Option<ConvergenceScope> {
        self.form.converge
    }

    /// The mask of the lanes that must execute it together.
    #[must_use]
    pub fn lanes(&self) -> Option<Operand> {
        self.form.lanes.map(|part| self.part(part))
    }

    /// Whether all active threads of a warp are promised to go the same way.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.form.has(Flag::UNIFORM)
    }

    /// Whether one thread executes it for all.
    #[must_use]
    pub fn is_one_thread(&self) -> bool {
        self.form.has(Flag::ONE_THREAD)
    }

    /// What it does to asynchronous operations.
    #[must_use]
    pub fn asynchronous(&self) -> &'a [(Completion, AsyncPhase)] {
        &self.form.steps
    }

    /// Whether it orders memory accesses.
    #[must_use]
    pub fn is_fence(&self) -> bool {
        self.form.has(Flag::FENCE)
    }

    /// Whether it waits for other threads, or lets them wait.
    #[must_use]
    pub fn is_barrier(&self) -> bool {
        self.form.has(Flag::BARRIER)
    }

    /// Whether it multiplies matrices on tensor cores.
    #[must_use]
    pub fn is_matrix_multiply(&self) -> bool {
        self.form.has(Flag::MATRIX_MULTIPLY)
    }

    /// Whether it moves matrices between memory, registers and threads, in the layout of tensor cores.
    #[must_use]
    pub fn is_matrix_move(&self) -> bool {
        self.form.has(Flag::MATRIX_MOVE)
    }

    /// Whether it happens exactly as often as it is written. Special registers that change count too.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        self.form.has(Flag::VOLATILE) || self.reads_volatile()
    }

    /// Whether it addresses several memories at once.
    #[must_use]
    pub fn is_multimem(&self) -> bool {
        self.form.has(Flag::MULTIMEM)
    }

    /// The order it gives to memory accesses, also as a fence or a barrier.
    #[must_use]
    pub fn order(&self) -> Option<Modifier> {
        self.form.order
    }

    /// The scope of its order.
    #[must_use]
    pub fn scope(&self) -> Option<Modifier> {
        self.form.scope
    }

    /// How it reaches memory.
    #[must_use]
    pub fn proxy(&self) -> Proxy {
        self.form.proxy.unwrap_or(Proxy::Generic)
    }

    fn reads_volatile(&self) -> bool {
        let volatile = |o: &Operand| match o {
            // Most operands are registers.
            Operand::Reg(_) => false,
            o => match plain(self.body, *o) {
                (Operand::Special(register), _) => register.is_volatile(),
                _ => false,
            },
        };
        let lists = self.written_operands().iter().filter_map(|o| match o {
            Operand::Vector(id) => Some(self.body.pool.list(*id)),
            _ => None,
        });
        self.written_operands().iter().any(volatile) || lists.flatten().any(volatile)
    }

    /// Whether it does something besides writing its registers, reading memory and going on: then it must stay, once.
    #[must_use]
    pub fn has_side_effects(&self) -> bool {
        !self.is_known()
            || self.form.control.is_some()
            || !self.form.steps.is_empty()
            || self.is_volatile()
            || self
                .form
                .has(Flag::SIDE | Flag::FENCE | Flag::BARRIER | Flag::ONE_THREAD)
            || self.memory().any(|m| m.writes())
            // An acquire orders what follows.
            || self.form.scope.is_some()
    }

    /// Whether it may be removed where nothing that it writes is read.
    #[must_use]
    pub fn may_be_removed(&self) -> bool {
        !self.has_side_effects()
    }

    /// Whether it may be executed twice in a row, or in two places of which one is reached.
    #[must_use]
    pub fn may_be_duplicated(&self) -> bool {
        !self.has_side_effects() && self.form.converge.is_none() && self.form.lanes.is_none()
    }

    /// Whether it may be executed elsewhere, where its registers have the same values and, if it reads memory, the
    /// memory too. Whether it may be executed where it was not before is another question: a load may fault.
    #[must_use]
    pub fn may_be_moved(&self) -> bool {
        self.may_be_duplicated() && !self.form.has(Flag::CARRY_READ | Flag::CARRY_WRITE)
    }

    /// The operands in the order of the form, with what happens to each: the halves of a pair and the elements of a
    /// vector that the form names are separate operands. Empty for an unknown instruction.
    pub fn parts(&self) -> impl Iterator<Item = (Operand, RegAccess)> + use<'a> {
        let facts = *self;
        let parts = facts.form.parts.iter();
        parts.filter_map(move |part| Some((facts.operand_at(part)?, part.usage)))
    }

    /// The operands that it writes, with the threads in which each is the same; `None` where equal operands and memory give equal results.
    pub fn results(&self) -> impl Iterator<Item = (Operand, Option<ResultUniformity>)> + use<'a> {
        let facts = *self;
        let parts = facts.form.parts.iter();
        let written = parts.filter(|p| matches!(p.role, Role::Def | Role::ReadWrite));
        written.filter_map(move |part| Some((facts.operand_at(part)?, part.uniformity)))
    }

    /// Whether it is written with a modifier.
    #[must_use]
    pub fn has_modifier(&self, modifier: Modifier) -> bool {
        let signature = self.inst().map(|i| self.module.signature(i.sig));
        signature.is_some_and(|s| s.modifiers().any(|m| m == modifier))
    }

    /// The operands with a mark of the form.
    pub fn marked(&self, mark: Marks) -> impl Iterator<Item = Operand> + use<'a> {
        let facts = *self;
        let parts = facts.form.parts.iter();
        let marked = parts.filter(move |p| p.marks.contains(mark));
        marked.filter_map(move |part| facts.operand_at(part))
    }

    /// The form that the instruction has, and which modifiers fill its slots; `None` for an unknown instruction.
    #[must_use]
    pub fn form(&self) -> Option<(&'static Form, &'a SlotAssignment)> {
        let (form, slots) = self.form.form.as_ref()?;
        Some((form, slots))
    }

    /// The operand that is written for the operand of the form with this index; `None` if it is absent.
    #[must_use]
    pub fn form_operand(&self, index: usize) -> Option<Operand> {
        let mut parts = self.form.parts.iter();
        let part = parts.find(|p| usize::from(p.operand) == index)?;
        self.operand_at(part)
    }

    /// What happens to the registers in an operand of the instruction, its guard not counted, when it executes: those of an
    /// address are read. `None` where different things happen, or nothing is known.
    #[must_use]
    pub fn usage(&self, index: usize) -> Option<RegAccess> {
        let here = |part: &&Part| usize::from(part.written) == index;
        let mut parts = self.form.parts.iter().filter(here).map(|p| p.usage);
        let first = parts.next()?;
        if let Some(Operand::Address(_)) = self.written_operands().get(index) {
            return Some(RegAccess::Read);
        }
        parts.all(|usage| usage == first).then_some(first)
    }

    /// The register that an operand is, its signs left out; `None` where it is something else.
    #[must_use]
    pub fn place(&self, operand: Operand) -> Option<RegLane> {
        match plain(self.body, operand) {
            (Operand::Reg(register), lane) => Some(RegLane { register, lane }),
            _ => None,
        }
    }

    /// The registers in an operand.
    pub fn places(&self, operand: &'a Operand) -> impl Iterator<Item = RegLane> + use<'a> {
        Leaves::new(self.body, core::slice::from_ref(operand))
    }
}
