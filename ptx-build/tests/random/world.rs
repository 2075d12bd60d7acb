//! What the calls so far gave, and operands made of it, mostly right and often wrong.

use std::collections::BTreeMap;

use ptx_build::{
    CodeLabel, Declaration, DeclarationAttribute, Func, Init, ModuleBuilder, OperandExpr as O, Reg,
    RegRange, Variable,
};
use ptx_ir::{AddressForm, Component, Linkage};
use ptx_isa::{PtxVersion, ScalarType as T, SpecialReg, StateSpace as S, Target};

use super::dice::Dice;

/// The handles of all functions and modules; those of the function that is made come last.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) regs: Vec<(Reg, T)>,
    pub(crate) ranges: Vec<RegRange>,
    pub(crate) vars: Vec<Variable>,
    pub(crate) labels: Vec<CodeLabel>,
    pub(crate) tables: Vec<CodeLabel>,
    pub(crate) funcs: Vec<Func>,
    pub(crate) names: BTreeMap<Func, String>,
    /// A function of the module with a result and a parameter of 32 bits.
    pub(crate) callee: Option<Func>,
    /// How many registers and labels there were when the function was begun.
    pub(crate) mark: (usize, usize),
}

impl World {
    /// With the handles of another module.
    pub(crate) fn new() -> Self {
        let mut w = Self::default();
        let mut other = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
        let global = other.declare(Declaration::new(S::Global, T::B32, "x"));
        let mut f = other.func("f").expect("a module without names");
        for ty in [T::B32, T::B64, T::F32, T::Pred] {
            w.regs.push((f.reg(ty), ty));
        }
        w.vars.extend(global);
        w.vars.extend(f.param(T::B32, "p"));
        w.labels.push(f.label());
        let range = Declaration::new(S::Reg, T::B32, "%a").range(9);
        w.ranges.extend(f.registers(&range).expect("a range"));
        w.funcs.extend(f.finish());
        w
    }

    /// A function is known by its name.
    pub(crate) fn declared(&mut self, f: Func, name: &str) {
        self.names.insert(f, name.to_string());
        self.funcs.push(f);
    }

    pub(crate) fn begin(&mut self) {
        self.mark = (self.regs.len(), self.labels.len());
    }

    /// A register, mostly of this function and of the type.
    pub(crate) fn reg(&self, d: &mut Dice, ty: Option<T>) -> Option<Reg> {
        let own = self.regs.get(self.mark.0..).unwrap_or_default();
        let all: &[(Reg, T)] = if d.one_in(25) || own.is_empty() {
            &self.regs
        } else {
            own
        };
        let fit: Vec<_> = all
            .iter()
            .filter(|(_, t)| ty.is_none_or(|ty| ty == *t))
            .collect();
        match fit.is_empty() || d.one_in(25) {
            true => d.maybe(all).map(|r| r.0),
            false => d.maybe(&fit).map(|r| r.0),
        }
    }

    pub(crate) fn label(&self, d: &mut Dice) -> Option<CodeLabel> {
        let own = self.labels.get(self.mark.1..).unwrap_or_default();
        let all = if d.one_in(20) || own.is_empty() {
            &self.labels[..]
        } else {
            own
        };
        d.maybe(all).copied()
    }

    /// Any operand.
    pub(crate) fn operand(&self, d: &mut Dice, depth: usize) -> O {
        let parts = |d: &mut Dice| {
            (0..d.below(5))
                .map(|_| self.operand(d, depth + 1))
                .collect()
        };
        let form = *d.of(&[
            AddressForm::Bracketed,
            AddressForm::Bracketed,
            AddressForm::Unified,
            AddressForm::Indexed,
        ]);
        let kinds = if depth > 8 { 10 } else { 20 };
        let some = |o: Option<O>| o.unwrap_or(O::Sink);
        match d.below(kinds) {
            0 | 1 => some(self.reg(d, None).map(O::Reg)),
            2 => O::Special(*d.of(&[
                SpecialReg::Tid,
                SpecialReg::Laneid,
                SpecialReg::Clock64,
                SpecialReg::Ctaid,
            ])),
            3 => O::Int(d.int()),
            4 => O::Unsigned(d.next()),
            5 => O::F32(*d.of(&[0.0, f32::NAN, f32::INFINITY, -0.0, 1e-42])),
            6 => O::F64(*d.of(&[0.0, f64::NAN, f64::NEG_INFINITY, 1.0])),
            7 => O::Constant(d.constant()),
            8 => some(d.maybe(&self.vars).map(|v| O::Variable(*v))),
            9 => match d.below(3) {
                0 => some(d.maybe(&self.funcs).map(|f| O::Func(*f))),
                1 => some(self.label(d).map(O::Label)),
                _ => O::Sink,
            },
            10..=12 => {
                let offset = d.one_in(2).then(|| Box::new(O::Int(d.int())));
                O::Address(Box::new(self.operand(d, depth + 1)), offset, form)
            }
            13 => O::Bracket(parts(d)),
            14 => O::Vector(parts(d)),
            15 => O::List(parts(d)),
            16 => O::Pair(
                Box::new(self.operand(d, depth + 1)),
                Box::new(self.operand(d, depth + 1)),
            ),
            17 => O::Not(Box::new(self.operand(d, depth + 1))),
            18 => O::Neg(Box::new(self.operand(d, depth + 1))),
            _ => {
                let selector = d.of(&["x", "y", "w", "b0", "h1", "b3210"]).parse();
                O::Component(
                    Box::new(self.operand(d, depth + 1)),
                    selector.expect("a selector"),
                )
            }
        }
    }

    /// The operands that a word of letters asks for, now and then with a wrong one, one more or one less.
    ///
    /// `p h r l q f d`: a register of the type; capitals: an address in a register, `V` one of a variable; `i` a number; `t`
    /// a label, `T` a table, `F` a function, `v` a vector of two `r`, `s` a special register, `P` a pair of predicates.
    pub(crate) fn operands(&self, d: &mut Dice, shape: &str) -> Vec<O> {
        let reg = |d: &mut Dice, ty| self.reg(d, Some(ty)).map_or(O::Sink, O::Reg);
        let address = |d: &mut Dice, base: O| {
            let offset = d.one_in(3).then(|| Box::new(O::Int(4 * d.below(9) as i64)));
            O::Address(Box::new(base), offset, AddressForm::Bracketed)
        };
        let mut all: Vec<O> = Vec::new();
        for letter in shape.chars() {
            let o = match letter {
                'p' => reg(d, T::Pred),
                'h' => reg(d, T::B16),
                'r' if d.one_in(6) => O::Int(d.below(9) as i64),
                'r' => reg(d, T::B32),
                'l' => reg(d, T::B64),
                'q' => reg(d, T::B128),
                'f' => reg(d, T::F32),
                'd' => reg(d, T::F64),
                'R' => {
                    let base = reg(d, T::B32);
                    address(d, base)
                }
                'L' => {
                    let base = reg(d, T::B64);
                    address(d, base)
                }
                'V' => {
                    let base = d.maybe(&self.vars).map_or(O::Sink, |v| O::Variable(*v));
                    address(d, base)
                }
                'i' => O::Int(d.below(16) as i64),
                't' => self.label(d).map_or(O::Sink, O::Label),
                'T' => d.maybe(&self.tables).map_or(O::Sink, |t| O::Label(*t)),
                'F' => d.maybe(&self.funcs).map_or(O::Sink, |f| O::Func(*f)),
                'v' => O::Vector(vec![reg(d, T::B32), reg(d, T::B32)]),
                's' => O::Component(Box::new(O::Special(SpecialReg::Tid)), Component::X.into()),
                'P' => O::Pair(Box::new(reg(d, T::Pred)), Box::new(reg(d, T::Pred))),
                _ => O::Sink,
            };
            all.push(if d.one_in(15) { self.operand(d, 0) } else { o });
        }
        if d.one_in(25) {
            all.pop();
        }
        if d.one_in(25) {
            all.push(self.operand(d, 0));
        }
        all
    }

    fn init(&self, d: &mut Dice, depth: usize) -> Init {
        let var = |d: &mut Dice| d.maybe(&self.vars).copied();
        match d.below(if depth > 3 { 8 } else { 12 }) {
            0..=3 => Init::Int(d.int()),
            4 => Init::Constant(d.constant()),
            5 if d.one_in(2) => Init::F32(1.5),
            5 => Init::F64(0.5),
            6 => Init::Text(d.text()),
            7 => Init::Unsigned(d.next()),
            8 => match (d.below(5), var(d)) {
                (0, Some(v)) => Init::Generic(v, d.int()),
                (1, Some(v)) => Init::Masked(d.number(), Box::new(Init::Address(v, 0))),
                (2, _) => d
                    .maybe(&self.funcs)
                    .map_or(Init::Int(0), |f| Init::Function(*f)),
                (3, _) => d
                    .maybe(&self.labels)
                    .map_or(Init::Int(0), |l| Init::Label(*l)),
                (_, Some(v)) => Init::Address(v, d.int()),
                _ => Init::Int(1),
            },
            9 => match d.one_in(2) {
                true => Init::Field(
                    d.of(&["addr_mode_0", "filter_mode", "x", ""]).to_string(),
                    d.of(&["wrap", "nearest", "1", ""]).to_string(),
                ),
                false => Init::Plus(Box::new(self.init(d, depth + 1)), d.number()),
            },
            _ => Init::List((0..d.below(6)).map(|_| self.init(d, depth + 1)).collect()),
        }
    }

    /// A declaration, mostly of the space.
    pub(crate) fn declaration(&self, d: &mut Dice, spaces: &[S]) -> Declaration {
        const SPACES: &[S] = &[
            S::Reg,
            S::Global,
            S::Const,
            S::Shared,
            S::Local,
            S::Param,
            S::Tex,
        ];
        let space = if d.one_in(20) {
            *d.of(SPACES)
        } else {
            *d.of(spaces)
        };
        let ty = if d.one_in(6) {
            d.ty()
        } else {
            *d.of(&[T::B8, T::U8, T::B32, T::S32, T::B64, T::F32])
        };
        let mut one = Declaration::new(space, ty, &d.name());
        if d.one_in(15) {
            one = one.and(&d.name());
        }
        if d.one_in(5) {
            one = one.align(d.number());
        }
        if d.one_in(8) {
            one = one.vector(*d.of(&[0, 1, 2, 3, 4, 8, 255]));
        }
        if d.one_in(4) {
            one = one.array((0..d.below(3)).map(|_| 1 << d.below(5)));
        }
        if d.one_in(20) {
            one = one.array([u64::MAX >> d.below(40), 8]);
        }
        if d.one_in(15) {
            one = one.unsized_array();
        }
        if d.one_in(15) {
            one = one.dimension(d.number());
        }
        if d.one_in(12) {
            one = one.range(d.number());
        }
        if d.one_in(10) {
            one = one.linkage(linkage(d));
        }
        if d.one_in(15) && space != S::Param && space != S::Reg {
            one = one.attribute(attribute(d));
        }
        if d.one_in(15) {
            one = one.pointer(
                d.one_in(2).then(|| *d.of(SPACES)),
                d.one_in(2).then(|| 1 << d.below(6)),
            );
        }
        if d.one_in(4) {
            one = one.init(self.init(d, 0));
        }
        one
    }
}

pub(crate) fn linkage(d: &mut Dice) -> Linkage {
    *d.of(&[
        Linkage::Visible,
        Linkage::Extern,
        Linkage::Weak,
        Linkage::Common,
    ])
}

pub(crate) fn attribute(d: &mut Dice) -> DeclarationAttribute {
    const NUMBERS: &[&str] = &[
        "1",
        "0xAB",
        "",
        "x",
        "1, 2",
        "1) .b32 x; (",
        "é",
        "1 // x",
        "\n",
    ];
    if d.one_in(3) {
        return DeclarationAttribute::Managed;
    }
    let [a, b] = [d.of(NUMBERS), d.of(NUMBERS)];
    DeclarationAttribute::Unified((*a).into(), (*b).into())
}
