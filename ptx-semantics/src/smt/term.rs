//! Terms of SMT-LIB. Equal terms are stored once, and subterms that a term contains more than once are printed with `let`.

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

/// The terms of a function or a script.
#[derive(Debug, Default)]
pub(super) struct Terms {
    /// The terms by their numbers. Arguments have smaller numbers than the terms that contain them.
    applications: Vec<Application>,
    /// The number of each term.
    numbers: BTreeMap<Application, Term>,
}

impl Terms {
    /// The application of a function symbol. Adds it unless it exists.
    pub(super) fn apply(&mut self, head: impl Into<Cow<'static, str>>, arguments: &[Term]) -> Term {
        let application = Application {
            head: head.into(),
            arguments: arguments.to_vec(),
        };
        if let Some(&term) = self.numbers.get(&application) {
            return term;
        }
        let term = Term(self.applications.len());
        self.applications.push(application.clone());
        self.numbers.insert(application, term);
        term
    }

    /// A constant.
    pub(super) fn leaf(&mut self, text: impl Into<Cow<'static, str>>) -> Term {
        self.apply(text, &[])
    }

    /// An application of a function whose result is a bit vector of this width.
    pub(super) fn bits(&mut self, head: &'static str, arguments: &[Bits], width: u32) -> Bits {
        let arguments: Vec<Term> = arguments.iter().map(|a| a.term).collect();
        Bits {
            term: self.apply(head, &arguments),
            width,
        }
    }

    /// `width` bits from the bit `low` on.
    pub(super) fn extract(&mut self, bits: Bits, low: u32, width: u32) -> Bits {
        if low == 0 && width == bits.width {
            return bits;
        }
        let head = format!("(_ extract {} {low})", low + width - 1);
        Bits {
            term: self.apply(head, &[bits.term]),
            width,
        }
    }

    /// Extends bits to a width with copies of the sign bit, or with zeros. To a smaller width, truncates them.
    pub(super) fn extend(&mut self, bits: Bits, signed: bool, width: u32) -> Bits {
        if width <= bits.width {
            return self.extract(bits, 0, width);
        }
        let sort = if signed { "sign" } else { "zero" };
        let head = format!("(_ {sort}_extend {})", width - bits.width);
        Bits {
            term: self.apply(head, &[bits.term]),
            width,
        }
    }

    /// Whether the lowest bit is one.
    pub(super) fn lowest_bit(&mut self, bits: Bits) -> Term {
        if let Some([condition, one, zero]) = self.arguments(bits.term, "ite")
            && (self.text(one), self.text(zero)) == ("#b1", "#b0")
        {
            return condition;
        }
        self.bit(bits, 0)
    }

    /// Whether a bit is one.
    pub(super) fn bit(&mut self, bits: Bits, position: u32) -> Term {
        let bit = self.extract(bits, position, 1);
        let one = self.leaf("#b1");
        self.apply("=", &[bit.term, one])
    }

    /// A constant of sort `Bool`.
    pub(super) fn truth(&mut self, holds: bool) -> Term {
        self.leaf(if holds { "true" } else { "false" })
    }

    /// The value of a condition, if it is a constant.
    pub(super) fn decided(&self, condition: Term) -> Option<bool> {
        match self.text(condition) {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    pub(super) fn not(&mut self, condition: Term) -> Term {
        match (self.decided(condition), self.arguments(condition, "not")) {
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

    /// The function symbol or constant of a term.
    fn text(&self, term: Term) -> &str {
        self.applications.get(term.0).map_or("", |a| &a.head)
    }

    /// The arguments of a term whose function symbol is `head`.
    fn arguments<const N: usize>(&self, term: Term, head: &str) -> Option<[Term; N]> {
        let application = self.applications.get(term.0).filter(|a| a.head == head)?;
        application.arguments.as_slice().try_into().ok()
    }

    /// The term and all of its subterms. Subterms come before the terms that contain them.
    fn subterms(&self, root: Term) -> BTreeSet<Term> {
        let mut subterms = BTreeSet::from([root]);
        let mut worklist = vec![root];
        while let Some(term) = worklist.pop() {
            let arguments = self
                .applications
                .get(term.0)
                .map_or(&[][..], |application| &application.arguments);
            worklist.extend(
                arguments
                    .iter()
                    .copied()
                    .filter(|&argument| subterms.insert(argument)),
            );
        }
        subterms
    }

    /// Whether a term contains a constant.
    pub(super) fn mentions(&self, root: Term, leaf: &str) -> bool {
        self.subterms(root)
            .into_iter()
            .any(|term| self.text(term) == leaf)
    }

    /// The text of a term, on lines that begin with two spaces.
    pub(super) fn print(&self, root: Term) -> String {
        let subterms = self.subterms(root);
        let mut uses: BTreeMap<Term, usize> = BTreeMap::new();
        for application in subterms.iter().filter_map(|t| self.applications.get(t.0)) {
            for argument in &application.arguments {
                *uses.entry(*argument).or_default() += 1;
            }
        }
        let mut texts: BTreeMap<Term, String> = BTreeMap::new();
        let (mut lines, mut binding_count) = (String::new(), 0);
        for &term in &subterms {
            let Some(application) = self.applications.get(term.0) else {
                continue;
            };
            let text = application_text(application, &mut texts);
            let is_shared = uses.get(&term).is_some_and(|&n| n > 1);
            if is_shared && !application.arguments.is_empty() {
                binding_count += 1;
                let name = format!("t{binding_count}");
                lines += &format!("  (let (({name} {text}))\n");
                texts.insert(term, name);
            } else {
                texts.insert(term, text);
            }
        }
        let body = texts.remove(&root).unwrap_or_default();
        format!("{lines}  {body}{}", ")".repeat(binding_count))
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
