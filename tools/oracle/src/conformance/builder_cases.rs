//! Builds the cases with `ptx-build`: the builder accepts the instructions that ptxas accepts, and prints the same text.

use std::collections::BTreeMap;

use ptx_build::{BuildError, Declaration, FunctionBuilder, ModuleBuilder, OperandExpr as Out};
use ptx_ir::{Body, FunctionKind, InstId, Module, Operand};
use ptx_isa::{ScalarType, StateSpace};

use super::case::Setting;
use super::operand::{bare, variable};
use super::preamble::{INSIDE, OUTSIDE};
use crate::rebuild::{operand_expr, unknown};

/// The mnemonic and the operands of an instruction; `resolve` returns the operand of the builder that a name denotes.
pub(super) fn instruction(
    m: &Module,
    body: &Body,
    inst: InstId,
    resolve: &dyn Fn(&str) -> Option<Out>,
) -> Option<(String, Vec<Out>)> {
    let resolve_operand = |operand: Operand| {
        let (name, number) = match operand {
            Operand::Reg(id) => {
                let register = body.registers().get(id)?;
                let decl = body.reg_decls().get(register.decl)?;
                (decl.name, decl.count.map(|_| register.number))
            }
            Operand::Symbol(id) => (m.symbols().get(id)?.name, None),
            Operand::Var(id) => (body.vars().get(id)?.name, None),
            Operand::Label(id) => (body.labels().get(id)?.name, None),
            _ => return None,
        };
        let number = number.map_or(String::new(), |n| n.to_string());
        resolve(&format!("{}{number}", m.name(name)))
    };
    let name = |o| resolve_operand(o).ok_or_else(|| unknown("a name"));
    let sig = body.inst(inst)?.sig;
    let operands = body
        .operands(inst)
        .iter()
        .map(|o| operand_expr(m, body.pool(), *o, &name, 0))
        .collect::<Result<_, _>>()
        .ok()?;
    Some((m.signature(sig).text().to_owned(), operands))
}

/// The operands of the builder that names denote.
pub(super) type Names = BTreeMap<String, Out>;

/// A variable in a space. `named_space` is the space in its name.
fn array(space: StateSpace, named_space: StateSpace) -> Declaration {
    let name = variable(named_space, ScalarType::B8);
    Declaration::new(space, ScalarType::B8, &name)
        .align(128)
        .array([1024])
}

/// Functions of all shapes: the end of the name after `fn_`, results, parameters.
fn shapes() -> [(String, Vec<Declaration>, Vec<Declaration>); 4] {
    let b32 = |name: &str| vec![Declaration::new(StateSpace::Param, ScalarType::B32, name)];
    [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(r, p)| {
        let returns = if r == 1 { b32("ra") } else { vec![] };
        let params = if p == 1 { b32("a") } else { vec![] };
        (format!("{r}{p}"), returns, params)
    })
}

/// The module around the cases, as calls of the builder.
pub(super) fn outside(
    m: &mut ModuleBuilder,
    setting: Setting,
    names: &mut Names,
) -> Result<(), BuildError> {
    for space in OUTSIDE {
        let name = variable(space, ScalarType::B8);
        names.insert(name, Out::Variable(m.declare(array(space, space))?));
    }
    for &ty in ScalarType::ALL
        .iter()
        .filter(|t| t.kind() == ptx_isa::TypeKind::Opaque)
    {
        if ty != ScalarType::Samplerref || setting == Setting::Independent {
            let name = variable(StateSpace::Global, ty);
            let var = m.declare(Declaration::new(StateSpace::Global, ty, &name))?;
            names.insert(name, Out::Variable(var));
        }
    }
    for (name, returns, params) in shapes() {
        let name = format!("fn_{name}");
        let mut f = m.func(&name)?;
        for declaration in returns {
            f.result(declaration)?;
        }
        for declaration in params {
            f.add_param(declaration)?;
        }
        f.ret().emit(())?;
        names.insert(name, Out::Func(f.finish()?));
    }
    Ok(())
}

/// The beginning of a kernel or function with the cases.
pub(super) fn inside(
    k: &mut FunctionBuilder<'_>,
    kind: FunctionKind,
    names: &mut Names,
) -> Result<(), BuildError> {
    if kind == FunctionKind::Entry {
        let entry = variable(StateSpace::ParamEntry, ScalarType::B8);
        let p = Declaration::new(StateSpace::Param, ScalarType::B8, &entry)
            .align(64)
            .array([1024]);
        names.insert(entry, Out::Variable(k.add_param(p)?));
    }
    for space in INSIDE {
        let name = variable(space, ScalarType::B8);
        names.insert(name, Out::Variable(k.declare(array(space.base(), space))?));
    }
    let name = variable(StateSpace::ParamFunc, ScalarType::B32);
    let var = Declaration::new(StateSpace::Param, ScalarType::B32, &name);
    names.insert(name, Out::Variable(k.declare(var)?));
    for (name, returns, params) in shapes() {
        let Some(&Out::Func(func)) = names.get(&format!("fn_{name}")) else {
            continue;
        };
        let calls = k.call_targets(&[func])?;
        names.insert(format!("calls_{name}"), Out::Label(calls));
        let proto = k.call_prototype(&returns, &params)?;
        names.insert(format!("proto_{name}"), Out::Label(proto));
    }
    let labels = [k.block()?, k.block()?];
    names.insert("L0".into(), Out::Label(labels[0]));
    names.insert("L1".into(), Out::Label(labels[1]));
    names.insert("branches".into(), Out::Label(k.branch_targets(&labels)?));
    Ok(())
}

/// Declares the register that a name denotes: `b32_7`, `v2_b32`.
pub(super) fn register(k: &mut FunctionBuilder<'_>, name: &str) -> Option<Out> {
    let (vector, ty) = match name.strip_prefix('v').and_then(|r| r.split_once('_')) {
        Some((n, ty)) if n == "2" || n == "4" => (n.parse().ok()?, ty),
        _ => (1, name.rsplit_once('_')?.0),
    };
    let ty = ScalarType::ALL.iter().find(|t| bare(t.text()) == ty)?;
    k.named_vector(*ty, vector, name).ok().map(Out::Reg)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, HashSet};

    use crate::sample::sample;
    use ptx_build::ModuleBuilder;
    use ptx_ir::FunctionKind;
    use ptx_isa::{Target, TargetOption};

    use super::super::case::Setting;
    use super::super::preamble::Module;
    use super::super::verdicts::{BASE, NEWER, Set, Verdict};
    use super::{inside, instruction, outside, register};

    fn words(text: &[u8]) -> String {
        String::from_utf8_lossy(text).into_owned()
    }

    /// Cases that are not made, with the reasons.
    fn differences(set: &Set, target: Target, setting: Setting, cases: &[&Verdict]) -> Vec<String> {
        let mut m = ModuleBuilder::new(set.newest(), target);
        if setting == Setting::Independent {
            m.target_option(TargetOption::TexmodeIndependent);
        }
        let found = RefCell::new(BTreeMap::new());
        outside(&mut m, setting, &mut found.borrow_mut()).unwrap();
        let mut k = m.kernel("main").unwrap();
        inside(&mut k, FunctionKind::Entry, &mut found.borrow_mut()).unwrap();
        let k = RefCell::new(k);
        let mut wrong = Vec::new();
        let mut wanted = Vec::new();
        for case in cases {
            let text = Module::new(set.newest(), target, setting, [&*case.line].into_iter()).text;
            let parsed = ptx_parse::parse(text.as_bytes());
            let main = parsed.module.function("main").unwrap();
            let body = parsed.module.body(main).unwrap();
            let (stmt, inst) = body
                .statements()
                .find_map(|(at, s)| match s {
                    ptx_ir::Statement::Inst(id) => Some((at, id)),
                    _ => None,
                })
                .unwrap();
            let named = |name: &str| {
                // The borrow ends here, because the closure borrows `found` mutably.
                let existing = found.borrow().get(name).cloned();
                existing.or_else(|| {
                    let made = register(&mut k.borrow_mut(), name)?;
                    found.borrow_mut().insert(name.to_owned(), made.clone());
                    Some(made)
                })
            };
            let Some((mnemonic, operands)) = instruction(&parsed.module, body, inst, &named) else {
                wrong.push(format!("{target} {}: an operand without a word", case.line));
                continue;
            };
            if let Err(error) = k.borrow_mut().inst(&mnemonic, &operands[..]) {
                // Where the checker errs, the builder errs with it.
                let options = ptx_verify::Options::default();
                if ptx_verify::verify(&parsed.module, &options).is_empty() {
                    wrong.push(format!("{target} {}: {error}", case.line));
                }
                continue;
            }
            let mut text = Vec::new();
            let style = ptx_print::Style::default();
            let sink = &mut text;
            ptx_print::write_canonical_statement(&parsed.module, body, stmt, &style, sink).unwrap();
            wanted.push(words(&text));
        }
        k.into_inner().finish().unwrap();
        match m.finish() {
            Ok(module) => {
                let text = words(&ptx_print::canonical(&module, &ptx_print::Style::default()));
                // Long statements have several lines.
                let without_whitespace = |s: &str| s.split_whitespace().collect::<String>();
                let lines: HashSet<String> =
                    text.split_inclusive(';').map(without_whitespace).collect();
                for line in wanted {
                    // Tables have generated names.
                    let named = ["L0", "L1", "branches", "calls_", "proto_"]
                        .iter()
                        .any(|n| line.contains(n));
                    if !named && !lines.contains(&without_whitespace(&line)) {
                        wrong.push(format!("{target}: not printed: {line}"));
                    }
                }
            }
            Err(error) => wrong.push(format!("{target}: {error}")),
        }
        wrong
    }

    #[test]
    fn every_accepted_case_is_made() {
        let sample = sample(8, 4);
        let mut wrong = Vec::new();
        let mut count = 0;
        for set in [&BASE, &NEWER] {
            let verdicts = set.read().unwrap();
            let mut groups: BTreeMap<(Target, Setting), Vec<&Verdict>> = BTreeMap::new();
            let forms = verdicts.iter().filter(|v| v.kind == "form");
            for v in sample.of(forms) {
                if let Some(target) = v.targets.first() {
                    groups.entry((*target, v.setting)).or_default().push(v);
                    count += 1;
                }
            }
            for ((target, setting), cases) in groups {
                wrong.extend(differences(set, target, setting, &cases));
            }
        }
        println!("{count} cases, {} not made", wrong.len());
        assert!(count > 5000 / sample.parts, "{count}");
        assert!(
            wrong.is_empty(),
            "{} of {count}:\n{}",
            wrong.len(),
            wrong[..wrong.len().min(40)].join("\n")
        );
    }
}
