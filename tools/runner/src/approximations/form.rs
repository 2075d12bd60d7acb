//! The approximate instructions with one source, from the tables.

use ptx_isa::internals::{ActualOperand, Expr, InstQuery, OperandShape, SlotAssignment};
use ptx_isa::{
    ExprFunction, Form, Instruction, Modifier, Opcode, PtxVersion, Role, ScalarType, Target,
};

/// An approximate instruction with one source, whose results are determined by 16 or 32 bits of it.
#[derive(Clone, Debug)]
pub struct Approximation {
    /// The instruction without its operands.
    pub name: String,
    opcode: Opcode,
    pub(super) form: &'static Form,
    /// All modifiers.
    pub(super) modifiers: Vec<Modifier>,
    /// The type of the numbers.
    pub(super) element: ScalarType,
    /// The number of elements of the source.
    pub(super) lanes: u16,
}

impl Approximation {
    /// The approximations that are legal in a version on a target.
    #[must_use]
    pub fn all(version: PtxVersion, target: Target) -> Vec<Self> {
        let mut approximations: Vec<Self> = Vec::new();
        for instruction in Instruction::ALL {
            for &form in instruction.forms() {
                for words in choices(form) {
                    if let Some(approximation) = Self::new(instruction, form, &words)
                        && approximation.is_legal(version, target)
                        && !approximations.iter().any(|a| a.name == approximation.name)
                    {
                        approximations.push(approximation);
                    }
                }
            }
        }
        approximations
    }

    fn new(
        instruction: &'static Instruction,
        form: &'static Form,
        words: &[Modifier],
    ) -> Option<Self> {
        let computation = form.computation().filter(|c| c.is_approximate())?;
        let [result, source] = form.operands() else {
            return None;
        };
        if (result.role(), source.role()) != (Role::Def, Role::Use) {
            return None;
        }
        let slots: SlotAssignment = form.match_modifiers(words)?;
        let ty = source.ty().scalar_type(&slots, form)?;
        if result.ty().scalar_type(&slots, form) != Some(ty) {
            return None;
        }
        let element = ty.element().unwrap_or(ty);
        let modifiers = [instruction.words(), words].concat();
        let texts: Vec<&str> = modifiers.iter().map(|m| m.text()).collect();
        let is_recorded = match element {
            ScalarType::F64 => !computation
                .assignments()
                .iter()
                .any(|a| reads_low_half(a.value())),
            _ => matches!(element.bits(), 16 | 32),
        };
        is_recorded.then(|| Self {
            name: format!("{}{}", instruction.opcode(), texts.concat()),
            opcode: instruction.opcode(),
            form,
            modifiers,
            element,
            lanes: u16::from(ty.elements().max(1)),
        })
    }

    fn is_legal(&self, version: PtxVersion, target: Target) -> bool {
        let register = match self.element.bits() * self.lanes {
            16 => ScalarType::B16,
            32 => ScalarType::B32,
            _ => ScalarType::B64,
        };
        let operands = [ActualOperand::new(OperandShape::Register(register)); 2];
        let query = InstQuery::new(self.opcode, &self.modifiers, &operands);
        query.targets(version).contains(target)
    }

    /// The approximated computation, in the notation of the tables.
    pub(super) fn text(&self) -> &'static str {
        self.form.computation().map_or("", |c| c.text())
    }

    /// Whether subnormal numbers count as zero.
    pub(super) fn flushes(&self) -> bool {
        self.modifiers.contains(&Modifier::Ftz)
    }

    /// The kernel `k`, whose threads store the results for the inputs from a number on, shifted to the left.
    pub(super) fn kernel(&self, version: PtxVersion, target: Target) -> String {
        let name = &self.name;
        let body = match (self.element.bits(), self.lanes) {
            (16, 1) => format!(
                "cvt.u16.u32 half, x;\n{name} half, half;\ncvt.u32.u16 x, half;\nst.global.b32 [out], x;\n"
            ),
            (16, _) => format!(
                "shl.b32 i, x, 16;\nor.b32 x, x, i;\n{name} x, x;\nst.global.b32 [out], x;\n"
            ),
            (32, _) => format!("{name} x, x;\nst.global.b32 [out], x;\n"),
            _ => format!(
                "mov.b64 wide, {{zero, x}};\n{name} wide, wide;\nst.global.b64 [out], wide;\n"
            ),
        };
        format!(
            ".version {version}\n.target {target}\n.address_size 64\n\
             .visible .entry k(.param .b64 results, .param .b32 first, .param .b32 shift)\n{{\n\
             .reg .b16 half;\n.reg .b32 i, x, size, zero;\n.reg .b64 out, wide;\n\
             ld.param.b64 out, [results];\nld.param.b32 x, [first];\nld.param.b32 zero, [shift];\n\
             mov.u32 i, %ctaid.x;\nmov.u32 size, %ntid.x;\nmul.lo.u32 i, i, size;\nmov.u32 size, %tid.x;\nadd.u32 i, i, size;\n\
             mad.wide.u32 out, i, {}, out;\nadd.u32 x, x, i;\nshl.b32 x, x, zero;\nmov.u32 zero, 0;\n{body}ret;\n}}\n",
            self.bytes()
        )
    }

    /// The bytes of a result in memory.
    pub(super) fn bytes(&self) -> usize {
        match self.element {
            ScalarType::F64 => 8,
            _ => 4,
        }
    }
}

/// Whether an expression depends on the low half of an operand of 64 bits. It does not if the operand is truncated to 21 significant bits, of
/// which the first one is not stored.
fn reads_low_half(expr: Expr) -> bool {
    match expr {
        Expr::Operand(_) => true,
        Expr::Call(ExprFunction::Truncate, [Expr::Integer(..=21), _]) => false,
        Expr::Call(_, arguments) => arguments.iter().any(|a| reads_low_half(*a)),
        Expr::If(parts) => parts.iter().any(|p| reads_low_half(*p)),
        _ => false,
    }
}

/// The ways to fill the slots of a form.
fn choices(form: &'static Form) -> Vec<Vec<Modifier>> {
    let mut choices: Vec<Vec<Modifier>> = vec![Vec::new()];
    if form.computation().is_none_or(|c| !c.is_approximate()) {
        return choices;
    }
    for slot in form.slots() {
        let mut alternatives: Vec<&[Modifier]> = Vec::new();
        if slot.is_optional() {
            alternatives.push(&[]);
        }
        alternatives.extend(slot.words().as_slice().chunks(1));
        let mut extended = Vec::new();
        for choice in &choices {
            for alternative in &alternatives {
                extended.push([choice, *alternative].concat());
            }
        }
        choices = extended;
    }
    choices
}
