//! What an observer sees of the steps of a launch.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::fmt::Write as _;
use std::sync::Mutex;

use ptx_ir::Module;
use ptx_vm::{
    AccessUse, Checker, ExecutedStep, Launch, Machine, RegisterValues, RunOptions, StepObserver,
    StepPlace, StepRegister, StepState,
};

/// Writes a line for each step and each lane that is wanted.
#[derive(Debug)]
struct Lines<'m> {
    module: &'m Module,
    lanes: u32,
    text: Mutex<String>,
}

impl Lines<'_> {
    fn register(&self, place: &StepPlace, value: &RegisterValues, lane: usize) -> String {
        let name = match value.register() {
            StepRegister::Register(of) => {
                let body = self.module.body(place.function).unwrap();
                let register = body.registers().get(of.register).unwrap();
                let name = body.reg_decl_of(of.register).unwrap().name;
                let element = of
                    .component
                    .map_or(String::new(), |lane| format!(".{lane}"));
                format!("{}{}{element}", self.module.name(name), register.number)
            }
            StepRegister::Special(register, element) => format!("{register}.{element}"),
            _ => unreachable!(),
        };
        format!(" {name}:{}={:x}", value.ty(), value.bits(lane))
    }
}

impl StepObserver for Lines<'_> {
    fn lanes(&self, place: &StepPlace) -> u32 {
        place.mask & self.lanes
    }

    fn step(&self, step: &ExecutedStep<'_>) {
        let place = step.place;
        let body = self.module.body(place.function).unwrap();
        let inst = body.inst(place.inst).unwrap();
        let name = self.module.signature(inst.sig).text();
        for lane in (0..32).filter(|lane| step.lanes >> lane & 1 == 1) {
            let mut line = format!("{lane}: {name}");
            for value in step.reads {
                line += &self.register(&place, value, lane);
            }
            if place.active >> lane & 1 == 0 {
                line += " off";
            } else if !step.writes.is_empty() {
                line += " ->";
                for value in step.writes {
                    line += &self.register(&place, value, lane);
                }
            }
            for access in step.accesses.iter().filter(|a| a.lane == lane) {
                let usage = match access.usage {
                    AccessUse::Read => "r",
                    AccessUse::Write => "w",
                    AccessUse::ReadWrite => "rw",
                };
                let at = access.address & 0xfff;
                let (before, after) = (&access.before, &access.after);
                let _ = write!(line, " {usage}{}+{at:x}", access.space);
                let _ = write!(line, " {}:{before:x?}{after:x?}", access.bytes);
            }
            match &step.state {
                StepState::Done => {}
                StepState::Failed(lane, why) => line += &format!(" failed({lane}): {why}"),
                other => line += &format!(" {other:?}"),
            }
            writeln!(self.text.lock().unwrap(), "{line}").unwrap();
        }
    }
}

/// The steps of lanes of a kernel whose parameter is the address of 4 KiB, without those before the mark.
fn trace(before: &str, threads: u32, lanes: u32, body: &str) -> String {
    let text = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 s[64];\n{before}\n\
        .visible .entry k(.param .u64 to)\n{{\n\
        .reg .b32 %r<8>; .reg .s32 %s<4>; .reg .f32 %f<4>; .reg .b64 %a<4>; .reg .pred %p<4>;\n\
        {body}\nret;\n}}\n"
    );
    let module = ptx_parse::parse_str(&text).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let data = machine.allocate(4096).unwrap();
    let launch = Launch::new("k")
        .shape(1, threads)
        .argument(data.to_le_bytes());
    let lines = Lines {
        module: &module,
        lanes,
        text: Mutex::default(),
    };
    let _ = machine.launch_with(&launch, RunOptions::default().with_observer(&lines));
    lines.text.into_inner().unwrap()
}

/// Fails unless a trace has these lines.
fn expect(found: &str, expected: &[&str]) {
    let found: Vec<&str> = found.lines().collect();
    assert_eq!(found, expected);
}

#[test]
fn values_with_the_types_that_say_most() {
    let body = "mov.u32 %r1, %tid.x;\ncvt.rn.f32.u32 %f1, %r1;\nadd.f32 %f2, %f1, 0f3F800000;\n\
        mov.b32 %r2, %f2;\nneg.s32 %r3, %r1;\nmul.wide.s32 %a1, %r3, 4;\nsetp.lt.f32 %p1, %f1, %f2;\nsub.s32 %r3, %r3, %r3;";
    expect(
        &trace("", 32, 1 << 2, body),
        &[
            "2: mov.u32 %tid.0:.u32=2 -> %r1:.u32=2",
            "2: cvt.rn.f32.u32 %r1:.u32=2 -> %f1:.f32=40000000",
            "2: add.f32 %f1:.f32=40000000 -> %f2:.f32=40400000",
            "2: mov.b32 %f2:.f32=40400000 -> %r2:.b32=40400000",
            "2: neg.s32 %r1:.s32=2 -> %r3:.s32=fffffffe",
            "2: mul.wide.s32 %r3:.s32=fffffffe -> %a1:.s64=fffffffffffffff8",
            "2: setp.lt.f32 %f1:.f32=40000000 %f2:.f32=40400000 -> %p1:.pred=1",
            "2: sub.s32 %r3:.s32=fffffffe -> %r3:.s32=0",
            "2: ret",
        ],
    );
}

#[test]
fn guards_and_lanes() {
    let body =
        "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 0;\n@%p1 mov.u32 %r2, 7;\nbar.warp.sync -1;";
    expect(
        &trace("", 32, 3, body),
        &[
            "0: mov.u32 %tid.0:.u32=0 -> %r1:.u32=0",
            "1: mov.u32 %tid.0:.u32=1 -> %r1:.u32=1",
            "0: setp.gt.u32 %r1:.u32=0 -> %p1:.pred=0",
            "1: setp.gt.u32 %r1:.u32=1 -> %p1:.pred=1",
            "0: mov.u32 %p1:.pred=0 off",
            "1: mov.u32 %p1:.pred=1 -> %r2:.u32=7",
            "0: bar.warp.sync",
            "1: bar.warp.sync",
            "0: ret",
            "1: ret",
        ],
    );
    assert_eq!(trace("", 32, 0, body), "");
}

#[test]
fn accesses_to_memory() {
    let body = "ld.param.u64 %a1, [to];\nmov.b32 %r1, 0x01020304;\nst.shared.v2.b32 [s+8], {%r1, %r1};\n\
        ld.shared.s8 %s1, [s+9];\nst.global.u16 [%a1+2], 0x55;\natom.global.add.u32 %r2, [%a1], 1;\n\
        red.global.add.u32 [%a1], 1;\nmov.u32 %r3, s;\ncp.async.ca.shared.global [%r3], [%a1], 4;\ncp.async.wait_all;";
    let all = trace("", 1, 1, body);
    let memory = all.lines().filter(|line| line.contains('+'));
    let found: Vec<&str> = memory.collect();
    let shown: Vec<&str> = found.iter().map(|line| &line[3..]).collect();
    let address = shown[0].split_once("%a1:.u64=").unwrap().1;
    let address = address.split_once(' ').unwrap().0;
    let bytes = (0..8).map(|n| u64::from_str_radix(address, 16).unwrap() >> (8 * n) & 0xff);
    let bytes: Vec<String> = bytes.map(|b| format!("{b:x}")).collect();
    let a1 = |ty: &str| format!("%a1:.{ty}={address}");
    let at = |offset: u64| (u64::from_str_radix(address, 16).unwrap() + offset) & 0xfff;
    expect(
        &shown.join("\n"),
        &[
            &format!(
                "ld.param.u64 -> {} r.param+0 8:[{}][]",
                a1("u64"),
                bytes.join(", ")
            ),
            "st.shared.v2.b32 %r1:.b32=1020304 w.shared+8 8:[][4, 3, 2, 1, 4, 3, 2, 1]",
            "ld.shared.s8 -> %s1:.s32=3 r.shared+9 1:[3][]",
            &format!(
                "st.global.u16 {} w.global+{:x} 2:[][55, 0]",
                a1("b64"),
                at(2)
            ),
            &format!(
                "atom.global.add.u32 {} -> %r2:.u32=550000 rw.global+{:x} 4:[0, 0, 55, 0][1, 0, 55, 0]",
                a1("b64"),
                at(0)
            ),
            &format!(
                "red.global.add.u32 {} rw.global+{:x} 4:[1, 0, 55, 0][2, 0, 55, 0]",
                a1("b64"),
                at(0)
            ),
            &format!(
                "cp.async.ca.shared.global %r3:.b32=0 {} r.global+{:x} 4:[2, 0, 55, 0][] w.shared+0 4:[][2, 0, 55, 0]",
                a1("b64"),
                at(0)
            ),
        ],
    );
}

#[test]
fn results_of_lanes_that_wait() {
    // The first half comes to its exchange before the second one.
    let body = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 16;\n@%p1 bra FIRST;\n\
        shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;\nadd.u32 %r3, %r2, 1;\nbra END;\n\
        FIRST:\nshfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;\nadd.u32 %r3, %r2, 2;\nEND:";
    let all = trace("", 32, 1 << 3 | 1 << 19, body);
    let shown: Vec<&str> = all
        .lines()
        .filter(|line| line.contains("shfl") || line.contains("add"))
        .collect();
    expect(
        &shown.join("\n"),
        &[
            "3: shfl.sync.bfly.b32 %r1:.b32=3 Waits",
            "19: shfl.sync.bfly.b32 %r1:.b32=13 -> %r2:.b32=3",
            "3: shfl.sync.bfly.b32 -> %r2:.b32=13 Resumed",
            "3: add.u32 %r2:.u32=13 -> %r3:.u32=15",
            "19: add.u32 %r2:.u32=3 -> %r3:.u32=4",
        ],
    );
}

#[test]
fn results_of_barriers() {
    let body = "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 9;\nbarrier.sync 0;\nbarrier.red.popc.u32 %r2, 0, %p1;";
    let all = trace("", 64, 1 << 12, body);
    let shown: Vec<&str> = all
        .lines()
        .filter(|line| line.contains("barrier"))
        .collect();
    expect(
        &shown.join("\n"),
        &[
            "12: barrier.sync Waits",
            "12: barrier.sync Waits",
            "12: barrier.red.popc.u32 %p1:.pred=1 Waits",
            "12: barrier.red.popc.u32 %p1:.pred=1 Waits",
            "12: barrier.red.popc.u32 -> %r2:.u32=36 Resumed",
            "12: barrier.red.popc.u32 -> %r2:.u32=36 Resumed",
        ],
    );
}

#[test]
fn results_of_calls() {
    let before = ".func (.reg .u32 d) fact(.reg .u32 n)\n{ .reg .pred %p; .reg .u32 m;\n\
        mov.u32 d, 1;\nsetp.le.u32 %p, n, 1;\n@%p ret;\nsub.u32 m, n, 1;\ncall (d), fact, (m);\n\
        mul.lo.u32 d, d, n;\nret; }";
    let all = trace(before, 1, 1, "mov.u32 %r1, 3;\ncall (%r2), fact, (%r1);");
    let calls: Vec<&str> = all.lines().filter(|line| line.contains("call")).collect();
    expect(
        &calls.join("\n"),
        &[
            "0: call %r1:.b32=3 Calls",
            "0: call m0:.u32=2 Calls",
            "0: call m0:.u32=1 Calls",
            "0: call -> d0:.u32=1 Resumed",
            "0: call -> d0:.u32=2 Resumed",
            "0: call -> %r2:.b32=6 Resumed",
        ],
    );
}

#[test]
fn a_step_that_fails() {
    let body = "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 3;\n@%p1 trap;";
    let all = trace("", 32, 1 << 3, body);
    assert_eq!(
        all.lines().last(),
        Some("3: trap %p1:.pred=1 failed(3): `trap` was executed")
    );
}

#[test]
fn with_checkers_and_a_profile() {
    let text = ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 to)\n{\n\
        .reg .u32 %r<2>; .reg .u64 %a;\nld.param.u64 %a, [to];\nld.global.u32 %r1, [%a+4];\nret;\n}\n";
    let module = ptx_parse::parse_str(text).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let data = machine.allocate(4).unwrap();
    let launch = Launch::new("k").argument(data.to_le_bytes());
    let mut launch = launch.check(Checker::Memcheck);
    launch.profile = true;
    let lines = Lines {
        module: &module,
        lanes: 1,
        text: Mutex::default(),
    };
    let options = RunOptions::default().with_observer(&lines);
    machine.launch_with(&launch, options).unwrap();
    assert_eq!(machine.reports().len(), 1);
    assert_eq!(machine.profile().unwrap().instructions.len(), 3);
    let text = lines.text.into_inner().unwrap();
    assert_eq!(text.lines().count(), 3);
    // The checker did not let it access memory.
    assert!(!text.contains("r.global"), "{text}");
}

/// The places of all steps, in the order of execution.
#[derive(Debug, Default)]
struct Places(Mutex<Vec<StepPlace>>);

impl StepObserver for Places {
    fn step(&self, step: &ExecutedStep<'_>) {
        if step.state != StepState::Resumed {
            self.0.lock().unwrap().push(step.place);
        }
    }
}

/// A kernel launches one with two CTAs of 64 threads. The steps of both are numbered together, and show the grid that they are of.
#[test]
fn grids_that_a_kernel_launches() {
    let text = ".version 8.5\n.target sm_90\n.address_size 64\n\
        .extern .func (.param .b64 result) cudaGetParameterBufferV2(.param .b64 kernel, .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 shared);\n\
        .extern .func (.param .b32 result) cudaLaunchDeviceV2(.param .b64 buffer, .param .b64 stream);\n\
        .visible .entry child(.param .u32 value)\n{\n.reg .u32 %r;\nld.param.u32 %r, [value];\nret;\n}\n\
        .visible .entry k()\n{\n\
        .reg .b64 %kernel, %buffer;\nmov.u64 %kernel, child;\n\
        { .param .b64 kernel; .param .align 4 .b8 grid[12]; .param .align 4 .b8 block[12]; .param .b32 shared; .param .b64 result;\n\
        st.param.b64 [kernel], %kernel;\n\
        st.param.b32 [grid], 2; st.param.b32 [grid+4], 1; st.param.b32 [grid+8], 1;\n\
        st.param.b32 [block], 64; st.param.b32 [block+4], 1; st.param.b32 [block+8], 1;\n\
        st.param.b32 [shared], 0;\n\
        call (result), cudaGetParameterBufferV2, (kernel, grid, block, shared);\n\
        ld.param.b64 %buffer, [result]; }\n\
        st.global.u32 [%buffer], 7;\n\
        { .param .b64 buffer; .param .b64 stream; .param .b32 result;\n\
        st.param.b64 [buffer], %buffer; st.param.b64 [stream], 0;\n\
        call (result), cudaLaunchDeviceV2, (buffer, stream); }\n\
        ret;\n}\n";
    let module = ptx_parse::parse_str(text).into_result().unwrap();
    let places = Places::default();
    let options = RunOptions::default().with_observer(&places);
    let launch = Launch::new("k").shape(1, 32);
    let outcome = Machine::new(&module).launch_with(&launch, options).unwrap();
    let places = places.0.into_inner().unwrap();
    let numbers = places.iter().map(|place| place.number);
    assert!(numbers.clone().is_sorted_by(|a, b| a < b), "{places:?}");
    assert!(numbers.max() < Some(outcome.steps));
    let (child, parent) = (module.function("child"), module.function("k"));
    for place in &places {
        let grid = place.grid;
        let expected = match grid.number {
            0 => (parent, [1, 1, 1], [32, 1, 1]),
            1..=32 => (child, [2, 1, 1], [64, 1, 1]),
            _ => panic!("{place:?}"),
        };
        assert_eq!((Some(place.function), grid.blocks, grid.threads), expected);
    }
    // Each of the 32 threads launches four warps with two instructions each.
    let children = places.iter().filter(|place| place.grid.number > 0);
    assert_eq!(children.count(), 32 * 4 * 2);
}
