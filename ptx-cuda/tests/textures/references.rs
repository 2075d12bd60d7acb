//! Texture references and surface references.

use ptx_cuda::abi::arrays::{ArrayDescriptor, ImageDescriptor, array_flag, texture_flag};
use ptx_cuda::driver::array::cuMipmappedArrayCreate;
use ptx_cuda::driver::module::cuModuleUnload;
use ptx_cuda::driver::surface::{cuModuleGetSurfRef, cuSurfRefGetArray, cuSurfRefSetArray};
use ptx_cuda::driver::texture_reference::*;
use ptx_cuda::handles::Raw;
use ptx_cuda::status::Status;

use crate::common::{F32, U8, U32, contents, create, descriptor, fill, kernel, load, session};
use crate::session::{Session, argument, result, succeeds};

/// Reads texel `tid.x` of `image` by a coordinate of the parameter list, and `line` by an integer; writes the first channel of `image` to `target`.
const MODULE: &str = ".version 8.0\n.target sm_80\n.address_size 64
.global .texref image = { addr_mode_0 = clamp_to_border, filter_mode = linear, normalized_coords = 1 };
.global .texref line;
.global .surfref target;
.global .u32 number;
.visible .entry read(.param .u64 out, .param .f32 x)
{
.reg .f32 %x, %y, %f<4>; .reg .b64 %out;
ld.param.u64 %out, [out]; ld.param.f32 %x, [x]; mov.f32 %y, 0f3F000000;
tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [image, {%x, %y}];
st.global.v4.f32 [%out], {%f0, %f1, %f2, %f3};
ret;
}
.visible .entry fetch(.param .u64 out, .param .u32 x)
{
.reg .b32 %x, %r<4>; .reg .b64 %out;
ld.param.u64 %out, [out]; ld.param.u32 %x, [x];
tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [line, {%x}];
st.global.v4.b32 [%out], {%r0, %r1, %r2, %r3};
ret;
}
.visible .entry write()
{
.reg .b32 %x, %y;
mov.u32 %x, 8; mov.u32 %y, 1;
sust.b.2d.b32.trap [target, {%x, %y}], {%x};
ret;
}
";

fn reference(module: Raw, name: &std::ffi::CStr) -> Result<Raw, Status> {
    result(|reference| cuModuleGetTexRef(reference, module, name.as_ptr()))
}

/// The four numbers that a kernel with one argument of 32 bits writes.
fn run(session: &Session, kernel: Raw, value: u32) -> [u32; 4] {
    let out = session.buffer(&[0u32; 4]);
    succeeds(session.launch(kernel, 1, &[argument(&out), argument(&value)]));
    succeeds(session.synchronize());
    session.numbers(out, 4).try_into().unwrap()
}

fn image() -> Raw {
    let array = create(&descriptor([4, 1, 0], U8, 1));
    fill(array, [4, 1, 1], &[0, 51, 102, 255]);
    array
}

#[test]
fn properties_may_be_set_in_any_order() {
    let session = session();
    let module = load(MODULE);
    let image_reference = reference(module, c"image").unwrap();
    assert_eq!(reference(module, c"image"), Ok(image_reference));
    let read = kernel(module, "read");
    let number = |x: f32| f32::from_bits(run(&session, read, x.to_bits())[0]);
    succeeds(cuTexRefSetArray(image_reference, image(), 1));
    // The properties that the module declares.
    assert_eq!(number(0.25), 0.1);
    assert_eq!(number(0.0), 0.0);
    let border = [2.0f32; 4];
    succeeds(cuTexRefSetBorderColor(image_reference, border.as_ptr()));
    assert_eq!(number(0.0), 1.0);
    // Linear filters need numbers: the next launch has neither.
    succeeds(cuTexRefSetFlags(
        image_reference,
        texture_flag::READ_AS_INTEGER,
    ));
    succeeds(cuTexRefSetFilterMode(image_reference, 0));
    assert_eq!(run(&session, read, 2.5f32.to_bits())[0], 102);
    succeeds(cuTexRefSetFlags(image_reference, 0));
    for dimension in 0..2 {
        succeeds(cuTexRefSetAddressMode(image_reference, dimension, 1));
    }
    assert_eq!(number(9.0), 1.0);
    assert_eq!(number(-9.0), 0.0);
}

#[test]
fn linear_memory_and_rows_are_bound() {
    let session = session();
    let module = load(MODULE);
    let line = reference(module, c"line").unwrap();
    let numbers: Vec<u32> = (0..1024).collect();
    let address = session.buffer(&numbers);
    succeeds(cuTexRefSetFormat(line, U32, 2));
    let offset = result(|offset| cuTexRefSetAddress_v2(offset, line, address, 4096));
    assert_eq!(offset, Ok(0));
    let fetch = kernel(module, "fetch");
    assert_eq!(run(&session, fetch, 100)[..2], [200, 201]);
    succeeds(cuTexRefSetFormat(line, U32, 1));
    assert_eq!(run(&session, fetch, 100)[..2], [100, 0]);
    assert_eq!(
        result(|found| cuTexRefGetAddress_v2(found, line)),
        Ok(address)
    );
    // An address that is not aligned: the texture begins before it.
    let offset = result(|offset| cuTexRefSetAddress_v2(offset, line, address + 1032, 64));
    assert_eq!(offset, Ok(8));
    assert_eq!(run(&session, fetch, 2)[0], 258);
    assert_eq!(run(&session, fetch, 18)[0], 0);
    assert_eq!(
        cuTexRefSetAddress_v2(None, line, address + 8, 64),
        Status::INVALID_VALUE
    );
    for (address, bytes) in [(address, 4100), (0, 64), (address, usize::MAX)] {
        let refused = result(|offset| cuTexRefSetAddress_v2(offset, line, address, bytes));
        assert_eq!(refused, Err(Status::INVALID_VALUE));
    }
    // Rows.
    let image_reference = reference(module, c"image").unwrap();
    let rows = ImageDescriptor {
        width: 8,
        height: 2,
        format: U32,
        channels: 1,
    };
    succeeds(cuTexRefSetAddress2D_v3(
        image_reference,
        Some(&rows),
        address,
        64,
    ));
    succeeds(cuTexRefSetFilterMode(image_reference, 0));
    succeeds(cuTexRefSetFlags(image_reference, 0));
    let read = kernel(module, "read");
    assert_eq!(run(&session, read, 5.5f32.to_bits())[0], 5);
    assert_eq!(
        cuTexRefSetFormat(image_reference, U8, 1),
        Status::INVALID_VALUE
    );
    let found = result(|format| cuTexRefGetFormat(format, None, image_reference));
    assert_eq!(found, Ok(U32));
    assert_eq!(
        cuTexRefSetAddress2D_v2(image_reference, Some(&rows), address + 4, 64),
        Status::INVALID_VALUE
    );
}

#[test]
fn surfaces_are_bound() {
    let session = session();
    let module = load(MODULE);
    let target = result(|found| cuModuleGetSurfRef(found, module, c"target".as_ptr())).unwrap();
    let image = ArrayDescriptor {
        flags: array_flag::SURFACE,
        ..descriptor([4, 2, 0], U32, 1)
    };
    let write = kernel(module, "write");
    for _ in 0..2 {
        let array = create(&image);
        succeeds(cuSurfRefSetArray(target, array, 0));
        assert_eq!(result(|found| cuSurfRefGetArray(found, target)), Ok(array));
        succeeds(session.launch(write, 1, &[]));
        let mut expected = vec![0u8; 32];
        expected[24] = 8;
        assert_eq!(contents(array, [16, 2, 1]), expected);
    }
    let plain = create(&descriptor([4, 2, 0], U32, 1));
    assert_eq!(cuSurfRefSetArray(target, plain, 0), Status::INVALID_VALUE);
    assert_eq!(cuSurfRefSetArray(target, 3, 0), Status::INVALID_HANDLE);
    assert_eq!(cuSurfRefSetArray(target, plain, 1), Status::INVALID_VALUE);
    let names = [c"image", c"number", c"nothing"];
    for name in names {
        let refused = result(|found| cuModuleGetSurfRef(found, module, name.as_ptr()));
        assert_eq!(refused, Err(Status::NOT_FOUND));
    }
    for name in [c"target", c"number", c"nothing"] {
        assert_eq!(reference(module, name), Err(Status::NOT_FOUND));
    }
    succeeds(cuModuleUnload(module));
    let refused = result(|found| cuSurfRefGetArray(found, target));
    assert_eq!(refused, Err(Status::INVALID_HANDLE));
}

#[test]
fn properties_are_returned() {
    let _session = session();
    let module = load(MODULE);
    let declared = reference(module, c"image").unwrap();
    let get = |dimension| result(|mode| cuTexRefGetAddressMode(mode, declared, dimension));
    assert_eq!(get(0), Ok(3));
    assert_eq!(get(3), Err(Status::INVALID_VALUE));
    assert_eq!(get(-1), Err(Status::INVALID_VALUE));
    assert_eq!(result(|mode| cuTexRefGetFilterMode(mode, declared)), Ok(1));
    let flags = result(|flags| cuTexRefGetFlags(flags, declared));
    assert_eq!(flags, Ok(texture_flag::NORMALIZED_COORDINATES));
    assert_eq!(cuTexRefDestroy(declared), Status::INVALID_VALUE);

    let created = result(|reference| cuTexRefCreate(reference)).unwrap();
    succeeds(cuTexRefSetAddressMode(created, 2, 2));
    let mode = result(|mode| cuTexRefGetAddressMode(mode, created, 2));
    assert_eq!(mode, Ok(2));
    succeeds(cuTexRefSetMipmapFilterMode(created, 1));
    let mode = result(|mode| cuTexRefGetMipmapFilterMode(mode, created));
    assert_eq!(mode, Ok(1));
    succeeds(cuTexRefSetMipmapLevelBias(created, 1.5));
    let bias = result(|bias| cuTexRefGetMipmapLevelBias(bias, created));
    assert_eq!(bias, Ok(1.5));
    succeeds(cuTexRefSetMipmapLevelClamp(created, 1.0, 2.0));
    let most = result(|most| cuTexRefGetMipmapLevelClamp(None, most, created));
    assert_eq!(most, Ok(2.0));
    succeeds(cuTexRefSetMaxAnisotropy(created, 8));
    let ratio = result(|ratio| cuTexRefGetMaxAnisotropy(ratio, created));
    assert_eq!(ratio, Ok(8));
    let color = [1.0f32, 2.0, 3.0, 4.0];
    succeeds(cuTexRefSetBorderColor(created, color.as_ptr()));
    let mut found = [0.0f32; 4];
    succeeds(cuTexRefGetBorderColor(found.as_mut_ptr(), created));
    assert_eq!(found, color);
    let base = descriptor([4, 4, 0], F32, 2);
    let mipmap = result(|mipmap| cuMipmappedArrayCreate(mipmap, Some(&base), 2)).unwrap();
    let unbound = result(|found| cuTexRefGetMipmappedArray(found, created));
    assert_eq!(unbound, Err(Status::INVALID_VALUE));
    succeeds(cuTexRefSetMipmappedArray(created, mipmap, 1));
    let bound = result(|found| cuTexRefGetMipmappedArray(found, created));
    assert_eq!(bound, Ok(mipmap));
    let other = result(|found| cuTexRefGetArray(found, created));
    assert_eq!(other, Err(Status::INVALID_VALUE));
    let array = image();
    succeeds(cuTexRefSetArray(created, array, 1));
    assert_eq!(result(|found| cuTexRefGetArray(found, created)), Ok(array));

    for refused in [
        cuTexRefSetArray(created, array, 0),
        cuTexRefSetFilterMode(created, 2),
        cuTexRefSetMipmapFilterMode(created, 9),
        cuTexRefSetAddressMode(created, 3, 0),
        cuTexRefSetAddressMode(created, 0, 4),
        cuTexRefSetFlags(created, 0x100),
        cuTexRefSetFormat(created, U8, -1),
        cuTexRefSetFormat(created, 0x77, 1),
        cuTexRefSetBorderColor(created, std::ptr::null()),
        cuTexRefGetBorderColor(std::ptr::null_mut(), created),
        cuTexRefGetFlags(None, created),
    ] {
        assert_eq!(refused, Status::INVALID_VALUE);
    }
    let kernel = kernel(module, "write");
    succeeds(cuParamSetTexRef(kernel, -1, declared));
    assert_eq!(cuParamSetTexRef(kernel, 0, declared), Status::INVALID_VALUE);
    succeeds(cuTexRefDestroy(created));
    for unknown in [
        cuTexRefDestroy(created),
        cuTexRefSetFlags(created, 0),
        cuTexRefSetArray(created, array, 1),
        cuParamSetTexRef(kernel, -1, 0),
    ] {
        assert_eq!(unknown, Status::INVALID_HANDLE);
    }
}
