//! The module around the cases: a kernel for each template, which assigns the sources and stores each result at a separate address.

use std::fmt::Write as _;

use ptx_isa::{PtxVersion, ScalarType, Target};

use super::assign::{SCRATCH, assign};
use super::template::Register;

/// The text of a kernel, and the stores of the results of its cases.
#[derive(Default)]
pub(super) struct Kernel {
    text: String,
    /// The stores in the order of the text.
    pub(super) stores: Vec<Store>,
}

/// A value that is stored.
pub(super) struct Store {
    /// The number of the case in the kernel.
    pub(super) case: usize,
    pub(super) offset: u32,
    pub(super) bits: u16,
}

/// A case: an instruction with values.
pub(super) struct Valued<'a> {
    pub(super) line: &'a str,
    pub(super) sources: Vec<(&'a Register, u128)>,
    pub(super) results: &'a [Register],
    /// The carry flag that it reads.
    pub(super) carry: Option<bool>,
    pub(super) writes_carry: bool,
}

impl Kernel {
    /// Adds a case.
    pub(super) fn add(&mut self, case: usize, valued: &Valued<'_>) {
        let text = &mut self.text;
        let _ = writeln!(text, "{{ {SCRATCH}");
        let sources = valued.sources.iter().map(|(r, _)| *r);
        let mut names: Vec<&str> = Vec::new();
        for register in sources.chain(valued.results) {
            if !names.contains(&&*register.name) {
                names.push(&register.name);
                let _ = writeln!(text, ".reg {} {};", register.declared, register.name);
            }
        }
        for (register, bits) in &valued.sources {
            text.push_str(&assign(register, *bits));
        }
        if let Some(carry) = valued.carry {
            let _ = writeln!(text, "add.cc.u32 word, {}, 1;", if carry { -1 } else { 0 });
        }
        let _ = writeln!(text, "{}", valued.line);
        if valued.writes_carry {
            text.push_str("addc.u32 word, 0, 0;\n");
        }
        for register in valued.results {
            self.store(case, register);
        }
        if valued.writes_carry {
            self.store_at(case, "b32", "word", 32);
        }
        self.text.push_str("}\n");
    }

    fn store(&mut self, case: usize, register: &Register) {
        let name = &register.name;
        match register.declared.bits() {
            _ if register.declared == ScalarType::Pred => {
                let _ = writeln!(self.text, "selp.b32 word, 1, 0, {name};");
                self.store_at(case, "b32", "word", 32);
            }
            128 => {
                let _ = writeln!(self.text, "mov.b128 {{low, high}}, {name};");
                self.store_at(case, "b64", "low", 64);
                self.store_at(case, "b64", "high", 64);
            }
            bits => self.store_at(case, &format!("b{bits}"), name, bits),
        }
    }

    fn store_at(&mut self, case: usize, ty: &str, name: &str, bits: u16) {
        // ptxas does not combine stores at this distance.
        let offset = 16 * self.stores.len() as u32;
        let _ = writeln!(self.text, "st.global.{ty} [out+{offset}], {name};");
        self.stores.push(Store { case, offset, bits });
    }
}

/// The name of a kernel by its number.
pub(super) fn name(number: usize) -> String {
    format!("k{number}")
}

/// The text of a module with kernels.
pub(super) fn module<'k>(
    version: PtxVersion,
    target: Target,
    kernels: impl Iterator<Item = &'k Kernel>,
) -> String {
    let mut text = format!(".version {version}\n.target {target}\n.address_size 64\n");
    for (i, kernel) in kernels.enumerate() {
        let name = name(i);
        let _ = write!(
            text,
            ".entry {name}(.param .b64 pointer)\n{{\n.reg .b64 out;\nld.param.b64 out, [pointer];\n{}ret;\n}}\n",
            kernel.text
        );
    }
    text
}
