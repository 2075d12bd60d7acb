//! Modules, kernels, launches, and the errors of kernels.

use std::ffi::CString;

use ptx_cuda::abi::LaunchConfig;
use ptx_cuda::caller::Out;
use ptx_cuda::driver::context::{cuCtxGetLimit, cuCtxSetLimit, cuDevicePrimaryCtxReset_v2};
use ptx_cuda::driver::kernel::*;
use ptx_cuda::driver::launch::*;
use ptx_cuda::driver::link::*;
use ptx_cuda::driver::module::*;
use ptx_cuda::status::Status;

use crate::session::{Session, argument, result, succeeds};

/// Writes the number of the thread, plus a parameter, to the place of the thread.
const WRITE: &str = ".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\nld.param.u32 %r1, [start];\nld.param.u64 %rd1, [data];\nmov.u32 %r2, %tid.x;\nadd.u32 %r3, %r1, %r2;\n\
     mul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r3;";
const WRITE_PARAMETERS: &str = ".param .u32 start, .param .u64 data";

#[test]
fn arguments_are_pointers_or_one_buffer() {
    let session = Session::new();
    let kernel = session.kernel("write", WRITE_PARAMETERS, WRITE);
    let address = session.buffer(&[0u32; 4]);
    succeeds(session.launch(kernel, 4, &[argument(&10u32), argument(&address)]));
    assert_eq!(session.numbers(address, 4), [10, 11, 12, 13]);
    let mut buffer = [0u8; 16];
    buffer[..4].copy_from_slice(&20u32.to_le_bytes());
    buffer[8..].copy_from_slice(&address.to_le_bytes());
    let [bytes, too_few] = [16usize, 12].map(Box::new);
    let launch = |extra: &[usize]| {
        cuLaunchKernel(
            kernel,
            1,
            1,
            1,
            3,
            1,
            1,
            0,
            0,
            std::ptr::null(),
            extra.as_ptr(),
        )
    };
    let [size, smaller] = [&bytes, &too_few].map(|bytes| std::ptr::from_ref(&**bytes).addr());
    succeeds(launch(&[1, buffer.as_ptr().addr(), 2, size, 0]));
    assert_eq!(session.numbers(address, 4), [20, 21, 22, 13]);
    assert_eq!(
        launch(&[1, buffer.as_ptr().addr(), 2, smaller, 0]),
        Status::INVALID_VALUE
    );
    assert_eq!(launch(&[7, 0, 0]), Status::INVALID_VALUE);
    assert_eq!(
        cuLaunchKernelEx(None, kernel, std::ptr::null(), std::ptr::null()),
        Status::INVALID_VALUE
    );
    let config = LaunchConfig {
        grid: [1; 3],
        block: [2, 1, 1],
        shared_bytes: 0,
        stream: 0,
        attributes: std::ptr::null(),
        attribute_count: 0,
    };
    let arguments = [argument(&30u32), argument(&address)];
    succeeds(cuLaunchKernelEx(
        Some(&config),
        kernel,
        arguments.as_ptr(),
        std::ptr::null(),
    ));
    assert_eq!(session.numbers(address, 4), [30, 31, 22, 13]);
}

#[test]
fn launches_are_checked() {
    let session = Session::new();
    let kernel = session.kernel("empty", "", "");
    let shaped = |grid: [u32; 3], block: [u32; 3], shared| {
        let [grid_x, grid_y, grid_z] = grid;
        let [x, y, z] = block;
        let none = (std::ptr::null(), std::ptr::null());
        cuLaunchKernel(
            kernel, grid_x, grid_y, grid_z, x, y, z, shared, 0, none.0, none.1,
        )
    };
    succeeds(shaped([1; 3], [1024, 1, 1], 0));
    for (grid, block, shared) in [
        ([0, 1, 1], [1, 1, 1], 0),
        ([1, 65536, 1], [1, 1, 1], 0),
        ([1; 3], [1025, 1, 1], 0),
        ([1; 3], [32, 32, 2], 0),
        ([1; 3], [1, 1, 65], 0),
        ([1; 3], [1, 1, 1], 49153),
        ([1; 3], [1, 1, 1], u32::MAX),
    ] {
        assert_eq!(
            shaped(grid, block, shared),
            Status::INVALID_VALUE,
            "{grid:?} {block:?} {shared}"
        );
    }
    succeeds(cuFuncSetAttribute(kernel, 8, 100_000));
    succeeds(shaped([1; 3], [1, 1, 1], 100_000));
    assert_eq!(
        cuFuncSetAttribute(kernel, 8, 1 << 20),
        Status::INVALID_VALUE
    );
    assert_eq!(session.launch(kernel + 16, 1, &[]), Status::INVALID_HANDLE);
    assert_eq!(session.launch(0, 1, &[]), Status::INVALID_HANDLE);
}

#[test]
fn an_error_of_a_kernel_stays_until_the_context_ends() {
    let session = Session::new();
    let kernel = session.kernel("write", WRITE_PARAMETERS, WRITE);
    let other = session.kernel("empty", "", "");
    succeeds(session.launch(kernel, 1, &[argument(&0u32), argument(&64u64)]));
    assert_eq!(session.synchronize(), Status::ILLEGAL_ADDRESS);
    assert_eq!(session.launch(other, 1, &[]), Status::ILLEGAL_ADDRESS);
    succeeds(cuDevicePrimaryCtxReset_v2(0));
    succeeds(session.synchronize());
    assert_eq!(session.launch(other, 1, &[]), Status::INVALID_HANDLE);
    let trap = session.kernel("stop", "", "trap;");
    succeeds(session.launch(trap, 1, &[]));
    assert_eq!(session.synchronize(), Status::LAUNCH_FAILED);
}

#[test]
fn modules_are_checked_and_unloaded() {
    let session = Session::new();
    let load = |text: &str| {
        let text = CString::new(text).unwrap();
        result(|module| cuModuleLoadData(module, text.as_ptr().cast()))
    };
    assert_eq!(load("no PTX"), Err(Status::INVALID_PTX));
    let mut machine_code = [0u8; 64];
    machine_code[..4].copy_from_slice(b"\x7fELF");
    let loaded = result(|module| cuModuleLoadData(module, machine_code.as_ptr().cast()));
    assert_eq!(loaded, Err(Status::NO_BINARY_FOR_GPU));
    let header = ".version 8.0\n.target ";
    assert_eq!(
        load(&format!("{header}sm_90\n.address_size 64\n")),
        Err(Status::NO_BINARY_FOR_GPU)
    );
    assert_eq!(
        load(".version 8.0\n.target sm_80\n.address_size 32\n"),
        Err(Status::INVALID_IMAGE)
    );
    assert_eq!(
        load(&format!(
            "{header}sm_80\n.address_size 64\n.entry f() {{ mov.u32 %r1, 1; }}\n"
        )),
        Err(Status::INVALID_PTX)
    );
    let text = format!(
        "{header}sm_80\n.address_size 64\n.visible .global .u32 counts[3] = {{1, 2, 3}};\n.visible .entry f() {{ ret; }}\n.visible .entry g() {{ ret; }}\n"
    );
    let module = load(&text).unwrap();
    let address = result(|address| cuModuleGetGlobal_v2(address, None, module, c"counts".as_ptr()));
    assert_eq!(session.numbers(address.unwrap(), 3), [1, 2, 3]);
    let missing = result(|f| cuModuleGetFunction(f, module, c"h".as_ptr()));
    assert_eq!(missing, Err(Status::NOT_FOUND));
    assert_eq!(
        result(|count| cuModuleGetFunctionCount(count, module)),
        Ok(2)
    );
    let mut functions = [0; 2];
    succeeds(cuModuleEnumerateFunctions(
        functions.as_mut_ptr(),
        2,
        module,
    ));
    succeeds(session.launch(functions[1], 1, &[]));
    succeeds(cuModuleUnload(module));
    assert_eq!(cuModuleUnload(module), Status::INVALID_HANDLE);
    assert_eq!(session.launch(functions[1], 1, &[]), Status::INVALID_HANDLE);
}

/// Loads a module that is linked from texts.
fn loaded_link(texts: &[String]) -> usize {
    let none = (std::ptr::null(), std::ptr::null());
    let state = result(|state| cuLinkCreate_v2(0, none.0, none.1, state)).unwrap();
    for text in texts {
        let name = c"part".as_ptr();
        let data = text.as_ptr().cast();
        succeeds(cuLinkAddData_v2(
            state,
            1,
            data,
            text.len(),
            name,
            0,
            none.0,
            none.1,
        ));
    }
    let mut bytes = std::mem::MaybeUninit::uninit();
    let image = result(|image| cuLinkComplete(state, image, Some(&mut bytes))).unwrap();
    let module = result(|module| cuModuleLoadData(module, image)).unwrap();
    succeeds(cuLinkDestroy(state));
    module
}

#[test]
fn modules_are_linked() {
    let session = Session::new();
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let caller = format!(
        "{header}.extern .func (.param .u32 r) five();\n.visible .entry main(.param .u64 data)\n{{\n.reg .b32 %r1;\n.reg .b64 %rd1;\n\
         {{ .param .u32 result; call (result), five; ld.param.u32 %r1, [result]; }}\nld.param.u64 %rd1, [data];\nst.global.u32 [%rd1], %r1;\nret;\n}}\n"
    );
    let callee = format!(
        "{header}.visible .func (.param .u32 r) five()\n{{\nst.param.u32 [r], 5;\nret;\n}}\n"
    );
    let module = loaded_link(&[caller, callee]);
    let kernel = result(|f| cuModuleGetFunction(f, module, c"main".as_ptr())).unwrap();
    let address = session.buffer(&[0u32]);
    succeeds(session.launch(kernel, 1, &[argument(&address)]));
    assert_eq!(session.numbers(address, 1), [5]);
}

/// PTX of a kernel with 64 values that are live at the same time, and directives.
fn kernel_with_many_values(directives: &str) -> CString {
    let loads: String = (0..64)
        .map(|n| format!("ld.global.u32 %r{n}, [%rd1+{}];\n", 4 * n))
        .collect();
    let sums: String = (1..64)
        .map(|n| format!("add.u32 %r0, %r0, %r{n};\n"))
        .collect();
    CString::new(format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry sum(.param .u64 data) {directives}\n{{\n.reg .b32 %r<64>;\n.reg .b64 %rd1;\n\
         ld.param.u64 %rd1, [data];\n{loads}{sums}st.global.u32 [%rd1], %r0;\nret;\n}}\n"
    ))
    .unwrap()
}

/// The registers of the kernel in a loaded module.
fn registers(module: usize) -> i32 {
    const NUM_REGS: u32 = 4;
    let kernel = result(|f| cuModuleGetFunction(f, module, c"sum".as_ptr())).unwrap();
    result(|value| cuFuncGetAttribute(value, NUM_REGS, kernel)).unwrap()
}

#[test]
fn callers_ignore_results_that_their_declaration_lacks() {
    let session = Session::new();
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let caller = format!(
        "{header}.extern .func store(.param .u64 a);\n.extern .func pair(.param .u64 a);\n.visible .entry main(.param .u64 data)\n{{\n.reg .b64 %rd1;\n\
         ld.param.u64 %rd1, [data];\n{{ .param .u64 a; st.param.u64 [a], %rd1; call.uni store, (a); }}\n\
         {{ .param .u64 a; st.param.u64 [a], %rd1; call.uni pair, (a); call.uni pair, (a); }}\nret;\n}}\n"
    );
    let callee = format!(
        "{header}.visible .func (.param .u32 r) store(.param .u64 a)\n{{\n.reg .b64 %rd1;\nld.param.u64 %rd1, [a];\nst.global.u32 [%rd1], 7;\n\
         st.param.u32 [r], 5;\nret;\n}}\n\
         .visible .func (.param .align 8 .b8 r[16]) pair(.param .u64 a)\n{{\n.reg .b64 %rd1;\n.reg .b32 %r1;\nld.param.u64 %rd1, [a];\n\
         ld.global.u32 %r1, [%rd1+4];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%rd1+4], %r1;\nst.param.u64 [r+8], 5;\nret;\n}}\n"
    );
    let module = loaded_link(&[caller, callee]);
    let kernel = result(|f| cuModuleGetFunction(f, module, c"main".as_ptr())).unwrap();
    let address = session.buffer(&[0u32; 2]);
    succeeds(session.launch(kernel, 1, &[argument(&address)]));
    assert_eq!(session.numbers(address, 2), [7, 2]);
}

#[test]
fn the_limit_of_registers_is_obeyed() {
    const MAX_REGISTERS: [u32; 1] = [0];
    let _session = Session::new();
    let loaded = |directives: &str, limit: usize| {
        let text = kernel_with_many_values(directives);
        let (options, values) = (MAX_REGISTERS.as_ptr(), [limit]);
        let load = |module: Out<'_, usize>| {
            cuModuleLoadDataEx(module, text.as_ptr().cast(), 1, options, values.as_ptr())
        };
        registers(result(load).unwrap())
    };
    let unlimited = loaded("", 0);
    assert!(unlimited > 64, "{unlimited}");
    assert_eq!(loaded("", 40), 40);
    assert_eq!(loaded("", 200), unlimited);
    // The directive of a kernel has precedence.
    assert_eq!(loaded(".maxnreg 48", 40), 48);
    let linked = |directives: &str| {
        let text = kernel_with_many_values(directives);
        let (options, values) = (MAX_REGISTERS.as_ptr(), [40usize]);
        let state = result(|state| cuLinkCreate_v2(1, options, values.as_ptr(), state)).unwrap();
        let none = (std::ptr::null(), std::ptr::null());
        let (data, name) = (text.as_ptr().cast(), c"part".as_ptr());
        let bytes = text.count_bytes();
        succeeds(cuLinkAddData_v2(
            state, 1, data, bytes, name, 0, none.0, none.1,
        ));
        let image = result(|image| cuLinkComplete(state, image, None)).unwrap();
        let module = result(|module| cuModuleLoadData(module, image)).unwrap();
        succeeds(cuLinkDestroy(state));
        registers(module)
    };
    assert_eq!(linked(""), 40);
    assert_eq!(linked(".maxnreg 48"), 48);
}

#[test]
fn the_compiler_writes_its_messages_to_a_buffer() {
    let _session = Session::new();
    let text = CString::new(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry f() { bra missing; }\n",
    )
    .unwrap();
    let mut message = [1u8; 200];
    let options = [5u32, 6];
    let values = [message.as_mut_ptr().addr(), 200];
    let loaded = result(|module| {
        cuModuleLoadDataEx(
            module,
            text.as_ptr().cast(),
            2,
            options.as_ptr(),
            values.as_ptr(),
        )
    });
    assert_eq!(loaded, Err(Status::INVALID_PTX));
    let end = message.iter().position(|byte| *byte == 0).unwrap();
    let message = std::str::from_utf8(&message[..end]).unwrap();
    assert!(message.contains("missing"), "{message}");
}

#[test]
fn parameters_and_attributes_of_kernels() {
    let session = Session::new();
    let kernel = session.kernel("write", WRITE_PARAMETERS, WRITE);
    assert_eq!(result(|count| cuFuncGetParamCount(kernel, count)), Ok(2));
    let offset = |index| result(|offset| cuFuncGetParamInfo(kernel, index, offset, None));
    assert_eq!(
        (offset(0), offset(1), offset(2)),
        (Ok(0), Ok(8), Err(Status::INVALID_VALUE))
    );
    assert_eq!(
        result(|value| cuFuncGetAttribute(value, 0, kernel)),
        Ok(1024)
    );
    assert_eq!(
        result(|value| cuFuncGetAttribute(value, 16, kernel)),
        Err(Status::INVALID_VALUE)
    );
    let name = result(|name| cuFuncGetName(name, kernel)).unwrap();
    // SAFETY: the function succeeded: its result is a text that ends with a zero byte.
    assert_eq!(unsafe { std::ffi::CStr::from_ptr(name) }, c"write");
}

#[test]
fn limits_can_be_set() {
    let _session = Session::new();
    assert_eq!(result(|value| cuCtxGetLimit(value, 2)), Ok(8 << 20));
    succeeds(cuCtxSetLimit(2, 1 << 20));
    assert_eq!(result(|value| cuCtxGetLimit(value, 2)), Ok(1 << 20));
    succeeds(cuCtxSetLimit(2, 8 << 20));
    assert_eq!(cuCtxSetLimit(99, 1), Status::UNSUPPORTED_LIMIT);
}

#[test]
fn blocks_of_a_cooperative_launch_wait_for_each_other() {
    let session = Session::new();
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 a);\n\
         .extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 a, .param .b32 b);\n.visible .entry sum(.param .u64 data)\n{\n\
         .reg .pred %p1;\n.reg .b32 %r<8>;\n.reg .b64 %rd<6>;\n.param .b32 scope;\n.param .b64 handle;\n.param .b32 flags;\n.param .b32 status;\n\
         st.param.b32 [scope], 1;\ncall (handle), cudaCGGetIntrinsicHandle, (scope);\nld.param.b64 %rd1, [handle];\n\
         ld.param.u64 %rd2, [data];\nmov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd3, %rd2, %rd3;\n\
         add.u32 %r2, %r1, 1;\nst.global.u32 [%rd3], %r2;\n\
         st.param.b64 [handle], %rd1;\nst.param.b32 [flags], 0;\ncall (status), cudaCGSynchronize, (handle, flags);\n\
         mov.u32 %r3, %nctaid.x;\nsub.u32 %r3, %r3, %r1;\nsub.u32 %r3, %r3, 1;\nmul.wide.u32 %rd4, %r3, 4;\nadd.s64 %rd4, %rd2, %rd4;\n\
         ld.volatile.global.u32 %r4, [%rd4];\nst.global.u32 [%rd3+32], %r4;\nret;\n}\n";
    let text = CString::new(text).unwrap();
    let module = result(|module| cuModuleLoadData(module, text.as_ptr().cast())).unwrap();
    let kernel = result(|f| cuModuleGetFunction(f, module, c"sum".as_ptr())).unwrap();
    let address = session.buffer(&[0u32; 16]);
    let arguments = [argument(&address)];
    let launch = |blocks| {
        cuLaunchCooperativeKernel(kernel, blocks, 1, 1, 64, 1, 1, 0, 0, arguments.as_ptr())
    };
    succeeds(launch(8));
    assert_eq!(session.numbers(address, 16)[8..], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(launch(1 << 20), Status::COOPERATIVE_LAUNCH_TOO_LARGE);
}

#[test]
fn declared_limits_of_blocks_are_checked() {
    let session = Session::new();
    let text = c".version 8.0\n.target sm_80\n.address_size 64\n.const .u32 table[8];\n.visible .entry f() .maxntid 64, 2\n{ ret; }\n";
    let module = result(|module| cuModuleLoadData(module, text.as_ptr().cast())).unwrap();
    let kernel = result(|f| cuModuleGetFunction(f, module, c"f".as_ptr())).unwrap();
    assert_eq!(
        result(|value| cuFuncGetAttribute(value, 0, kernel)),
        Ok(128)
    );
    assert_eq!(result(|value| cuFuncGetAttribute(value, 2, kernel)), Ok(32));
    succeeds(session.launch(kernel, 128, &[]));
    assert_eq!(session.launch(kernel, 129, &[]), Status::INVALID_VALUE);
}

#[test]
fn a_module_without_an_address_size_has_that_of_the_device() {
    let session = Session::new();
    let load = |directive: &str| {
        let text = format!(
            ".version 8.0\n.target sm_80\n{directive}\n.visible .entry write({WRITE_PARAMETERS})\n{{\n{WRITE}\nret;\n}}\n"
        );
        let text = CString::new(text).unwrap();
        result(|module| cuModuleLoadData(module, text.as_ptr().cast()))
    };
    assert_eq!(load(".address_size 32"), Err(Status::INVALID_IMAGE));
    let module = load("").unwrap();
    let kernel = result(|function| cuModuleGetFunction(function, module, c"write".as_ptr()));
    let address = session.buffer(&[0u32; 2]);
    let arguments = [argument(&10u32), argument(&address)];
    succeeds(session.launch(kernel.unwrap(), 2, &arguments));
    assert_eq!(session.numbers(address, 2), [10, 11]);
}

/// Programs read rows before the first one, whose values they do not use.
#[test]
fn kernels_may_read_before_the_first_allocation() {
    let session = Session::new();
    let address = session.buffer(&[1u32]);
    let first = 0x6000_0000_0000;
    assert!(address >= first + (2 << 20), "{address:#x}");
    let code = ".reg .b32 %r1;\n.reg .b64 %rd<2>;\nld.param.u64 %rd0, [out];\nld.param.u64 %rd1, [data];\nld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd0], %r1;";
    let kernel = session.kernel("load", ".param .u64 out, .param .u64 data", code);
    for data in [first, first + (2 << 20) - 4] {
        succeeds(session.launch(kernel, 1, &[argument(&address), argument(&data)]));
        assert_eq!(session.numbers(address, 1), [0]);
    }
}
