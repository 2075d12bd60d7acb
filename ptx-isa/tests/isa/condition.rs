use ptx_isa::internals::{Cond, Context, ModifierSet, OperandTest, find_form};
use ptx_isa::{Modifier, Opcode};

#[test]
fn what_modifiers_decide() {
    let opcode = Opcode::from_text(b"brev").unwrap();
    let (_, form, assignment) = find_form(opcode, &[Modifier::B32]).unwrap();
    let types = form.slots().next().unwrap().words();
    const OPEN: Cond = Cond::Operand(0, OperandTest::Immediate);
    const FILLED: Cond = Cond::Filled(0);
    const EMPTY: Cond = Cond::Filled(9);
    for (cond, decided) in [
        (OPEN, None),
        (FILLED, Some(true)),
        (Cond::Not(&OPEN), None),
        (Cond::Not(&FILLED), Some(false)),
        (Cond::All(&[FILLED, OPEN]), None),
        (Cond::All(&[OPEN, EMPTY]), Some(false)),
        (Cond::Any(&[OPEN, FILLED]), Some(true)),
        (Cond::Any(&[EMPTY, OPEN]), None),
        (Cond::Any(&[EMPTY]), Some(false)),
        (Cond::InEntry, None),
        (Cond::UnifiedTextures, None),
        (Cond::Holds(0, types), Some(true)),
    ] {
        assert_eq!(cond.decide(&assignment), decided, "{cond:?}");
    }
}

/// An instruction without modifiers and operands, in a kernel or in another function.
struct Bare {
    in_kernel: bool,
}

impl Context for Bare {
    fn is_filled(&self, _: usize) -> bool {
        false
    }

    fn holds(&self, _: usize, _: ModifierSet) -> bool {
        false
    }

    fn operand(&self, _: usize, _: OperandTest) -> bool {
        false
    }

    fn in_entry(&self) -> bool {
        self.in_kernel
    }

    fn unified_textures(&self) -> bool {
        !self.in_kernel
    }
}

#[test]
fn conditions_on_the_function() {
    for in_kernel in [false, true] {
        let context = Bare { in_kernel };
        assert_eq!(Cond::InEntry.holds(&context), context.in_entry());
        assert_eq!(Cond::InFunc.holds(&context), !context.in_entry());
        assert_eq!(Cond::UnifiedTextures.holds(&context), !in_kernel);
        assert!(!Cond::Filled(0).holds(&context));
    }
}
