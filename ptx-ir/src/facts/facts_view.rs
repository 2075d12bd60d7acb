//! The facts about one instruction.

use ptx_isa::internals::SlotAssignment;
use ptx_isa::{
    Action, AsyncPhase, Completion, ConvergenceScope, Form, Marks, Modifier, Opcode, Proxy,
    ResultUniformity, Role,
};

use super::inst_facts::{Flag, FormFacts, Part};
use super::registers::{Leaves, Mentions, RegAccess, RegisterComponent, operand_of, plain};
use crate::{Body, Guard, GuardSense, Inst, InstId, Module, Operand, Signature};

/// The facts about one instruction. They are read from the table of facts and from the operands; nothing is allocated.
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

    /// The operand that a part of the form denotes, with the access to its registers.
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

    /// The opcode, the modifiers and the types, as they are written.
    #[must_use]
    pub fn signature(&self) -> Option<Signature<'a>> {
        Some(self.module.signature(self.inst()?.sig))
    }

    /// The opcode; `None` if the instruction table has no such opcode.
    #[must_use]
    pub fn opcode(&self) -> Option<Opcode> {
        self.signature()?.opcode()
    }

    /// Returns whether the instruction is in the instruction table. Otherwise all facts are the most pessimistic ones.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.form.known
    }

    /// The section of the PTX ISA manual that describes the instruction, such as `9.7.3.3` for `add.f32`; empty for an unknown
    /// instruction. The third number denotes the family.
    #[must_use]
    pub fn section(&self) -> &'static str {
        self.form.section
    }

    /// The action of the instruction; `None` if its results are a function of its operands.
    #[must_use]
    pub fn action(&self) -> Option<Action> {
        self.form.form?.0.action()
    }

    /// The guard.
    #[must_use]
    pub fn guard(&self) -> Option<Guard> {
        self.inst()?.guard()
    }

    /// The register of the guard and its sense; `None` if there is no guard, or its predicate is not a register.
    #[must_use]
    pub fn guard_register(&self) -> Option<(RegisterComponent, GuardSense)> {
        let guard = self.guard()?;
        match plain(self.body, self.body.pool.get(guard.predicate)) {
            (Operand::Reg(register), component) => Some((
                RegisterComponent {
                    register,
                    component,
                },
                guard.sense,
            )),
            _ => None,
        }
    }

    /// Every register in the instruction with the access to it. The register of the guard is read.
    #[inline]
    #[must_use]
    pub fn registers(&self) -> Mentions<'a> {
        Mentions::new(self.body, self.inst(), self.form)
    }

    /// The registers that the instruction reads, including that of its guard.
    pub fn reads(&self) -> impl Iterator<Item = RegisterComponent> + use<'a> {
        self.registers()
            .filter(|m| m.usage.reads())
            .map(|m| m.place)
    }

    /// The registers that the instruction certainly writes.
    pub fn writes(&self) -> impl Iterator<Item = RegisterComponent> + use<'a> {
        self.registers()
            .filter(|m| m.usage.writes())
            .map(|m| m.place)
    }

    /// The registers that the instruction may write, but need not: under a guard, or because it is unknown.
    pub fn conditional_writes(&self) -> impl Iterator<Item = RegisterComponent> + use<'a> {
        self.registers()
            .filter(|m| m.usage.may_write())
            .map(|m| m.place)
    }

    /// Returns whether the instruction reads the carry flag.
    #[must_use]
    pub fn reads_carry(&self) -> bool {
        !self.is_known() || self.form.has(Flag::CARRY_READ)
    }

    /// Returns whether the instruction changes the carry flag.
    #[must_use]
    pub fn writes_carry(&self) -> bool {
        !self.is_known() || self.form.has(Flag::CARRY_WRITE)
    }

    /// The threads that must execute the instruction together.
    #[must_use]
    pub fn convergence(&self) -> Option<ConvergenceScope> {
        self.form.converge
    }

    /// The operand with the mask of the lanes that must execute the instruction together.
    #[must_use]
    pub fn member_mask(&self) -> Option<Operand> {
        self.form.member_mask.map(|part| self.part(part))
    }

    /// Returns whether the instruction promises that all active threads of a warp take the same branch.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.form.has(Flag::UNIFORM)
    }

    /// Returns whether one thread executes the instruction for all.
    #[must_use]
    pub fn is_one_thread(&self) -> bool {
        self.form.has(Flag::ONE_THREAD)
    }

    /// The phases of asynchronous operations that the instruction starts, commits or awaits.
    #[must_use]
    pub fn asynchronous(&self) -> &'a [(Completion, AsyncPhase)] {
        &self.form.steps
    }

    /// Returns whether the instruction orders memory accesses.
    #[must_use]
    pub fn is_fence(&self) -> bool {
        self.form.has(Flag::FENCE)
    }

    /// Returns whether the instruction waits for other threads or lets them wait.
    #[must_use]
    pub fn is_barrier(&self) -> bool {
        self.form.has(Flag::BARRIER)
    }

    /// Returns whether the instruction multiplies matrices on tensor cores.
    #[must_use]
    pub fn is_matrix_multiply(&self) -> bool {
        self.form.has(Flag::MATRIX_MULTIPLY)
    }

    /// Returns whether the instruction moves matrices between memory, registers and threads, in the layout of tensor cores.
    #[must_use]
    pub fn is_matrix_move(&self) -> bool {
        self.form.has(Flag::MATRIX_MOVE)
    }

    /// Returns whether the instruction must execute exactly as often as the text states: it is volatile, or it reads a special
    /// register that changes.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        self.form.has(Flag::VOLATILE) || self.reads_volatile()
    }

    /// Returns whether the instruction addresses several memories at once.
    #[must_use]
    pub fn is_multimem(&self) -> bool {
        self.form.has(Flag::MULTIMEM)
    }

    /// The memory order of the accesses, or of the fence or barrier.
    #[must_use]
    pub fn order(&self) -> Option<Modifier> {
        self.form.order
    }

    /// The scope of the memory order.
    #[must_use]
    pub fn scope(&self) -> Option<Modifier> {
        self.form.scope
    }

    /// The proxy of the memory accesses.
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

    /// Returns whether the instruction has an effect other than writing registers and reading memory. Such an instruction can
    /// neither be removed nor duplicated.
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

    /// Returns whether the instruction may be removed if nothing that it writes is read.
    #[must_use]
    pub fn may_be_removed(&self) -> bool {
        !self.has_side_effects()
    }

    /// Returns whether the instruction may be executed twice in a row, or copied to two places of which one is reached.
    #[must_use]
    pub fn may_be_duplicated(&self) -> bool {
        !self.has_side_effects() && self.form.converge.is_none() && self.form.member_mask.is_none()
    }

    /// Returns whether the instruction may be moved to a place where its registers and the memory that it reads have the same
    /// values. A move to a place that is reached more often is not covered: a load may fault there.
    #[must_use]
    pub fn may_be_moved(&self) -> bool {
        self.may_be_duplicated() && !self.form.has(Flag::CARRY_READ | Flag::CARRY_WRITE)
    }

    /// The operands in the order of the form, with the access to each: the halves of a pair and the elements of a
    /// vector that the form names are separate operands. Empty for an unknown instruction.
    pub fn parts(&self) -> impl Iterator<Item = (Operand, RegAccess)> + use<'a> {
        let facts = *self;
        facts
            .form
            .parts
            .iter()
            .filter_map(move |part| Some((facts.operand_at(part)?, part.usage)))
    }

    /// The operands that the instruction writes, with the threads in which each is the same; `None` if equal operands and memory
    /// give equal results.
    pub fn results(&self) -> impl Iterator<Item = (Operand, Option<ResultUniformity>)> + use<'a> {
        let facts = *self;
        facts
            .form
            .parts
            .iter()
            .filter(|part| matches!(part.role, Role::Def | Role::ReadWrite))
            .filter_map(move |part| Some((facts.operand_at(part)?, part.uniformity)))
    }

    /// Returns whether the mnemonic contains a modifier.
    #[must_use]
    pub fn has_modifier(&self, modifier: Modifier) -> bool {
        let signature = self.inst().map(|i| self.module.signature(i.sig));
        signature.is_some_and(|s| s.modifiers().any(|m| m == modifier))
    }

    /// The operands with a mark of the form.
    pub fn marked(&self, mark: Marks) -> impl Iterator<Item = Operand> + use<'a> {
        let facts = *self;
        facts
            .form
            .parts
            .iter()
            .filter(move |part| part.marks.contains(mark))
            .filter_map(move |part| facts.operand_at(part))
    }

    /// The form of the instruction and the modifiers in its slots; `None` for an unknown instruction.
    #[doc(hidden)]
    #[must_use]
    pub fn form(&self) -> Option<(&'static Form, &'a SlotAssignment)> {
        let (form, slots) = self.form.form.as_ref()?;
        Some((form, slots))
    }

    /// The access to the registers in a written operand, counted without the guard, when the instruction executes. Registers in an
    /// address are read. `None` if the accesses differ, or for an unknown instruction.
    #[doc(hidden)]
    #[must_use]
    pub fn usage(&self, index: usize) -> Option<RegAccess> {
        let mut accesses = self
            .form
            .parts
            .iter()
            .filter(|part| usize::from(part.written) == index)
            .map(|part| part.usage);
        let first = accesses.next()?;
        if let Some(Operand::Address(_)) = self.written_operands().get(index) {
            return Some(RegAccess::Read);
        }
        accesses.all(|access| access == first).then_some(first)
    }

    /// The register of an operand without its sign; `None` for other operands.
    #[must_use]
    pub fn place(&self, operand: Operand) -> Option<RegisterComponent> {
        match plain(self.body, operand) {
            (Operand::Reg(register), component) => Some(RegisterComponent {
                register,
                component,
            }),
            _ => None,
        }
    }

    /// The registers in an operand.
    pub fn places(
        &self,
        operand: &'a Operand,
    ) -> impl Iterator<Item = RegisterComponent> + use<'a> {
        Leaves::new(self.body, core::slice::from_ref(operand))
    }
}
