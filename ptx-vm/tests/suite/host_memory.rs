//! Copies of the host from and to the memory of the device.
#![allow(clippy::unwrap_used)] // test helpers outside #[test] functions

use ptx_vm::Machine;

const EMPTY: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
/// Bytes of a page.
const PAGE: u64 = 1 << 16;

#[test]
fn copies_at_any_address() {
    let module = ptx_parse::parse_str(EMPTY).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let start = machine.allocate(4 * PAGE).unwrap();
    let mut expected = vec![0; 4 * PAGE as usize];
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..300 {
        let at = random.u64(..4 * PAGE);
        let most = (4 * PAGE - at).min([5, 70_000][random.usize(..2)]);
        let bytes: Vec<u8> = match random.bool() {
            true => vec![0; random.u64(..=most) as usize],
            false => (0..random.u64(..=most)).map(|_| random.u8(..)).collect(),
        };
        machine.write(start + at, &bytes).unwrap();
        expected[at as usize..at as usize + bytes.len()].copy_from_slice(&bytes);
        let from = random.u64(..4 * PAGE);
        let count = random.u64(..=4 * PAGE - from) as usize;
        let read = machine.read(start + from, count).unwrap();
        assert!(
            read == expected[from as usize..from as usize + count],
            "{from} {count}"
        );
    }
}

#[test]
fn copies_beyond_the_memory() {
    let module = ptx_parse::parse_str(EMPTY).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let start = machine.allocate(8).unwrap();
    assert_eq!(machine.read(start, 8).unwrap(), [0; 8]);
    let error = machine.read(start, 9).unwrap_err();
    assert!(
        error.to_string().contains(&format!("{:#x}", start + 8)),
        "{error}"
    );
    assert!(machine.write(start + 8, &[1]).is_err());
    assert!(machine.write(1, &[1]).is_err());
    assert!(machine.read(u64::MAX, 2).is_err());
    machine.write(u64::MAX, &[]).unwrap();
}
