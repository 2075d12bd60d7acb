use ptx_isa::internals::OperandShape::{Integer, Register};
use ptx_isa::internals::describe::{each_fact, floors, role, type_of};
use ptx_isa::internals::{
    ActualOperand, Destination, Expected, Expr, InstQuery, OperandShape, RegisterWidth,
};
use ptx_isa::{
    Directive, Modifier, Opcode, PtxVersion, ScalarType as T, StateSpace, Target, find_instruction,
};

#[test]
fn an_instruction_of_the_table() {
    let modifiers = [Modifier::Rn, Modifier::F32];
    let instruction = find_instruction(Opcode::Add, &modifiers).unwrap();
    assert!(
        instruction
            .since()
            .iter()
            .all(|f| f.is_met(PtxVersion::CURRENT, Target::Sm90))
    );
    let form = instruction
        .forms()
        .iter()
        .find(|f| f.match_lenient(&modifiers).is_some());
    let form = form.unwrap();
    assert!(!form.depends_on_immediates());
    assert!(form.notes().iter().all(|n| !n.is_empty()));
    let ignores = |m: &&Modifier| form.ignores(**m);
    assert!(Modifier::ALL.iter().any(|m| m.is_ignored()));
    assert!(Modifier::ALL.iter().filter(ignores).count() < Modifier::ALL.len());
    assert!(Modifier::ALL.iter().any(|m| m.may_be_doubled()));
    let types: Vec<String> = form
        .operands()
        .iter()
        .map(|o| type_of(form, o.ty()).to_string())
        .collect();
    assert!(
        types
            .iter()
            .all(|t| t.contains(".f32") || t.contains("type")),
        "{types:?}"
    );
    let mut lines = 0;
    each_fact(form, None, &mut |_, _| {
        lines += 1;
        Ok(())
    })
    .unwrap();
    assert!(lines > 0);

    let operands = [Register(T::F32), Register(T::F32), Register(T::F32)].map(ActualOperand::new);
    let request = InstQuery::new(Opcode::Add, &modifiers, &operands);
    assert!(request.candidates().count() > 0);
    assert!(request.with_operands(&[]).operands().is_empty());
    let mut selection = request.select_anywhere().unwrap();
    assert!(selection.violations().is_empty());
    assert_eq!(selection.redundant().count(), 0);
    assert_eq!(
        selection
            .deprecations(PtxVersion::CURRENT, Target::Sm90)
            .count(),
        0
    );
    selection.add_floors(PtxVersion::CURRENT, Target::Sm90);
    assert!(selection.violations().is_empty());
    let of_bar = find_instruction(Opcode::Mbarrier, &[Modifier::Init, Modifier::B64]);
    let text = floors(of_bar.unwrap().since()).to_string();
    assert!(text.is_empty() || text.contains("sm_"), "{text}");
    assert!(Opcode::Call.takes_lists() && !Opcode::Add.takes_lists());
    assert!(Directive::Func.is_allowed_in(ptx_isa::internals::DirectivePosition::Module));
}

/// A shuffle without `.sync` is deprecated, and gone on newer targets.
#[test]
fn an_instruction_that_was_removed() {
    let old = (PtxVersion::new(1, 0), Target::Sm10);
    let modifiers = [Modifier::Idx, Modifier::B32];
    let operands =
        [Register(T::B32), Register(T::B32), Integer(0), Integer(31)].map(ActualOperand::new);
    let request = InstQuery::new(Opcode::Shfl, &modifiers, &operands);
    let mut selection = request.select_anywhere().unwrap();
    assert!(
        selection
            .deprecations(PtxVersion::new(6, 0), Target::Sm60)
            .count()
            > 0
    );
    selection.add_floors(old.0, old.1);
    assert!(!selection.violations().is_empty());
    // The same operands with other words.
    assert!(request.with_opcode(Opcode::Add).select_anywhere().is_err());
    let down = request.with_modifiers(&[Modifier::Down, Modifier::B32]);
    assert!(down.select_anywhere().unwrap().violations().is_empty());
    // An address of global memory in 32 bits.
    let address = [ActualOperand::new(Register(T::B32))];
    let operands = [Register(T::B32), OperandShape::Bracket(&address)].map(ActualOperand::new);
    let modifiers = [Modifier::Global, Modifier::U32];
    let request = InstQuery::new(Opcode::Ld, &modifiers, &operands);
    let selection = request.select_anywhere().unwrap();
    assert_eq!(selection.small_addresses().collect::<Vec<_>>(), [1]);
    assert_eq!(Target::Sm75.most_shared_bytes(), 48 << 10);
}

#[test]
fn types_and_spaces() {
    assert!(Expected::Type(T::Pred).is_predicate() && !Expected::Width(32).is_predicate());
    assert!(Expected::Width(32).takes_element(T::B32, RegisterWidth::Exact));
    assert!(!Expected::Width(32).takes_element(T::B64, RegisterWidth::Exact));
    assert!(T::F16.is_float() && !T::U32.is_float());
    assert!(T::B32.is_parameter_type() && !T::Pred.is_parameter_type());
    assert!(StateSpace::Shared.is_addressable() && !StateSpace::Reg.is_addressable());
    assert!(StateSpace::Global.is_generic());
    assert!(!StateSpace::Global.overlaps(StateSpace::Shared));
}

#[test]
fn special_registers_that_had_fewer_bits() {
    let read = |text: &[u8]| ptx_isa::SpecialReg::from_text(text).unwrap();
    assert!(read(b"%tid").is_short() && !read(b"%clock64").is_short());
}

#[test]
fn roles_of_operands() {
    let add = find_instruction(Opcode::Add, &[]).unwrap().forms()[0];
    let roles: Vec<_> = add.operands().iter().map(role).collect();
    assert_eq!(roles[..2], ["written", "read"]);
    assert_eq!(ptx_isa::internals::operand_count(add), (3, 3));
}

#[test]
fn modifiers_that_are_meant_where_one_is_missing() {
    assert!(Modifier::Rn.is_usual(Opcode::Fma) && !Modifier::Rm.is_usual(Opcode::Fma));
    // A half of a product, and a comparison.
    assert!(Modifier::Lo.is_usual(Opcode::Mul) && !Modifier::Lo.is_usual(Opcode::Setp));
}

#[test]
fn what_a_form_computes() {
    let modifiers = [Modifier::Lo, Modifier::S32];
    let instruction = find_instruction(Opcode::Mul, &modifiers).unwrap();
    let computation = instruction.forms()[0].computation().unwrap();
    assert_eq!(
        computation.text(),
        "d = if .hi then a * b >> width(d) else a * b"
    );
    let [product] = computation.assignments() else {
        panic!("one result");
    };
    assert_eq!(product.target(), Destination::Operand(0));
    assert!(matches!(product.value(), Expr::If(_)));
}

#[test]
fn sets_of_marks() {
    use ptx_isa::Marks;
    let all: Vec<Marks> = ptx_isa::Instruction::ALL
        .iter()
        .flat_map(|instruction| instruction.forms())
        .flat_map(|form| form.operands().iter().map(|operand| operand.marks()))
        .filter(|marks| *marks != Marks::EMPTY)
        .collect();
    let (first, other) = (
        all[0],
        *all.iter().find(|marks| !all[0].contains(**marks)).unwrap(),
    );
    let both = first.union(other);
    assert!(both.contains(first) && both.contains(other) && both.intersects(other));
    assert!(!Marks::EMPTY.intersects(both) && both.contains(Marks::EMPTY));
}
