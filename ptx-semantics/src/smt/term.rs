//! Terms of SMT-LIB. Equal terms are stored once, and what a term contains more than once is printed with `let`.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// A term of a [`Terms`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Term(usize);

/// A term of a sort `(_ BitVec width)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bits {
    pub(super) term: Term,
    pub(super) width: u32,
}

/// A function symbol and its arguments, or a constant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Application {
    head: Cow<'static, str>,
    arguments: Vec<Term>,
}

/// The terms of a function.
#[derive(Debug, Default)]
pub(super) struct Terms {
    all: Vec<Application>,
    numbers: BTreeMap<Application, Term>,
}

impl Terms {
    pub(super) fn apply(&mut self, head: impl Into<Cow<'static, str>>, arguments: &[Term]) -> Term {
        let application = Application {
            head: head.into(),
            arguments: arguments.to_vec(),
        };
        if let Some(&known) = self.numbers.get(&application) {
            return known;
        }
        let term = Term(self.all.len());
        self.all.push(application.clone());
        self.numbers.insert(application, term);
        term
    }

    pub(super) fn leaf(&mut self, text: impl Into<Cow<'static, str>>) -> Term {
        self.apply(text, &[])
    }

    pub(super) fn bits(&mut self, head: &'static str, arguments: &[Bits], width: u32) -> Bits {
        let arguments: Vec<Term> = arguments.iter().map(|a| a.term).collect();
        Bits {
            term: self.apply(head, &arguments),
            width,
        }
    }

    /// The bits from `low` on.
    pub(super) fn extract(&mut self, from: Bits, low: u32, width: u32) -> Bits {
        if low == 0 && width == from.width {
            return from;
        }
        let head = format!("(_ extract {} {low})", low + width - 1);
        Bits {
            term: self.apply(head, &[from.term]),
            width,
        }
    }

    /// With copies of the sign bit, or zeros, above.
    pub(super) fn extend(&mut self, from: Bits, signed: bool, width: u32) -> Bits {
        if width <= from.width {
            return self.extract(from, 0, width);
        }
        let sort = if signed { "sign" } else { "zero" };
        let head = format!("(_ {sort}_extend {})", width - from.width);
        Bits {
            term: self.apply(head, &[from.term]),
            width,
        }
    }

    /// Whether the lowest bit is one.
    pub(super) fn lowest_bit(&mut self, of: Bits) -> Term {
        if let Some([condition, one, zero]) = self.parts(of.term, "ite")
            && (self.text(one), self.text(zero)) == ("#b1", "#b0")
        {
            return condition;
        }
        self.bit(of, 0)
    }

    /// Whether a bit is one.
    pub(super) fn bit(&mut self, of: Bits, at: u32) -> Term {
        let bit = self.extract(of, at, 1);
        let one = self.leaf("#b1");
        self.apply("=", &[bit.term, one])
    }

    pub(super) fn truth(&mut self, holds: bool) -> Term {
        self.leaf(if holds { "true" } else { "false" })
    }

    /// The value of a condition that is a constant.
    pub(super) fn decided(&self, condition: Term) -> Option<bool> {
        match self.text(condition) {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    pub(super) fn not(&mut self, condition: Term) -> Term {
        match (self.decided(condition), self.parts(condition, "not")) {
            (Some(holds), _) => self.truth(!holds),
            (None, Some([inverse])) => inverse,
            (None, None) => self.apply("not", &[condition]),
        }
    }

    pub(super) fn and(&mut self, a: Term, b: Term) -> Term {
        match (self.decided(a), self.decided(b)) {
            (Some(true), _) | (_, Some(false)) => b,
            (Some(false), _) | (_, Some(true)) => a,
            _ => self.apply("and", &[a, b]),
        }
    }

    pub(super) fn or(&mut self, a: Term, b: Term) -> Term {
        match (self.decided(a), self.decided(b)) {
            (Some(false), _) | (_, Some(true)) => b,
            (Some(true), _) | (_, Some(false)) => a,
            _ => self.apply("or", &[a, b]),
        }
    }

    pub(super) fn ite(&mut self, condition: Term, then: Term, otherwise: Term) -> Term {
        match self.decided(condition) {
            Some(true) => then,
            Some(false) => otherwise,
            None if then == otherwise => then,
            None => self.apply("ite", &[condition, then, otherwise]),
        }
    }

    pub(super) fn choose(&mut self, condition: Term, then: Bits, otherwise: Bits) -> Bits {
        Bits {
            term: self.ite(condition, then.term, otherwise.term),
            width: then.width,
        }
    }

    /// The name of a constant.
    pub(super) fn name(&self, constant: Term) -> &str {
        self.text(constant)
    }

    fn text(&self, term: Term) -> &str {
        self.all.get(term.0).map_or("", |a| &a.head)
    }

    fn parts<const N: usize>(&self, term: Term, head: &str) -> Option<[Term; N]> {
        let application = self.all.get(term.0).filter(|a| a.head == head)?;
        application.arguments.as_slice().try_into().ok()
    }

    /// All that a term contains, itself included. A term is created after its arguments.
    fn contained(&self, root: Term) -> BTreeSet<Term> {
        let mut found = BTreeSet::from([root]);
        let mut open = vec![root];
        while let Some(term) = open.pop() {
            let arguments = self.all.get(term.0).map_or(&[][..], |a| &a.arguments);
            open.extend(arguments.iter().copied().filter(|&a| found.insert(a)));
        }
        found
    }

    /// Whether a term contains a constant.
    pub(super) fn mentions(&self, root: Term, leaf: &str) -> bool {
        let mut contained = self.contained(root).into_iter();
        contained.any(|term| self.text(term) == leaf)
    }

    /// The text of a term, on lines that begin with two spaces.
    pub(super) fn print(&self, root: Term) -> String {
        let contained = self.contained(root);
        let mut uses: BTreeMap<Term, usize> = BTreeMap::new();
        for application in contained.iter().filter_map(|t| self.all.get(t.0)) {
            for argument in &application.arguments {
                *uses.entry(*argument).or_default() += 1;
            }
        }
        let mut texts: BTreeMap<Term, String> = BTreeMap::new();
        let (mut lines, mut bound) = (String::new(), 0);
        for &term in &contained {
            let Some(application) = self.all.get(term.0) else {
                continue;
            };
            let text = application_text(application, &mut texts);
            let is_shared = uses.get(&term).is_some_and(|&n| n > 1);
            if is_shared && !application.arguments.is_empty() {
                bound += 1;
                let name = format!("t{bound}");
                lines += &format!("  (let (({name} {text}))\n");
                texts.insert(term, name);
            } else {
                texts.insert(term, text);
            }
        }
        let body = texts.remove(&root).unwrap_or_default();
        format!("{lines}  {body}{}", ")".repeat(bound))
    }
}

/// The text of an application of a function to arguments whose texts are known.
fn application_text(application: &Application, texts: &mut BTreeMap<Term, String>) -> String {
    if application.arguments.is_empty() {
        return application.head.clone().into_owned();
    }
    let mut text = format!("({}", application.head);
    for argument in &application.arguments {
        text.push(' ');
        text += texts.get(argument).map_or("", |t| t);
    }
    text + ")"
}
