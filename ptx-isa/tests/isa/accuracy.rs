//! Approximations and the bounds of their errors.

use ptx_isa::internals::{Computation, ErrorLimit, SlotAssignment};
use ptx_isa::{Modifier, Opcode, find_instruction};

/// The computation of the form with these modifiers.
fn computation(text: &str) -> (&'static Computation, SlotAssignment) {
    let mut words = text.split('.');
    let opcode = Opcode::from_text(words.next().unwrap().as_bytes()).unwrap();
    let modifiers: Vec<Modifier> = words
        .map(|w| Modifier::from_text(format!(".{w}").as_bytes()).unwrap())
        .collect();
    let instruction = find_instruction(opcode, &modifiers).unwrap();
    let free = &modifiers[instruction.words().len()..];
    let mut forms = instruction.forms().iter();
    let found = forms.find_map(|f| Some((f.computation()?, f.match_modifiers(free)?)));
    found.unwrap()
}

#[test]
fn the_bound_depends_on_modifiers_and_operands() {
    use ErrorLimit::{Absolute, Relative, Ulp};
    for (text, magnitude, expected) in [
        ("div.approx.f32", 1.0, Some(Ulp(2))),
        ("div.approx.ftz.f32", 2f64.powi(126), Some(Ulp(2))),
        ("div.approx.f32", 2f64.powi(127), None),
        ("div.full.f32", 2f64.powi(127), Some(Ulp(2))),
        ("rcp.approx.f32", 1.0, Some(Ulp(1))),
        ("rcp.approx.ftz.f64", 1.0, None),
        ("sqrt.approx.f32", 1.0, Some(Relative(-23_000))),
        ("rsqrt.approx.f32", 1.0, Some(Relative(-22_900))),
        ("rsqrt.approx.f64", 1.0, None),
        ("cos.approx.f32", 6.0, Some(Absolute(-20_500))),
        ("cos.approx.f32", 6.5, Some(Absolute(-14_700))),
        ("cos.approx.f32", 315.0, None),
        ("lg2.approx.f32", 1.0, Some(Absolute(-22_000))),
        ("lg2.approx.f32", 4.0, Some(Relative(-22_000))),
        ("ex2.approx.f32", 4.0, Some(Ulp(2))),
        ("ex2.approx.f16x2", 4.0, Some(Relative(-9_900))),
        ("ex2.approx.ftz.bf16", 4.0, Some(Relative(-7_000))),
        ("tanh.approx.f32", 4.0, Some(Relative(-11_000))),
        ("tanh.approx.f16x2", 4.0, Some(Absolute(-10_987))),
        ("tanh.approx.bf16", 4.0, Some(Absolute(-8_000))),
        ("mad.f32", 4.0, None),
    ] {
        let (computation, slots) = computation(text);
        assert!(computation.is_approximate(), "{text}");
        let found = computation.error_limit(&slots, |_| magnitude);
        assert_eq!(found, expected, "{text} {magnitude}");
    }
}

#[test]
fn rounded_results_are_exact() {
    for text in [
        "div.rn.f32",
        "rcp.rz.f64",
        "sqrt.rn.ftz.f32",
        "add.s32",
        "mad.rn.f32",
    ] {
        let (computation, slots) = computation(text);
        assert!(!computation.is_approximate(), "{text}");
        assert_eq!(computation.error_limit(&slots, |_| 1.0), None, "{text}");
    }
}
