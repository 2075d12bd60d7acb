//! `run`: arguments, buffers, what is printed, errors.

use std::fs;

use npyz::{DType, NpyFile, Order, WriteOptions, WriterBuilder};

use crate::support::{BAD, Folder, Run, expect, not_found, objects, ptx, with_input};

const VECADD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../corpus/compiled/nvcc/vecadd.lineinfo.sm_80.ptx"
);

const HEADER: &str = ".version 8.5\n.target sm_90\n.address_size 64\n";

/// Prints the word of its parameter, and fails if it is 13.
fn printing() -> String {
    format!(
        "{HEADER}.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
        .global .b8 text[7] = {{102, 61, 37, 117, 10, 0, 0}};\n\
        .visible .entry tell(.param .u32 n)\n{{\n\
        .local .align 8 .b8 arguments[8];\n\
        .reg .b32 %r<3>; .reg .b64 %a<3>; .reg .pred %p;\n\
        ld.param.u32 %r1, [n];\n\
        st.local.u32 [arguments], %r1;\n\
        mov.b64 %a1, arguments;\n\
        cvta.local.u64 %a1, %a1;\n\
        cvta.global.u64 %a2, text;\n\
        {{ .param .b64 f; .param .b64 a; .param .b32 r;\n\
        st.param.b64 [f], %a2; st.param.b64 [a], %a1;\n\
        call.uni (r), vprintf, (f, a); }}\n\
        setp.eq.u32 %p, %r1, 13;\n\
        @%p trap;\n\
        ret;\n}}\n"
    )
}

/// Writes an array of bytes of a type, such as `<f4`.
fn array(
    folder: &Folder,
    name: &str,
    ty: &str,
    shape: &[u64],
    order: Order,
    bytes: &[u8],
) -> String {
    let mut file = Vec::new();
    WriteOptions::new_header_only()
        .dtype(DType::parse(&format!("'{ty}'")).unwrap())
        .shape(shape)
        .order(order)
        .writer(&mut file)
        .write_header_only()
        .unwrap();
    file.extend_from_slice(bytes);
    folder.file(name, file)
}

fn floats(values: impl Iterator<Item = f32>) -> Vec<u8> {
    values.flat_map(f32::to_le_bytes).collect()
}

fn read(path: &str) -> NpyFile<fs::File> {
    NpyFile::new(fs::File::open(path).unwrap()).unwrap()
}

/// Runs a kernel with arguments that spaces separate.
fn run(file: &str, options: &str) -> Run {
    let mut arguments = vec!["run", file];
    arguments.extend(options.split(' ').filter(|o| !o.is_empty()));
    ptx(&arguments)
}

#[test]
fn a_sum_of_two_files() {
    let folder = Folder::new("run-sum");
    let n = 1000u16;
    let a = floats((0..n).map(f32::from));
    let a = array(&folder, "a.npy", "<f4", &[n.into()], Order::C, &a);
    let b = floats((0..n).map(|i| 0.5 * f32::from(i)));
    let b = array(&folder, "b.npy", "<f4", &[n.into()], Order::C, &b);
    let c = folder.0.join("c.npy");
    let c = c.to_str().unwrap();
    let options =
        format!("--kernel vecadd --grid 4 --block 256 in:{a} in:{b} out:{c}:f32[10,100] s32:{n}");
    expect(&run(VECADD, &options), 0, "", "");
    let file = read(c);
    assert_eq!(
        (file.shape(), &*file.dtype().descr()),
        (&[10, 100][..], "'<f4'")
    );
    let sums: Vec<f32> = file.into_vec().unwrap();
    assert!((0..n).all(|i| sums[usize::from(i)] == 1.5 * f32::from(i)));
}

#[test]
fn a_file_keeps_its_order_and_gets_the_lowest_byte_first() {
    let folder = Folder::new("run-order");
    let values = (0..6).flat_map(|i| (f32::from(i as u8)).to_be_bytes());
    let y = values.collect::<Vec<u8>>();
    let y = array(&folder, "y.npy", ">f4", &[2, 3], Order::Fortran, &y);
    let x = floats([1.0f32; 6].into_iter());
    let x = array(&folder, "x.npy", "<f4", &[6], Order::C, &x);
    let z = folder.0.join("z.npy");
    let z = z.to_str().unwrap();
    let options = format!("--kernel axpy --block 32 f32:2 in:{x} inout:{y}:{z} u64:6");
    expect(&run(VECADD, &options), 0, "", "");
    let file = read(z);
    assert_eq!((file.shape(), file.order()), (&[2, 3][..], Order::Fortran));
    assert_eq!(file.dtype().descr(), "'<f4'");
    let sums: Vec<f32> = file.into_vec().unwrap();
    assert_eq!(sums, [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
}

#[test]
fn values_and_structs() {
    let folder = Folder::new("run-values");
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 to, .param .align 4 .b8 s[8], .param .b16 h, .param .f64 d, .param .b32 p)\n{{\n\
        .reg .b64 %a<3>; .reg .b32 %r<4>; .reg .b16 %h;\n\
        ld.param.u64 %a1, [to];\n\
        ld.param.v2.u32 {{%r1, %r2}}, [s];\n\
        ld.param.b16 %h, [h];\n\
        ld.param.b64 %a2, [d];\n\
        ld.param.b32 %r3, [p];\n\
        st.global.u32 [%a1], %r2;\n\
        st.global.b16 [%a1+4], %h;\n\
        st.global.b64 [%a1+8], %a2;\n\
        st.global.b32 [%a1+16], %r3;\n\
        ret;\n}}\n"
    );
    let file = folder.file("k.ptx", &text);
    let to = folder.0.join("to.npy");
    let to = to.to_str().unwrap();
    let options = format!("out:{to}:u8[20] bytes:0011223344556677 bf16:-1 f64:0.1 e4m3x4:1,2,-1,0");
    expect(&run(&file, &options), 0, "", "");
    let bytes: Vec<u8> = read(to).into_vec().unwrap();
    assert_eq!(bytes[..8], [0x44, 0x55, 0x66, 0x77, 0x80, 0xbf, 0, 0]);
    assert_eq!(bytes[8..16], 0.1f64.to_le_bytes());
    assert_eq!(bytes[16..], [0x38, 0x40, 0xb8, 0]);
    // The file may come from standard input.
    let run = with_input(
        &[
            "run",
            "-",
            &format!("out:{to}:u8[20]"),
            "s32:1,2",
            "u16:3",
            "b64:4",
            "b32:5",
        ],
        text.as_bytes(),
    );
    expect(&run, 0, "", "");
    let bytes: Vec<u8> = read(to).into_vec().unwrap();
    assert_eq!(
        bytes,
        [2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0]
    );
}

/// A kernel that gets `struct { float *to; int n; struct { const float *from; char scale[3]; short shift; } in; }` and stores `from[i] * scale[1] + shift` in `to`.
fn with_struct() -> String {
    format!(
        "{HEADER}.visible .entry k(.param .align 8 .b8 s[32])\n{{\n\
        .reg .b64 %a<5>; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .pred %p;\n\
        ld.param.u64 %a1, [s];\n\
        ld.param.u32 %r1, [s+8];\n\
        ld.param.u64 %a2, [s+16];\n\
        ld.param.s8 %r2, [s+25];\n\
        ld.param.s16 %r3, [s+28];\n\
        cvt.rn.f32.s32 %f1, %r2;\n\
        cvt.rn.f32.s32 %f2, %r3;\n\
        mov.u32 %r2, %tid.x;\n\
        setp.ge.u32 %p, %r2, %r1;\n\
        @%p exit;\n\
        mul.wide.u32 %a3, %r2, 4;\n\
        add.s64 %a1, %a1, %a3;\n\
        add.s64 %a2, %a2, %a3;\n\
        ld.global.f32 %f3, [%a2];\n\
        fma.rn.f32 %f3, %f3, %f1, %f2;\n\
        st.global.f32 [%a1], %f3;\n\
        ret;\n}}\n"
    )
}

#[test]
fn structs_with_addresses() {
    let folder = Folder::new("run-structs");
    let file = folder.file("k.ptx", with_struct());
    let from = array(
        &folder,
        "from.npy",
        "<f4",
        &[3],
        Order::C,
        &floats([1.0, 2.0, 3.0].into_iter()),
    );
    let to = folder.0.join("to.npy");
    let to = to.to_str().unwrap();
    let argument = format!("struct:{{out:{to}:f32[3], s32:3, {{in:{from}, s8:1,-2,3, s16:100}}}}");
    expect(
        &ptx(&[
            "run",
            &file,
            "--block",
            "4",
            "--check",
            "memcheck,initcheck,synccheck,racecheck",
            &argument,
        ]),
        0,
        "",
        "",
    );
    assert_eq!(read(to).into_vec::<f32>().unwrap(), [98.0, 96.0, 94.0]);
    let script = folder.file(
        "launches.toml",
        "[buffers]\nfrom = \"in:from.npy\"\nto = \"out:to.npy:f32[3]\"\n\
        [[launch]]\nblock = 2\nargs = [\"struct:{buffer:to, s32:2, {buffer:from+4, s8:1,1,1, s16:0}}\"]\n",
    );
    expect(&ptx(&["run", &file, "--script", &script]), 0, "", "");
    assert_eq!(read(to).into_vec::<f32>().unwrap(), [2.0, 3.0, 0.0]);
    for (argument, message) in [
        (
            "struct:{u64:1}",
            "`struct:` has 8 bytes; expected `bytes:` or `struct:` with 32 bytes",
        ),
        (
            "struct:{5}",
            "a number in a struct needs a type, such as `u32:5`",
        ),
        ("struct:{u32:1", "a `{` has no `}`"),
        ("struct:{buffer:x}", "there is no buffer `x`"),
    ] {
        let run = ptx(&["run", &file, argument]);
        assert_eq!(run.status, 2, "{argument}");
        assert!(run.err.contains(message), "{}", run.err);
    }
}

#[test]
fn what_a_kernel_prints() {
    let text = printing();
    let run = with_input(&["run", "-", "u32:7", "--block", "2"], text.as_bytes());
    expect(&run, 0, "f=7\nf=7\n", "");
    let run = with_input(
        &["run", "-", "u32:13", "--format", "short"],
        text.as_bytes(),
    );
    let error =
        "<stdin>:19:1: error[PTX1303]: `trap` was executed, in block (0, 0, 0), thread (0, 0, 0)\n";
    expect(&run, 3, "f=13\n", error);
}

#[test]
fn an_error_with_its_source_lines() {
    let run = run(
        VECADD,
        "--kernel vecadd --grid 1,2 --block 4,8 in:no u64:0 u64:0 s32:1",
    );
    assert_eq!(run.status, 2);
    assert!(
        run.err.starts_with(&format!("ptxkit: no: {}", not_found())),
        "{}",
        run.err
    );
    let run = ptx(&[
        "run",
        VECADD,
        "--kernel",
        "vecadd",
        "scratch:64",
        "u64:2",
        "u64:0",
        "s32:1",
    ]);
    let expected = format!(
        "error[PTX1302]: address 0x2 is misaligned, in block (0, 0, 0), thread (0, 0, 0)
  --> {VECADD}:51:2
   |
51 |     ld.global.f32     %f1, [%rd8];
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = note: from /src/cuda/vecadd.cu:4:3
   = help: the address must be a multiple of the size of the access; for a vector, of the size of all elements together
"
    );
    expect(&run, 3, "", &expected);
}

#[test]
fn a_run_in_json() {
    let run = with_input(
        &["run", "-", "--format", "json", "u32:13", "--block", "1"],
        printing().as_bytes(),
    );
    assert_eq!((run.status, &*run.err), (3, ""));
    let object = &objects(&run.out)[0];
    assert_eq!(
        (&object["file"], &object["done"]),
        (&"<stdin>".into(), &false.into())
    );
    let launch = &object["launches"][0];
    assert_eq!(
        (&launch["kernel"], &launch["output"]),
        (&"tell".into(), &"f=13\n".into())
    );
    assert!(launch["steps"].is_null());
    let found = &object["diagnostics"][0];
    assert_eq!(
        (&found["code"], &found["span"]["line"]),
        (&"PTX1303".into(), &19.into())
    );
    let path = Folder::new("run-json").file("out.npy", "");
    let output = format!("out:{path}:u8[2,4]");
    let mut arguments = vec!["run", VECADD, "--format", "json", "--kernel", "fill"];
    arguments.extend(["--block", "8", &output, "u8:1", "u32:8"]);
    let run = ptx(&arguments);
    let object = &objects(&run.out)[0];
    assert_eq!((run.status, &object["done"]), (0, &true.into()));
    assert!(object["launches"][0]["steps"].as_u64().unwrap() > 4);
    let buffer = &object["buffers"][0];
    assert_eq!(
        (&buffer["file"], &buffer["type"]),
        (&path.into(), &"|u1".into())
    );
    assert_eq!(buffer["shape"], serde_json::json!([2, 4]));
    let run = with_input(&["run", "-", "--format", "json"], BAD.as_bytes());
    let object = &objects(&run.out)[0];
    assert_eq!((run.status, &object["done"]), (2, &false.into()));
    assert_eq!(object["diagnostics"][0]["code"], "PTX0104");
}

#[test]
fn arguments_that_the_kernel_does_not_take() {
    let parameters = "`vecadd_param_0` (.u64), `vecadd_param_1` (.u64), `vecadd_param_2` (.u64), `vecadd_param_3` (.u32)";
    let cases = [
        ("u64:0", format!("1 argument, but the kernel has 4 parameters: {parameters}")),
        (
            "s32:0 u64:0 u64:0 u32:0",
            "parameter 1 `vecadd_param_0` (.u64): `s32:` has 4 bytes; expected `u64:VALUE` or a buffer such as `in:FILE.npy`".into(),
        ),
        (
            "u64:0 bytes:00 u64:0 u32:0",
            "parameter 2 `vecadd_param_1` (.u64): `bytes:` has 1 byte, not 8".into(),
        ),
        (
            "u64:0 u64:0 u64:0 f32:1",
            "parameter 4 `vecadd_param_3` (.u32): `f32:` is a value of a different kind; expected `u32:VALUE`".into(),
        ),
        (
            "u64:0 u64:0 u64:0 scratch:4",
            "parameter 4 `vecadd_param_3` (.u32): a buffer is an address of 8 bytes; expected `u32:VALUE`".into(),
        ),
    ];
    for (arguments, message) in cases {
        let run = run(VECADD, &format!("--kernel vecadd {arguments}"));
        let expected = format!("ptxkit: kernel `vecadd`: {message}\n");
        expect(&run, 2, "", &expected);
    }
}

/// Copies 16 words from the first buffer to the second one, with one thread.
fn copying(header: &str) -> String {
    format!(
        "{header}.visible .entry copy(.param .u64 from, .param .u64 to)\n{{\n.reg .b64 %a<3>; .reg .b32 %r<4>;\n\
         ld.param.u64 %a1, [from]; ld.param.u64 %a2, [to];\n\
         ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%a1]; st.global.v4.b32 [%a2], {{%r0, %r1, %r2, %r3}};\nret;\n}}\n"
    )
}

#[test]
fn buffers_of_zeros_and_of_random_values() {
    let folder = Folder::new("run-random");
    let file = folder.file("copy.ptx", copying(HEADER));
    let copied = |from: &str, ty: &str| -> Vec<u8> {
        let to = folder.0.join("to.npy");
        let to = to.to_str().unwrap();
        let options = format!("--check initcheck {from} out:{to}:{ty}");
        expect(&run(&file, &options), 0, "", "");
        let bytes = fs::read(to).unwrap();
        bytes[bytes.len() - 16..].to_vec()
    };
    assert_eq!(copied("zero:16", "u32[4]"), [0; 16]);
    assert_eq!(copied("zero:u16[2,4]", "u32[4]"), [0; 16]);
    let first = copied("random:f32[4]", "f32[4]");
    let numbers = first
        .chunks(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()));
    let numbers: Vec<f32> = numbers.collect();
    assert!(
        numbers.iter().all(|n| (-1.0..=1.0).contains(n)),
        "{numbers:?}"
    );
    assert!(
        numbers.windows(2).all(|pair| pair[0] != pair[1]),
        "{numbers:?}"
    );
    // The elements depend on nothing but the seed, which is 0 for the first buffer.
    assert_eq!(copied("random:f32[1000]:0", "f32[4]"), first);
    assert_ne!(copied("random:f32[4]:1", "f32[4]"), first);
    let halves = copied("random:f16x2[4]", "u16[8]");
    for half in halves.chunks(2) {
        // The exponent of a number of at most 1.
        assert!(half[1] >> 2 & 0x1f <= 15, "{halves:?}");
    }
    let integers = copied("random:u64[2]", "u64[2]");
    assert_ne!(integers[..8], integers[8..]);
    // The memory of scratch buffers is to be written first.
    let found = run(
        &file,
        "--check initcheck --format short scratch:16 scratch:16",
    );
    assert_eq!(found.status, 1);
    assert!(found.err.contains("PTX1411"), "{}", found.err);
}

#[test]
fn addresses_of_buffers_without_a_declared_size() {
    let folder = Folder::new("run-address-size");
    for (header, status, message) in [
        (".version 2.3\n.target sm_20\n", 0, ""),
        (
            ".version 2.3\n.target sm_20\n.address_size 32\n",
            2,
            "ptxkit: kernel `copy`: parameter 1 `from` (.u64): a buffer is an address of 4 bytes; expected `u64:VALUE` or a buffer such as `in:FILE.npy`\n",
        ),
    ] {
        let file = folder.file("copy.ptx", copying(header));
        let found = run(&file, "zero:16 zero:16");
        expect(&found, status, "", message);
    }
    let text = ".version 2.3\n.target sm_20\n.entry k(.param .u16 n) { ret; }\n";
    let file = folder.file("short.ptx", text);
    let message = "ptxkit: kernel `k`: parameter 1 `n` (.u16): a buffer is an address of 4 bytes (no `.address_size`: 32); expected `u16:VALUE`\n";
    expect(&run(&file, "zero:16"), 2, "", message);
}

#[test]
fn unrecognized_arguments() {
    for (argument, message) in [
        ("five", "expected a number, `TYPE:VALUE` such as `s32:5`"),
        ("int:5", "`int` is not a type of values"),
        ("s32:x", "`x` is not an integer"),
        ("u8:256", "`256` is not a value of `.u8`"),
        ("pred:1", "`pred` is not a type of values"),
        ("bytes:0", "expected pairs of hexadecimal digits"),
        ("out:a.npy", "expected `out:FILE.npy:TYPE[SHAPE]`"),
        (
            "out:a.npy:f32",
            "expected a type and a shape such as `f32[1024,8]`, found `f32`",
        ),
        ("out:a.npy:f32[x]", "expected a type and a shape"),
        (
            "out:a.npy:f32[99999999999,99999999999]",
            "the array is too large",
        ),
        ("inout:a.npy", "expected `inout:FILE.npy:FILE.npy`"),
        ("in:", "expected the name of a file"),
        (
            "scratch:64x",
            "expected a number of bytes such as 65536 or 64K, found `64x`",
        ),
        ("zero:", "expected a number of bytes"),
        ("zero:f32[x]", "expected a type and a shape"),
        (
            "random:64",
            "expected a type and a shape such as `f32[1024,8]`",
        ),
        (
            "random:f32[4]:x",
            "expected a seed such as `random:f32[256]:7`",
        ),
    ] {
        let run = ptx(&["run", "-", argument]);
        assert_eq!((run.status, &*run.out), (2, ""), "{argument}");
        assert!(run.err.contains(message), "{argument}: {}", run.err);
    }
    for options in [
        "--grid 0",
        "--block 1,2,3,4",
        "--block 1,,2",
        "--shared 4T",
        "--shared 8G",
    ] {
        let run = run(VECADD, options);
        assert_eq!(run.status, 2, "{options}: {}", run.err);
    }
}

#[test]
fn which_kernel() {
    let names = "`vecadd`, `axpy`, `fill`";
    let choose = format!("ptxkit: choose a kernel with `--kernel`; there are {names}\n");
    expect(&run(VECADD, ""), 2, "", &choose);
    let unknown = format!("ptxkit: there is no kernel `vec`; there are {names}\n");
    expect(&run(VECADD, "--kernel vec"), 2, "", &unknown);
    let text = format!(
        "{HEADER}.visible .entry _Z4scalIfEvPT_i(.param .u64 a, .param .u32 n)\n{{ ret; }}\n"
    );
    let run = with_input(
        &["run", "-", "--kernel", "scal<float>", "scratch:4", "u32:1"],
        text.as_bytes(),
    );
    expect(&run, 0, "", "");
    expect(
        &with_input(&["run", "-"], HEADER.as_bytes()),
        2,
        "",
        "ptxkit: the module has no kernel\n",
    );
}

#[test]
fn what_cannot_be_run() {
    let run = with_input(&["run", "-", "--format", "short"], BAD.as_bytes());
    let expected = "<stdin>:6:5: error[PTX0104]: expected an instruction, found unknown opcode `bogus`\n<stdin>: not run because it has errors\n";
    expect(&run, 2, "", expected);
    let missing = self::run("no/such.ptx", "");
    assert_eq!(missing.status, 2);
    assert!(
        missing.err.starts_with("ptxkit: no/such.ptx: "),
        "{}",
        missing.err
    );
    let container = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ptx-container/tests/data/k.a"
    );
    let several = self::run(container, "");
    assert_eq!(several.status, 2);
    assert!(
        several
            .err
            .contains("there are several modules: choose one, such as `"),
        "{}",
        several.err
    );
    let threads = self::run(VECADD, "--kernel fill --block 2048 scratch:1 u8:1 u32:1");
    let expected = "ptxkit: kernel `fill`: invalid launch: a CTA must have 1 to 1024 threads\n";
    expect(&threads, 2, "", expected);
    let folder = Folder::new("run-arrays");
    let short = array(&folder, "short.npy", "<f4", &[4], Order::C, &[0; 15]);
    let text = folder.file("text.npy", "no array");
    // The number of elements has more than 64 bits.
    let header =
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0), }\n";
    let size = u16::try_from(header.len()).unwrap().to_le_bytes();
    let huge = [&b"\x93NUMPY\x01\x00"[..], &size[..], header.as_bytes()].concat();
    let huge = folder.file("huge.npy", &huge);
    for (path, message) in [
        (short, "the file has 15 of 16 bytes"),
        (text, "magic"),
        (huge, "the array is too large"),
    ] {
        let run = self::run(VECADD, &format!("--kernel fill in:{path} u8:1 u32:1"));
        assert_eq!(run.status, 2);
        assert!(
            run.err.starts_with(&format!("ptxkit: {path}: ")),
            "{}",
            run.err
        );
        assert!(run.err.contains(message), "{}", run.err);
    }
}

#[test]
fn limits() {
    let text = format!("{HEADER}.visible .entry k()\n{{\nagain: bra again;\n}}\n");
    for (options, message) in [
        (
            "--max-steps 1000",
            "error[PTX1305]: the limit of executed instructions was reached",
        ),
        ("--max-shared 1K --shared 2K", "not enough shared memory"),
    ] {
        let mut arguments = vec!["run", "-", "--format", "short"];
        arguments.extend(options.split(' '));
        let run = with_input(&arguments, text.as_bytes());
        assert!(run.err.contains(message), "{}", run.err);
        assert!(run.status >= 2);
    }
}

/// Each CTA appends its number to a list.
const APPEND: &str = ".visible .entry append(.param .u64 list)\n{\n\
    .reg .b64 %a<3>; .reg .b32 %r<3>;\n\
    ld.param.u64 %a1, [list];\n\
    atom.global.add.u32 %r1, [%a1], 1;\n\
    mov.u32 %r2, %ctaid.x;\n\
    mad.wide.u32 %a2, %r1, 4, %a1;\n\
    st.global.u32 [%a2+4], %r2;\n\
    ret;\n}\n";

#[test]
fn schedules() {
    let folder = Folder::new("run-schedule");
    let file = folder.file("append.ptx", format!("{HEADER}{APPEND}"));
    let list = folder.0.join("list.npy");
    let list = list.to_str().unwrap();
    let appended = |options: &str| {
        let run = run(&file, &format!("--grid 9 out:{list}:u32[10] {options}"));
        expect(&run, 0, "", "");
        let mut words: Vec<u32> = read(list).into_vec().unwrap();
        assert_eq!(words.remove(0), 9);
        words
    };
    let in_order: Vec<u32> = (0..9).collect();
    assert_eq!(appended("--jobs 4"), in_order);
    let mut random = appended("--schedule seed:3");
    assert_eq!(random, appended("--schedule seed:3 -j 2"));
    assert_ne!(random, in_order);
    random.sort_unstable();
    assert_eq!(random, in_order);
    let run = run(&file, "--schedule 3");
    assert!(
        run.err
            .contains("expected `seed:N`, `starve:WARP`, `favor:WARP` or `delay:CTA`, found `3`"),
        "{}",
        run.err
    );
}

/// Copies a word to shared memory, and reads it without waiting.
const UNAWAITED: &str = ".shared .u32 word;\n.visible .entry k(.param .u64 data)\n{\n\
    .reg .b64 %a; .reg .b32 %r<3>;\n\
    ld.param.u64 %a, [data];\n\
    mov.u32 %r1, word;\n\
    cp.async.ca.shared.global [%r1], [%a], 4;\n\
    ld.shared.u32 %r2, [word];\n\
    st.global.u32 [%a+4], %r2;\n\
    ret;\n}\n";

#[test]
fn times_of_asynchronous_operations() {
    let folder = Folder::new("run-async");
    let file = folder.file("copy.ptx", format!("{HEADER}{UNAWAITED}"));
    let words: Vec<u8> = [7u32, 1]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let data = array(&folder, "data.npy", "<u4", &[2], Order::C, &words);
    let data = data.as_str();
    let second = |options: &str| {
        let run = run(&file, &format!("inout:{data}:{data} {options}"));
        expect(&run, 0, "", "");
        let words: Vec<u32> = read(data).into_vec().unwrap();
        words[1]
    };
    assert_eq!(second(""), 7);
    assert_eq!(second("--async late"), 0);
    assert_eq!(second("--async immediate"), 7);
    assert!([0, 7].contains(&second("--async random:1")));
    let wrong = run(&file, "zero:8 --async soon");
    assert!(
        wrong
            .err
            .contains("expected `immediate`, `late` or `random:SEED`, found `soon`"),
        "{}",
        wrong.err
    );

    let script = |time: &str| {
        let text = format!(
            "[buffers]\ndata = \"inout:data.npy:data.npy\"\n[[launch]]\nkernel = \"k\"\n{time}args = [\"buffer:data\"]\n"
        );
        folder.file("launches.toml", text)
    };
    let by_script = |time: &str, options: &str| {
        let run = run(&file, &format!("--script {} {options}", script(time)));
        expect(&run, 0, "", "");
        let words: Vec<u32> = read(data).into_vec().unwrap();
        words[1]
    };
    assert_eq!(by_script("", ""), 7);
    assert_eq!(by_script("async = \"late\"\n", ""), 0);
    assert_eq!(by_script("async = \"late\"\n", "--async immediate"), 7);
    let wrong = run(&file, &format!("--script {}", script("async = \"soon\"\n")));
    assert!(wrong.err.contains("launches.toml:5"), "{}", wrong.err);
}

/// The second warp reads what the first one writes, without a barrier.
const UNORDERED: &str = ".shared .u32 value;\n.visible .entry k(.param .u64 to)\n{\n\
    .reg .b64 %a; .reg .b32 %r<3>; .reg .pred %p;\n\
    ld.param.u64 %a, [to];\n\
    mov.u32 %r1, %tid.x;\n\
    setp.ge.u32 %p, %r1, 32;\n\
    @!%p st.shared.u32 [value], 1;\n\
    @%p ld.shared.u32 %r2, [value];\n\
    setp.eq.and.u32 %p, %r2, 0, %p;\n\
    @%p trap;\n\
    ret;\n}\n";

#[test]
fn several_schedules() {
    let folder = Folder::new("run-schedules");
    let file = folder.file("k.ptx", format!("{HEADER}{UNORDERED}"));
    let arguments = "--block 64 --format short scratch:64";
    expect(&run(&file, arguments), 0, "", "");
    let found = run(&file, &format!("{arguments} --schedules 9"));
    assert_eq!(found.status, 3);
    let note = "ptxkit: order 2 of 9; to run only this one, use `--schedule starve:0`\n";
    let error = found.err.strip_prefix(note).unwrap();
    assert!(error.contains("error[PTX1303]"), "{error}");
    let again = run(&file, &format!("{arguments} --schedule starve:0"));
    assert_eq!((again.status, &*again.err), (3, error));
    let racing = run(
        &file,
        &format!("{arguments} --schedules 9 --check racecheck"),
    );
    assert_eq!(
        racing.status, 1,
        "the usual order comes first: {}",
        racing.err
    );
    let text = UNORDERED.replace("@%p ld", "bar.sync 0;\n@%p ld");
    let right = folder.file("right.ptx", format!("{HEADER}{text}"));
    let run = run(&right, &format!("{arguments} --schedules 9"));
    expect(
        &run,
        0,
        "",
        "ptxkit: no error in 9 orders of CTAs and warps\n",
    );
}

#[test]
fn results_of_several_schedules() {
    let folder = Folder::new("run-schedule-results");
    let file = folder.file("append.ptx", format!("{HEADER}{APPEND}"));
    let found = run(&file, "--grid 9 zero:64 zero:u32[10] --schedules 5");
    assert_eq!(found.status, 2, "{}", found.err);
    let found = run(&file, "--grid 9 zero:u32[10] --schedules 5");
    expect(
        &found,
        0,
        "",
        "ptxkit: no error in 5 orders of CTAs and warps\n\
         ptxkit: the results depend on the order: with `--schedule delay:0`, buffer 1 differs from offset 4 on\n",
    );
    // One CTA appends in the same order always.
    let found = run(&file, "--grid 1 --block 1 zero:u32[10] --schedules 5");
    expect(
        &found,
        0,
        "",
        "ptxkit: no error in 5 orders of CTAs and warps\n",
    );
}

#[test]
fn memory_and_time_are_limited() {
    let folder = Folder::new("run-sandbox");
    let text = ".global .b8 large[1000000000000];\n.visible .entry k(.param .u64 to)\n{\n.reg .b64 %a; .reg .b32 %n; .reg .pred %p;\n\
        mov.u64 %a, large;\nagain: ACCESS\nadd.s64 %a, %a, STEP;\nsetp.ne.s64 %p, %a, 0;\n@%p bra again;\nret;\n}\n";
    let file = |name: &str, access: &str, step: &str| {
        let text = text.replace("ACCESS", access).replace("STEP", step);
        folder.file(name, format!("{HEADER}{text}"))
    };
    let store = file("store.ptx", "st.global.u32 [%a], %n;", "65536");
    let found = run(&store, "--format short --max-memory 32M scratch:64");
    assert_eq!(found.status, 3);
    let message = "error[PTX1320]: the memory limit of 32 MiB was reached: global memory needs 64 KiB more, in block";
    assert!(found.err.contains(message), "{}", found.err);
    let found = run(&store, "--max-memory 1M scratch:64 --format json");
    assert_eq!(found.status, 3);
    let load = file(
        "load.ptx",
        "add.u32 %n, %n, 1;\nst.global.u32 [large], %n;",
        "4",
    );
    let found = run(&load, "--format short --timeout 0.2 scratch:64");
    assert_eq!(found.status, 3);
    assert!(
        found
            .err
            .contains("error[PTX1321]: the time limit of 0.2 s was reached"),
        "{}",
        found.err
    );
    for option in [
        "--timeout 0",
        "--timeout never",
        "--timeout -1",
        "--max-memory 1T",
    ] {
        assert_eq!(
            run(&load, &format!("{option} scratch:64")).status,
            2,
            "{option}"
        );
    }
    let array = folder.0.join("out.npy");
    let array = array.to_str().unwrap();
    let input = array_of(&folder, 1 << 20);
    let found = run(&load, &format!("--max-memory 64K inout:{input}:{array}"));
    assert_eq!(found.status, 2);
    assert!(
        found.err.contains("the memory limit of 64 KiB was reached"),
        "{}",
        found.err
    );
    let found = run(&load, "--jobs 100000 scratch:64");
    assert_eq!(found.status, 2);
    assert!(
        found
            .err
            .contains("expected a number of threads from 1 to 1024"),
        "{}",
        found.err
    );
}

/// A file with that many bytes other than zero.
fn array_of(folder: &Folder, bytes: u64) -> String {
    let data = vec![1; usize::try_from(bytes).unwrap()];
    array(folder, "ones.npy", "|u1", &[bytes], Order::C, &data)
}

#[test]
fn one_thread_and_many() {
    let text = printing();
    let outputs = ["1", "4"].map(|jobs| {
        let arguments = ["run", "-", "u32:7", "--grid", "50", "--jobs", jobs];
        let run = with_input(&arguments, text.as_bytes());
        assert_eq!((run.status, &*run.err), (0, ""));
        run.out
    });
    assert_eq!(outputs, ["f=7\n".repeat(50), "f=7\n".repeat(50)]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let folder = Folder::new("run-interrupted");
    let endless = format!(
        "{HEADER}.global .u32 count;\n.visible .entry k()\n{{\n.reg .b32 %n; .reg .pred %p;\nagain: add.u32 %n, %n, 1;\n\
        st.global.u32 [count], %n;\nsetp.ne.u32 %p, %n, 0;\n@%p bra again;\nret;\n}}\n"
    );
    let file = folder.file("k.ptx", endless);
    let mut child = crate::support::command(&["run", &file, "--block", "64", "--verbose"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "running kernel `k`");
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert_eq!(lines.next().unwrap().unwrap(), "ptxkit: interrupted");
}

#[test]
fn profiles() {
    let arguments =
        "--kernel vecadd --grid 2 --block 16 scratch:128 scratch:128 scratch:128 s32:32";
    let run = |style: &str| {
        let run = run(VECADD, &format!("{style} {arguments}"));
        assert_eq!((run.status, &*run.err), (0, ""), "{style}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        let lines: Vec<Vec<String>> = run.out.lines().map(words).collect();
        lines
            .into_iter()
            .map(|words| words.join(" "))
            .collect::<Vec<_>>()
    };
    let load = "2 16.0 128 2.0";
    let table = run("--profile");
    assert_eq!(table[0], "Kernel vecadd: 44 warp instructions");
    assert_eq!(
        table[1],
        "Executed Lanes Bytes Sectors Conflicts Line Instruction"
    );
    let row = format!("{load} {VECADD}:51 ld.global.f32 %f1, [%rd8];");
    assert!(table.contains(&row), "{table:#?}");
    let source = run("--profile=source");
    assert!(
        source.iter().any(|line| line.ends_with("vecadd.cu:4")),
        "{source:#?}"
    );
    let listing = run("--profile=listing");
    let row = format!("{load} | ld.global.f32 %f1, [%rd8];");
    assert!(listing.contains(&row), "{listing:#?}");
    assert!(
        listing.contains(&"| // .globl vecadd".to_owned()),
        "{listing:#?}"
    );
    let json = self::run(VECADD, &format!("--format json --profile {arguments}"));
    let profile = &objects(&json.out)[0]["launches"][0]["profile"];
    let counts = profile.as_array().unwrap().iter();
    let mut at = counts.filter(|count| count["line"] == 51);
    let load = at.next().unwrap();
    assert_eq!(
        (&load["executions"], &load["lanes"]),
        (&2.into(), &32.into())
    );
    let memory = serde_json::json!([{"space": ".global", "bytes": 128, "requests": 2, "sectors": 4, "passes": 0, "bank_conflicts": 0}]);
    assert_eq!(load["memory"], memory);
    assert_eq!(load["source"][0]["line"], 4);
}

/// With terms of 24 bits halves beside 2^24 are lost, with 25 bits they are not.
#[test]
fn sums_of_tensor_cores_of_an_architecture() {
    let folder = Folder::new("run-model");
    let product = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    let text = format!(
        ".version 8.5\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 sum)\n{{\n.reg .b64 %rd; .reg .b32 %a, %b; .reg .f32 %f<2>;\n\
         mov.u32 %a, 0x38003800;\nmov.u32 %b, 0x3c003c00;\nmov.f32 %f0, 0f4B800000;\n\
         {product} {{%f1, _, _, _}}, {{%a, %a, %a, %a}}, {{%b, %b}}, {{%f0, %f0, %f0, %f0}};\n\
         ld.param.u64 %rd, [sum];\nst.global.f32 [%rd], %f1;\nret;\n}}\n"
    );
    for (options, expected) in [("", 16_777_216f32), ("--model sm_90", 16_777_224f32)] {
        let sum = folder.file("sum.npy", "");
        let out = format!("out:{sum}:f32[1]");
        let mut arguments = vec!["run", "-", "--block", "32", &out];
        arguments.extend(options.split_terminator(' '));
        let run = with_input(&arguments, text.as_bytes());
        assert_eq!(run.status, 0, "{}", run.err);
        let file = fs::read(&sum).unwrap();
        assert_eq!(file[file.len() - 4..], expected.to_le_bytes(), "{options}");
    }
}

/// A kernel in which all threads write the element after their own one.
const NEIGHBOR: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 data)\n{\n\
    .reg .b32 %r<3>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n\
    add.s64 %rd1, %rd1, %rd2;\nst.global.u32 [%rd1], %r1;\nst.global.u32 [%rd1+4], %r1;\nret;\n}\n";

#[test]
fn checkers_report() {
    let arguments = ["run", "-", "--block", "32", "scratch:128", "--check"];
    let checked = |more: &[&str]| with_input(&[&arguments[..], more].concat(), NEIGHBOR.as_bytes());
    let run = checked(&["memcheck,racecheck", "--format", "short"]);
    let expected = "<stdin>:13:1: error[PTX1401]: memcheck: write of 4 bytes at 0x600000000080 is out of bounds: \
        0 bytes after the end of the allocation at 0x600000000000, which has 128 bytes, in kernel `k`, block (0, 0, 0), thread (31, 0, 0)\n\
        <stdin>:13:1: error[PTX1441]: racecheck: write of 4 bytes at 0x600000000004 in global memory races with an earlier write \
        of another thread, in kernel `k`, block (0, 0, 0), thread (0, 0, 0)\n";
    expect(&run, 1, "", expected);
    let run = checked(&["racecheck"]);
    assert_eq!(run.status, 1);
    assert!(
        run.err
            .contains("the earlier access, in block (0, 0, 0), thread (1, 0, 0)"),
        "{}",
        run.err
    );
    assert!(
        run.err.contains("help: add `bar.warp.sync` between"),
        "{}",
        run.err
    );
    expect(&checked(&["initcheck", "--format", "short"]), 0, "", "");
    let run = checked(&["leakcheck"]);
    assert_eq!(run.status, 2);
    assert!(
        run.err
            .contains("expected one of memcheck, initcheck, synccheck, racecheck"),
        "{}",
        run.err
    );
}

#[test]
fn a_profile_of_tensor_work() {
    let folder = Folder::new("run-tensor");
    let text = format!(
        "{HEADER}.visible .entry k()\n{{\n.reg .b32 %r<6>;\n\
        mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {{%r2, %r3}}, {{%r1}}, {{%r1}}, {{%r4, %r5}};\nret;\n}}\n"
    );
    let file = folder.file("k.ptx", text);
    let lines = |style: &str| {
        let run = run(&file, &format!("{style} --grid 3 --block 32"));
        assert_eq!((run.status, &*run.err), (0, ""), "{style}");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        run.out.lines().map(words).collect::<Vec<_>>()
    };
    let table = lines("--profile");
    assert!(
        table[1].contains("Conflicts Multiply-adds Line"),
        "{table:#?}"
    );
    assert!(table[2].starts_with("3 32.0 3072 "), "{table:#?}");
    let last = [
        "Products Multiply-adds Shape Factors",
        "3 3072 m8n8k16 s8, s8",
    ];
    assert_eq!(table[table.len() - 2..], last);
    let listing = lines("--profile=listing");
    assert!(
        listing
            .iter()
            .any(|line| line.starts_with("3 32.0 3072 | mma.")),
        "{listing:#?}"
    );
    let json = run(&file, "--format json --profile --grid 3 --block 32");
    let first = &objects(&json.out)[0]["launches"][0]["profile"][0];
    let matrix = serde_json::json!({
        "shape": "m8n8k16", "factors": ["s8", "s8"], "sparse": false, "products": 3, "multiply_adds": 3072
    });
    assert_eq!(first["matrix"], matrix);
}

/// Files are copied in parts of a megabyte.
#[test]
fn large_files() {
    let folder = Folder::new("run-large");
    let count = 400_000u32;
    let values = (0..u64::from(count))
        .flat_map(u64::to_be_bytes)
        .collect::<Vec<u8>>();
    let a = array(&folder, "a.npy", ">u8", &[count.into()], Order::C, &values);
    let b = folder.0.join("b.npy");
    let b = b.to_str().unwrap();
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 to)\n{{\n.reg .b64 %a; .reg .b64 %v;\n\
        ld.param.u64 %a, [to];\nld.global.u64 %v, [%a+3199992];\nst.global.u64 [%a+1600000], %v;\nret;\n}}\n"
    );
    let file = folder.file("k.ptx", text);
    expect(&run(&file, &format!("inout:{a}:{b}")), 0, "", "");
    let copied: Vec<u64> = read(b).into_vec().unwrap();
    let same = |n: u64| {
        if n == 200_000 {
            u64::from(count) - 1
        } else {
            n
        }
    };
    assert!((0..).zip(&copied).all(|(n, value)| *value == same(n)));
    assert_eq!(copied.len(), count as usize);
    let short = fs::read(&a).unwrap();
    let cut = folder.file("cut.npy", &short[..short.len() - 8]);
    let run = run(&file, &format!("in:{cut}"));
    assert_eq!(run.status, 2);
    assert!(
        run.err.contains("the file has 3199992 of 3200000 bytes"),
        "{}",
        run.err
    );
}
