//! Tests of the generator and of the comparison that need no GPU.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use fastrand::Rng;
use libtest_mimic::Trial;
use ptx_isa::internals::ErrorLimit;
use ptx_isa::{PtxVersion, ScalarType, Target};
use runner::{Abilities, VirtualMachine};

use crate::common::Defective;
use crate::compare::{Place, Tally, compare};
use crate::error::within;
use crate::program::Program;
use crate::report::accepted;
use crate::template::Template;
use crate::{STEPS, seed, templates};

/// A change of the text of a module.
type Defect = fn(&str) -> String;

pub(crate) fn trials() -> Vec<Trial> {
    let targets = [Target::Sm80, Target::Sm90a, Target::Sm120a];
    let both = targets.into_iter().map(|target| {
        Trial::test(format!("ptx_vm_agrees_with_itself::{target}"), move || {
            Ok(agrees_with_itself(target)?)
        })
    });
    let others = [
        Trial::test("wrong_instructions_are_found", || {
            Ok(wrong_instructions_are_found()?)
        }),
        Trial::test("wrong_approximations_are_found", || {
            Ok(wrong_approximations_are_found()?)
        }),
        Trial::test("bounds_of_approximations", || Ok(bounds()?)),
        Trial::test("abilities_of_a_device", || Ok(abilities()?)),
    ];
    both.chain(others).collect()
}

fn place(target: Target) -> Place {
    Place {
        version: PtxVersion::CURRENT,
        target,
    }
}

/// Programs have instructions of many forms, are accepted, and give the same on `ptx-vm` twice, and what the tables define.
fn agrees_with_itself(target: Target) -> Result<(), String> {
    let mut rng = Rng::with_seed(seed() + 1);
    let place = place(target);
    let all = templates(place.version, target, &mut rng);
    let mut order: Vec<&Template> = all.iter().collect();
    rng.shuffle(&mut order);
    let mut total = Tally::default();
    let mut forms = BTreeSet::new();
    for templates in order.chunks(STEPS) {
        let program = Program::random(templates, &mut rng);
        accepted(&program, place)?;
        forms.extend(templates.iter().map(|t| t.form.syntax()));
        total.add(compare(&program, place, &VirtualMachine, &mut rng)?);
    }
    let results = 32 * all.len();
    if total.equal < results / 2 || total.close < results / 200 || forms.len() < 50 {
        return Err(format!(
            "{total}, {} forms of {} instances",
            forms.len(),
            all.len()
        ));
    }
    match total.undefined_and_different + total.close - total.close_and_equal {
        0 => Ok(()),
        _ => Err(format!("{total}")),
    }
}

/// Defects are found in the same programs each time: in others, they may not change a result.
const SEED: u64 = 1;

fn instances() -> &'static [Template] {
    static ALL: OnceLock<Vec<Template>> = OnceLock::new();
    ALL.get_or_init(|| {
        let place = place(Target::Sm90);
        let rng = &mut Rng::with_seed(SEED);
        templates(place.version, place.target, rng)
    })
}

/// Programs of the instances of some opcode, on a device with a defect.
fn error(all: &[Template], opcode: &str, defect: fn(&str) -> String) -> Result<String, String> {
    let mut rng = Rng::with_seed(SEED);
    let place = place(Target::Sm90);
    let own = |t: &&Template| t.case.to_string().starts_with(opcode);
    // Among others, which come first and whose results it may read.
    let (mut others, own): (Vec<&Template>, Vec<&Template>) = all.iter().partition(|t| !own(t));
    rng.shuffle(&mut others);
    let mut order = others.get(..STEPS / 4).ok_or("no instances")?.to_vec();
    order.extend(own.iter().cycle().take(STEPS / 2));
    let program = Program::random(&order, &mut rng);
    let device = Defective {
        text: defect,
        ..Defective::NONE
    };
    compare(&program, place, &VirtualMachine, &mut rng)?;
    let found = compare(&program, place, &device, &mut rng).err();
    found.ok_or(format!("nothing was found: {opcode}"))
}

/// The error names the instruction that the device executes wrongly, and shows a kernel of it alone.
fn wrong_instructions_are_found() -> Result<(), String> {
    let all = instances();
    let cases: [(&str, Defect); 4] = [
        ("xor.b32", |text| text.replace("xor.b32 ", "or.b32 ")),
        ("min.s32", |text| text.replace("min.s32 ", "max.s32 ")),
        ("subc.cc.u32", |text| {
            text.replace("subc.cc.u32", "sub.cc.u32")
        }),
        ("fma.rn.f64", |text| {
            text.replace("fma.rn.f64", "fma.rz.f64")
        }),
    ];
    for (opcode, defect) in cases {
        let shown = error(all, opcode, defect)?;
        let kernel = shown.split_once("alone, too:\n").map(|(_, kernel)| kernel);
        let kernel = kernel.ok_or(format!("not reduced: {shown}"))?;
        let same = kernel.lines().filter(|l| l.starts_with(opcode)).count();
        if !shown.starts_with(&format!("`{opcode}")) || same != 1 || kernel.lines().count() > 30 {
            return Err(shown);
        }
    }
    Ok(())
}

/// An approximation that is too far from that of `ptx-vm` is found.
fn wrong_approximations_are_found() -> Result<(), String> {
    let defect = |text: &str| text.replace("sin.approx", "cos.approx");
    let shown = error(instances(), "sin.approx", defect)?;
    match shown.starts_with("`sin.approx") {
        true => Ok(()),
        false => Err(shown),
    }
}

/// How far approximations may be from each other.
fn bounds() -> Result<(), String> {
    let single = |limit, a: f32, b: f32| {
        within(
            ScalarType::F32,
            limit,
            a.to_bits().into(),
            b.to_bits().into(),
        )
    };
    let next = |n: u32| f32::from_bits(1.0f32.to_bits() + n);
    let cases = [
        (single(ErrorLimit::Ulp(2), next(4), 1.0), true),
        (single(ErrorLimit::Ulp(2), next(5), 1.0), false),
        (single(ErrorLimit::Relative(-10_000), 1.0009, 1.0), true),
        (single(ErrorLimit::Relative(-10_000), 1.002, 1.0), false),
        (single(ErrorLimit::Absolute(-10_000), 0.0009, -0.0), true),
        (single(ErrorLimit::Absolute(-10_000), 0.002, -0.0), false),
        (single(ErrorLimit::Absolute(0), f32::NAN, f32::NAN), true),
        (single(ErrorLimit::Absolute(0), f32::NAN, 0.0), false),
        (single(ErrorLimit::Absolute(0), f32::INFINITY, 1.0), false),
        (
            single(ErrorLimit::Relative(0), f32::INFINITY, f32::INFINITY),
            true,
        ),
        (
            single(ErrorLimit::Relative(0), f32::NEG_INFINITY, f32::INFINITY),
            false,
        ),
        (
            within(ScalarType::F16, ErrorLimit::Ulp(0), 0x3c02, 0x3c00),
            true,
        ),
        (
            within(ScalarType::F16, ErrorLimit::Ulp(0), 0x3c03, 0x3c00),
            false,
        ),
    ];
    match cases.iter().position(|(found, expected)| found != expected) {
        Some(n) => Err(format!("comparison {n}")),
        None => Ok(()),
    }
}

/// A device that runs everything takes the newest version; one that does not understand it an older one.
fn abilities() -> Result<(), String> {
    let of = |device: &Defective| Abilities::of(device, Target::Sm80).map_err(|e| e.to_string());
    let old = Defective {
        text: |text| match text.contains(".version 8.0") {
            true => text.into(),
            false => "not PTX".into(),
        },
        ..Defective::NONE
    };
    let (newest, old) = (of(&Defective::NONE)?, of(&old)?);
    match newest.version == PtxVersion::CURRENT && old.version == PtxVersion::new(8, 0) {
        true => Ok(()),
        false => Err(format!("{newest:?} {old:?}")),
    }
}
