//! The query engine of `ptx-ir` and the tables of a module, as an incremental tool uses them.

use ptx_edit::{EditModule as _, NewParam, ParamList};
use ptx_ir::raw::query::{Environment, NameTypes, Queries};
use ptx_ir::raw::trivia_map::TriviaMap;
use ptx_ir::{GuardSense, Operand, OperandParts, Statement};
use ptx_isa::{Directive, PtxVersion, ScalarType as T, Target};

const TEXT: &str = ".version 8.0\n.target sm_80\n.entry k() .maxntid 64 {\n  .reg .b32 r<3>;\n  // both\n  add.s32 r1, r2, 1;\n  { neg.s32 r1, r1; }\n  ld.global.b32 r1, [r2+4];\n}\n";

#[test]
fn tables_of_a_module() {
    let module = ptx_parse::parse(TEXT.as_bytes()).module;
    let name = module.find_name(b"k").unwrap();
    assert_eq!(
        (module.name(name), module.find_name(b"absent")),
        ("k", None)
    );
    assert!((name.as_u32() as usize) < module.name_count());
    assert_eq!(module.name_bytes(name), b"k");
    let items: Vec<_> = module.items().collect();
    assert!(items[..2].iter().all(|&(_, item)| module.is_header(item)));
    let (id, kernel) = items[2];
    let symbol = module.declared_symbols(kernel)[0];
    assert!(module.symbols()[symbol].name == name && !module.is_header(kernel));
    assert_eq!(module.item_of(module.function("k").unwrap()), Some(id));
    let text = b".global .b32 t<3>, u; .global .b64 p[3] = { t1, t2, u };";
    let ranges = ptx_parse::parse(text).module;
    let first = ranges.first_symbols();
    let name = |s: ptx_ir::SymbolId| ranges.name(ranges.symbols()[s].name);
    let both = ranges.symbols().ids().zip(first);
    let (same, others): (Vec<_>, Vec<_>) = both.partition(|(symbol, first)| symbol == first);
    // The range represents `t1` and `t2`.
    assert_eq!((same.len(), others.len()), (3, 2));
    assert!(
        others
            .iter()
            .all(|(symbol, first)| name(*symbol) == name(*first))
    );
    let directives = module.interface_directives();
    assert_eq!(directives[0].directive, Directive::Maxntid);
    assert_eq!(module.item_spans().len(), module.items().count());

    let body = module.body(module.function("k").unwrap()).unwrap();
    assert!(body.is_closed());
    let unclosed = ptx_parse::parse(b".entry k() { ret;").module;
    let id = unclosed.function("k").unwrap();
    assert!(!unclosed.body(id).unwrap().is_closed());
    let scopes: Vec<_> = body
        .insts()
        .map(|(id, _)| body.scope_around(stmt_of(body, id)))
        .collect();
    assert!(body.is_in_scope(scopes[1], scopes[0]) && !body.is_in_scope(scopes[0], scopes[1]));

    let add = stmt_of(body, body.insts().next().unwrap().0);
    let extent = TriviaMap::of_body(&module, body).extent(add.as_u32() as usize);
    let text = extent.with_comments(module.source()).of(module.source());
    assert!(
        text.starts_with(b"// both"),
        "{}",
        String::from_utf8_lossy(text)
    );
}

/// The statement of an instruction.
fn stmt_of(body: &ptx_ir::Body, inst: ptx_ir::InstId) -> ptx_ir::StmtId {
    let mut all = body.statements();
    all.find(|(_, s)| *s == Statement::Inst(inst)).unwrap().0
}

#[test]
fn operands_and_their_parts() {
    let module = ptx_parse::parse(TEXT.as_bytes()).module;
    let body = module.body(module.function("k").unwrap()).unwrap();
    let (load, _) = body.insts().last().unwrap();
    let whole = |statement| {
        let mut walk = body.walk(statement);
        std::iter::from_fn(move || walk.next_whole()).count()
    };
    // The address counts as one operand without its base and its offset.
    assert_eq!(whole(Statement::Inst(load)), 2);
    assert_eq!(body.walk(Statement::Inst(load)).count(), 4);
    let address = body.operands(load)[1];
    assert_eq!(address.with_parts(address.parts()), address);
    assert_eq!(
        Operand::Small(1).with_parts(OperandParts::Leaf),
        Operand::Small(1)
    );
    assert!(GuardSense::Negated.holds(false) && !GuardSense::Negated.holds(true));
    assert!(GuardSense::Positive.holds(true) && !GuardSense::Positive.is_negated());
}

#[test]
fn registers_of_operands_are_replaced() {
    let mut module = ptx_parse::parse(TEXT.as_bytes()).module;
    let k = module.function("k").unwrap();
    let body = module.body(k).unwrap();
    let load = body.insts().last().unwrap().0;
    let Operand::Reg(new) = body.operands(load)[0] else {
        panic!("a register")
    };
    let old = body.walk(Statement::Inst(load)).find_map(|o| match o {
        Operand::Reg(r) if r != new => Some(r),
        _ => None,
    });
    let stmt = stmt_of(body, load);
    let mut editor = module.edit(k).unwrap();
    let address = editor.body().operands(load)[1];
    let replaced = editor.with_register(address, old.unwrap(), new);
    editor.set_operand(stmt, 1, replaced).unwrap();
    let text = ptx_print::verbatim(&module);
    assert!(String::from_utf8_lossy(&text).contains("ld.global.b32 r1, [r1+4];"));
}

#[test]
fn queries_follow_edits() {
    let mut module = ptx_parse::parse(TEXT.as_bytes()).module;
    let k = module.function("k").unwrap();
    let at = Environment::new(PtxVersion::new(8, 0), Some(Target::Sm80));
    let mut queries: Queries<bool> = Queries::new(&module);
    let mut types = NameTypes::new(&module);
    let mut editor = module.edit(k).unwrap();
    let (decl, declaration) = editor.registers(T::F32, "f", None).unwrap();
    let first = editor.body().statements().next().unwrap().0;
    editor.insert_before(first, declaration).unwrap();
    let float = Operand::Reg(editor.register(decl, 0).unwrap());
    let new = editor.inst("sqrt.rn.f32", &[float, float]).unwrap();
    let last = editor.body().statements().next_back().unwrap().0;
    let stmt = editor.insert_after(last, new).unwrap();

    let body = module.body(k).unwrap();
    queries.update_mnemonics(&module);
    queries.update_symbols(&module);
    queries.enter(&module, k, body);
    queries.update_body(&module, k, body);
    types.update_symbols(&module);
    types.enter(&module, k, body);
    types.update_body(&module, k, body);
    assert!(!body.registers().ids().any(|r| types.may_guard(r)));
    let Some(Statement::Inst(inst)) = body.statement(stmt) else {
        panic!("an instruction")
    };
    let sig = body.inst(inst).unwrap().sig;
    let legal = queries.answer(&module, body, sig, body.operands(inst), |query| {
        at.select_clean(query).is_some()
    });
    assert_eq!(legal, Some(true));
    let operands = body.operands(inst);
    let section = queries.ask_again(&module, body, sig, operands, |query| {
        at.select(query).map(|f| f.form().section())
    });
    assert_eq!(section.unwrap().unwrap(), "9.7.3.15");
}

#[test]
fn parameters_with_alignment() {
    let mut module = ptx_parse::parse(TEXT.as_bytes()).module;
    let k = module.function("k").unwrap();
    let param = NewParam::new(T::F32, "values")
        .with_elements(4)
        .with_align(16);
    let mut editor = module.editor();
    let bound = editor.insert_param(k, ParamList::Parameters, 0, &param, |_, _| {
        Ok(Operand::Absent)
    });
    assert!(bound.unwrap().is_some());
    let text = ptx_print::verbatim(&module);
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains(".param .align 16 .f32 values[4]"), "{text}");
}

/// All places that require a feature.
#[test]
fn places_of_a_requirement() {
    let text =
        b".version 8.7 .target sm_90 .entry k() { griddepcontrol.wait; griddepcontrol.wait; ret; }";
    let module = ptx_parse::parse(text).module;
    let needs = ptx_verify::requires(&module);
    let starts: Vec<u32> = needs.reasons()[0]
        .spans()
        .iter()
        .map(|span| span.start)
        .collect();
    assert_eq!(starts, [40, 61]);
}

#[test]
fn illegal_instructions_are_not_requirements() {
    let text = b".version 8.7 .target sm_90 .entry k() { .reg .f32 f; fma.f32 f, f, f, f; ret; }";
    let module = ptx_parse::parse(text).module;
    let needs = ptx_verify::requires(&module);
    let starts: Vec<u32> = needs.illegal().iter().map(|span| span.start).collect();
    assert_eq!(starts, [53]);
}
