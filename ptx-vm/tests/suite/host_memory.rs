//! Copies of the host from and to the memory of the device.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Launch, Machine};

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

/// Allocates as many bytes as `bytes` says, writes and frees them if `frees` says so; the address is left in `out`.
const MALLOC: &str = "
.extern .func (.param .b64 pointer) malloc(.param .b64 bytes);
.extern .func free(.param .b64 pointer);
.visible .entry k(.param .u64 out, .param .u64 bytes, .param .u32 frees)
{
.reg .pred %p; .reg .b32 %r; .reg .b64 %out, %n, %at;
.param .b64 pointer; .param .b64 size;
ld.param.u64 %out, [out]; ld.param.u64 %n, [bytes]; ld.param.u32 %r, [frees];
st.param.b64 [size], %n;
call.uni (pointer), malloc, (size);
ld.param.b64 %at, [pointer];
st.global.u64 [%out], %at;
setp.ne.u32 %p, %r, 0;
@%p call.uni free, (pointer);
ret;
}
";

#[test]
fn a_machine_has_one_heap_and_only_if_it_is_used() {
    let empty = ptx_parse::parse_str(EMPTY).into_result().unwrap();
    let mut machine = Machine::new(&empty);
    let mut launch = Launch::new("k");
    // A launch takes no memory, however large the heap may be.
    launch.limits.heap_bytes = 1 << 40;
    machine.launch(&launch).unwrap();
    machine.launch(&launch).unwrap();
    assert!(machine.allocate(1 << 39).is_some());

    let text = EMPTY.split_once(".visible").unwrap().0.to_owned() + MALLOC;
    let module = ptx_parse::parse_str(&text).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let out = machine.allocate(8).unwrap();
    let mut malloc = |bytes: u64, frees: u32| {
        let mut launch = Launch::new("k").argument(out.to_le_bytes());
        launch = launch.argument(bytes.to_le_bytes());
        launch = launch.argument(frees.to_le_bytes());
        launch.limits.heap_bytes = 1 << 39;
        machine.launch(&launch).unwrap();
        u64::from_le_bytes(machine.read(out, 8).unwrap().try_into().unwrap())
    };
    let first = malloc(1 << 38, 1);
    // All memory was freed.
    assert_eq!(malloc(1 << 38, 0), first);
    // What an earlier launch allocated stays.
    assert_eq!(malloc(1 << 38, 0), 0);
    assert!(malloc(1 << 37, 0) > first + (1 << 37));
}

/// Numbers of the host are little-endian bytes of memory, in the order of the slice.
#[test]
fn slices_of_numbers_are_copied() {
    let module = ptx_parse::parse_str(".version 8.0\n.target sm_80\n").module;
    let mut machine = Machine::new(&module);
    let data = machine.allocate(64).unwrap();
    machine.write_slice(data, &[-1.5f64, f64::MAX]).unwrap();
    machine.write_slice(data + 16, &[i16::MIN, 7]).unwrap();
    machine.write_slice(data + 20, &[u128::MAX - 1]).unwrap();
    let doubles: Vec<f64> = machine.read_slice(data, 2).unwrap();
    assert_eq!(doubles, [-1.5, f64::MAX]);
    assert_eq!(machine.read(data + 16, 4).unwrap(), [0, 0x80, 7, 0]);
    let words: Vec<u32> = machine.read_slice(data + 20, 4).unwrap();
    assert_eq!(words, [u32::MAX - 1, u32::MAX, u32::MAX, u32::MAX]);
    assert_eq!(machine.read_slice::<u8>(data, 0).unwrap(), []);
}

/// A range outside of memory is refused before anything is reserved for it, also if its number of bytes does not fit.
#[test]
fn ranges_outside_of_memory_are_errors() {
    let module = ptx_parse::parse_str(".version 8.0\n.target sm_80\n").module;
    let mut machine = Machine::new(&module);
    let data = machine.allocate(4).unwrap();
    assert!(machine.read(data, usize::MAX).is_err());
    assert!(machine.read_slice::<u64>(data, usize::MAX / 4).is_err());
    assert!(machine.write_slice(0, &[1u64]).is_err());
}
