//! The functions of the runtime API, called as programs call them, with code in PTX.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test"
)]

mod support;

use std::ffi::CString;

use support::{Library, at, exported_functions, library_folder, listed_functions, to};

/// Stores the sum of its parameter and a variable, and fails for a null address.
const CODE: &str = "\
.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 number = 5;
.global .attribute(.managed) .align 8 .u64 shared_number = 6;
.visible .entry store(.param .u64 p, .param .u32 v)
{
.reg .b32 %r<4>;
.reg .b64 %rd<5>;
ld.param.u64 %rd1, [p];
ld.param.u32 %r1, [v];
ld.global.u32 %r2, [number];
add.u32 %r3, %r1, %r2;
st.global.u32 [%rd1], %r3;
ld.global.u64 %rd2, [shared_number];
add.u64 %rd3, %rd2, 1;
st.global.u64 [shared_number], %rd3;
ret;
}
";

/// `__fatBinC_Wrapper_t`.
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: usize,
    parts: usize,
}

/// A program: its registered code, and the addresses by which it names the kernel and the variables.
struct Program {
    library: Library,
    code: usize,
    kernel: u8,
    number: u8,
    shared_number: usize,
}

impl Program {
    /// Registers the code, as programs do before `main`. The program stays at its address.
    fn register() -> Box<Self> {
        let folder = library_folder("runtime");
        let library = Library::open(&folder.join("libcudart.so.13"));
        let mut program = Box::new(Self {
            library,
            code: 0,
            kernel: 0,
            number: 0,
            shared_number: 0,
        });
        let ptx = CString::new(CODE).unwrap();
        let wrapper = Wrapper {
            magic: 0x4662_43b1,
            version: 1,
            data: ptx.as_ptr().expose_provenance(),
            parts: 0,
        };
        let library = &program.library;
        let address = library.find("__cudaRegisterFatBinary").unwrap();
        // SAFETY: the function has this signature.
        let register: extern "C" fn(usize) -> usize = unsafe { std::mem::transmute(address) };
        let code = register(at(&wrapper));
        assert_ne!(code, 0);
        // The code is in memory as long as the process runs.
        let _ = ptx.into_raw();
        let names =
            [c"store", c"number", c"shared_number"].map(|name| name.as_ptr().expose_provenance());
        library.call(
            "__cudaRegisterFunction",
            &[code, at(&program.kernel), names[0], names[0], usize::MAX],
        );
        let variable = |name, address, bytes| [code, address, names[1], name, 0, bytes, 0, 0];
        library.call(
            "__cudaRegisterVar",
            &variable(names[1], at(&program.number), 4),
        );
        let pointer = at(&program.shared_number);
        library.call("__cudaRegisterManagedVar", &variable(names[2], pointer, 8));
        library.call("__cudaRegisterFatBinaryEnd", &[code]);
        program.code = code;
        program
    }

    fn last_error(&self) -> u32 {
        self.library.call("cudaGetLastError", &[])
    }

    /// Launches the kernel as `<<<grid, block>>>` does.
    fn launch(&self, grid: usize, pointer: usize, value: u32) -> u32 {
        let library = &self.library;
        let one = 1 | 1 << 32;
        library.succeed(
            "__cudaPushCallConfiguration",
            &[grid | 1 << 32, 1, one, 1, 0, 0],
        );
        let mut kernel = 0usize;
        library.succeed("__cudaGetKernel", &[to(&mut kernel), at(&self.kernel)]);
        let (mut sizes, mut shared, mut stream) = ([[0u32; 3]; 2], 7usize, 7usize);
        let [grid_place, block_place] = &mut sizes;
        let places = [
            to(grid_place),
            to(block_place),
            to(&mut shared),
            to(&mut stream),
        ];
        library.succeed("__cudaPopCallConfiguration", &places);
        assert_eq!(sizes, [[grid as u32, 1, 1], [1, 1, 1]]);
        assert_eq!((shared, stream), (0, 0));
        let arguments = [at(&pointer), at(&value)];
        let words = [grid | 1 << 32, 1, one, 1];
        // The seventh argument and those after it are on the stack.
        library.call(
            "__cudaLaunchKernel",
            &[
                kernel,
                words[0],
                words[1],
                words[2],
                words[3],
                at(&arguments),
                0,
                0,
            ],
        )
    }
}

/// The number of the direction that is found from the addresses.
const DEFAULT: usize = 4;

fn registered_code_runs(program: &Program) {
    let library = &program.library;
    let mut pointer = 0usize;
    library.succeed("cudaMalloc", &[to(&mut pointer), 4]);
    assert_eq!(program.launch(1, pointer, 10), 0);
    let mut result = 0u32;
    library.succeed("cudaMemcpy", &[to(&mut result), pointer, 4, DEFAULT]);
    assert_eq!(result, 15);
    // The program accesses the managed variable at its address of the device.
    assert_ne!(program.shared_number, 0);
    let shared = std::ptr::with_exposed_provenance::<u64>(program.shared_number);
    // SAFETY: the library has set the pointer to memory that the program can access.
    assert_eq!(unsafe { shared.read_volatile() }, 7);
    let hundred = 100u32;
    library.succeed(
        "cudaMemcpyToSymbol",
        &[at(&program.number), at(&hundred), 4, 0, 1],
    );
    assert_eq!(program.launch(1, pointer, 10), 0);
    library.succeed("cudaMemcpy", &[to(&mut result), pointer, 4, DEFAULT]);
    assert_eq!(result, 110);
    let mut bytes = 0usize;
    library.succeed("cudaGetSymbolSize", &[to(&mut bytes), at(&program.number)]);
    assert_eq!(bytes, 4);
    // A managed variable is known by its address, too.
    library.succeed(
        "cudaGetSymbolSize",
        &[to(&mut bytes), program.shared_number],
    );
    assert_eq!(bytes, 8);
    assert_eq!(library.call("cudaGetSymbolSize", &[to(&mut bytes), 1]), 13);
    library.succeed("cudaFree", &[pointer]);
    assert_eq!(library.call("cudaFree", &[pointer]), 1);
    assert_eq!(program.last_error(), 1);
    assert_eq!(program.last_error(), 0);
}

fn launches_are_checked(program: &Program) {
    let library = &program.library;
    assert_eq!(program.launch(0, 0, 0), 9);
    assert_eq!(program.last_error(), 9);
    assert_eq!(library.call("cudaLaunchKernel", &[1, 1, 1, 1, 1, 0]), 98);
    // There is no configuration.
    let mut place = [0usize; 8];
    let places = [to(&mut place), at(&place[2]), at(&place[4]), at(&place[6])];
    assert_eq!(library.call("__cudaPopCallConfiguration", &places), 52);
    assert_eq!(program.last_error(), 52);
}

fn errors_of_kernels_stay(program: &Program) {
    let library = &program.library;
    assert_eq!(program.launch(1, 16, 0), 0);
    assert_eq!(library.call("cudaDeviceSynchronize", &[]), 700);
    let mut pointer = 0usize;
    assert_eq!(library.call("cudaMalloc", &[to(&mut pointer), 4]), 700);
    assert_eq!((program.last_error(), program.last_error()), (700, 700));
    library.succeed("cudaDeviceReset", &[]);
    assert_eq!((program.last_error(), program.last_error()), (700, 0));
    library.succeed("cudaMalloc", &[to(&mut pointer), 4]);
    // The code is loaded again.
    assert_eq!(program.launch(1, pointer, 1), 0);
    let mut result = 0u32;
    library.succeed("cudaMemcpy", &[to(&mut result), pointer, 4, DEFAULT]);
    assert_eq!(result, 6);
}

/// Functions that do not return a status, or that need arguments which are not null: the result of `cudaCreateChannelDesc` is a structure, and fatbins are required.
const WITHOUT_STATUS: [&str; 5] = [
    "__cudaRegisterFatBinary",
    "__cudaRegisterFunction",
    "__cudaRegisterManagedVar",
    "__cudaRegisterVar",
    "cudaCreateChannelDesc",
];

/// All functions return with null pointers and handles, and those with a pointer for a result that is null fail.
fn null_arguments_are_errors(program: &Program) {
    let library = &program.library;
    let mut implemented = 0;
    let listed = listed_functions(include_str!("../api/runtime.txt"));
    for name in listed
        .iter()
        .filter(|name| !WITHOUT_STATUS.contains(&name.as_str()))
    {
        let status = library.call(name, &[]);
        implemented += usize::from(status != 801);
    }
    assert!(implemented > 150, "{implemented}");
    for name in [
        "cudaMalloc",
        "cudaMallocManaged",
        "cudaMallocPitch",
        "cudaHostAlloc",
        "cudaEventCreate",
        "cudaStreamCreate",
        "cudaGetDeviceProperties",
        "cudaGetDeviceProperties_v2",
        "cudaMemcpy3D",
        "cudaPointerGetAttributes",
        "cudaMemPoolCreate",
        "cudaGetDevice",
        "cudaDriverGetVersion",
        "cudaMallocAsync",
    ] {
        assert_eq!(library.call(name, &[]), 1, "{name}");
    }
    let wrong = 0x1234;
    for name in [
        "cudaStreamSynchronize",
        "cudaEventSynchronize",
        "cudaEventQuery",
    ] {
        assert_eq!(library.call(name, &[wrong]), 400, "{name}");
    }
    let mut pointer = 0usize;
    assert_eq!(
        library.call("cudaMalloc", &[to(&mut pointer), usize::MAX]),
        2
    );
    assert_eq!(
        library.call(
            "cudaMallocPitch",
            &[to(&mut pointer), to(&mut [0usize; 1]), usize::MAX, 9]
        ),
        1
    );
    assert_eq!(
        library.call("cudaMemcpy", &[wrong, wrong, usize::MAX, 3]),
        1
    );
    assert_eq!(library.call("cudaMemset", &[usize::MAX, 0, usize::MAX]), 1);
}

/// The function above calls all functions of the list.
#[test]
fn all_exported_functions_are_listed() {
    let listed = listed_functions(include_str!("../api/runtime.txt"));
    let exported = exported_functions("src/runtime");
    assert!(exported.len() > 250, "{}", exported.len());
    for name in exported {
        assert!(listed.binary_search(&name).is_ok(), "{name}");
    }
}

fn code_is_unregistered(program: &Program) {
    let library = &program.library;
    library.call("__cudaUnregisterFatBinary", &[program.code]);
    let mut kernel = 0usize;
    assert_eq!(
        library.call("__cudaGetKernel", &[to(&mut kernel), at(&program.kernel)]),
        98
    );
}

/// The order matters: all steps use the same device.
#[test]
fn runtime() {
    let program = Program::register();
    registered_code_runs(&program);
    launches_are_checked(&program);
    errors_of_kernels_stay(&program);
    null_arguments_are_errors(&program);
    code_is_unregistered(&program);
}
