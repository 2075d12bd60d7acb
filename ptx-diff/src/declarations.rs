//! The comparison of headers of functions, declarations and the header of the module.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use hashbrown::HashMap;
use ptx_ir::{
    DirectiveStmt, FuncId, Function, FunctionKind, Item, Module, Operand, Statement, TableRange,
};
use ptx_isa::Directive;

use crate::code::{self, Code};
use crate::numbers::Numbers;
use crate::text;
use crate::token::Token;

/// The subject of a difference.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Subject {
    /// The version of the module.
    Version,
    /// The target of the module.
    Target,
    /// The address size of the module.
    AddressSize,
    /// A variable: it is added or removed, or its declaration differs apart from its initializer.
    Variable,
    /// The initializer of a variable.
    Initializer,
    /// The function that another name denotes.
    Alias,
    /// A function without a body.
    Declaration,
    /// `.entry` or `.func`.
    Kind,
    /// `.visible`, `.weak`, …
    Linkage,
    /// The attributes of a function.
    Attributes,
    /// A result of a function.
    Result,
    /// A parameter of a function.
    Parameter,
    /// Launch bounds or another directive after the parameters; a pragma of the module.
    Directive,
    /// Text that could not be parsed.
    Unrecognized,
}

/// A difference outside of code.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Change {
    /// The subject of the difference.
    pub subject: Subject,
    /// The name of the variable, the parameter or the directive; empty for a subject that occurs once.
    pub name: String,
    /// The text in the left module; `None` if that module has nothing of this name.
    pub left: Option<String>,
    /// The text in the right module; `None` if that module has nothing of this name.
    pub right: Option<String>,
}

/// A module with the numbers of its names.
#[derive(Copy, Clone)]
pub(crate) struct Side<'m> {
    pub(crate) module: &'m Module,
    pub(crate) numbers: &'m Numbers,
}

/// A function of a module, with its code.
#[derive(Copy, Clone)]
pub(crate) struct FunctionSide<'m> {
    pub(crate) side: Side<'m>,
    pub(crate) id: FuncId,
    pub(crate) code: &'m Code,
}

/// A declared entity.
struct Declared {
    subject: Subject,
    /// The tokens by which the entity is compared.
    tokens: Vec<Token>,
    name: String,
    text: String,
}

/// Adds a change if texts differ.
fn add_if_different(
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

/// Adds the changes between two lists of declared entities, which are compared by name. Of several entities with one name, the first ones are compared,
/// the second ones and so on. The changes of entities of the left side come first.
fn compare_by_name(left: Vec<Declared>, right: Vec<Declared>, changes: &mut Vec<Change>) {
    let mut unmatched: HashMap<DeclaredKey, Declared> = HashMap::new();
    let mut right_order = Vec::new();
    for (key, declared) in keyed(right) {
        right_order.push(key.clone());
        unmatched.insert(key, declared);
    }
    let mut add_change = |left: Option<Declared>, right: Option<Declared>| {
        if let Some(declared) = left.as_ref().or(right.as_ref()) {
            changes.push(Change {
                subject: declared.subject,
                name: declared.name.clone(),
                left: left.map(|d| d.text),
                right: right.map(|d| d.text),
            });
        }
    };
    for (key, declared) in keyed(left) {
        let partner = unmatched.remove(&key);
        if partner
            .as_ref()
            .is_none_or(|partner| partner.tokens != declared.tokens)
        {
            add_change(Some(declared), partner);
        }
    }
    for key in right_order {
        add_change(None, unmatched.remove(&key));
    }
}

/// The subject and the name of a declared entity, and the number of entities with this name up to it.
type DeclaredKey = (Subject, String, usize);

/// Adds the keys by which declared entities are compared.
fn keyed(list: Vec<Declared>) -> impl Iterator<Item = (DeclaredKey, Declared)> {
    let mut counts: HashMap<(Subject, String), usize> = HashMap::new();
    list.into_iter().map(move |declared| {
        let name = declared.name.clone();
        let count = counts.entry((declared.subject, name.clone())).or_insert(0);
        *count += 1;
        ((declared.subject, name, *count), declared)
    })
}

// --- modules ---

/// The differences of two modules outside of functions with bodies.
pub(crate) fn module_changes(left: Side<'_>, right: Side<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    let (left_header, right_header) = (left.module.header(), right.module.header());
    add_if_different(
        &mut changes,
        Subject::Version,
        left_header.version.map(|v| v.to_string()),
        right_header.version.map(|v| v.to_string()),
    );
    add_if_different(
        &mut changes,
        Subject::Target,
        target(left.module),
        target(right.module),
    );
    // Without the directive, the size is 32.
    let size = |size: Option<u8>| Some(size.unwrap_or(32).to_string());
    add_if_different(
        &mut changes,
        Subject::AddressSize,
        size(left_header.address_size),
        size(right_header.address_size),
    );
    compare_by_name(left.items(), right.items(), &mut changes);
    compare_initializers(left, right, &mut changes);
    changes
}

/// The arguments of `.target`.
fn target(module: &Module) -> Option<String> {
    let directive = module
        .items()
        .filter_map(|(_, item)| match item {
            Item::Directive(id) => module.directives().get(id),
            _ => None,
        })
        .find(|d| d.directive == Directive::Target)?;
    let text = text::directive(module, directive);
    Some(
        text.trim_start_matches(Directive::Target.text())
            .trim()
            .to_owned(),
    )
}

impl Side<'_> {
    /// The declarations outside of functions with bodies.
    fn items(self) -> Vec<Declared> {
        let mut declared = Vec::new();
        let mut opaque_count = 0;
        for (id, item) in self.module.items() {
            match item {
                Item::Decl(decl) => declared.extend(self.variables(decl)),
                Item::Directive(id) => {
                    declared.extend(
                        self.module
                            .directives()
                            .get(id)
                            .and_then(|d| self.directive(d)),
                    );
                }
                Item::Function(id) => declared.extend(self.function(id)),
                Item::Opaque(_) => {
                    let change = self.module.edits().and_then(|edits| edits.change(id));
                    let text = self.module.patched_text(self.module.span(id), change);
                    let text = String::from_utf8_lossy(&text).into_owned();
                    opaque_count += 1;
                    declared.push(Declared {
                        subject: Subject::Unrecognized,
                        tokens: Vec::new(),
                        name: format!("{opaque_count}: {text}"),
                        text,
                    });
                }
                _ => {}
            }
        }
        declared
    }

    fn variables(self, decl: ptx_ir::DeclId) -> Vec<Declared> {
        let module = self.module;
        let tables = module.declarations();
        let Some(decl) = tables.decls.get(decl) else {
            return Vec::new();
        };
        decl.declarators
            .of(&tables.declarators)
            .iter()
            .map(|declarator| {
                let mut without_initializer = *declarator;
                without_initializer.init = Operand::Absent;
                Declared {
                    subject: Subject::Variable,
                    tokens: code::variable_tokens(module, self.numbers, decl, &without_initializer),
                    name: module.name(declarator.name).to_owned(),
                    text: text::variable(
                        module,
                        module.pool(),
                        &tables.attributes,
                        decl,
                        declarator,
                    ),
                }
            })
            .collect()
    }

    fn directive(self, directive: &DirectiveStmt) -> Option<Declared> {
        let module = self.module;
        let argument = |index: usize| {
            let arguments = module.pool().slice(directive.args);
            arguments
                .get(index)
                .map(|argument| text::operand(module, module.pool(), *argument))
        };
        let tokens = code::directive_tokens(module, self.numbers, directive);
        let (subject, name, text) = match directive.directive {
            Directive::Alias => (Subject::Alias, argument(0)?, argument(1)?),
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

    /// The declaration of a function without a body; `None` if it has a body.
    fn function(self, id: FuncId) -> Option<Declared> {
        let module = self.module;
        let function = module.functions().get(id).filter(|f| f.body.is_none())?;
        let params = self.parameters(function.interface.params, Subject::Parameter);
        let results = self.parameters(function.interface.returns, Subject::Result);
        let directives = self.directives(function);
        let mut words: Vec<String> = function.linkage.map(text::linkage).into_iter().collect();
        words.push(kind(function).to_owned());
        let list = |list: &[Declared]| {
            let texts: Vec<&str> = list.iter().map(|d| d.text.as_str()).collect();
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
        let mut tokens = code::attribute_tokens(module, self.numbers, attributes);
        tokens.push(Token::new(
            crate::token::Kind::Function,
            function.linkage.map_or(0, |l| l as u32 + 1),
            function.kind as u32,
        ));
        for declared in [results, params, directives].into_iter().flatten() {
            tokens.extend(declared.tokens);
        }
        Some(Declared {
            subject: Subject::Declaration,
            tokens,
            name,
            text: words.join(" ").trim_end().to_owned(),
        })
    }

    fn parameters(self, list: TableRange, subject: Subject) -> Vec<Declared> {
        list.of(self.module.params())
            .iter()
            .enumerate()
            .map(|(index, param)| Declared {
                subject,
                tokens: code::parameter_tokens(self.module, self.numbers, param),
                name: index.to_string(),
                text: text::parameter(self.module, param),
            })
            .collect()
    }

    fn directives(self, function: &Function) -> Vec<Declared> {
        function
            .interface
            .directives
            .of(self.module.interface_directives())
            .iter()
            .map(|directive| Declared {
                subject: Subject::Directive,
                tokens: code::directive_tokens(self.module, self.numbers, directive),
                name: directive.directive.text().to_owned(),
                text: text::directive(self.module, directive),
            })
            .collect()
    }
}

fn kind(function: &Function) -> &'static str {
    match function.kind {
        FunctionKind::Entry => Directive::Entry.text(),
        FunctionKind::Func => Directive::Func.text(),
    }
}

/// The initialized variables of a module.
fn initialized_variables(module: &Module) -> impl Iterator<Item = (&str, Operand)> {
    let tables = module.declarations();
    module
        .items()
        .filter_map(|(_, item)| match item {
            Item::Decl(id) => Some(tables.declarators(id)),
            _ => None,
        })
        .flatten()
        .filter(|d| d.init != Operand::Absent)
        .map(|d| (module.name(d.name), d.init))
}

/// Adds the differences of the initializers of variables.
fn compare_initializers(left: Side<'_>, right: Side<'_>, changes: &mut Vec<Change>) {
    compare_by_name(
        declared_initializers(left, right),
        declared_initializers(right, left),
        changes,
    );
}

/// The initializers of the variables of a module. Their texts describe the first element that differs from the variable of this name in `other`.
fn declared_initializers(side: Side<'_>, other: Side<'_>) -> Vec<Declared> {
    let other_initializers: HashMap<&str, Operand> = initialized_variables(other.module).collect();
    initialized_variables(side.module)
        .map(|(name, init)| {
            let values = elements(side.module, init);
            let other_values = other_initializers
                .get(name)
                .map(|init| elements(other.module, *init))
                .unwrap_or_default();
            let equal_count = values
                .iter()
                .zip(&other_values)
                .take_while(|(value, other)| value == other)
                .count();
            Declared {
                subject: Subject::Initializer,
                tokens: code::operand_tokens(side.module, side.numbers, init),
                name: name.to_owned(),
                text: match values.get(equal_count) {
                    Some(element) => {
                        format!("element {equal_count} of {} is {element}", values.len())
                    }
                    None => format!("{} elements", values.len()),
                },
            }
        })
        .collect()
}

/// The values of an initializer.
fn elements(module: &Module, init: Operand) -> Vec<String> {
    if init == Operand::Absent {
        return Vec::new();
    }
    module
        .pool()
        .walk_operand(init)
        .filter(|operand| operand.parts() == ptx_ir::OperandParts::Leaf)
        .map(|leaf| text::operand(module, module.pool(), leaf))
        .filter(|text| !text.is_empty())
        .collect()
}

// --- functions ---

/// The differences of two functions outside of their code.
pub(crate) fn function_changes(left: FunctionSide<'_>, right: FunctionSide<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    let (Some(left_function), Some(right_function)) = (left.function(), right.function()) else {
        return changes;
    };
    add_if_different(
        &mut changes,
        Subject::Kind,
        Some(kind(left_function).to_owned()),
        Some(kind(right_function).to_owned()),
    );
    add_if_different(
        &mut changes,
        Subject::Linkage,
        left_function.linkage.map(text::linkage),
        right_function.linkage.map(text::linkage),
    );
    add_if_different(
        &mut changes,
        Subject::Attributes,
        left.attributes(left_function),
        right.attributes(right_function),
    );
    compare_by_name(
        left.header(left_function),
        right.header(right_function),
        &mut changes,
    );
    if left_function.raw_header || right_function.raw_header {
        add_if_different(
            &mut changes,
            Subject::Unrecognized,
            left.raw_header(left_function),
            right.raw_header(right_function),
        );
    }
    compare_variables(left, right, &mut changes);
    changes
}

impl<'m> FunctionSide<'m> {
    fn function(self) -> Option<&'m Function> {
        self.side.module.functions().get(self.id)
    }

    /// The text of the attributes; `None` if there are no attributes.
    fn attributes(self, function: &Function) -> Option<String> {
        let module = self.side.module;
        let attributes = function.attributes.of(module.declarations().attributes());
        let text = text::attributes(module, attributes);
        (!text.is_empty()).then_some(text)
    }

    /// The results, parameters and directives.
    fn header(self, function: &Function) -> Vec<Declared> {
        let interface = function.interface;
        let mut declared = self.side.parameters(interface.returns, Subject::Result);
        declared.extend(self.side.parameters(interface.params, Subject::Parameter));
        declared.extend(self.side.directives(function));
        declared
    }

    /// The text of a header that could not be parsed.
    fn raw_header(self, function: &Function) -> Option<String> {
        if !function.raw_header {
            return None;
        }
        let module = self.side.module;
        let start = module.span(module.item_of(self.id)?).start;
        let end = module.body(self.id)?.base();
        let text = module.source().get(start as usize..end as usize)?;
        Some(String::from_utf8_lossy(text).trim().to_owned())
    }

    /// The name of a variable of the function, and its declaration.
    fn variable(self, variable: &code::Variable) -> Option<(String, String)> {
        let module = self.side.module;
        let body = module.body(self.id)?;
        let tables = body.declarations();
        let declarator = tables.declarators.get(variable.declarator as usize)?;
        let Some(Statement::Decl(decl)) = body.statement(variable.stmt) else {
            return None;
        };
        let decl = tables.decls.get(decl)?;
        let text = text::variable(module, body.pool(), &tables.attributes, decl, declarator);
        Some((module.name(declarator.name).to_owned(), text))
    }
}

/// Adds the differences of the declared variables of functions. Their names and their order do not matter.
fn compare_variables(left: FunctionSide<'_>, right: FunctionSide<'_>, changes: &mut Vec<Change>) {
    let mut left_variables = left.code.variables.iter().peekable();
    let mut right_variables = right.code.variables.iter().peekable();
    loop {
        let order = match (left_variables.peek(), right_variables.peek()) {
            (Some(left), Some(right)) => left.tokens.cmp(&right.tokens),
            (Some(_), None) => core::cmp::Ordering::Less,
            (None, Some(_)) => core::cmp::Ordering::Greater,
            (None, None) => return,
        };
        let removed = left_variables.next_if(|_| order.is_le());
        let added = right_variables.next_if(|_| order.is_ge());
        if order.is_eq() {
            continue;
        }
        let removed = removed.and_then(|variable| left.variable(variable));
        let added = added.and_then(|variable| right.variable(variable));
        let name = removed
            .as_ref()
            .or(added.as_ref())
            .map(|(name, _)| name.clone());
        changes.push(Change {
            subject: Subject::Variable,
            name: name.unwrap_or_default(),
            left: removed.map(|(_, text)| text),
            right: added.map(|(_, text)| text),
        });
    }
}
