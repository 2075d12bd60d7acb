//! What is legal and what is not, and from when and where on.

use ptx_isa::internals::OperandShape::{
    Bracket, Discard, F64, Function, Integer, Kernel, Label, Pair, Register, RegisterVector,
    Special, Variable, Vector,
};
use ptx_isa::internals::{ActualOperand, InstQuery, OperandShape, OperandViolation, Violation};
use ptx_isa::{
    Instruction, Modifier, Opcode, PtxVersion, ScalarType, SpecialReg, StateSpace, Target,
};

use ScalarType::*;

const R: OperandShape<'static> = Register(B32);
const D: OperandShape<'static> = Register(B64);
const H: OperandShape<'static> = Register(B16);
const P: OperandShape<'static> = Register(Pred);
const AT: OperandShape<'static> = Bracket(&[ActualOperand::new(Register(U64))]);

fn words(name: &str) -> (Opcode, Vec<Modifier>) {
    let (opcode, rest) = name.split_once('.').unwrap_or((name, ""));
    let parts = || rest.split('.').filter(|w| !w.is_empty());
    let modifiers: Vec<Modifier> = parts()
        .filter_map(|w| Modifier::from_text(format!(".{w}").as_bytes()))
        .collect();
    assert_eq!(modifiers.len(), parts().count(), "{name} has unknown words");
    let opcode = Opcode::from_text(opcode.as_bytes());
    (opcode.unwrap_or(Opcode::Trap), modifiers)
}

/// Calls `judge` with an instruction.
fn with<T>(name: &str, shapes: &[OperandShape<'_>], judge: impl FnOnce(&InstQuery<'_>) -> T) -> T {
    let (opcode, modifiers) = words(name);
    let operands: Vec<ActualOperand<'_>> = shapes.iter().map(|&s| ActualOperand::new(s)).collect();
    judge(&InstQuery::new(opcode, &modifiers, &operands))
}

fn problems(name: &str, shapes: &[OperandShape<'_>]) -> Vec<Violation> {
    with(name, shapes, |request| {
        match request.select(PtxVersion::CURRENT, Target::Sm100a) {
            Ok(selection) => selection.violations().as_slice().to_vec(),
            Err(mismatch) => mismatch.violations().as_slice().to_vec(),
        }
    })
}

fn legal(name: &str, shapes: &[OperandShape<'_>]) {
    assert_eq!(problems(name, shapes), [], "{name} {shapes:?}");
}

fn operand(name: &str, shapes: &[OperandShape<'_>], index: usize, problem: OperandViolation) {
    let found = problems(name, shapes);
    assert!(
        found.contains(&Violation::Operand(index, problem)),
        "{name} {shapes:?}: {found:?}"
    );
}

#[test]
fn registers_and_constants() {
    legal("add.s32", &[R, Register(U32), Integer(-5)]);
    legal("add.f32", &[Register(F32), R, F64(1.5)]);
    legal("add.u32", &[R, Function, Kernel]);
    operand(
        "add.f32",
        &[Register(F32), R, Integer(1)],
        2,
        OperandViolation::Constant,
    );
    operand("add.s32", &[R, R, F64(1.5)], 2, OperandViolation::Constant);
    operand("add.s32", &[R, R, D], 2, OperandViolation::Type);
    operand(
        "add.s32",
        &[Integer(1), R, R],
        0,
        OperandViolation::NeedsRegister,
    );
    operand("add.s32", &[Discard, R, R], 0, OperandViolation::Discard);
    operand(
        "add.s32",
        &[R, Special(SpecialReg::Laneid), R],
        1,
        OperandViolation::Kind,
    );
    operand(
        "add.rn.bf16",
        &[H, H, F64(1.5)],
        2,
        OperandViolation::NeedsRegister,
    );
    operand("bar.sync", &[Integer(16)], 0, OperandViolation::Constant);
    operand("bar.sync", &[R, Integer(33)], 1, OperandViolation::Constant);
    legal("mul.wide.u16", &[R, H, H]);
    operand("mul.wide.u16", &[H, H, H], 0, OperandViolation::Type);
    legal("bra", &[Label]);
    operand("bra", &[R], 0, OperandViolation::Kind);
    legal("mov.u32", &[R, Special(SpecialReg::Laneid)]);
}

#[test]
fn signs_and_suffixes() {
    let mut inverted = ActualOperand::new(P);
    inverted.inverted = true;
    for (name, first, legal) in [("and.pred", P, true), ("add.u32", R, false)] {
        let (opcode, modifiers) = words(name);
        let operands = [
            ActualOperand::new(first),
            inverted,
            ActualOperand::new(first),
        ];
        let request = InstQuery::new(opcode, &modifiers, &operands);
        let set = request.targets(PtxVersion::CURRENT);
        assert_eq!(set.contains(Target::Sm90), legal, "{name}");
    }
}

#[test]
fn wider_registers() {
    legal("ld.u8", &[Register(U32), AT]);
    legal("ld.f32", &[D, AT]);
    legal("cvt.u32.u8", &[D, Register(U32)]);
    operand("ld.u8", &[Register(F32), AT], 0, OperandViolation::Type);
    operand("ld.f32", &[Register(U64), AT], 0, OperandViolation::Type);
    operand("ld.u32", &[H, AT], 0, OperandViolation::Type);
    operand("add.u32", &[D, R, R], 0, OperandViolation::Type);
}

#[test]
fn vectors() {
    let two = [ActualOperand::new(R), ActualOperand::new(R)];
    let mixed = [
        ActualOperand::new(Register(U32)),
        ActualOperand::new(Register(F32)),
    ];
    let sunk = [ActualOperand::new(Discard), ActualOperand::new(R)];
    let sinks = [ActualOperand::new(Discard), ActualOperand::new(Discard)];
    legal("ld.v2.b32", &[Vector(&two), AT]);
    legal("ld.v2.b32", &[Vector(&sunk), AT]);
    legal("ld.v2.b32", &[RegisterVector(B32, 2), AT]);
    legal("mov.b64", &[Vector(&two), D]);
    legal("mov.b64", &[D, Vector(&two)]);
    operand(
        "ld.v2.b32",
        &[Vector(&mixed), AT],
        0,
        OperandViolation::Type,
    );
    operand(
        "ld.v2.b32",
        &[Vector(&sinks), AT],
        0,
        OperandViolation::Discard,
    );
    operand(
        "ld.v4.b32",
        &[Vector(&two), AT],
        0,
        OperandViolation::Length(4),
    );
    operand("ld.v2.b32", &[R, AT], 0, OperandViolation::Length(2));
    operand("mov.b32", &[Vector(&two), R], 0, OperandViolation::Shape);
    // One register needs its braces.
    let one = [ActualOperand::new(R)];
    let shape = "ldmatrix.sync.aligned.m8n8.x1.shared.b16";
    legal(shape, &[Vector(&one), AT]);
    operand(shape, &[R, AT], 0, OperandViolation::Length(1));
}

#[test]
fn the_result_of_four_warps() {
    let name = |n: usize| format!("wgmma.mma_async.sync.aligned.m64n{n}k16.f16.f16.f16");
    for n in (8..=256).step_by(8) {
        for count in [n / 4 - 1, n / 4, n / 4 + 1] {
            let d = vec![ActualOperand::new(R); count];
            let one = Integer(1);
            let operands = [Vector(&d), D, D, P, one, one, one, one];
            with(&name(n), &operands, |request| {
                let targets = request.targets(PtxVersion::CURRENT);
                assert_eq!(
                    targets.contains(Target::Sm90a),
                    count == n / 4,
                    "{n} {count}"
                );
                assert!(!targets.contains(Target::Sm100a));
            });
        }
    }
}

#[test]
fn addresses() {
    let variable = |space| {
        Bracket(Box::leak(Box::new([ActualOperand::new(Variable(
            space, B8,
        ))])))
    };
    legal("ld.b32", &[R, variable(StateSpace::Shared)]);
    legal("ld.shared.b32", &[R, variable(StateSpace::Shared)]);
    legal("ld.shared::cta.b32", &[R, variable(StateSpace::Shared)]);
    legal("ld.param.b32", &[R, variable(StateSpace::ParamEntry)]);
    legal("st.param.b32", &[variable(StateSpace::ParamFunc), R]);
    operand(
        "ld.b32",
        &[R, variable(StateSpace::Const)],
        1,
        OperandViolation::Space,
    );
    operand(
        "ld.global.b32",
        &[R, variable(StateSpace::Shared)],
        1,
        OperandViolation::Space,
    );
    operand(
        "st.param.b32",
        &[variable(StateSpace::ParamEntry), R],
        0,
        OperandViolation::Space,
    );
    operand(
        "ld.b32",
        &[R, Bracket(&[ActualOperand::new(Integer(64))])],
        1,
        OperandViolation::Space,
    );
    operand(
        "ld.b32",
        &[R, Bracket(&[ActualOperand::new(Register(F32))])],
        1,
        OperandViolation::Type,
    );
    operand("ld.b32", &[R, D], 1, OperandViolation::Shape);
    legal(
        "ld.local.b32",
        &[R, Bracket(&[ActualOperand::new(Integer(64))])],
    );
}

#[test]
fn optional_operands() {
    let policy = "ld.L2::cache_hint.b32";
    legal(policy, &[R, AT, D]);
    operand(policy, &[R, AT], 2, OperandViolation::Missing);
    operand("ld.b32", &[R, AT, D], 2, OperandViolation::Unexpected);
    // Two optional positions are distinguished by their operands.
    let copy = "cp.async.ca.shared.global";
    legal(copy, &[AT, AT, Integer(4)]);
    legal(copy, &[AT, AT, Integer(4), R]);
    legal(copy, &[AT, AT, Integer(4), P]);
    legal(
        &format!("{copy}.L2::cache_hint"),
        &[AT, AT, Integer(4), P, D],
    );
    legal(&format!("{copy}.L2::cache_hint"), &[AT, AT, Integer(4), D]);
    // A place in the middle.
    legal("bar.red.popc.u32", &[R, R, P]);
    legal("bar.red.popc.u32", &[R, R, Integer(64), P]);
    assert_eq!(
        problems("bar.red.popc.u32", &[R, P]),
        [Violation::Count(3, 4)]
    );
    // Pairs.
    legal(
        "setp.eq.s32",
        &[
            Pair(&[ActualOperand::new(P), ActualOperand::new(Discard)]),
            R,
            R,
        ],
    );
    operand(
        "setp.eq.s32",
        &[
            Pair(&[ActualOperand::new(Discard), ActualOperand::new(Discard)]),
            R,
            R,
        ],
        0,
        OperandViolation::Shape,
    );
    operand(
        "add.s32",
        &[Pair(&[ActualOperand::new(R), ActualOperand::new(R)]), R, R],
        0,
        OperandViolation::Shape,
    );
}

#[test]
fn modifiers() {
    assert_eq!(problems("popc", &[R, R]), [Violation::Slot(0)]);
    assert_eq!(problems("popc.b32.b64", &[R, R]), [Violation::Modifier(1)]);
    assert_eq!(
        problems("popc.u32", &[R, R]).first(),
        Some(&Violation::Modifier(0))
    );
    assert!(matches!(
        problems("setp.lo.s32", &[P, R, R])[..],
        [Violation::Rule(_)]
    ));
    assert!(matches!(problems("cvt.rn.u32.u32", &[R, R])[..], [_, ..]));
    // Without effect, and doubled without harm; but not where the word means something.
    legal("add.finite.s32", &[R, R, R]);
    legal("add.sat.sat.s32", &[R, R, R]);
    assert!(!problems("testp.finite.infinite.f32", &[P, R]).is_empty());
}

#[test]
fn versions_and_targets() {
    let v = PtxVersion::new;
    for (name, shapes, target, first) in [
        ("add.s32", &[R, R, R][..], Target::Sm90, Some(v(7, 8))),
        ("add.f32x2", &[D, D, D], Target::Sm100, Some(v(8, 6))),
        ("add.f32x2", &[D, D, D], Target::Sm90a, None),
        ("add.u8x4", &[R, R, R], Target::Sm120f, Some(v(9, 2))),
        ("add.u8x4", &[R, R, R], Target::Sm120, None),
        ("vote.all.pred", &[P, P], Target::Sm60, Some(v(5, 0))),
        ("vote.all.pred", &[P, P], Target::Sm75, Some(v(6, 3))),
        ("vote.all.pred", &[P, P], Target::Sm80, None),
        ("bar.cta.sync", &[R], Target::Sm80, Some(v(7, 8))),
        ("min.f32", &[R, R, R, R], Target::Sm100, Some(v(8, 8))),
        ("min.f32", &[R, R, R], Target::Sm100, Some(v(8, 6))),
    ] {
        let found = with(name, shapes, |request| request.first_version(target));
        assert_eq!(found, first, "{name} on {target}");
    }
}

/// The ways to ask agree with each other on every version and target.
#[test]
fn questions_agree() {
    for (name, shapes) in [
        ("add.s32", &[R, R, R][..]),
        ("vote.all.pred", &[P, P]),
        ("add.f32x2", &[D, D, D]),
        ("fence.acquire.cluster", &[]),
        ("add.sat.u32", &[R, R, R]),
        (
            "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned",
            &[],
        ),
        ("bar.cta.arrive", &[R, R]),
        ("ld.v8.b32", &[R, AT]),
    ] {
        with(name, shapes, |request| {
            for &target in Target::ALL {
                let mut first = None;
                for &version in PtxVersion::KNOWN
                    .iter()
                    .filter(|&&v| target.min_version() <= v)
                {
                    let listed = request.targets(version).contains(target);
                    let selected = request
                        .select(version, target)
                        .is_ok_and(|s| s.violations().is_empty());
                    assert_eq!(listed, selected, "{name} {version} {target}");
                    first = first.or(listed.then_some(version));
                }
                assert_eq!(request.first_version(target), first, "{name} {target}");
            }
        });
    }
}

/// Whatever is written, something is said, and in the terms of the form.
#[test]
fn answers_stay_within_the_form() {
    let two = [ActualOperand::new(R), ActualOperand::new(Discard)];
    let pair = [ActualOperand::new(P), ActualOperand::new(P)];
    let shapes = [
        R,
        D,
        P,
        Integer(0),
        F64(1.5),
        Discard,
        AT,
        Vector(&two),
        Pair(&pair),
        Label,
        Function,
    ];
    for instruction in Instruction::ALL {
        for count in 0..6 {
            for start in 0..shapes.len() {
                let operands: Vec<ActualOperand<'_>> = (0..count)
                    .map(|i| ActualOperand::new(shapes[(start + i * (start + 1)) % shapes.len()]))
                    .collect();
                for form in instruction.forms() {
                    let mut modifiers = instruction.words().to_vec();
                    for slot in form.slots().filter(|s| !s.is_optional()) {
                        modifiers.extend(slot.words().as_slice().iter().take(1));
                    }
                    let request =
                        InstQuery::new(instruction.opcode(), &modifiers, &operands).in_func();
                    let Ok(found) = request.select(PtxVersion::CURRENT, Target::Sm90) else {
                        continue;
                    };
                    for problem in found.violations().as_slice() {
                        match *problem {
                            Violation::Operand(i, _) => assert!(i < found.form().operands().len()),
                            Violation::Slot(i) => assert!(i < found.form().slot_count()),
                            Violation::Count(least, most) => {
                                assert!(least <= most && !(least..=most).contains(&count));
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
    }
}
