use ptx_build::{BuildError, Declaration, FunctionHeader, ModuleBuilder, select};
use ptx_isa::{Component, PtxVersion, ScalarType as T, StateSpace, Target};

#[test]
fn registers_with_names() -> Result<(), BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    let mut f = m.func("f")?;
    let result = f.add_register_result(T::B32, "result")?;
    assert_eq!(
        (f.result_register(0), f.result_register(1)),
        (Some(result), None)
    );
    let x = f.add_register_param(T::B32, "x")?;
    let v = f.named_vector(T::F32, 4, "v")?;
    let many = f.reg_range(T::B32, "%many", 3)?;
    assert_eq!(
        (f.name_of(many[2]), f.type_of(v)),
        ("%many2".into(), Some(T::F32))
    );
    f.mov().f32((select(v, Component::X), 1.0f32))?;
    f.mov().b32((many[2], x))?;
    f.mov().b32((result, many[2]))?;
    f.ret().emit(())?;
    f.finish()?;
    assert!(
        m.text().contains(".func (.reg .b32 result) f("),
        "{}",
        m.text()
    );
    m.finish().map(drop)
}

#[test]
fn tables_behind_labels_that_are_there() -> Result<(), BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    m.write_virtual_target();
    m.another_target(Target::Sm75, &[]);
    assert_eq!(m.target(), Target::Sm75);
    m.declare_all(Declaration::nothing(StateSpace::Global, T::B32))?;
    m.pragmas(&["nounroll", "nounroll"])?;
    m.file_with(1, "a.cu", &[1_700_000_000, 42])?;
    let tables = Declaration::new(StateSpace::Global, T::B32, "table").range(2u32);
    assert_eq!(m.declare_all(tables)?.len(), 2);
    let scalar = |name| Declaration::new(StateSpace::Param, T::B32, name);
    let callee = m.declare_func("f", None, &[scalar("r")], &[])?;
    let mut k = m.kernel("k")?;
    let texture = Declaration::new(StateSpace::Param, T::U64, "t").pointer_to(T::Texref, None);
    k.add_param(texture)?;
    let aligned =
        Declaration::new(StateSpace::Param, T::U64, "p").pointer(Some(StateSpace::Global), None);
    k.add_param(aligned.pointer_align(16u32).trailing_align(8u32))?;
    let i = k.reg(T::U32);
    let [jumps, calls, shape, first, second] = [(); 5].map(|()| k.label());
    assert_ne!(k.name_of_label(first), k.name_of_label(second));
    assert_eq!(k.local_label(k.name_of_label(first)), Some(first));
    k.loc_spelled([1u32, 2, 3].map(Into::into))?;
    k.mov().u32((i, 1))?;
    k.place_branch_targets(jumps, &[first, second])?;
    k.place_call_targets(calls, &[callee])?;
    k.place_prototype(
        shape,
        &FunctionHeader::new()
            .with_empty_results()
            .without_parameter_list(),
    )?;
    k.brx().idx().emit((i, jumps))?;
    k.place(first)?;
    k.place(second)?;
    k.ret().emit(())?;
    k.finish()?;
    let text = m.text();
    for part in [
        ".target compute_80\n",
        ".pragma \"nounroll\", \"nounroll\";",
        ".file 1 \"a.cu\", 1700000000, 42",
        ".align 8 .ptr .global .align 16 p",
        ".ptr .texref ",
        ".callprototype () _;",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    m.finish().map(drop)
}

#[test]
fn addresses_of_32_bits() -> Result<(), BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(6, 0), Target::Sm50);
    m.without_address_size();
    let text = m.text();
    assert!(!text.contains(".address_size"), "{text}");
    m.finish().map(drop)
}
