use ptx_edit::EditModule as _;
use ptx_ir::OffsetMap;
use ptx_ir::facts::{Callees, ModuleFacts};
use ptx_ir::raw::query::{Environment, Mnemonic, NameTypes, Queries};
use ptx_ir::raw::{self, Interner, StmtSpan, scan};
use ptx_ir::{
    Address, AddressForm, ConstValue, Immediate, Item, LineIndex, Linkage, Operand, OperandPool,
    Signatures, SourceText, Span,
};
use ptx_isa::{Directive, Modifier, ModifierClass, StateSpace};

#[test]
fn scanning() {
    let text = b"  // c\n/* d */ %r1.x \"s\" # 1 \"f\"";
    let mut seen = scan::Trivia::default();
    let name = scan::skip_trivia(text, 0, &mut seen);
    assert_eq!(
        (scan::peek(text, name), seen.comment, seen.newline),
        (b'%', true, true)
    );
    assert!(scan::starts_ident(text, name));
    let dot = scan::ident_end(text, name);
    assert_eq!(&text[name..dot], b"%r1");
    assert_eq!(scan::dot_word_end(text, dot), dot + 2);
    assert_eq!(scan::word_end(text, name + 1), dot);
    assert_eq!(scan::string_end(text, dot + 3), (dot + 6, true));
    assert_eq!(scan::block_comment_end(text, 7), Some(14));
    assert!(scan::at_line_start(text, 7) && !scan::at_line_start(text, name));
    assert!(scan::is_line_marker(b"# 1 \"f\"", 0) && !scan::is_line_marker(text, name));
    assert!(raw::continues_expression(b'+') && !raw::continues_expression(b';'));
    assert_eq!(LineIndex::new(b"a\nbc\n").line_span(2, 5), Span::new(2, 5));
    assert_eq!(OffsetMap::identity(3).to_new(2), Some(2));
}

#[test]
fn tables_by_hand() {
    let mut names = Interner::new(SourceText::default(), 2);
    assert_eq!(
        (names.intern(b"a"), names.intern(b"a")),
        ((0, true), (0, false))
    );
    let source = SourceText::from(&b"ld.global.u32"[..]);
    let mut of_source = Interner::new(source.clone(), 1);
    assert_eq!(of_source.intern_at(&source[..2], 0), (0, true));
    let mut signatures = Signatures::new(source.clone(), 1);
    let id = signatures.intern_at(&source, 0);
    assert_eq!(signatures.intern(b"ld.global.u32"), id);
    let signature = signatures.get(id);
    assert_eq!(
        signature.state_spaces().collect::<Vec<_>>(),
        [StateSpace::Global]
    );
    let words: Vec<&str> = signature
        .words()
        .iter()
        .map(|w| signature.word_text(*w))
        .collect();
    assert_eq!(words, [".global", ".u32"]);
    let classes = |m: Modifier| {
        ModifierClass::ALL
            .iter()
            .filter(move |c| signature.of_class(**c).any(|o| o == m))
    };
    assert!(classes(Modifier::Global).count() > 0);

    let mut pool = OperandPool::default();
    let list = pool.add_list(&[Operand::Small(1), Operand::Sink]);
    assert_eq!(pool.list(list), [Operand::Small(1), Operand::Sink]);
    let range = pool.extend(&[Operand::Small(2)]);
    assert_eq!(pool.slice(range), [Operand::Small(2)]);
    let address = Address::new(Operand::Small(2), Operand::Absent, AddressForm::Bracketed);
    let address = pool.add_address(address);
    pool.set_form(address, AddressForm::Bare);
    pool.map_names(|o| {
        if o == Operand::Small(2) {
            Operand::Small(3)
        } else {
            o
        }
    });
    let address = pool.address(address).unwrap();
    assert_eq!(
        (address.form, address.base),
        (AddressForm::Bare, Operand::Small(3))
    );
    let value = ConstValue::signed(4);
    let text = ptx_ir::NameId::new(0);
    let id = pool.add_immediate(Immediate::new(text, value));
    assert_eq!(pool.immediate(id).unwrap().value, value);

    let mut module = raw::module_with_source(source);
    let origin = StmtSpan::new(Span::new(0, 2), true);
    let item = raw::push_item(&mut module, Item::Removed, origin);
    assert!(origin.has_comments());
    assert_eq!(module.span(item), Span::new(0, 2));
    assert_eq!(&*module.patched_text(Span::new(0, 2), None), b"ld");
    assert!(raw::body_with_capacity(100).statement_table().is_empty());
    assert_eq!(
        Linkage::from_directive(Directive::Weak),
        Some(Linkage::Weak)
    );
}

/// Multiplications of matrices are told from moves of their fragments, whatever the family.
#[test]
fn matrix_instructions() {
    let text = b".version 9.0 .target sm_100a .address_size 64 .entry k() { .reg .pred p; .reg .b32 r; .reg .b64 a;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r}, [a];
        mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {r, r}, {r}, {r}, {r, r};
        tcgen05.mma.cta_group::1.kind::f16 [r], a, a, r, p;
        tcgen05.ld.sync.aligned.16x64b.x1.b32 {r}, [r];
        add.s32 r, r, 1; }";
    let module = ptx_parse::parse(text).module;
    let k = module.function("k").unwrap();
    let facts = ModuleFacts::new(&module);
    let of = facts.function(k).unwrap();
    let insts = module.body(k).unwrap().insts();
    let kinds = insts.map(|(id, _)| {
        let inst = of.inst(id);
        (inst.is_matrix_multiply(), inst.is_matrix_move())
    });
    let (multiply, copy, other) = ((true, false), (false, true), (false, false));
    assert!(kinds.eq([copy, multiply, multiply, copy, other]));
}

#[test]
fn facts_and_edits() {
    let text = b".version 8.1 .target sm_90 .address_size 64 .func f() .noreturn;
        .entry k() { .reg .pred p; .reg .b32 r; .reg .b64 a; @!p call f; { add.s32 r, r, 1; }
        multimem.red.global.add.u32 [a], r; st.global.b32 [a], r; }";
    let mut module = ptx_parse::parse(text).module;
    let k = module.function("k").unwrap();
    let body = module.body(k).unwrap();
    let facts = ModuleFacts::new(&module);
    let of = facts.function(k).unwrap();
    let insts: Vec<_> = body.insts().map(|(id, _)| of.inst(id)).collect();
    let [call, add, multimem, store] = &insts[..] else {
        panic!("four")
    };
    let f = module.functions()[module.function("f").unwrap()]
        .symbol
        .unwrap();
    assert_eq!(call.callees(), Some(Callees::Function(f)));
    assert!(
        call.never_returns()
            && call
                .guard_register()
                .is_some_and(|(_, sense)| sense.is_negated())
    );
    assert!(add.may_be_duplicated() && !add.has_side_effects() && store.has_side_effects());
    assert!(multimem.is_multimem() && !store.is_multimem());
    let data = store.memory().next().unwrap();
    assert_eq!(
        (data.bytes, data.size, data.data.map(|d| d.1.reads())),
        (Some(4), None, Some(true))
    );
    let mut types = NameTypes::new(&module);
    types.enter(&module, k, body);
    let guards = body.registers().ids().filter(|r| types.may_guard(*r));
    assert_eq!(guards.count(), 1);

    let inst = |s: &ptx_ir::Statement| matches!(s, ptx_ir::Statement::Inst(_));
    let all: Vec<_> = body
        .statements()
        .filter(|(_, s)| inst(s))
        .map(|(id, _)| id)
        .collect();
    let [_, add, _, store] = all[..] else {
        panic!("four")
    };
    assert_ne!(body.scope_around(add), body.scope_around(store));
    let mut editor = module.edit(k).unwrap();
    editor.add_modifier(add, Modifier::Sat).unwrap();
    let ptx_ir::Statement::Inst(of_add) = editor.statement(add).unwrap() else {
        panic!("an instruction")
    };
    let sig = editor.body().inst_table()[of_add].sig;
    editor.set_signature(add, sig).unwrap();
    let edits = editor.body().edits().unwrap();
    assert_eq!(edits.previous(add), editor.body().before(add));
    assert!(
        String::from_utf8_lossy(&ptx_print::verbatim(&module)).contains("add.sat.s32 r, r, 1;")
    );
}

#[test]
fn cursors_and_printing() {
    let text = b".version 8.0 .target sm_80\n.entry k() {\n  bar.sync 0;\n  ret;\n}\n";
    let mut module = ptx_parse::parse(text).module;
    let k = module.function("k").unwrap();
    let function = ptx_print::verbatim_item(&module, module.item_of(k).unwrap());
    assert!(text.ends_with(&[&function, &b"\n"[..]].concat()));
    assert!(function.starts_with(b".entry k()"));
    let mut written = Vec::new();
    ptx_print::write_verbatim(&module, &mut written).unwrap();
    assert_eq!(written, text);
    let mut editor = module.edit(k).unwrap();
    let (bar, _) = editor.body().statements().next().unwrap();
    assert_eq!(editor.body().statement_table().next_id().as_u32(), 2);
    let fence = editor.inst("membar.gl", &[]).unwrap();
    let mut cursor = editor.cursor();
    cursor.seek(bar).unwrap();
    cursor.insert_before_last(fence).unwrap();
    assert!(ptx_print::verbatim(&module).ends_with(b"{\n  membar.gl;\n  bar.sync 0;\n  ret;\n}\n"));
    let mut line = Vec::new();
    let body = module.body(k).unwrap();
    ptx_print::write_canonical_statement(&module, body, bar, &Default::default(), &mut line)
        .unwrap();
    assert_eq!(line, b"bar.sync 0;");
}

#[test]
fn keys_and_labels() {
    let text = b".version 8.0 .target sm_80\n.entry k() { .reg .b32 r; L: add.s32 r, r, 1; ret; }";
    let mut module = ptx_parse::parse(text).module;
    let k = module.function("k").unwrap();
    let body = module.body(k).unwrap();
    let mut queries: Queries<bool> = Queries::new(&module);
    queries.enter(&module, k, body);
    let (add, inst) = body.insts().next().unwrap();
    let operands = body.operands(add);
    let environment = Environment::of(&module);
    let mut asked = 0;
    for _ in 0..2 {
        let legal = queries.answer(&module, body, inst.sig, operands, |query| {
            asked += 1;
            environment.select_clean(query).is_some()
        });
        assert_eq!((legal, asked), (Some(true), 1));
    }
    let mut mnemonic = Mnemonic::of(&module, inst.sig).unwrap();
    mnemonic.push(Modifier::Sat);
    let saturating = queries.ask(body, &mnemonic, operands, |query| {
        environment
            .select(query)
            .map(|form| form.form().syntax().to_string())
            .ok()
    });
    let syntax = saturating.flatten().unwrap();
    assert!(syntax.starts_with(".sat"), "{syntax}");
    let removed = module.edit(k).unwrap().remove_unused_labels();
    assert_eq!(removed.len(), 1);
    assert!(!ptx_print::verbatim(&module).contains(&b'L'));
}

#[test]
fn reasons_and_terms() {
    let text = b".version 9.0 .target sm_90 .entry k() { .reg .f32 f; sin.approx.f32 f, f; tanh.approx.f32 f, f; ret; }";
    let needed = ptx_verify::requires(&ptx_parse::parse(text).module);
    let tanh = needed.reasons().iter().find(|r| r.what().contains("tanh"));
    let availability = tanh.unwrap().availability();
    assert_eq!(availability.lowest(ptx_isa::Target::Sm70), None);
    assert!(availability.lowest(ptx_isa::Target::Sm75).is_some());
    let terms = ptx_transform::clean::Pass::ALL.iter().map(|p| p.term());
    assert!(
        terms.clone().any(|t| t == "dead-code elimination"),
        "{:?}",
        terms.collect::<Vec<_>>()
    );
}

#[test]
fn rewritings() {
    let module = ptx_parse::parse(b".version 8.0 // comment\n.target sm_80\n").module;
    let stripped = ptx_transform::strip(&module).with_report("stripped");
    assert_eq!(
        (stripped.report, stripped.text().contains(&b'/')),
        ("stripped", false)
    );
}

#[test]
fn places_and_parts_of_a_statement() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .b32 r;\n.reg .b64 p;\nld.global.u32 r, [p+8];\nld.global.u32 r, [p];\n}\n";
    let parsed = ptx_parse::parse_str(text);
    assert!(!parsed.has_errors());
    let module = parsed.module;
    let function = module.function("k").unwrap();
    let body = module.body(function).unwrap();
    let offsets: Vec<Option<i64>> = body
        .statements()
        .filter_map(|(stmt, statement)| {
            let relative = body.relative_span(stmt);
            let absolute = body.source_span(stmt);
            assert_eq!(absolute.start, body.base() + relative.start);
            assert_eq!(absolute.len(), relative.len());
            let ptx_ir::Statement::Inst(inst) = statement else {
                return None;
            };
            let address = *body.operands(inst).last()?;
            let parts = body.pool().walk_operand(address).count();
            assert!(parts > 1, "an address has a base");
            let Operand::Address(id) = address else {
                return None;
            };
            Some(body.pool().address(id)?.byte_offset(body.pool()))
        })
        .collect();
    assert_eq!(offsets, [Some(8), Some(0)]);
}

#[test]
fn certainty_of_a_fix() {
    let diagnostic =
        ptx_ir::Diagnostic::error(ptx_ir::Code::UnknownInstruction, Span::new(0, 1), "text")
            .with_applicability(ptx_ir::Applicability::MaybeIncorrect);
    assert_eq!(
        diagnostic.applicability,
        ptx_ir::Applicability::MaybeIncorrect
    );
}
