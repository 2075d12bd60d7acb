//! Tensor memory: its allocation, moves to and from registers and shared memory, and products, against slow code written from the definitions of the PTX ISA manual.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

mod access;
mod allocation;
mod checked;
mod copies;
mod elements;
mod late;
mod pairs;
mod products;
mod scaled;
mod sparse;
mod weights;

use ptx_vm::{Asynchrony, Checker, Launch, Machine, Profile, Report, RunError};

/// The bytes of the buffer in shared memory.
pub(crate) const BUFFER: usize = 1 << 16;

/// A run of instructions of one thread of each CTA on the contents of shared and tensor memory.
#[derive(Clone)]
pub(crate) struct Experiment {
    pub(crate) target: &'static str,
    /// The contents of `buffer` in the shared memory of each CTA; the number of CTAs is that of these.
    pub(crate) shared: Vec<Vec<u8>>,
    /// The cells of tensor memory of each CTA, lane by lane.
    pub(crate) cells: Vec<Vec<u32>>,
    /// The number of columns of each lane that are written before and read after the instructions: a multiple of 32.
    pub(crate) columns: usize,
    /// The instructions of one thread of the first CTA. `%taddr` is the address of the first column, and `%buffer` that of the buffer.
    pub(crate) body: String,
    /// The instructions of all threads after the completion of these.
    pub(crate) after: String,
}

/// The registers `%c0` to `%c31` as a list.
fn chunk() -> String {
    let registers: Vec<String> = (0..32).map(|i| format!("%c{i}")).collect();
    registers.join(", ")
}

impl Experiment {
    pub(crate) fn new(columns: usize, body: impl Into<String>) -> Self {
        Self {
            target: "sm_100a",
            shared: vec![vec![0; BUFFER]],
            cells: vec![vec![0; 128 * columns]],
            columns,
            body: body.into(),
            after: String::new(),
        }
    }

    pub(crate) fn text(&self) -> String {
        let Self {
            target,
            columns,
            body,
            after,
            ..
        } = self;
        let blocks = self.shared.len();
        let group = format!(".cta_group::{blocks}");
        let cluster = match blocks {
            1 => String::new(),
            _ => format!(".explicitcluster .reqnctapercluster {blocks}, 1, 1\n"),
        };
        let sync = match blocks {
            1 => "bar.sync 0;\n",
            _ => "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n",
        };
        let multicast = match blocks {
            1 => ".b64 [barrier];".to_owned(),
            _ => ".shared::cluster.multicast::cluster.b64 [barrier], %mask;".to_owned(),
        };
        let declared = chunk();
        let mut text = format!(
            ".version 9.0\n.target {target}\n.address_size 64\n\
             .visible .entry k(.param .u64 data) {cluster} .reqntid 128\n{{\n\
             .reg .pred %p<8>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .b32 {declared};\n.reg .b32 %taddr; .reg .b32 %buffer; .reg .b16 %mask; .reg .b64 %data; .reg .b64 %cells;\n\
             .shared .align 1024 .b8 buffer[{BUFFER}];\n.shared .align 8 .b64 barrier; .shared .align 4 .b32 address;\n\
             ld.param.u64 %data, [data];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmul.lo.u32 %r1, %r1, {size};\ncvt.u64.u32 %rd0, %r1;\nadd.s64 %data, %data, %rd0;\n\
             mov.b16 %mask, 3;\nmov.u32 %buffer, buffer;\nshl.b32 %r2, %r0, 4;\nadd.u32 %r3, %buffer, %r2;\ncvt.u64.u32 %rd1, %r2;\nadd.s64 %rd1, %rd1, %data;\nmov.u32 %r4, 0;\n\
             COPY: ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%rd1];\nst.shared.v4.b32 [%r3], {{%r5, %r6, %r7, %r8}};\n\
             add.u32 %r3, %r3, 2048;\nadd.s64 %rd1, %rd1, 2048;\nadd.u32 %r4, %r4, 2048;\nsetp.lt.u32 %p0, %r4, {BUFFER};\n@%p0 bra COPY;\n\
             setp.eq.u32 %p1, %r0, 0;\n@%p1 mbarrier.init.shared.b64 [barrier], 1;\nfence.mbarrier_init.release.cluster;\nfence.proxy.async;\n\
             setp.lt.u32 %p2, %r0, 32;\n@!%p2 bra ALLOCATED;\n\
             tcgen05.alloc{group}.sync.aligned.shared::cta.b32 [address], 512;\ntcgen05.relinquish_alloc_permit{group}.sync.aligned;\nALLOCATED:\nbar.sync 0;\n\
             ld.shared.b32 %taddr, [address];\n\
             mad.lo.u32 %r9, %r0, {row}, {BUFFER};\ncvt.u64.u32 %rd2, %r9;\nadd.s64 %cells, %data, %rd2;\n\
             and.b32 %r10, %r0, 0xffffffe0;\nshl.b32 %r10, %r10, 16;\nadd.u32 %r10, %r10, %taddr;\n",
            size = self.bytes_of_block(),
            row = 4 * columns,
        );
        for first in (0..*columns).step_by(32) {
            for register in 0..32 {
                let offset = 4 * (first + register);
                text += &format!("ld.global.b32 %c{register}, [%cells+{offset}];\n");
            }
            text += &format!(
                "tcgen05.st.sync.aligned.32x32b.x32.b32 [%r10+{first}], {{{declared}}};\n"
            );
        }
        text += &format!(
            "tcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\n{sync}tcgen05.fence::after_thread_sync;\n\
             mov.u32 %r11, %ctaid.x;\nor.b32 %r11, %r11, %r0;\nsetp.ne.u32 %p3, %r11, 0;\n@%p3 bra DONE;\n\
             {body}\ntcgen05.commit{group}.mbarrier::arrive::one{multicast}\nDONE:\n\
             WAIT: mbarrier.try_wait.parity.shared.b64 %p4, [barrier], 0;\n@!%p4 bra WAIT;\ntcgen05.fence::after_thread_sync;\n{after}"
        );
        for first in (0..*columns).step_by(32) {
            text += &format!(
                "tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{declared}}}, [%r10+{first}];\ntcgen05.wait::ld.sync.aligned;\n"
            );
            for register in 0..32 {
                let offset = 4 * (first + register);
                text += &format!("st.global.b32 [%cells+{offset}], %c{register};\n");
            }
        }
        text += &format!(
            "tcgen05.fence::before_thread_sync;\n{sync}@!%p2 bra END;\n\
             tcgen05.dealloc{group}.sync.aligned.b32 %taddr, 512;\nEND: ret;\n}}\n"
        );
        text
    }

    fn bytes_of_block(&self) -> usize {
        BUFFER + 4 * 128 * self.columns
    }

    /// The bytes that the kernel reads.
    fn input(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (shared, cells) in self.shared.iter().zip(&self.cells) {
            assert_eq!((shared.len(), cells.len()), (BUFFER, 128 * self.columns));
            bytes.extend(shared);
            bytes.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
        }
        bytes
    }

    fn launch(&self) -> Launch {
        Launch::new("k").shape(self.shared.len() as u32, 128)
    }

    /// The cells of each CTA after the instructions.
    pub(crate) fn try_run(&self) -> Result<Vec<Vec<u32>>, RunError> {
        self.run_with(Asynchrony::Immediate)
    }

    pub(crate) fn run_with(&self, asynchrony: Asynchrony) -> Result<Vec<Vec<u32>>, RunError> {
        self.run_text(&self.text(), asynchrony)
    }

    /// The cells of each CTA after a variant of the kernel.
    pub(crate) fn run_text(
        &self,
        text: &str,
        asynchrony: Asynchrony,
    ) -> Result<Vec<Vec<u32>>, RunError> {
        let mut launch = self.launch();
        launch.asynchrony = asynchrony;
        let bytes = launch_with(text, &self.input(), launch)?;
        let cells = bytes.chunks(self.bytes_of_block()).map(|block| {
            let cells = block[BUFFER..].chunks(4);
            cells
                .map(|cell| u32::from_le_bytes(cell.try_into().unwrap()))
                .collect()
        });
        Ok(cells.collect())
    }

    /// The reports of a checker.
    pub(crate) fn reports(&self, checker: Checker) -> Vec<Report> {
        let module = module(&self.text());
        self.launched(&module, self.launch().check(checker))
            .reports()
            .to_vec()
    }

    pub(crate) fn profile(&self) -> Profile {
        let module = module(&self.text());
        let mut launch = self.launch();
        launch.profile = true;
        self.launched(&module, launch).profile().unwrap().clone()
    }

    /// The machine after a launch.
    fn launched<'m>(&self, module: &'m ptx_ir::Module, launch: Launch) -> Machine<'m> {
        let mut machine = Machine::new(module);
        let input = self.input();
        let data = machine.allocate(input.len() as u64).unwrap();
        machine.write(data, &input).unwrap();
        machine
            .launch(&launch.argument(data.to_le_bytes()))
            .unwrap();
        machine
    }

    pub(crate) fn run(&self) -> Vec<Vec<u32>> {
        match self.try_run() {
            Ok(cells) => cells,
            Err(error) => panic!("{error}\n{}", self.body),
        }
    }

    /// The reason of the error with which the run ends.
    pub(crate) fn error(&self) -> String {
        self.try_run().unwrap_err().to_string()
    }
}

/// The module of a text without errors.
fn module(text: &str) -> ptx_ir::Module {
    let parsed = ptx_parse::parse_str(text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let errors = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    let errors: Vec<_> = errors
        .iter()
        .filter(|d| d.severity == ptx_ir::Severity::Error)
        .map(|d| &d.message)
        .collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    parsed.module
}

/// Launches a kernel with the address of some bytes, and returns them after it.
pub(crate) fn launch_with(text: &str, bytes: &[u8], launch: Launch) -> Result<Vec<u8>, RunError> {
    let module = module(text);
    let mut machine = Machine::new(&module);
    assert_eq!(machine.unsupported().next(), None);
    let data = machine.allocate(bytes.len() as u64).unwrap();
    machine.write(data, bytes)?;
    machine.launch(&launch.argument(data.to_le_bytes()))?;
    machine.read(data, bytes.len())
}

/// Pseudorandom numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }

    /// A number below a limit.
    pub(crate) const fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    pub(crate) fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.next() as u32).collect()
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}
