//! What an error has to say, and what a module has to hold whose calls were all taken.

use std::collections::BTreeMap;

use ptx_build::{BuildError, BuildErrorKind, OperandExpr as Told};
use ptx_ir::{Body, Code, Module, Operand, Severity, Statement};

use super::calls::Event;

/// Checks that an error has a code, a message and help, and spans in its text.
pub(crate) fn error(call: &str, error: &BuildError) {
    let shown = error.to_string();
    assert!(!error.message().is_empty(), "{call}: {error:?}");
    assert!(
        error.code().to_string().parse::<Code>().is_ok()
            && shown.contains(&error.code().to_string()),
        "{call}: {shown}"
    );
    assert!(
        !shown.contains("$judged`") || error.text().contains("$judged"),
        "{call} mentions text that the caller did not write: {shown}"
    );
    if error.kind() != BuildErrorKind::Illegal {
        assert!(
            error.help().is_some_and(|h| !h.is_empty()),
            "{call}: {error:?}"
        );
        assert!(error.diagnostics().is_empty());
        return;
    }
    assert!(!error.diagnostics().is_empty(), "{call}: {error:?}");
    let text = error.text();
    for d in error.diagnostics() {
        assert_eq!(d.severity, Severity::Error);
        let labels = d.labels.iter().map(|l| l.span);
        let edits = d.fix.iter().map(|e| e.span);
        let repeats = d.repeats.iter().copied();
        for span in labels.chain(edits).chain(repeats).chain([d.span]) {
            let inside = span.start <= span.end && span.end as usize <= text.len();
            assert!(inside, "{call}: {d:?} is not in {text:?}");
        }
    }
}

/// The numbers that handles and ids have of each other.
#[derive(Default)]
struct Pairs {
    there: BTreeMap<String, String>,
    back: BTreeMap<String, String>,
}

impl Pairs {
    fn is(&mut self, told: String, found: String) {
        let a = self
            .there
            .entry(told.clone())
            .or_insert_with(|| found.clone())
            .clone();
        let b = self
            .back
            .entry(found.clone())
            .or_insert_with(|| told.clone())
            .clone();
        assert!(
            a == found && b == told,
            "`{told}` is `{found}`, and `{a}` and `{b}` before"
        );
    }
}

fn all(told: &[Told], found: &[Operand], module: &Module, body: &Body, pairs: &mut Pairs) {
    assert_eq!(told.len(), found.len(), "{told:?} {found:?}");
    for (t, f) in told.iter().zip(found) {
        same(t, *f, module, body, pairs);
    }
}

fn is_number(told: &Told) -> bool {
    match told {
        Told::Int(_) | Told::Unsigned(_) | Told::F32(_) | Told::F64(_) | Told::Constant(_) => true,
        Told::Neg(o) | Told::Not(o) => is_number(o),
        Told::Pair(a, b) => is_number(a) && is_number(b),
        Told::List(parts) => parts.iter().all(is_number),
        Told::Address(base, offset, _) => {
            is_number(base) && offset.as_ref().is_none_or(|o| is_number(o))
        }
        _ => false,
    }
}

fn same(told: &Told, found: Operand, module: &Module, body: &Body, pairs: &mut Pairs) {
    let pool = body.pool();
    match (told, found) {
        (Told::Reg(_), Operand::Reg(id)) => pairs.is(format!("{told:?}"), format!("{id:?}")),
        (Told::Variable(_), Operand::Var(_) | Operand::Symbol(_)) => {
            pairs.is(format!("{told:?}"), format!("{found:?}"))
        }
        (Told::Func(_), Operand::Symbol(id)) => pairs.is(format!("{told:?}"), format!("{id:?}")),
        (Told::Label(_), Operand::Label(id)) => pairs.is(format!("{told:?}"), format!("{id:?}")),
        (Told::Int(n), Operand::Small(found)) => assert_eq!(*n, i64::from(found)),
        (Told::Special(a), Operand::Special(b)) => assert_eq!(*a, b),
        (Told::Address(base, offset, form), Operand::Address(id)) => {
            let address = pool.address(id).expect("an address");
            assert_eq!(*form, address.form);
            same(base, address.base, module, body, pairs);
            if let Some(offset) = offset {
                same(offset, address.offset, module, body, pairs);
            }
        }
        (Told::Vector(told), Operand::Vector(id))
        | (Told::Bracket(told), Operand::Bracket(id))
        | (Told::List(told), Operand::List(id)) => {
            all(told, pool.list(id), module, body, pairs);
        }
        (Told::Pair(p, q), Operand::Pair(at)) => {
            let (a, b) = pool.pair(at);
            all(
                &[(**p).clone(), (**q).clone()],
                &[a, b],
                module,
                body,
                pairs,
            );
        }
        (Told::Not(told), Operand::Not(at)) | (Told::Neg(told), Operand::Neg(at)) => {
            same(told, pool.get(at), module, body, pairs)
        }
        (Told::Component(told, a), Operand::Component(b, at)) => {
            assert_eq!(*a, b);
            same(told, pool.get(at), module, body, pairs);
        }
        (Told::Sink, Operand::Sink) => {}
        // Numbers and expressions of them are constants.
        (_, Operand::Imm(_) | Operand::Small(_)) if is_number(told) => {}
        // A base without an offset is the operand itself.
        (Told::Address(base, None, ptx_ir::AddressForm::Bare), _) => {
            same(base, found, module, body, pairs)
        }
        _ => {
            let text = crate::common::printed(module);
            panic!("told {told:?}, found {found:?}\n{text}")
        }
    }
}

/// The statements of a function are those that were told, in their order, each name with the meaning that it had.
pub(crate) fn function(events: &[Event], module: &Module, body: &Body) {
    let mut pairs = Pairs::default();
    // How many statements are skipped; any number of them.
    let (mut made, mut any) = (0, false);
    let mut events = events.iter().peekable();
    for (_, statement) in body.statements() {
        while let Some(Event::Made(n)) = events.peek() {
            // After an unknown number, numbers do not matter.
            any |= n.is_none();
            made = if any { 0 } else { made + n.unwrap_or(0) };
            events.next();
        }
        let fits = match (statement, events.peek()) {
            (Statement::Inst(id), Some(Event::Inst(told, guard, _))) => {
                let found = body.inst(id).and_then(ptx_ir::Inst::guard);
                mnemonic(module, body, id) == *told
                    && guard.map(|g| g.1) == found.map(|g| g.sense.is_negated())
            }
            (Statement::Label(id), Some(Event::Label(_, told))) => body
                .labels()
                .get(id)
                .is_some_and(|l| module.name(l.name) == told),
            (Statement::Inst(_) | Statement::Label(_), _) => false,
            _ => continue,
        };
        if made > 0 {
            made -= 1;
        } else if fits {
            any = false;
            let event = events.next();
            fit(event, statement, module, body, &mut pairs);
        } else {
            let text = crate::common::printed(module);
            assert!(
                any,
                "{statement:?} where {:?} was told\n{text}",
                events.peek()
            );
        }
    }
    assert!(
        events.all(|e| matches!(e, Event::Made(_))),
        "a statement is missing"
    );
}

fn fit(told: Option<&Event>, found: Statement, module: &Module, body: &Body, pairs: &mut Pairs) {
    match (told, found) {
        (Some(Event::Label(label, _)), Statement::Label(id)) => {
            pairs.is(format!("{:?}", Told::Label(*label)), format!("{id:?}"));
        }
        (Some(Event::Inst(mnemonic, guard, operands)), Statement::Inst(id)) => {
            let inst = body.inst(id).expect("an instruction");
            assert_eq!(
                guard.map(|g| g.1),
                inst.guard().map(|g| g.sense.is_negated()),
                "{mnemonic}"
            );
            if let (Some((p, _)), Some(g)) = (guard, inst.guard()) {
                same(
                    &Told::Reg(*p),
                    body.pool().get(g.predicate),
                    module,
                    body,
                    pairs,
                );
            }
            all(
                operands,
                body.pool().slice(inst.operands()),
                module,
                body,
                pairs,
            );
        }
        _ => {}
    }
}

fn mnemonic<'m>(module: &'m Module, body: &Body, id: ptx_ir::InstId) -> &'m str {
    let sig = body.inst(id).map(|i| i.sig).expect("an instruction");
    module.signature(sig).text()
}
