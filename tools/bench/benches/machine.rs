//! `cargo bench -p bench --features measure --bench machine`: kernels that run without a GPU. Items are instructions of threads, those of lanes that
//! a branch disabled included. Nothing is asserted about time.

#![allow(missing_docs, clippy::unwrap_used)]

use divan::Bencher;
use divan::counter::ItemsCount;
use ptx_vm::{Checker, Checks, Launch, Machine};

use Argument::{Buffer, Double, Long, Word};

fn main() {
    divan::main();
}

/// A kernel and its launch.
struct Case {
    name: &'static str,
    text: String,
    kernel: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    arguments: Vec<Argument>,
}

enum Argument {
    /// A buffer with numbers from 0 to 1 in 32 bits.
    Buffer(usize),
    Word(u32),
    Long(u64),
    Double(f64),
}

const FLOATS: &str = "LOOP: fma.rn.f32 %f2, %f1, %f1, %f1;\nfma.rn.f32 %f3, %f2, %f1, %f2;\nmul.f32 %f4, %f3, %f2;\nadd.f32 %f5, %f4, %f3;\n\
    fma.rn.f32 %f6, %f5, %f1, %f2;\nadd.f32 %f7, %f6, %f5;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 2000;\n@%p1 bra LOOP;\n";

/// A kernel of one loop, on the lanes for which `condition` holds.
fn registers(condition: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 data)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<4>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [data];\nmov.u32 %r1, 0;\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd2, %r0, 4;\n\
         add.s64 %rd1, %rd1, %rd2;\ncvt.rn.f32.u32 %f1, %r0;\n{condition}{FLOATS}\
         st.global.f32 [%rd1], %f7;\nEND: ret;\n}}\n"
    )
}

fn compiled(file: &str) -> String {
    let path = format!(
        "{}/../corpus/compiled/nvcc/{file}",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(path).unwrap()
}

fn case(
    name: &'static str,
    text: String,
    kernel: &'static str,
    [grid, block]: [[u32; 3]; 2],
    arguments: Vec<Argument>,
) -> Case {
    Case {
        name,
        text,
        kernel,
        grid,
        block,
        shared: 0,
        arguments,
    }
}

/// The launch of a number of CTAs and of threads in each, in one dimension.
const fn line(grid: u32, block: u32) -> [[u32; 3]; 2] {
    [[grid, 1, 1], [block, 1, 1]]
}

fn cases() -> Vec<Case> {
    let half = "shr.u32 %r2, %r0, 5;\nand.b32 %r2, %r2, 1;\nand.b32 %r3, %r0, %r2;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 bra END;\n";
    let buffer = || vec![Buffer(128)];
    let diverged = "registers, one warp of two diverged";
    let mut all = vec![
        case("registers", registers(""), "kernel", line(1, 128), buffer()),
        case(diverged, registers(half), "kernel", line(1, 128), buffer()),
    ];
    all.extend(compiled_cases());
    all
}

fn compiled_cases() -> [Case; 6] {
    let (bodies, reductions) = (
        compiled("nbody.O3.sm_86.ptx"),
        compiled("reduce.O3.sm_75.ptx"),
    );
    let bytes = Buffer(128 * 128 / 4);
    let view = [Double(-0.5), Double(0.0), Double(0.02)];
    let image = [bytes, Word(128), Word(128)].into_iter().chain(view);
    let product = "_Z5tiledILi16EfEvPKT0_S2_PS0_i";
    let matrices = [0; 3].map(|_| Buffer(128 * 128));
    let sum = "_Z6reduceIf3SumIfEEvPKT_PS2_m";
    let volume = [Buffer(64 * 64 * 32), Buffer(64 * 64 * 32)]
        .into_iter()
        .chain([Word(64), Word(64), Word(32)]);
    let histogram = vec![Buffer(1 << 14), Buffer(256), Word(1 << 14)];
    let step = vec![Buffer(256 * 8), Word(256), Word(0x3c23_d70a)];
    let numbers = vec![Buffer(1 << 17), Buffer(8), Long(1 << 17)];
    [
        case(
            "n-body",
            bodies.clone(),
            "_Z4stepP4Bodyif",
            line(2, 128),
            step,
        ),
        case(
            "tiled matrix product",
            compiled("matrix.O3.sm_80.ptx"),
            product,
            [[8, 8, 1], [16, 16, 1]],
            matrices.into_iter().chain([Word(128)]).collect(),
        ),
        case("sum", reductions.clone(), sum, line(8, 256), numbers),
        case(
            "stencil",
            reductions.clone(),
            "_Z8stencil7PKfPfiii",
            [[4, 8, 1], [16, 8, 1]],
            volume.collect(),
        ),
        Case {
            shared: 1024,
            ..case(
                "histogram",
                reductions,
                "_Z9histogramPK6uchar4Pji",
                line(4, 256),
                histogram,
            )
        },
        case(
            "Mandelbrot set",
            bodies,
            "_Z10mandelbrotPhiiddd",
            [[4, 16, 1], [32, 8, 1]],
            image.collect(),
        ),
    ]
}

/// The kernels of `loops/loops.cu`, whose loops `loops/loops.cpp` executes on the CPU.
const LOOPS: [&str; 5] = ["matmul", "nbody", "murmur", "histogram", "mandelbrot"];

/// The words of each buffer of these kernels.
const LOOP_WORDS: usize = 1 << 20;

/// The grid, the CTAs and the arguments of one of these kernels: two buffers of data, and one for results.
fn loop_launch(name: &str, [a, b, c]: [u64; 3]) -> Launch {
    let words = |words: &[u32]| words.iter().map(|w| w.to_le_bytes().to_vec()).collect();
    let (shape, buffers, numbers): (_, &[u64], Vec<Vec<u8>>) = match name {
        "matmul" => ([[16, 16, 1], [16, 16, 1]], &[a, b, c], words(&[256])),
        "nbody" => (line(8, 256), &[a, c], words(&[2048])),
        "murmur" => (line(256, 256), &[a, c], words(&[256])),
        "histogram" => (line(64, 256), &[a, c], words(&[4 << 20])),
        _ => ([[16, 64, 1], [32, 8, 1]], &[c], words(&[512, 512, 100])),
    };
    let mut launch = Launch::new(name);
    [launch.grid, launch.block] = shape;
    for buffer in buffers {
        launch = launch.argument(buffer.to_le_bytes());
    }
    numbers.into_iter().fold(launch, Launch::argument)
}

/// Items are instructions of threads.
#[divan::bench(args = LOOPS)]
fn loops(bencher: Bencher<'_, '_>, name: &str) {
    let parsed = ptx_parse::parse_str(include_str!("../loops/loops.ptx"));
    let mut machine = Machine::new(&parsed.module);
    let buffers = [0; 3].map(|_| machine.allocate(4 * LOOP_WORDS as u64).unwrap());
    let are_numbers = matches!(name, "matmul" | "nbody");
    let mut state = 1u32;
    for &buffer in &buffers[..2] {
        let mut bytes = Vec::new();
        for _ in 0..LOOP_WORDS {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bytes.extend(if are_numbers {
                (state as i32 as f32 / 2_147_483_648.0).to_le_bytes()
            } else {
                state.to_le_bytes()
            });
        }
        machine.write(buffer, &bytes).unwrap();
    }
    let launch = loop_launch(name, buffers);
    let steps = machine.launch(&launch).unwrap().steps;
    bencher
        .counter(ItemsCount::new(steps as usize * 32))
        .bench_local(|| machine.launch(&launch).unwrap());
}

/// The products of one warp in a launch.
const PRODUCTS: usize = 8 * 256;

/// A kernel that multiplies matrices of binary16, 8 times in each of 256 rounds.
fn products() -> String {
    let product = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};\n";
    let products = product.repeat(8);
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 data)\n{{\n\
         .reg .pred %p<2>;\n.reg .b32 %r<8>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd0, [data];\nmov.u32 %r6, %tid.x;\nmul.wide.u32 %rd1, %r6, 16;\nadd.s64 %rd2, %rd0, %rd1;\n\
         ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%rd2];\nld.global.v2.u32 {{%r4, %r5}}, [%rd2+512];\n\
         ld.global.v4.f32 {{%f0, %f1, %f2, %f3}}, [%rd2+1024];\nmov.u32 %r7, 0;\n\
         LOOP: {products}add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, 256;\n@%p1 bra LOOP;\n\
         st.global.v4.f32 [%rd2+1024], {{%f0, %f1, %f2, %f3}};\nret;\n}}\n"
    )
}

/// Items are instructions of warps that multiply matrices of 16 x 16 and 16 x 8 numbers of binary16.
#[divan::bench]
fn matrix_products(bencher: Bencher<'_, '_>) {
    let text = products();
    let parsed = ptx_parse::parse_str(&text);
    let mut machine = Machine::new(&parsed.module);
    let address = machine.allocate(1536).unwrap();
    let bits = (0..1536u32).flat_map(|n| ((n % 61) as u16 * 37 + 0x3000).to_le_bytes());
    let bytes: Vec<u8> = bits.take(1536).collect();
    machine.write(address, &bytes).unwrap();
    let mut launch = Launch::new("kernel").argument(address.to_le_bytes());
    (launch.grid, launch.block) = ([1; 3], [32, 1, 1]);
    bencher
        .counter(ItemsCount::new(PRODUCTS))
        .bench_local(|| machine.launch(&launch).unwrap());
}

fn names() -> Vec<&'static str> {
    cases().into_iter().map(|c| c.name).collect()
}

#[divan::bench(args = names())]
fn run(bencher: Bencher<'_, '_>, name: &str) {
    launches(bencher, name, Checks::NONE);
}

#[divan::bench(args = names())]
fn run_memcheck(bencher: Bencher<'_, '_>, name: &str) {
    launches(bencher, name, Checks::NONE.with(Checker::Memcheck));
}

#[divan::bench(args = names())]
fn run_initcheck(bencher: Bencher<'_, '_>, name: &str) {
    launches(bencher, name, Checks::NONE.with(Checker::Initcheck));
}

#[divan::bench(args = names())]
fn run_synccheck(bencher: Bencher<'_, '_>, name: &str) {
    launches(bencher, name, Checks::NONE.with(Checker::Synccheck));
}

#[divan::bench(args = names())]
fn run_racecheck(bencher: Bencher<'_, '_>, name: &str) {
    launches(bencher, name, Checks::NONE.with(Checker::Racecheck));
}

fn launches(bencher: Bencher<'_, '_>, name: &str, checks: Checks) {
    let case = cases().into_iter().find(|c| c.name == name).unwrap();
    let parsed = ptx_parse::parse_str(&case.text);
    let mut machine = Machine::new(&parsed.module);
    let mut launch = Launch::new(case.kernel);
    (launch.grid, launch.block, launch.shared) = (case.grid, case.block, case.shared);
    launch.checks = checks;
    for argument in case.arguments {
        launch = match argument {
            Argument::Buffer(words) => {
                let address = machine.allocate(4 * words as u64).unwrap();
                let numbers = (0..words).map(|n| (n % 97) as f32 / 97.0);
                let bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
                machine.write(address, &bytes).unwrap();
                launch.argument(address.to_le_bytes())
            }
            Argument::Word(word) => launch.argument(word.to_le_bytes()),
            Argument::Long(word) => launch.argument(word.to_le_bytes()),
            Argument::Double(number) => launch.argument(number.to_le_bytes()),
        };
    }
    let steps = machine.launch(&launch).unwrap().steps;
    bencher
        .counter(ItemsCount::new(steps as usize * 32))
        .bench_local(|| machine.launch(&launch).unwrap());
}
