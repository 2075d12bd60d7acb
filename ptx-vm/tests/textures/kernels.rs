//! Kernels that read textures, with the coordinates of each thread in a buffer.

use ptx_vm::{Launch, Machine, RunError};

/// A kind of read.
#[derive(Clone)]
pub(crate) struct Read {
    /// `.2d`
    pub(crate) geometry: &'static str,
    /// `.f32`
    pub(crate) result: &'static str,
    /// `.f32` or `.s32`
    pub(crate) coordinates: &'static str,
    /// `tex`, `tex.level` or `tld4.r`
    pub(crate) opcode: &'static str,
    /// Operands after the bracket.
    pub(crate) further: &'static str,
    /// `.target` and its options.
    pub(crate) target: &'static str,
}

impl Read {
    pub(crate) const fn new(geometry: &'static str) -> Self {
        Self {
            geometry,
            result: ".f32",
            coordinates: ".f32",
            opcode: "tex",
            further: "",
            target: "sm_90",
        }
    }

    /// The vector of coordinates. `%c0` to `%c3` are what the thread has.
    fn vector(&self) -> &'static str {
        match self.geometry {
            ".1d" => "{%c0}",
            ".2d" | ".a1d" => "{%c0, %c1}",
            _ => "{%c0, %c1, %c2, %c3}",
        }
    }

    /// The text of a kernel: coordinates and further operands of a thread are eight words `%c0` to `%c7`, and results five words.
    pub(crate) fn text(&self) -> String {
        let is_independent = self.target.contains("independent");
        let sampler = if is_independent { " %sampler," } else { "" };
        let Self {
            geometry,
            result,
            coordinates,
            opcode,
            further,
            target,
        } = self;
        let results = match *result {
            ".f16x2" => "{%r0, %r1}",
            ".f16" => "{%h0, %h1, %h2, %h3}",
            _ => "{%r0, %r1, %r2, %r3}",
        };
        let vector = if *result == ".f16x2" { ".v2" } else { ".v4" };
        let widen = if *result == ".f16" {
            "cvt.u32.u16 %r0, %h0; cvt.u32.u16 %r1, %h1; cvt.u32.u16 %r2, %h2; cvt.u32.u16 %r3, %h3;"
        } else {
            ""
        };
        let (opcode, component) = match opcode.strip_prefix("tld4") {
            Some(component) => ("tld4", component),
            None => (*opcode, ""),
        };
        let coordinate_vector = self.vector();
        format!(
            ".version 8.0\n.target {target}\n.address_size 64\n
.visible .entry read(.param .u64 in, .param .u64 out, .param .u64 texture, .param .u64 sampler)
{{
.reg .pred %p; .reg .b16 %h<4>; .reg .b32 %t, %r<4>, %c<8>, %resident; .reg .f32 %depth; .reg .b64 %in, %out, %texture, %sampler;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u64 %texture, [texture]; ld.param.u64 %sampler, [sampler];
mov.u32 %t, %ctaid.x; mov.u32 %r0, %tid.x; mad.lo.u32 %t, %t, 32, %r0;
mad.wide.u32 %in, %t, 32, %in; mad.wide.u32 %out, %t, 20, %out;
ld.global.v4.b32 {{%c0, %c1, %c2, %c3}}, [%in]; ld.global.v4.b32 {{%c4, %c5, %c6, %c7}}, [%in+16];
mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %depth, %c4;
{opcode}{component}{geometry}{vector}{result}{coordinates} {results}|%p, [%texture,{sampler} {coordinate_vector}]{further};
{widen}
selp.u32 %resident, 1, 0, %p;
st.global.b32 [%out], %r0; st.global.b32 [%out+4], %r1; st.global.b32 [%out+8], %r2; st.global.b32 [%out+12], %r3;
st.global.b32 [%out+16], %resident;
ret;
}}
"
        )
    }
}

/// What a thread reads: the coordinates and the further operands.
pub(crate) type Operands = [u32; 8];

/// The results of a thread, and whether the texels are resident.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) struct Values {
    pub(crate) bits: [u32; 4],
    pub(crate) is_resident: bool,
}

impl Values {
    pub(crate) fn numbers(&self) -> [f32; 4] {
        self.bits.map(f32::from_bits)
    }
}

/// Runs a read for operands that fill whole warps. `set_up` creates the texture and the sampler, whose handles it returns.
pub(crate) fn try_run(
    read: &Read,
    operands: &[Operands],
    set_up: impl FnOnce(&mut Machine<'_>) -> [u64; 2],
) -> Result<Vec<Values>, RunError> {
    let text = read.text();
    let parsed = ptx_parse::parse_str(&text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let mut machine = Machine::new(&parsed.module);
    assert_eq!(machine.unsupported().next(), None, "{text}");
    let warps = operands.len().div_ceil(32);
    let input = machine.allocate(32 * 32 * warps as u64).unwrap();
    let output = machine.allocate(32 * 20 * warps as u64).unwrap();
    let mut words: Vec<u32> = operands.concat();
    words.resize(8 * 32 * warps, 0);
    machine.write_slice(input, &words).unwrap();
    let [texture, sampler] = set_up(&mut machine);
    let launch = Launch::new("read")
        .shape(warps as u32, 32)
        .argument(input.to_le_bytes())
        .argument(output.to_le_bytes())
        .argument(texture.to_le_bytes())
        .argument(sampler.to_le_bytes());
    machine.launch(&launch)?;
    let words: Vec<u32> = machine.read_slice(output, 5 * operands.len()).unwrap();
    let values = words.chunks(5).map(|words| Values {
        bits: words[..4].try_into().unwrap(),
        is_resident: words[4] != 0,
    });
    Ok(values.collect())
}

/// As [`try_run`], where nothing fails.
pub(crate) fn run(
    read: &Read,
    operands: &[Operands],
    set_up: impl FnOnce(&mut Machine<'_>) -> [u64; 2],
) -> Vec<Values> {
    let result = try_run(read, operands, set_up);
    result.unwrap_or_else(|error| panic!("{error}\n{}", read.text()))
}

/// Operands from numbers.
pub(crate) fn words(numbers: &[f32]) -> Operands {
    let mut words = [0; 8];
    for (word, number) in words.iter_mut().zip(numbers) {
        *word = number.to_bits();
    }
    words
}
