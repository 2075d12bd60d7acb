//! Templates: instructions of every form of the tables that has only registers and constants, with many choices of modifiers.

use fastrand::Rng;
use ptx_isa::internals::{EffectKind, FormOperand, SlotAssignment, TargetSet};
use ptx_isa::{Form, Instruction, PtxVersion, Role, ScalarType, Target};

use super::case::Case;
use super::coverage::cover;
use super::operand::{Kind, Operand, ask};

/// An instruction without the values that it reads.
#[derive(Clone)]
pub struct Template {
    pub case: Case,
    pub form: &'static Form,
    /// The modifiers in the slots of the form.
    pub slots: SlotAssignment,
    pub sources: Vec<Register>,
    pub results: Vec<Register>,
    pub reads_carry: bool,
    pub writes_carry: bool,
    /// The version, and the targets of which one is chosen for each module.
    pub version: PtxVersion,
    pub targets: Vec<Target>,
}

/// A register of a template.
#[derive(Clone)]
pub struct Register {
    pub name: String,
    pub declared: ScalarType,
    /// The index of the operand of the form that is or contains the register.
    pub operand: usize,
    /// The type of the value, if the form states it.
    pub ty: Option<ScalarType>,
}

/// The version and the targets of an instruction in modules; `None` if it is left out.
pub type Places<'a> = &'a dyn Fn(&Case) -> Option<(PtxVersion, Vec<Target>)>;

/// The templates of all forms.
pub fn all(places: Places<'_>, rng: &mut Rng) -> Vec<Template> {
    let mut templates = Vec::new();
    for instruction in Instruction::ALL {
        for &form in instruction.forms() {
            if form.operands().iter().all(is_value) {
                for case in cover(instruction, form, rng) {
                    templates.extend(template(places, instruction, form, case));
                }
            }
        }
    }
    templates
}

fn is_value(operand: &FormOperand) -> bool {
    matches!(operand.role(), Role::Def | Role::Use | Role::Imm)
}

/// The template of a case, if the case reads and writes registers, and `places` includes it.
fn template(
    places: Places<'_>,
    instruction: &Instruction,
    form: &'static Form,
    case: Case,
) -> Option<Template> {
    let (version, targets) = places(&case)?;
    let slots = form.match_modifiers(case.modifiers.get(instruction.words().len()..)?)?;
    let mut sources = Vec::new();
    let mut results = Vec::new();
    for (declared, number) in registers(&case.operands)? {
        let index = usize::from(number / 4);
        let operand = form.operands().get(index)?;
        let register = Register {
            name: Operand::register(declared, number).to_string(),
            declared,
            operand: index,
            ty: operand.ty().scalar_type(&slots, form),
        };
        match operand.role() {
            Role::Def => results.push(register),
            _ => sources.push(register),
        }
    }
    let has_effect = |kind| {
        form.effects()
            .iter()
            .any(|e| e.kind() == kind && e.when().decide(&slots) == Some(true))
    };
    (!sources.is_empty() && !results.is_empty()).then(|| Template {
        reads_carry: has_effect(EffectKind::CarryRead),
        writes_carry: has_effect(EffectKind::CarryWrite),
        case,
        form,
        slots,
        sources,
        results,
        version,
        targets,
    })
}

/// The targets on which a case is legal.
pub fn targets_of(case: &Case, version: PtxVersion) -> TargetSet {
    ask(case.opcode, &case.modifiers, &case.operands, |q| {
        q.targets(version)
    })
}

/// The registers of operands, by declared type and number; `None` if an operand is neither a register nor a constant.
fn registers(operands: &[Operand]) -> Option<Vec<(ScalarType, u16)>> {
    let mut list = Vec::new();
    for operand in operands {
        match &operand.kind {
            &Kind::Register(ty, number) => list.push((ty, number)),
            Kind::Integer(_) | Kind::Float | Kind::Single | Kind::Sink => {}
            // The numbers of the registers of one operand are consecutive.
            Kind::Vector(parts) | Kind::Pair(parts) if parts.len() <= 4 => {
                list.extend(registers(parts)?)
            }
            _ => return None,
        }
    }
    Some(list)
}

impl Template {
    /// The instruction with other constants, within the range that the form states.
    pub fn vary(&self, rng: &mut Rng) -> Case {
        let mut case = self.case.clone();
        for operand in self.form.operands() {
            let Some(range) = operand.range().filter(|_| operand.role() == Role::Imm) else {
                continue;
            };
            let position = usize::from(operand.position());
            let Some(Kind::Integer(value)) = case.operands.get_mut(position).map(|o| &mut o.kind)
            else {
                continue;
            };
            let steps = (range.high() - range.low()) / range.step().max(1);
            *value = range.low() + rng.i64(0..=steps) * range.step();
        }
        let legal = targets_of(&case, self.version);
        if self.targets.iter().all(|t| legal.contains(*t)) {
            case
        } else {
            self.case.clone()
        }
    }
}
