//! The calls of a module and of a function.

use std::collections::BTreeMap;

use ptx_build::{
    Argument, BuildError, CodeLabel, Datum, DatumValue, Declaration, FunctionBuilder,
    FunctionHeader, ModuleBuilder, OperandExpr as O, Reg,
};
use ptx_ir::FunctionKind;
use ptx_isa::{Directive, ScalarType as T, StateSpace as S};

use super::dice::Dice;
use super::oracle;
use super::world::{World, attribute, linkage};

/// What a function has to hold, in order.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A mnemonic with its guard and operands.
    Inst(String, Option<(Reg, bool)>, Vec<O>),
    /// A label with its name.
    Label(CodeLabel, String),
    /// The number of instructions and labels that the builder or a fragment made; `None` for any number.
    Made(Option<usize>),
}

/// How often each call was taken and refused, and what the functions have to hold.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) counts: BTreeMap<&'static str, (usize, usize)>,
    pub(crate) functions: BTreeMap<String, Vec<Event>>,
}

impl Log {
    /// Counts a call, and holds its error against what an error has to say.
    pub(crate) fn note<X>(
        &mut self,
        call: &'static str,
        result: Result<X, BuildError>,
    ) -> Option<X> {
        let count = self.counts.entry(call).or_default();
        match result {
            Ok(x) => {
                count.0 += 1;
                Some(x)
            }
            Err(error) => {
                count.1 += 1;
                oracle::error(call, &error);
                None
            }
        }
    }
}

/// What was noted is all there is to it.
fn ignore<X>(_: Option<X>) {}

fn directive(d: &mut Dice) -> Directive {
    const LIKELY: &[Directive] = &[
        Directive::Maxntid,
        Directive::Reqntid,
        Directive::Minnctapersm,
        Directive::Maxnreg,
        Directive::Noreturn,
    ];
    const ANY: &[Directive] = &[
        Directive::Version,
        Directive::Target,
        Directive::Entry,
        Directive::Pragma,
        Directive::Loc,
        Directive::Extern,
        Directive::Reg,
        Directive::Align,
        Directive::Reqnctapercluster,
        Directive::Explicitcluster,
        Directive::Maxclusterrank,
        Directive::AbiPreserve,
        Directive::Maxnctapersm,
        Directive::LocalMaxnreg,
        Directive::Section,
        Directive::Ptr,
        Directive::Branchtargets,
    ];
    let all = if d.one_in(3) { ANY } else { LIKELY };
    *d.of(all)
}

fn interface(d: &mut Dice, w: &World) -> FunctionHeader {
    let mut of = FunctionHeader::new();
    for _ in 0..d.below(3) {
        of = of.param(w.declaration(d, &[S::Param, S::Param, S::Reg]));
    }
    if d.one_in(2) {
        of = of.result(w.declaration(d, &[S::Param]));
    }
    if d.one_in(6) {
        of = of.linkage(linkage(d));
    }
    if d.one_in(10) {
        of = of.attribute(attribute(d));
    }
    if d.one_in(10) {
        let numbers: Vec<_> = (0..d.below(4)).map(|_| d.number()).collect();
        of = of.directive(directive(d), &numbers);
    }
    if d.one_in(20) {
        of = of.pragma(&[&d.text()]);
    }
    of
}

/// A call of the module.
pub(crate) fn of_module(m: &mut ModuleBuilder, d: &mut Dice, w: &mut World, log: &mut Log) {
    let before = m.text();
    let taken = match d.below(11) {
        0..=2 => {
            let declaration = w.declaration(d, &[S::Global, S::Global, S::Const, S::Shared]);
            let vars = log.note("declare a variable", m.declare_all(declaration));
            vars.map(|v| w.vars.extend(v)).is_some()
        }
        3 | 4 => {
            let kind = if d.one_in(6) {
                FunctionKind::Entry
            } else {
                FunctionKind::Func
            };
            let (name, of) = (d.name(), interface(d, w));
            let f = log.note("declare a function", m.declare_function(kind, &name, of));
            f.map(|f| w.declared(f, &name)).is_some()
        }
        5 => {
            let (Some(a), Some(b)) = (d.maybe(&w.funcs), d.maybe(&w.funcs)) else {
                return;
            };
            let (mut a, b) = (*a, *b);
            if d.one_in(2) {
                // Another name of a function without parameters.
                let name = format!("alias{}", d.next());
                a = log
                    .note("declare a function", m.declare_func(&name, None, &[], &[]))
                    .unwrap_or(a);
            }
            let taken = log.note("alias", m.alias(a, b)).is_some();
            if taken || m.text() != before {
                return;
            }
            false
        }
        6 => log
            .note("pragma of a module", m.pragmas(&[&d.text()]))
            .is_some(),
        7 => log
            .note("file", m.file(d.below(4) as u32, &d.text()))
            .is_some(),
        8 => {
            let name = if d.one_in(2) {
                ".debug_str".into()
            } else {
                d.name()
            };
            let data = (0..d.below(4)).map(|_| match d.one_in(3) {
                true => Datum::Label(d.name()),
                false => {
                    let values = (0..d.below(4)).map(|_| match d.below(4) {
                        0 => DatumValue::Name(d.name()),
                        1 => DatumValue::Plus(d.name(), d.number()),
                        2 => DatumValue::Difference(d.name(), d.name()),
                        _ => DatumValue::Number(d.number()),
                    });
                    let values = values.collect();
                    Datum::Data(d.ty(), values)
                }
            });
            let data: Vec<Datum> = data.collect();
            log.note("section", m.section(&name, &data)).is_some()
        }
        9 => log.note("item", m.item(&d.text())).is_some(),
        _ => {
            m.comment(&d.text());
            return;
        }
    };
    assert!(
        taken || m.text() == before,
        "something refused left a trace: {}",
        m.text()
    );
}

/// A call of a function that is being made.
pub(crate) fn of_function(
    k: &mut FunctionBuilder<'_>,
    d: &mut Dice,
    w: &mut World,
    log: &mut Log,
    events: &mut Vec<Event>,
) {
    match d.below(40) {
        0 => {
            let declaration = w.declaration(d, &[S::Param]);
            w.vars
                .extend(log.note("parameter", k.add_param(declaration)));
        }
        1 => {
            let declaration = w.declaration(d, &[S::Param]);
            w.vars.extend(log.note("result", k.result(declaration)));
        }
        2 => {
            let ty = d.ty();
            let reg = log.note(
                "register parameter",
                match d.one_in(2) {
                    true => k.add_register_result(ty, &d.name()),
                    false => k.add_register_param(ty, &d.name()),
                },
            );
            w.regs.extend(reg.map(|r| (r, ty)));
        }
        3 if d.one_in(4) => ignore(log.note("interface", k.set_interface(interface(d, w)))),
        3 if d.one_in(8) => drop(k.linkage(linkage(d))),
        3 => drop(k.linkage(ptx_ir::Linkage::Visible)),
        4 if !d.one_in(6) => {}
        4 => match d.one_in(6) {
            true => drop(k.attribute(attribute(d))),
            false => drop(k.directive(directive(d), &[1, 2, 3, 4][..d.below(5)])),
        },
        5 | 6 => {
            let ty = d.plain();
            let ty = if d.one_in(10) { d.ty() } else { ty };
            w.regs.push((k.reg(ty), ty));
        }
        7 | 8 => {
            let ty = d.plain();
            let name = d.name();
            let reg = log.note("register", k.named_reg(ty, &name));
            if let Some(reg) = reg {
                assert_eq!(k.name_of(reg), name);
                w.regs.push((reg, ty));
            }
        }
        9 => {
            let (ty, lanes) = (d.ty(), *d.of(&[0, 1, 2, 4, 4, 8, 255]));
            let reg = log.note("vector", k.named_vector(ty, lanes, &d.name()));
            w.regs.extend(reg.map(|r| (r, ty)));
        }
        10 => {
            let (ty, count) = (d.plain(), *d.of(&[0, 1, 2, 5, 1 << 17]));
            let regs = log.note("range", k.reg_range(ty, &d.name(), count));
            w.regs.extend(regs.into_iter().flatten().map(|r| (r, ty)));
        }
        11 => {
            let declaration = w.declaration(d, &[S::Reg]);
            w.ranges.extend(
                log.note("registers", k.registers(&declaration))
                    .into_iter()
                    .flatten(),
            );
        }
        12 => {
            let Some(range) = d.maybe(&w.ranges) else {
                return;
            };
            let reg = log.note("member", k.member(*range, d.below(6) as u64));
            w.regs
                .extend(reg.map(|r| (r, k.type_of(r).expect("its own"))));
        }
        13 | 14 => {
            let declaration = w.declaration(d, &[S::Shared, S::Local]);
            w.vars.extend(
                log.note("declare in a function", k.declare_all(declaration))
                    .into_iter()
                    .flatten(),
            );
        }
        15 => w.labels.push(k.label()),
        16 => w.labels.extend(log.note("label", k.named_label(&d.name()))),
        17 | 18 => {
            let Some(label) = w.label(d) else { return };
            if log.note("place", k.place(label)).is_some() {
                events.push(Event::Label(label, k.name_of_label(label).into()));
            }
        }
        19 => table(k, d, w, log, events),
        20 | 21 => k.open(),
        22..=24 => ignore(log.note("close", k.close())),
        25 => {
            let text = d.text();
            k.comment(&text);
            k.trailing_comment(&text);
            let file = if d.one_in(30) { 7 } else { 1 };
            k.loc(file, d.below(9) as u32, 1);
            ignore(log.note(
                "inlined",
                k.loc_inlined(
                    [1, d.below(9) as u32, 1],
                    (&d.name(), None),
                    [1, d.below(9) as u32, 1],
                ),
            ));
        }
        26 => ignore(log.note("pragma", k.pragmas(&[&d.text()]))),
        27 => call(k, d, w, log, events),
        28 => fragment(k, d, w, log, events),
        29 => {
            let (name, of) = (d.name(), interface(d, w));
            if let Some(f) = log.note(
                "declare inside",
                k.declare_function(FunctionKind::Func, &name, of),
            ) {
                w.declared(f, &name);
            }
        }
        30 if d.one_in(20) => drop(k.add().rn()),
        30 => {
            let name = d.name();
            w.vars.extend(k.local(&name));
            w.regs.extend(
                k.local_reg(&name)
                    .map(|r| (r, k.type_of(r).expect("its own"))),
            );
        }
        31 => of_module(k.module(), d, w, log),
        _ => statement(k, d, w, log, events),
    }
}

/// Closes scopes and places labels, as somebody would who wants to have the module.
pub(crate) fn tidy(
    k: &mut FunctionBuilder<'_>,
    d: &mut Dice,
    w: &World,
    log: &mut Log,
    events: &mut Vec<Event>,
) {
    if d.one_in(20) {
        return;
    }
    while log.note("close", k.close()).is_some() {}
    for label in w.labels.get(w.mark.1..).unwrap_or_default() {
        if log.note("place", k.place(*label)).is_some() {
            events.push(Event::Label(*label, k.name_of_label(*label).into()));
        }
    }
    if log.note("statement", k.ret().emit(())).is_some() {
        events.push(Event::Inst("ret".into(), None, Vec::new()));
    }
}

const STATEMENTS: &[(&str, &str)] = &[
    ("add.s32", "rrr"),
    ("add.f32", "fff"),
    ("mov.u32", "rs"),
    ("mov.b64", "ll"),
    ("mov.u64", "lF"),
    ("mad.lo.s32", "rrrr"),
    ("mul.wide.u32", "lrr"),
    ("setp.lt.s32", "prr"),
    ("setp.lt.and.s32", "Prrp"),
    ("selp.b32", "rrrp"),
    ("and.pred", "ppp"),
    ("ld.global.u32", "rL"),
    ("ld.weak.param.u64", "lV"),
    ("ld.weak.param.b32", "rV"),
    ("st.global.f32", "Lf"),
    ("ld.shared.b32", "rR"),
    ("ld.b32", "rL"),
    ("ld.global.v2.b32", "vL"),
    ("st.shared.v2.b32", "Rv"),
    ("cvt.rn.f32.s32", "fr"),
    ("cvt.rn.f16.f32", "hf"),
    ("mov.b32", "rV"),
    ("bra", "t"),
    ("bra.uni", "t"),
    ("brx.idx", "rT"),
    ("ret", ""),
    ("exit", ""),
    ("bar.sync", "i"),
    ("trap", ""),
    ("atom.global.add.u32", "rLr"),
    ("red.global.add.u32", "Lr"),
    ("cp.async.ca.shared.global", "RLi"),
    ("elect.sync", "Pr"),
    ("shfl.sync.idx.b32", "rrrrr"),
    ("prmt.b32", "rrrr"),
    ("lop3.b32", "rrrri"),
    ("cvta.to.global.u64", "ll"),
    ("call.uni", "F"),
    ("wgmma.fence.sync.aligned", ""),
    ("mov.b128", "q_"),
    ("tex.2d.v4.f32.s32", "vVv"),
    ("setmaxnreg.inc.sync.aligned.u32", "i"),
    ("", ""),
    ("add", "rrr"),
    ("add.", "rrr"),
    (".add", "rrr"),
    ("add..s32", "rrr"),
    ("add.s32.s32", "rrr"),
    ("é", "r"),
    ("add.s32;", "rrr"),
    ("@p bra", "t"),
    ("{", ""),
    ("}", ""),
    ("x:", ""),
    ("//", ""),
    ("add.s32 %r1,", "rr"),
    (".reg", "r"),
    (".loc", "iii"),
    ("nonsense.f32", "ff"),
    ("add.s33", "rrr"),
    ("ld.global.u32\n", "rL"),
    ("_", ""),
    ("x", "r"),
];

fn statement(
    k: &mut FunctionBuilder<'_>,
    d: &mut Dice,
    w: &World,
    log: &mut Log,
    events: &mut Vec<Event>,
) {
    let &(mnemonic, shape) = d.of(STATEMENTS);
    let operands = w.operands(d, shape);
    let mut guard = None;
    if d.one_in(6)
        && let Some(p) = w.reg(d, Some(T::Pred))
    {
        let negated = d.one_in(2);
        guard = Some((p, negated));
        let _ = if negated { k.guard_not(p) } else { k.guard(p) };
    }
    if log
        .note("statement", k.inst(mnemonic, &operands[..]))
        .is_some()
    {
        events.push(Event::Inst(mnemonic.into(), guard, operands));
    }
}

fn table(
    k: &mut FunctionBuilder<'_>,
    d: &mut Dice,
    w: &mut World,
    log: &mut Log,
    events: &mut Vec<Event>,
) {
    let labels: Vec<CodeLabel> = (0..d.below(4)).filter_map(|_| w.label(d)).collect();
    let label = w
        .label(d)
        .filter(|_| d.one_in(2))
        .unwrap_or_else(|| k.label());
    let made = match d.below(3) {
        0 => log.note("branch targets", k.place_branch_targets(label, &labels)),
        1 => {
            let functions: Vec<_> = (0..d.below(3))
                .filter_map(|_| d.maybe(&w.funcs).copied())
                .collect();
            log.note("call targets", k.place_call_targets(label, &functions))
        }
        _ if d.one_in(2) => {
            let one = Declaration::new(S::Param, T::B32, "_");
            let of = FunctionHeader::new().result(one.clone()).param(one);
            log.note("prototype", k.place_prototype(label, &of))
        }
        _ => log.note("prototype", k.place_prototype(label, &interface(d, w))),
    };
    if made.is_some() {
        events.push(Event::Label(label, k.name_of_label(label).into()));
        w.tables.push(label);
    }
}

fn argument(d: &mut Dice, w: &World) -> Argument {
    match d.below(8) {
        0 => Argument::Parts(
            (0..d.below(3))
                .map(|i| (4 * i as u64, d.plain(), w.operand(d, 0)))
                .collect(),
        ),
        1 => Argument::Variadic(
            (0..d.below(3))
                .map(|_| (d.plain(), w.operand(d, 0)))
                .collect(),
        ),
        2 => Argument::Value(w.operand(d, 0)),
        _ => {
            let ty = d.plain();
            w.reg(d, Some(ty))
                .map_or(Argument::Value(O::Int(1)), Argument::from)
        }
    }
}

fn call(
    k: &mut FunctionBuilder<'_>,
    d: &mut Dice,
    w: &mut World,
    log: &mut Log,
    events: &mut Vec<Event>,
) {
    // Half of them fit: one result and one argument of 32 bits.
    let right = d.one_in(2);
    let some = |d: &mut Dice| {
        let count = if right || d.one_in(2) { 1 } else { d.below(3) };
        let one = |d: &mut Dice| match w.reg(d, Some(T::B32)) {
            Some(r) if right => Argument::from(r),
            _ => argument(d, w),
        };
        (0..count).map(|_| one(d)).collect::<Vec<Argument>>()
    };
    let (results, arguments) = (some(d), some(d));
    let callee = w.callee.filter(|_| right);
    let callee = callee.or_else(|| d.maybe(&w.funcs).copied());
    let target = w.reg(d, Some(T::B64));
    let table = w.tables.last().filter(|_| d.one_in(2)).copied();
    let guard = w.reg(d, Some(T::Pred)).filter(|_| d.one_in(4));
    if let Some(p) = guard {
        k.guard(p);
    }
    let is_direct = table.is_none();
    let called = match (callee, target, table) {
        (_, Some(target), Some(table)) => {
            let one = || Declaration::new(S::Param, T::B32, "_");
            let shape = (0..results.len()).fold(FunctionHeader::new(), |h, _| h.result(one()));
            let shape = (0..arguments.len()).fold(shape, |h, _| h.param(one()));
            let called = k.call_indirect(target, table, &shape, &results, &arguments);
            log.note("indirect call", called)
        }
        (Some(f), ..) => log.note("call", k.call_function(f, &results, &arguments)),
        // What the guard was for.
        _ => log.note("statement", k.ret().emit(())),
    };
    if called.is_some() {
        // A store, the call and a load; a guard branches over all of it to a label.
        let made = 3 + 2 * usize::from(guard.is_some());
        let is_known = right && is_direct && callee == w.callee;
        events.push(Event::Made(is_known.then_some(made)));
    }
}

/// Their instructions differ from those of [`STATEMENTS`].
const FRAGMENTS: &[(&str, usize)] = &[
    ("sub.s32 {a}, {b}, {c};", 0),
    ("{ .reg .b32 t; not.b32 t, {a}; sub.s32 {b}, t, 1; }", 0),
    (".reg .b32 x; not.b32 x, {a};", 0),
    ("not.b32 %r1, {a};", 0),
    ("L: sub.s32 {a}, {a}, 1; @{p} bra L; not.b32 {a}, {a};", 1),
    ("}", 0),
    ("{", 0),
    ("} {", 0),
    ("ret; } .func evil() {", 0),
    ("sub.s32 {a}, {missing}, 1;", 0),
    ("ld.global.s32 {a}, [{l}+4];", 0),
    ("@{p} st.global.u32 [{l}], {a}", 0),
    ("// nothing", 0),
    ("/* open", 0),
    ("sub.s32 {a}, {b}, {c}; // done", 0),
    (".loc 1 2 3", 0),
    (".pragma \"nounroll\";", 0),
    ("$L_1: membar.gl;", 1),
    ("\u{0}", 0),
    ("é", 0),
    ("{a}", 0),
    ("{a}{b}", 0),
    ("not.b32 {a}, \"x", 0),
    ("{ {a}", 0),
    (".shared .b32 s[4]; not.b32 {a}, s;", 0),
    ("vote.sync.ballot.b32 {a}, {p}, -1;", 0),
];

fn fragment(
    k: &mut FunctionBuilder<'_>,
    d: &mut Dice,
    w: &mut World,
    log: &mut Log,
    events: &mut Vec<Event>,
) {
    let &(text, labels) = d.of(FRAGMENTS);
    let random = d.text();
    let (text, labels) = if d.one_in(6) {
        (random.as_str(), None)
    } else {
        (text, Some(labels))
    };
    let mut operands = Vec::new();
    for (name, ty) in [
        ("a", T::B32),
        ("b", T::B32),
        ("c", T::B32),
        ("p", T::Pred),
        ("l", T::B64),
    ] {
        let operand = match d.one_in(8) {
            true => w.operand(d, 0),
            false => w.reg(d, Some(ty)).map_or(O::Int(1), O::Reg),
        };
        operands.push((name, operand));
    }
    if let Some(report) = log.note("fragment", k.asm(text, &operands)) {
        events.push(Event::Made(labels.map(|l| l + report.instruction_count())));
    }
}
