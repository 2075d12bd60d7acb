//! Kernels in Rust without a GPU: the PTX that rustc emits for its target `nvptx64-nvidia-cuda` is linked with that of `core`, `alloc` and
//! `compiler_builtins`, reduced to the dependencies of the kernels, checked, renamed, instrumented and run. `.ci/rust` compiles `rust-gpu` and calls
//! `cargo run -p ptx-examples --bin rust -- FILE…`.

use std::error::Error;

use ptx_build::{Argument, BuildError, Declaration, FunctionBuilder, ModuleBuilder, Reg, at};
use ptx_edit::{Names, Renaming};
use ptx_ir::{Linkage, Module, Severity};
use ptx_isa::{Directive, PtxVersion, ScalarType as T, StateSpace as S, Target};
use ptx_transform::instrument::{Bounds, Outside};
use ptx_transform::{LinkOptions, extract, link};
use ptx_vm::{Launch, Machine};

#[path = "../rust-gpu/src/rows.rs"]
pub mod rows;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The kernels of `rust-gpu`.
pub const KERNELS: [&str; 4] = [
    "sort_rows",
    "frequent_in_rows",
    "neighbours_in_rows",
    "follow_in_rows",
];
/// The prefix of the names of the kernels.
pub const PREFIX: &str = "rust_";

/// A function that the code of rustc calls but does not define: the end of its mangled name, the types of its result and parameters, whether
/// it returns, its body.
struct Shim {
    name: &'static str,
    result: Option<T>,
    parameters: &'static [T],
    returns: bool,
    body: fn(&mut FunctionBuilder<'_>) -> std::result::Result<(), BuildError>,
}

const SHIMS: [Shim; 7] = [
    Shim {
        name: "12___rust_alloc",
        result: Some(T::B64),
        parameters: &[T::B64, T::B64],
        returns: true,
        body: allocate,
    },
    Shim {
        name: "19___rust_alloc_zeroed",
        result: Some(T::B64),
        parameters: &[T::B64, T::B64],
        returns: true,
        body: allocate_zeros,
    },
    Shim {
        name: "14___rust_dealloc",
        result: None,
        parameters: &[T::B64, T::B64, T::B64],
        returns: true,
        body: release,
    },
    Shim {
        name: "35___rust_no_alloc_shim_is_unstable_v2",
        result: None,
        parameters: &[],
        returns: true,
        body: |_| Ok(()),
    },
    Shim {
        name: "26___rust_alloc_error_handler",
        result: None,
        parameters: &[T::B64, T::B64],
        returns: false,
        body: panic,
    },
    Shim {
        name: "17rust_begin_unwind",
        result: None,
        parameters: &[T::B64],
        returns: false,
        body: panic,
    },
    Shim {
        name: "18rust_eh_personality",
        result: None,
        parameters: &[],
        returns: false,
        body: panic,
    },
];

/// `malloc` of the device, which aligns to 16 bytes: the address and the number of bytes.
fn malloc(f: &mut FunctionBuilder<'_>) -> std::result::Result<[Reg; 2], BuildError> {
    let parameter = |name| Declaration::new(S::Param, T::B64, name);
    let malloc = f.module().declare_func(
        "malloc",
        Some(Linkage::Extern),
        &[parameter("result")],
        &[parameter("bytes")],
    )?;
    let [address, bytes] = [(); 2].map(|()| f.reg(T::B64));
    if let Some(parameter) = f.param_variable(0) {
        f.ld().param().b64((bytes, at(parameter)))?;
    }
    f.call_function(malloc, &[address.into()], &[Argument::from(bytes)])?;
    if let Some(result) = f.result_variable(0) {
        f.st().param().b64((at(result), address))?;
    }
    Ok([address, bytes])
}

fn allocate(f: &mut FunctionBuilder<'_>) -> std::result::Result<(), BuildError> {
    malloc(f).map(|_| ())
}

/// Allocates memory, and stores a zero to each byte if there is memory.
fn allocate_zeros(f: &mut FunctionBuilder<'_>) -> std::result::Result<(), BuildError> {
    let [address, bytes] = malloc(f)?;
    let (end, is_done) = (f.reg(T::B64), f.reg(T::Pred));
    let (loop_start, done) = (f.label(), f.label());
    f.setp().eq().u64((is_done, address, 0))?;
    f.guard(is_done).bra().emit(done)?;
    f.add().u64((end, address, bytes))?;
    f.place(loop_start)?;
    f.setp().ge().u64((is_done, address, end))?;
    f.guard(is_done).bra().emit(done)?;
    f.st().b8((at(address), 0))?;
    f.add().u64((address, address, 1))?;
    f.bra().emit(loop_start)?;
    f.place(done)
}

fn release(f: &mut FunctionBuilder<'_>) -> std::result::Result<(), BuildError> {
    let parameter = Declaration::new(S::Param, T::B64, "address");
    let free = f
        .module()
        .declare_func("free", Some(Linkage::Extern), &[], &[parameter])?;
    let Some(pointer) = f.param_variable(0) else {
        return Ok(());
    };
    let address = f.reg(T::B64);
    f.ld().param().b64((address, at(pointer)))?;
    f.call_function(free, &[], &[Argument::from(address)])
}

/// The panic handler, which ends the launch.
fn panic(f: &mut FunctionBuilder<'_>) -> std::result::Result<(), BuildError> {
    f.trap().emit(())
}

/// A module with the functions that another one lacks.
fn shims(module: &Module) -> Result<String> {
    let mut m = ModuleBuilder::new(PtxVersion::new(7, 0), Target::Sm70);
    for (_, function) in module
        .functions()
        .iter()
        .filter(|(_, f)| f.linkage == Some(Linkage::Extern))
    {
        let name = module.name(function.name);
        let Some(shim) = SHIMS.iter().find(|shim| name.ends_with(shim.name)) else {
            continue;
        };
        let mut f = m.func(name)?;
        f.linkage(Linkage::Visible);
        if let Some(ty) = shim.result {
            f.result(Declaration::new(S::Param, ty, "result"))?;
        }
        for (n, ty) in shim.parameters.iter().enumerate() {
            f.param(*ty, &format!("parameter_{n}"))?;
        }
        // Older versions of PTX cannot say that a function does not return.
        let directives = function
            .interface
            .directives
            .of(module.interface_directives());
        if directives
            .iter()
            .any(|d| d.directive == Directive::Noreturn)
        {
            f.directive(Directive::Noreturn, &[]);
        }
        (shim.body)(&mut f)?;
        if shim.returns {
            f.ret().emit(())?;
        }
        f.finish()?;
    }
    let text = m.text();
    m.finish()?;
    Ok(text)
}

/// Several modules as one.
fn linked(modules: &[&Module]) -> Result<Module> {
    verified(link(modules, &LinkOptions::default())?.module)
}

/// The module, if it is legal.
fn verified(module: Module) -> Result<Module> {
    let diagnostics = ptx_verify::verify(&module, &Default::default());
    match diagnostics.iter().find(|d| d.severity == Severity::Error) {
        Some(error) => Err(error.message.to_string().into()),
        None => Ok(module),
    }
}

/// The kernels of the modules that rustc emitted, with their dependencies only.
pub fn module(files: &[Vec<u8>], kernels: &[&str]) -> Result<Module> {
    let modules: Vec<Module> = files
        .iter()
        .map(|text| ptx_parse::parse(text).module)
        .collect();
    let all = linked(&modules.iter().collect::<Vec<_>>())?;
    let needed = verified(extract(&all, kernels)?.module)?;
    let shims = verified(ptx_parse::parse_str(&shims(&needed)?).into_result()?)?;
    linked(&[&needed, &shims])
}

/// The kernels with other names, and with a check of each access to global memory.
pub fn instrumented(module: &Module, kernels: &[&str]) -> Result<Module> {
    let names = Names::of(module);
    let mut renaming = Renaming::new();
    for kernel in kernels {
        names
            .find(module, kernel, None)
            .into_iter()
            .for_each(|entity| renaming.set(entity, format!("{PREFIX}{kernel}")));
    }
    let renamed = renaming.apply(module, &names)?.module;
    let bounds = Bounds {
        name: "global_memory".into(),
        space: S::Global,
        low: 0x100,
        high: 1 << 47,
        outside: Outside::Trap,
    };
    verified(bounds.apply(&renamed)?.module)
}

/// The numbers of all rows and a result for each row.
type Output = (Vec<u32>, Vec<u32>);

/// Runs a kernel on the machine.
pub fn on_machine(module: &Module, kernel: &str, numbers: &[u32], width: usize) -> Result<Output> {
    let rows = numbers.len() / width;
    let mut machine = Machine::new(module);
    let (data, results) = (4 * numbers.len(), 4 * rows);
    let [to_data, to_results] = [data, results].map(|bytes| machine.allocate(bytes as u64));
    let (to_data, to_results) = to_data.zip(to_results).ok_or("no memory")?;
    machine.write_slice(to_data, numbers)?;
    let mut launch = Launch::new(kernel)
        .shape(rows.div_ceil(64) as u32, 64)
        .argument(to_data.to_le_bytes());
    launch = launch
        .argument((width as u32).to_le_bytes())
        .argument((rows as u32).to_le_bytes());
    if !kernel.ends_with("sort_rows") {
        launch = launch.argument(to_results.to_le_bytes());
    }
    machine.launch(&launch)?;
    Ok((
        machine.read_slice(to_data, numbers.len())?,
        machine.read_slice(to_results, rows)?,
    ))
}

/// The results of the same functions on the host.
#[must_use]
pub fn on_host(kernel: &str, numbers: &[u32], width: usize) -> Output {
    let mut numbers = numbers.to_vec();
    let results =
        numbers
            .chunks_exact_mut(width)
            .map(|row| match kernel.trim_start_matches(PREFIX) {
                "sort_rows" => {
                    rows::sort(row);
                    0
                }
                "frequent_in_rows" => rows::most_frequent(row),
                "neighbours_in_rows" => rows::neighbours(row),
                _ => rows::follow(row),
            });
    let results = results.collect();
    (numbers, results)
}

/// Rows whose first numbers are indices in them.
#[must_use]
pub fn numbers(rows: usize, width: usize) -> Vec<u32> {
    let number = |i: usize| (i as u32).wrapping_mul(2_654_435_761) >> 7;
    (0..rows * width)
        .map(|i| {
            if i % width == 0 {
                number(i) % width as u32
            } else {
                number(i)
            }
        })
        .collect()
}

/// Compares the results of a kernel of a module with those of the host.
pub fn compare(module: &Module, kernel: &str) -> Result<()> {
    for (rows, width) in [(1, 1), (33, 7), (100, 60)] {
        let numbers = numbers(rows, width);
        if on_machine(module, kernel, &numbers, width)? != on_host(kernel, &numbers, width) {
            return Err(format!("{kernel}: {rows} rows of {width} differ").into());
        }
    }
    Ok(())
}
