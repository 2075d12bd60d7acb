//! Random edits of real functions: the text of the edited module reads back as the module, keeps all comments, and differs from
//! the source only where it was edited. `PROPTEST_CASES` asks for another number of cases.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]
#![allow(clippy::too_many_lines, reason = "lists of cases")]

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ptx_edit::{Batch, Edit, EditError, EditModule as _, RemovedComments};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{
    FuncId, GuardSense, Item, ItemId, LabelId, Limits, Linkage, Module, Operand, RegDeclId, RegId,
    Rewritten, Statement, StmtId, SymbolId, VarId, compare,
};
use ptx_isa::{Directive, ScalarType, StateSpace, Target};
use test_support::corpus;

struct File {
    name: String,
    text: Vec<u8>,
}

/// Small valid files, and the same with what editors and people do to files: other line endings, statements on one line,
/// comments everywhere.
static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for entry in corpus::small(12_000) {
        let text = entry.read();
        if ptx_parse::parse(&text).has_errors() {
            continue;
        }
        for (how, change) in [
            ("", (|t| t) as fn(Vec<u8>) -> Vec<u8>),
            (" with CRLF", crlf),
            (" with comments", with_comments),
            (" on few lines", on_few_lines),
        ] {
            let text = change(text.clone());
            if !ptx_parse::parse(&text).has_errors() {
                all.push(File {
                    name: entry.name.clone() + how,
                    text,
                });
            }
        }
    }
    all
});

fn crlf(text: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, &b) in text.iter().enumerate() {
        if b == b'\n' && (i == 0 || text[i - 1] != b'\r') {
            out.push(b'\r');
        }
        out.push(b);
    }
    out
}

/// Comments of different kinds between some of the tokens.
fn with_comments(text: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, token) in Lexer::new(&text).enumerate() {
        out.extend_from_slice(token.span.of(&text));
        if token.kind == TokenKind::Whitespace {
            match i % 23 {
                3 => out.extend_from_slice(format!("/* {i} */ ").as_bytes()),
                11 => out.extend_from_slice(format!("// {i}\n").as_bytes()),
                17 => out.extend_from_slice(format!("/* {i}\n */\n\n").as_bytes()),
                _ => {}
            }
        }
    }
    out
}

fn on_few_lines(text: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut comment = false;
    for (i, token) in Lexer::new(&text).enumerate() {
        let bytes = token.span.of(&text);
        let space = token.kind == TokenKind::Whitespace;
        if space && !comment && i % 13 != 0 {
            out.push(b' ');
        } else {
            out.extend_from_slice(bytes);
        }
        comment = !space && token.kind.is_trivia();
    }
    out
}

/// A number that chooses.
#[derive(Copy, Clone)]
struct Choice(u32);

impl std::fmt::Debug for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Choice {
    fn of<T>(self, all: &[T]) -> Option<&T> {
        all.get(self.0 as usize % all.len().max(1))
    }
}

type Step = (u8, Choice, Choice, Choice);

fn step() -> impl Strategy<Value = Step> {
    let choice = || any::<u32>().prop_map(Choice);
    (0u8..30, choice(), choice(), choice())
}

fn functions(module: &Module) -> Vec<FuncId> {
    module.definitions().map(|(id, ..)| id).collect()
}

/// Makes an edit; gives the statement that it changed in place, if that is what it did.
fn edit(module: &mut Module, function: FuncId, step: Step, nth: usize) -> Result<Done, EditError> {
    let (kind, a, b, c) = step;
    let fresh = format!("fresh_{nth}_x");
    let symbols: Vec<SymbolId> = module.symbols().ids().collect();
    let items: Vec<(ItemId, Item)> = module.items().collect();
    if kind == 16 {
        let symbol = *a.of(&symbols).ok_or(EditError::NoStatement)?;
        return module
            .editor()
            .rename_symbol(symbol, &fresh)
            .map(|()| Done::Names);
    }
    if kind == 17 {
        let targets = [
            "sm_90".parse::<Target>().ok(),
            "sm_100a".parse::<Target>().ok(),
        ];
        let target = a.of(&targets).copied().flatten().unwrap();
        return module.editor().set_target(target).map(|()| Done::Names);
    }
    if kind == 18 {
        let item = a.of(&items).ok_or(EditError::NoStatement)?.0;
        return match b.0 % 3 {
            0 => module
                .editor()
                .set_element(item, 0, c.0 as usize % 4, "0x7f")
                .map(|()| Done::Names),
            1 => module
                .editor()
                .set_alignment(item, 16)
                .map(|()| Done::Names),
            _ => module
                .editor()
                .set_type(item, ScalarType::B32)
                .map(|()| Done::Names),
        };
    }
    if kind == 19 {
        let item = *a.of(&items).ok_or(EditError::NoStatement)?;
        if !matches!(item.1, Item::Decl(_)) {
            return Err(EditError::Immovable);
        }
        return module
            .editor()
            .remove_item(item.0, RemovedComments::None)
            .map(|()| Done::Removed(None));
    }
    if (23..29).contains(&kind) {
        let item = a.of(&items).ok_or(EditError::NoStatement)?.0;
        let number = Operand::Small((c.0 % 1000) as i32);
        let directives = [
            Directive::Maxntid,
            Directive::Minnctapersm,
            Directive::Maxnreg,
        ];
        return match kind {
            23 => {
                let all = [Linkage::Visible, Linkage::Weak, Linkage::Extern];
                let linkage = b.of(&all).copied().filter(|_| c.0 % 3 > 0);
                let before = module.revision();
                module.editor().set_linkage(item, linkage)?;
                let same = module.revision() == before;
                Ok(if same { Done::Nothing } else { Done::Names })
            }
            24 => {
                let text = module.editor().string("nounroll")?;
                module
                    .editor()
                    .set_directive(function, Directive::Pragma, &[text])
                    .map(|()| Done::Names)
            }
            25 | 26 => {
                let directive = *b.of(&directives).ok_or(EditError::NoStatement)?;
                if c.0 % 3 == 0 {
                    module
                        .editor()
                        .remove_directive(function, directive)
                        .map(|()| Done::Names)
                } else {
                    let args = vec![number; if c.0 % 2 == 0 { 1 } else { 3 }];
                    module
                        .editor()
                        .set_directive(function, directive, &args)
                        .map(|()| Done::Names)
                }
            }
            27 => {
                let other = b.of(&items).ok_or(EditError::NoStatement)?.0;
                module.editor().move_item(item, other).map(|()| Done::Moved)
            }
            _ => module
                .editor()
                .set_argument(item, 0, number)
                .map(|()| Done::Other),
        };
    }
    let mut editor = module.edit(function)?;
    let all: Vec<(StmtId, Statement)> = editor.body().statements().collect();
    let (stmt, _) = *a.of(&all).ok_or(EditError::NoStatement)?;
    let (other, _) = *b.of(&all).ok_or(EditError::NoStatement)?;
    let registers: Vec<RegId> = editor.body().registers().ids().collect();
    let register = b.of(&registers).copied();
    let simple = |o: &Operand| {
        matches!(
            o,
            Operand::Reg(_)
                | Operand::Small(_)
                | Operand::Imm(_)
                | Operand::Special(_)
                | Operand::Address(_)
                | Operand::Vector(_)
        )
    };
    let operands: Vec<Operand> = (0..4)
        .filter_map(|i| editor.operand(other, i))
        .filter(simple)
        .collect();
    let operand = match c.of(&operands) {
        Some(&operand) if c.0 % 5 > 0 => operand,
        _ => editor.integer(i64::from(c.0)),
    };
    match kind {
        0 => {
            let new = editor.inst("add.s32", &[operand, operand, Operand::Small(1)])?;
            editor.insert_before(stmt, new).map(Done::Placed)
        }
        1 => {
            let value = editor.constant("0x10")?;
            let new = editor.inst("mov.u32", &[operand, value])?;
            editor.insert_after(stmt, new).map(Done::Placed)
        }
        2 => {
            let predicate = register.ok_or(EditError::NoStatement)?;
            let pair = [operand, Operand::Small(3)];
            let vector = editor.vector(&pair)?;
            let new = editor.guarded(
                predicate,
                [GuardSense::Negated, GuardSense::Positive][(c.0 % 2) as usize],
                "mov.b64",
                &[operand, vector],
            )?;
            editor.replace(stmt, new).map(|()| Done::Changed(stmt))
        }
        3 => editor.remove(stmt).map(|()| Done::Removed(Some(stmt))),
        4 => editor.move_after(stmt, other).map(|()| Done::Moved),
        5 => editor.move_before(stmt, other).map(|()| Done::Moved),
        6 => {
            let guard = register.filter(|_| c.0 % 3 > 0);
            let guard = guard.map(|r| {
                (
                    r,
                    [GuardSense::Negated, GuardSense::Positive][(c.0 % 2) as usize],
                )
            });
            editor.set_guard(stmt, guard).map(|()| Done::Changed(stmt))
        }
        7 | 8 => {
            let index = b.0 as usize % 4;
            if !editor.operand(stmt, index).is_some_and(|o| simple(&o)) {
                return Err(EditError::NoStatement);
            }
            let done = editor.set_operand(stmt, index, operand);
            done.map(|()| Done::Changed(stmt))
        }
        9 => {
            let Statement::Inst(_) = editor.statement(stmt)? else {
                return Err(EditError::NoStatement);
            };
            let done = editor.set_mnemonic(stmt, "mad.lo.s32");
            done.map(|()| Done::Changed(stmt))
        }
        10 => {
            let (old, new) = (a.of(&registers), c.of(&registers));
            let (old, new) = (old.copied(), new.copied());
            let (Some(old), Some(new)) = (old, new) else {
                return Err(EditError::NoStatement);
            };
            let count = editor.replace_register(stmt, old, new)?;
            Ok(if count == 0 {
                Done::Nothing
            } else {
                Done::Changed(stmt)
            })
        }
        11 => {
            let decls: Vec<RegDeclId> = editor.body().reg_decls().ids().collect();
            let decl = *a.of(&decls).ok_or(EditError::NoStatement)?;
            editor.rename_register(decl, &fresh).map(|()| Done::Names)
        }
        12 => {
            let labels: Vec<LabelId> = editor.body().labels().ids().collect();
            let label = *a.of(&labels).ok_or(EditError::NoStatement)?;
            editor.rename_label(label, &fresh).map(|()| Done::Names)
        }
        13 => {
            let vars: Vec<VarId> = editor.body().vars().ids().collect();
            let var = *a.of(&vars).ok_or(EditError::NoStatement)?;
            editor.rename_variable(var, &fresh).map(|()| Done::Names)
        }
        14 => {
            let (label, draft) = editor.label(&fresh)?;
            let placed = editor.insert_after(stmt, draft)?;
            let jump = editor.inst("bra", &[Operand::Label(label)])?;
            editor.insert_after(placed, jump)?;
            Ok(Done::Other)
        }
        15 => {
            let (decl, draft) = editor.registers(ScalarType::B32, &fresh, Some(4))?;
            let placed = editor.insert_before(stmt, draft)?;
            let register = Operand::Reg(editor.register(decl, b.0 % 4)?);
            let new = editor.inst("mov.b32", &[register, operand])?;
            editor.insert_after(placed, new).map(|_| Done::Other)
        }
        22 => editor
            .set_argument(stmt, b.0 as usize % 3, Operand::Small(7))
            .map(|()| Done::Changed(stmt)),
        20 => {
            let draft = editor.variable(StateSpace::Local, 8, ScalarType::B8, &fresh, Some(16))?;
            editor.insert_before(stmt, draft.1).map(Done::Placed)
        }
        29 => {
            let [open, close] = match c.0 % 2 {
                0 => editor.insert_scope_before(stmt)?,
                _ => editor.insert_scope_after(stmt)?,
            };
            // A register in it, and one more scope.
            let (decl, draft) = editor.registers(ScalarType::B32, &fresh, None)?;
            let placed = editor.insert_after(open, draft)?;
            let register = Operand::Reg(editor.register(decl, 0)?);
            let inner = editor.insert_scope_before(close)?;
            let seen = editor.inst("mov.b32", &[register, Operand::Small(1)])?;
            editor.insert_after(if c.0 % 3 == 0 { placed } else { inner[0] }, seen)?;
            let hidden = editor.inst("mov.b32", &[register, Operand::Small(2)])?;
            match editor.insert_after(close, hidden) {
                Err(EditError::Hidden(_) | EditError::Immovable) => Ok(Done::Other),
                other => panic!("{other:?}"),
            }
        }
        _ => {
            let mut batch = Batch::new();
            let new = editor.inst("not.b32", &[operand, operand])?;
            batch.push(Edit::InsertAfter(other, new));
            batch.push(Edit::Remove(stmt));
            let new = editor.inst("neg.s32", &[operand, operand])?;
            batch.push(Edit::InsertBefore(other, new));
            editor.apply(batch).map(|_| Done::Other)
        }
    }
}

/// What an edit did.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Done {
    Nothing,
    Changed(StmtId),
    Placed(StmtId),
    Removed(Option<StmtId>),
    Moved,
    Names,
    Other,
}

fn comments(text: &[u8]) -> Vec<Vec<u8>> {
    let comments = Lexer::new(text).filter(|t| {
        matches!(
            t.kind,
            TokenKind::LineComment | TokenKind::BlockComment | TokenKind::LineMarker
        )
    });
    let mut all: Vec<Vec<u8>> = comments
        .map(|t| t.span.of(text).trim_ascii_end().to_vec())
        .collect();
    all.sort();
    all
}

fn show(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// The text around a place.
fn near(text: &[u8], at: u32) -> String {
    let at = at as usize;
    show(&text[at.saturating_sub(200)..(at + 200).min(text.len())])
}

/// What holds for the text of an edited module.
fn holds(module: &Module) -> Result<Vec<u8>, TestCaseError> {
    let Rewritten { text, map, .. } = ptx_print::verbatim_with_map(module);
    let source = module.source();
    for (old, new, len) in map.pieces() {
        let (old, new, len) = (old as usize, new as usize, len as usize);
        prop_assert_eq!(&source[old..old + len], &text[new..new + len]);
        prop_assert_eq!(map.to_new(old as u32), Some(new as u32));
        prop_assert_eq!(
            map.to_old((new + len - 1) as u32),
            Some((old + len - 1) as u32)
        );
    }
    let again = ptx_parse::parse(&text);
    if let Some(error) = test_support::check::first_error(&again) {
        prop_assert!(false, "{:?}\n{}", error, near(&text, error.span.start));
    }
    if let Err(difference) = compare::compare(module, &again.module) {
        let (left, right) = (difference.left.of(source), difference.right.of(&text));
        prop_assert!(
            false,
            "{}: `{}` became `{}` in\n{}",
            difference,
            show(left),
            show(right),
            near(&text, difference.right.start)
        );
    }
    // The canonical text as well.
    let style = ptx_print::Style::default();
    let canonical = ptx_print::canonical(module, &style);
    let read = ptx_parse::parse(&canonical);
    prop_assert!(
        !read.has_errors(),
        "{:?}",
        test_support::check::first_error(&read)
    );
    if let Err(difference) = compare::compare(module, &read.module) {
        let place = near(&canonical, difference.right.start);
        prop_assert!(false, "canonical: {}: {}", difference, place);
    }
    prop_assert!(
        ptx_print::canonical(&read.module, &style) == canonical,
        "no fixed point"
    );
    prop_assert!(
        comments(&canonical) == comments(source),
        "comments of the canonical text"
    );
    let (before, after) = (comments(source), comments(&text));
    let lost: Vec<_> = before
        .iter()
        .filter(|c| !after.contains(c))
        .map(|c| show(c))
        .collect();
    prop_assert!(before == after, "lost {:?}", lost);
    Ok(text)
}

fn parse(text: &[u8]) -> Module {
    ptx_parse::parse_with(text, &Limits::default()).module
}

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(400),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(6),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_text_of_an_edited_module_reads_back(
        file in any::<u32>().prop_map(Choice),
        function in any::<u32>().prop_map(Choice),
        steps in proptest::collection::vec(step(), 1..24),
    ) {
        let file = file.of(&FILES).unwrap();
        let mut module = parse(&file.text);
        for (nth, &step) in steps.iter().enumerate() {
            let Some(&function) = function.of(&functions(&module)) else { break };
            let before = module.revision();
            let done = edit(&mut module, function, step, nth);
            let changed = done.is_ok_and(|d| d != Done::Nothing && d != Done::Moved);
            prop_assert!(!changed || module.revision() > before);
        }
        holds(&module).map_err(|e| TestCaseError::fail(format!("{}: {e}", file.name)))?;
    }

    #[test]
    fn one_edit_leaves_every_other_byte(
        file in any::<u32>().prop_map(Choice),
        function in any::<u32>().prop_map(Choice),
        step in step(),
    ) {
        let file = file.of(&FILES).unwrap();
        let mut module = parse(&file.text);
        let Some(&function) = function.of(&functions(&module)) else { return Ok(()) };
        let Ok(done) = edit(&mut module, function, step, 0) else { return Ok(()) };
        let text = holds(&module).map_err(|e| TestCaseError::fail(format!("{}: {e}", file.name)))?;
        let source = &file.text;
        let common = source.iter().zip(&text).take_while(|(a, b)| a == b).count();
        let rest = source.len().min(text.len()) - common;
        let behind = source.iter().rev().zip(text.iter().rev()).take(rest);
        let behind = behind.take_while(|(a, b)| a == b).count();
        let body = module.body(function).unwrap();
        match done {
            Done::Changed(stmt) | Done::Removed(Some(stmt)) => {
                // Only the statement; of a removed one, also the whitespace around it.
                let span = body.source_span(stmt);
                let (mut start, mut end) = (span.start as usize, span.end as usize);
                if let Done::Removed(_) = done {
                    let space = |b: &&u8| b.is_ascii_whitespace();
                    start -= source[..start].iter().rev().take_while(space).count();
                    end += source[end..].iter().take_while(space).count();
                }
                let kept = text.starts_with(&source[..start]) && text.ends_with(&source[end..]);
                prop_assert!(kept, "{}: {:?}", file.name, show(&source[start..end]));
            }
            Done::Placed(_) => prop_assert_eq!(common + behind, source.len(), "{}: {}", &file.name, near(&text, common as u32)),
            Done::Nothing => prop_assert_eq!(&text, source),
            _ => {}
        }
    }
}
