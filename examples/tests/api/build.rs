use ptx_build::{Error, ModuleBuilder, lane};
use ptx_isa::{PtxVersion, ScalarType as T, Target};

#[test]
fn registers_with_names() -> Result<(), Error> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    let mut f = m.func("f")?;
    let result = f.register_param(T::B32, "result", true)?;
    let x = f.register_param(T::B32, "x", false)?;
    let v = f.named_vector(T::F32, 4, "v")?;
    let many = f.reg_range(T::B32, "%many", 3)?;
    assert_eq!((f.name_of(many[2]), f.type_of(v)), ("%many2", Some(T::F32)));
    f.mov().f32(lane(v, "x"), 1.0f32)?;
    f.mov().b32(many[2], x)?;
    f.mov().b32(result, many[2])?;
    f.ret().emit(())?;
    f.finish()?;
    assert!(
        m.text().contains(".func (.reg .b32 result) f("),
        "{}",
        m.text()
    );
    m.finish().map(drop)
}
