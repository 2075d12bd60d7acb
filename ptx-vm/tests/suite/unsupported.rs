//! Instructions that the machine does not execute, and those that it executes as a machine with one device.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Launch, Machine, RunError, StopReason};

/// Runs a body with a pointer to 64 bytes in `%out`, on one thread; gives these bytes as words.
fn run(target: &str, before: &str, body: &str) -> Result<Vec<u32>, RunError> {
    let text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n{before}\n.visible .entry k(.param .u64 data)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<8>;\n.reg .b128 %q<2>;\n.reg .b64 %out;\n\
         ld.param.u64 %out, [data];\n{body}\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(64).unwrap();
    let launch = Launch::new("k").argument(data.to_le_bytes());
    machine.launch(&launch)?;
    let bytes = machine.read(data, 64)?;
    let word = |w: &[u8]| u32::from_le_bytes(w.try_into().unwrap());
    Ok(bytes.chunks(4).map(word).collect())
}

#[test]
fn conversions_of_special_registers_extend_them() {
    let body = "cvt.u64.u32 %rd1, %ntid.x;\ncvt.s64.s32 %rd2, %lanemask_gt;\ncvt.sat.u8.u32 %r1, %lanemask_gt;\n\
                st.global.u64 [%out], %rd1;\nst.global.u64 [%out+8], %rd2;\nst.global.u32 [%out+16], %r1;";
    let found = run("sm_90", "", body).unwrap();
    assert_eq!(found[..5], [1, 0, 0xffff_fffe, 0xffff_ffff, 255]);
}

#[test]
fn a_multimem_address_has_one_location() {
    let body = "mov.f32 %f1, 0f3FC00000;\nmultimem.st.relaxed.sys.global.f32 [%out], %f1;\n\
                multimem.red.relaxed.sys.global.add.f32 [%out], %f1;\n\
                multimem.ld_reduce.relaxed.sys.global.add.f32 %f2, [%out];\nst.global.f32 [%out+4], %f2;\n\
                mov.b32 %r1, 7;\nmultimem.red.relaxed.sys.global.max.u32 [%out+8], %r1;\n\
                multimem.ld_reduce.weak.global.and.b32 %r2, [%out+8];\nst.global.u32 [%out+12], %r2;\n\
                multimem.st.weak.global.v2.f32 [%out+16], {%f1, %f2};\n\
                multimem.red.relaxed.sys.global.add.v2.f32 [%out+16], {%f2, %f2};";
    let found = run("sm_90", "", body).unwrap();
    let (three, six) = (3f32.to_bits(), 4.5f32.to_bits());
    assert_eq!(found[..6], [three, three, 7, 7, six, 6f32.to_bits()]);
}

#[test]
fn a_texture_that_is_not_bound_ends_the_run() {
    let body = "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [image, {%r1}];";
    let error = run("sm_90", ".global .texref image;", body).unwrap_err();
    let why = StopReason::Invalid("`image` is not bound to a texture".into());
    assert_eq!(error.reason, why);
    assert!(error.to_string().contains("tex.1d.v4.f32.s32"), "{error}");
}

#[test]
fn requests_to_cancel_clusters_are_refused() {
    let before = ".shared .align 16 .b8 answer[16];\n.shared .align 8 .b64 bar;";
    let body = "mbarrier.init.shared.b64 [bar], 1;\n\
                mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [bar], 16;\n\
                st.shared.b64 [answer], %out;\n\
                clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [bar];\n\
                WAIT: mbarrier.try_wait.shared.b64 %p1, [bar], %rd1;\n@!%p1 bra WAIT;\n\
                ld.shared.b128 %q1, [answer];\n\
                clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q1;\n\
                selp.u32 %r1, 1, 2, %p2;\nst.global.u32 [%out], %r1;";
    assert_eq!(run("sm_100", before, body).unwrap()[0], 2);
}

#[test]
fn what_ends_a_run_is_known_before() {
    use ptx_isa::Action;
    assert!(ptx_vm::performs(Action::Shuffle));
    assert!(!ptx_vm::performs(Action::Undescribed));
}

#[test]
fn parameters_of_kernels_have_addresses() {
    let body = "mov.b64 %rd1, data;\nld.param.u64 %rd2, [%rd1];\ncvta.param.u64 %rd3, %rd1;\nld.u64 %rd4, [%rd3];\n\
                sub.u64 %rd5, %rd2, %out;\nsub.u64 %rd6, %rd4, %out;\nst.global.u64 [%out], %rd5;\nst.global.u64 [%out+8], %rd6;\n\
                st.global.u32 [%out+16], 1;";
    assert_eq!(run("sm_90", "", body).unwrap()[..5], [0, 0, 0, 0, 1]);
}

#[test]
fn the_limit_of_steps_is_exact() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<2>;\n\
                mov.u32 %r1, 0;\nadd.u32 %r1, %r1, 1;\nadd.u32 %r1, %r1, 1;\nret;\n}\n";
    let module = ptx_parse::parse_str(text).module;
    let end = |steps| {
        let mut launch = Launch::new("k").shape(3, 1);
        launch.limits.steps = steps;
        Machine::new(&module).launch(&launch)
    };
    assert_eq!(end(12).unwrap().steps, 12);
    assert_eq!(end(11).unwrap_err().reason, StopReason::StepLimit);
}
