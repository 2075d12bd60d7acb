//! Compares headers of functions, declarations and what the header of a module says.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use hashbrown::HashMap;
use ptx_ir::{
    Body, DirectiveStmt, FuncId, Function, FunctionKind, Item, Module, Operand, Statement,
    TableRange,
};
use ptx_isa::Directive;

use crate::change::{Change, Subject};
use crate::code::{self, Code};
use crate::names::Numbers;
use crate::text;
use crate::token::Token;

/// A module with the numbers of its names.
#[derive(Copy, Clone)]
pub(crate) struct Side<'m> {
    pub(crate) module: &'m Module,
    pub(crate) numbers: &'m Numbers,
}

/// Something that is declared: what it is compared by, its name, its text.
struct Declared {
    subject: Subject,
    tokens: Vec<Token>,
    name: String,
    text: String,
}

/// Adds a change if texts differ.
fn differ(
    changes: &mut Vec<Change>,
    subject: Subject,
    left: Option<String>,
    right: Option<String>,
) {
    if left != right {
        changes.push(Change {
            subject,
            name: String::new(),
            left,
            right,
        });
    }
}

/// Compares things by their names; of several of one name the first ones, the second ones and so on. Those of the left side come
/// first.
fn by_name(left: Vec<Declared>, right: Vec<Declared>, changes: &mut Vec<Change>) {
    let mut known: HashMap<(Subject, String, usize), Declared> = HashMap::new();
    let mut order = Vec::new();
    for (key, declared) in keyed(right) {
        order.push(key.clone());
        known.insert(key, declared);
    }
    let mut change = |left: Option<Declared>, right: Option<Declared>| {
        if let Some(one) = left.as_ref().or(right.as_ref()) {
            changes.push(Change {
                subject: one.subject,
                name: one.name.clone(),
                left: left.map(|d| d.text),
                right: right.map(|d| d.text),
            });
        }
    };
    for (key, declared) in keyed(left) {
        let other = known.remove(&key);
        if other
            .as_ref()
            .is_none_or(|other| other.tokens != declared.tokens)
        {
            change(Some(declared), other);
        }
    }
    for key in order {
        change(None, known.remove(&key));
    }
}

/// With the number of those of the same name before.
fn keyed(all: Vec<Declared>) -> impl Iterator<Item = ((Subject, String, usize), Declared)> {
    let mut counts: HashMap<(Subject, String), usize> = HashMap::new();
    all.into_iter().map(move |declared| {
        let name = declared.name.clone();
        let count = counts.entry((declared.subject, name.clone())).or_insert(0);
        *count += 1;
        ((declared.subject, name, *count), declared)
    })
}

// --- modules ---

/// What differs in two modules outside of functions with bodies.
pub(crate) fn of_modules(left: Side<'_>, right: Side<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    let (a, b) = (left.module.header(), right.module.header());
    let text = |v: Option<ptx_isa::PtxVersion>| v.map(|v| v.to_string());
    differ(
        &mut changes,
        Subject::Version,
        text(a.version),
        text(b.version),
    );
    let (x, y) = (target(left.module), target(right.module));
    differ(&mut changes, Subject::Target, x, y);
    // Without the directive it is 32.
    let size = |size: Option<u8>| Some(size.unwrap_or(32).to_string());
    let (x, y) = (size(a.address_size), size(b.address_size));
    differ(&mut changes, Subject::AddressSize, x, y);
    by_name(left.items(), right.items(), &mut changes);
    initializers(left, right, &mut changes);
    changes
}

/// All names that `.target` has.
fn target(module: &Module) -> Option<String> {
    let directives = module.items().filter_map(|(_, item)| match item {
        Item::Directive(id) => module.directives().get(id),
        _ => None,
    });
    let mut targets = directives.filter(|d| d.directive == Directive::Target);
    let text = text::directive(module, targets.next()?);
    Some(
        text.trim_start_matches(Directive::Target.text())
            .trim()
            .to_owned(),
    )
}

impl Side<'_> {
    /// What is declared outside of functions with bodies.
    fn items(self) -> Vec<Declared> {
        let mut all = Vec::new();
        let mut unnamed = 0;
        for (id, item) in self.module.items() {
            match item {
                Item::Decl(decl) => all.extend(self.variables(decl)),
                Item::Directive(id) => {
                    all.extend(
                        self.module
                            .directives()
                            .get(id)
                            .and_then(|d| self.directive(d)),
                    );
                }
                Item::Function(id) => all.extend(self.function(id)),
                Item::Opaque(_) => {
                    let change = self.module.edits().and_then(|edits| edits.change(id));
                    let text = self.module.patched_text(self.module.span(id), change);
                    let text = String::from_utf8_lossy(&text).into_owned();
                    unnamed += 1;
                    all.push(Declared {
                        subject: Subject::Unrecognized,
                        tokens: Vec::new(),
                        name: format!("{unnamed}: {text}"),
                        text,
                    });
                }
                _ => {}
            }
        }
        all
    }

    fn variables(self, decl: ptx_ir::DeclId) -> Vec<Declared> {
        let module = self.module;
        let tables = module.declarations();
        let Some(decl) = tables.decls.get(decl) else {
            return Vec::new();
        };
        let each = decl.declarators.of(&tables.declarators).iter();
        let each = each.map(|declarator| {
            let mut plain = *declarator;
            plain.init = Operand::Absent;
            Declared {
                subject: Subject::Variable,
                tokens: code::of_variable(module, self.numbers, decl, &plain),
                name: module.name(declarator.name).to_owned(),
                text: text::variable(module, module.pool(), &tables.attributes, decl, declarator),
            }
        });
        each.collect()
    }

    fn directive(self, directive: &DirectiveStmt) -> Option<Declared> {
        let module = self.module;
        let arg = |n: usize| {
            let args = module.pool().slice(directive.args);
            args.get(n)
                .map(|arg| text::operand(module, module.pool(), *arg))
        };
        let tokens = code::of_directive(module, self.numbers, directive);
        let (subject, name, text) = match directive.directive {
            Directive::Alias => (Subject::Alias, arg(0)?, arg(1)?),
            Directive::Pragma => {
                let text = text::directive(module, directive);
                (Subject::Directive, text.clone(), text)
            }
            _ => return None,
        };
        Some(Declared {
            subject,
            tokens,
            name,
            text,
        })
    }

    /// A function without a body; `None` for others.
    fn function(self, id: FuncId) -> Option<Declared> {
        let module = self.module;
        let function = module.functions().get(id).filter(|f| f.body.is_none())?;
        let params = self.parameters(function.interface.params, Subject::Parameter);
        let results = self.parameters(function.interface.returns, Subject::Result);
        let directives = self.directives(function);
        let mut words: Vec<String> = function.linkage.map(text::linkage).into_iter().collect();
        words.push(kind(function).to_owned());
        let list = |all: &[Declared]| {
            let texts: Vec<&str> = all.iter().map(|d| d.text.as_str()).collect();
            format!("({})", texts.join(", "))
        };
        if !results.is_empty() {
            words.push(list(&results));
        }
        let name = module.name(function.name).to_owned();
        words.push(format!("{name}{}", list(&params)));
        words.extend(directives.iter().map(|d| d.text.clone()));
        let attributes = function.attributes.of(module.declarations().attributes());
        words.push(text::attributes(module, attributes));
        let mut tokens = code::of_attributes(module, self.numbers, attributes);
        tokens.push(Token::new(
            crate::token::Kind::Function,
            function.linkage.map_or(0, |l| l as u32 + 1),
            function.kind as u32,
        ));
        for part in [results, params, directives] {
            tokens.extend(part.into_iter().flat_map(|d| d.tokens));
        }
        Some(Declared {
            subject: Subject::Declaration,
            tokens,
            name,
            text: words.join(" ").trim_end().to_owned(),
        })
    }

    fn parameters(self, list: TableRange, subject: Subject) -> Vec<Declared> {
        let params = list.of(self.module.params()).iter().enumerate();
        let each = params.map(|(i, param)| Declared {
            subject,
            tokens: code::of_parameter(self.module, self.numbers, param),
            name: i.to_string(),
            text: text::parameter(self.module, param),
        });
        each.collect()
    }

    fn directives(self, function: &Function) -> Vec<Declared> {
        let directives = function.interface.directives;
        let each = directives.of(self.module.interface_directives()).iter();
        let each = each.map(|directive| Declared {
            subject: Subject::Directive,
            tokens: code::of_directive(self.module, self.numbers, directive),
            name: directive.directive.text().to_owned(),
            text: text::directive(self.module, directive),
        });
        each.collect()
    }
}

fn kind(function: &Function) -> &'static str {
    match function.kind {
        FunctionKind::Entry => Directive::Entry.text(),
        FunctionKind::Func => Directive::Func.text(),
    }
}

/// The initialized variables of a module.
fn initializers_of(module: &Module) -> impl Iterator<Item = (&str, Operand)> {
    let tables = module.declarations();
    let decls = module.items().filter_map(|(_, item)| match item {
        Item::Decl(id) => Some(tables.declarators(id)),
        _ => None,
    });
    let initialized = decls.flatten().filter(|d| d.init != Operand::Absent);
    initialized.map(|d| (module.name(d.name), d.init))
}

/// Compares the initializers of variables.
fn initializers(left: Side<'_>, right: Side<'_>, changes: &mut Vec<Change>) {
    let declared = |(a, b): (Side<'_>, Side<'_>)| {
        let others: HashMap<&str, Operand> = initializers_of(b.module).collect();
        let all = initializers_of(a.module).map(|(name, init)| {
            let values = elements(a.module, init);
            let others = others.get(name).map(|init| elements(b.module, *init));
            let others = others.unwrap_or_default();
            let same = values
                .iter()
                .zip(&others)
                .take_while(|(a, b)| a == b)
                .count();
            Declared {
                subject: Subject::Initializer,
                tokens: code::of_operand(a.module, a.numbers, init),
                name: name.to_owned(),
                text: match values.get(same) {
                    Some(element) => format!("element {same} of {} is {element}", values.len()),
                    None => format!("{} elements", values.len()),
                },
            }
        });
        all.collect()
    };
    by_name(declared((left, right)), declared((right, left)), changes);
}

/// The values of an initializer.
fn elements(module: &Module, init: Operand) -> Vec<String> {
    if init == Operand::Absent {
        return Vec::new();
    }
    let mut all = Vec::new();
    all.extend(module.pool().walk_operand(init));
    let leaves = all
        .into_iter()
        .filter(|o| o.parts() == ptx_ir::OperandParts::Leaf);
    let texts = leaves.map(|leaf| text::operand(module, module.pool(), leaf));
    texts.filter(|text| !text.is_empty()).collect()
}

// --- functions ---

/// What differs in two functions outside of their code.
pub(crate) fn of_functions(
    left: (Side<'_>, FuncId, &Code),
    right: (Side<'_>, FuncId, &Code),
) -> Vec<Change> {
    let mut changes = Vec::new();
    let functions = (
        left.0.module.functions().get(left.1),
        right.0.module.functions().get(right.1),
    );
    let (Some(a), Some(b)) = functions else {
        return changes;
    };
    let text = |text: &str| Some(text.to_owned());
    differ(&mut changes, Subject::Kind, text(kind(a)), text(kind(b)));
    let linkage = |f: &Function| f.linkage.map(text::linkage);
    differ(&mut changes, Subject::Linkage, linkage(a), linkage(b));
    let attributes = |side: Side<'_>, f: &Function| {
        let attributes = f.attributes.of(side.module.declarations().attributes());
        let text = text::attributes(side.module, attributes);
        (!text.is_empty()).then_some(text)
    };
    let (x, y) = (attributes(left.0, a), attributes(right.0, b));
    differ(&mut changes, Subject::Attributes, x, y);
    let parts = |side: Side<'_>, f: &Function| {
        let mut parts = side.parameters(f.interface.returns, Subject::Result);
        parts.extend(side.parameters(f.interface.params, Subject::Parameter));
        parts.extend(side.directives(f));
        parts
    };
    by_name(parts(left.0, a), parts(right.0, b), &mut changes);
    if a.raw_header || b.raw_header {
        let header = |side: Side<'_>, id, f: &Function| {
            f.raw_header.then(|| raw_header(side.module, id)).flatten()
        };
        let (x, y) = (header(left.0, left.1, a), header(right.0, right.1, b));
        differ(&mut changes, Subject::Unrecognized, x, y);
    }
    variables(
        (left.0.module, left.1, left.2),
        (right.0.module, right.1, right.2),
        &mut changes,
    );
    changes
}

/// The text of a header that could not be parsed.
fn raw_header(module: &Module, id: FuncId) -> Option<String> {
    let start = module.span(module.item_of(id)?).start;
    let text = module
        .source()
        .get(start as usize..module.body(id)?.base() as usize)?;
    Some(String::from_utf8_lossy(text).trim().to_owned())
}

/// Compares the declared variables of functions, whatever their names and their order are.
fn variables(
    left: (&Module, FuncId, &Code),
    right: (&Module, FuncId, &Code),
    changes: &mut Vec<Change>,
) {
    let (mut a, mut b) = (
        left.2.variables.iter().peekable(),
        right.2.variables.iter().peekable(),
    );
    loop {
        let order = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) => x.tokens.cmp(&y.tokens),
            (Some(_), None) => core::cmp::Ordering::Less,
            (None, Some(_)) => core::cmp::Ordering::Greater,
            (None, None) => return,
        };
        let first = if order.is_le() { a.next() } else { None };
        let second = if order.is_ge() { b.next() } else { None };
        if order.is_eq() {
            continue;
        }
        let of = |(module, id, _): (&Module, FuncId, &Code), variable: Option<&code::Variable>| {
            variable.and_then(|v| described(module, module.body(id)?, v))
        };
        let (first, second) = (of(left, first), of(right, second));
        let name = first.as_ref().or(second.as_ref()).map(|v| v.0.clone());
        changes.push(Change {
            subject: Subject::Variable,
            name: name.unwrap_or_default(),
            left: first.map(|v| v.1),
            right: second.map(|v| v.1),
        });
    }
}

/// The name of a variable of a function and its declaration.
fn described(module: &Module, body: &Body, variable: &code::Variable) -> Option<(String, String)> {
    let tables = body.declarations();
    let declarator = tables.declarators.get(variable.declarator as usize)?;
    let Some(Statement::Decl(decl)) = body.statement(variable.stmt) else {
        return None;
    };
    let decl = tables.decls.get(decl)?;
    let text = text::variable(module, body.pool(), &tables.attributes, decl, declarator);
    Some((module.name(declarator.name).to_owned(), text))
}
