//! `cargo bench -p bench --features measure --bench machine`: kernels that run without a GPU. Items are instructions of threads, those of lanes that
//! a branch disabled included. Nothing is asserted about time.

#![allow(missing_docs, clippy::unwrap_used)]

use divan::Bencher;
use divan::counter::ItemsCount;
use ptx_vm::{Launch, Machine};

use Argument::{Buffer, Double, Long, Word};

fn main() {
    divan::main();
}

/// A kernel, and what it is launched with.
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

/// As many CTAs and threads in one dimension.
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
    let volume = [0; 2].map(|_| Buffer(64 * 64 * 32));
    let volume = volume.into_iter().chain([Word(64), Word(64), Word(32)]);
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

#[divan::bench(args = cases().into_iter().map(|c| c.name).collect::<Vec<_>>())]
fn run(bencher: Bencher<'_, '_>, name: &str) {
    let case = cases().into_iter().find(|c| c.name == name).unwrap();
    let parsed = ptx_parse::parse_str(&case.text);
    let mut machine = Machine::new(&parsed.module);
    let mut launch = Launch::new(case.kernel);
    (launch.grid, launch.block, launch.shared) = (case.grid, case.block, case.shared);
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
