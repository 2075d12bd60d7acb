//! Devices: several modules, memory that is freed and used again, pages of the caller, and snapshots.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptx_vm::{
    AddressSize, Checker, Device, HostPage, Launch, Machine, PAGE_BYTES, PageSource, StopReason,
};

use crate::common;

fn parse(text: &str) -> ptx_ir::Module {
    let parsed = ptx_parse::parse_str(text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    parsed.module
}

/// A module with a variable and a kernel that adds the variable to a word.
fn counter(initial: u32) -> ptx_ir::Module {
    parse(&common::kernel(
        &format!(
            ".visible .global .u32 step = {initial};\n.visible .const .align 1024 .u32 big = 1;"
        ),
        "ld.global.u32 %r1, [step];\nld.global.u32 %r2, [%out];\nadd.u32 %r2, %r2, %r1;\nst.global.u32 [%out], %r2;",
    ))
}

/// A module with a kernel that reads a word and stores its double after it.
fn reader() -> ptx_ir::Module {
    parse(&common::kernel(
        "",
        "ld.global.u32 %r1, [%out];\nadd.u32 %r1, %r1, %r1;\nst.global.u32 [%out+4], %r1;",
    ))
}

#[test]
fn modules_have_their_own_variables_and_share_memory() {
    let mut device = Device::new();
    let steps = [3, 50, 700];
    let modules = steps.map(|step| device.load(counter(step)).unwrap());
    let data = device.allocate(4).unwrap();
    for module in modules {
        let launch = Launch::new("k").argument(data.to_le_bytes());
        device.launch(module, &launch).unwrap();
    }
    assert_eq!(device.read_slice::<u32>(data, 1).unwrap(), [753]);
    let mut addresses: Vec<_> = modules
        .iter()
        .flat_map(|module| ["step", "big"].map(|name| device.variable(*module, name).unwrap()))
        .collect();
    assert!(
        addresses
            .iter()
            .skip(1)
            .step_by(2)
            .all(|(start, _)| start % 1024 == 0)
    );
    addresses.push((data, 4));
    addresses.sort_unstable();
    assert!(
        addresses.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0),
        "{addresses:x?}"
    );
    assert!(
        addresses
            .iter()
            .all(|(start, _)| *start > u64::from(u32::MAX))
    );

    device.unload(modules[1]).unwrap();
    assert!(device.variable(modules[1], "step").is_none());
    assert!(device.module(modules[1]).is_none());
    let launch = Launch::new("k").argument(data.to_le_bytes());
    let error = device.launch(modules[1], &launch).unwrap_err();
    assert_eq!(
        error.reason,
        StopReason::Launch("the module is not loaded".into())
    );
    assert!(device.unload(modules[1]).is_err());
    device.launch(modules[2], &launch).unwrap();
    assert_eq!(device.read_slice::<u32>(data, 1).unwrap(), [1453]);
}

#[test]
fn the_memory_of_an_unloaded_module_is_used_again() {
    let mut device = Device::new();
    let mut highest = 0;
    for step in 1..100 {
        let module = device.load(counter(step)).unwrap();
        let (address, _) = device.variable(module, "step").unwrap();
        assert_eq!(device.read_slice::<u32>(address, 1).unwrap(), [step]);
        highest = highest.max(address);
        assert_eq!(device.kernels(module).collect::<Vec<_>>(), ["k"]);
        device.unload(module).unwrap();
    }
    assert!(highest < 0x6000_0001_0000, "{highest:#x}");
}

#[test]
fn a_module_on_separate_pages_shares_them_with_nothing() {
    const PAGE: u64 = 1 << 16;
    let mut device = Device::new();
    let data = device.allocate(8).unwrap();
    let module = device.load_on_own_pages(counter(7), PAGE).unwrap();
    let pages = |device: &Device<'_>, module| -> Vec<u64> {
        let variables = device.variables(module);
        variables.map(|(_, address, _)| address / PAGE).collect()
    };
    let own = pages(&device, module);
    let after = device.allocate(8).unwrap();
    let other = device.load(counter(8)).unwrap();
    for page in [data, after].map(|address| address / PAGE) {
        assert!(!own.contains(&page));
    }
    assert!(pages(&device, other).iter().all(|page| !own.contains(page)));
    let launch = Launch::new("k").argument(data.to_le_bytes());
    device.launch(module, &launch).unwrap();
    assert_eq!(device.read_slice::<u32>(data, 1).unwrap(), [7]);
    // The pages are used again.
    device.unload(module).unwrap();
    let next = device.load_on_own_pages(counter(9), PAGE).unwrap();
    assert_eq!(pages(&device, next), own);
}

#[test]
fn addresses_of_functions_are_distinct_and_not_used_again() {
    let text = |value| {
        common::kernel(
            &format!(
                ".func (.reg .u32 %r) f()\n{{\nmov.u32 %r, {value};\nret;\n}}\n\
                 .visible .global .u64 table[1] = {{f}};"
            ),
            "ld.global.u64 %rd1, [%out];\n\
             prototype: .callprototype (.reg .u32 %r) _ ();\n\
             call (%r1), %rd1, (), prototype;\nst.global.u32 [%out], %r1;",
        )
    };
    let mut device = Device::new();
    let data = device.allocate(8).unwrap();
    let launch = Launch::new("k").argument(data.to_le_bytes());
    let first = device.load(parse(&text(5))).unwrap();
    let second = device.load(parse(&text(6))).unwrap();
    let function = |device: &Device<'_>, module| {
        let (table, _) = device.variable(module, "table").unwrap();
        device.read_slice::<u64>(table, 1).unwrap()[0]
    };
    let [one, two] = [first, second].map(|module| function(&device, module));
    assert_ne!(one, two);
    for (module, address, expected) in [(first, one, 5), (second, two, 6)] {
        device.write_slice(data, &[address]).unwrap();
        device.launch(module, &launch).unwrap();
        assert_eq!(device.read_slice::<u32>(data, 1).unwrap(), [expected]);
    }
    // A function of another module cannot be called.
    device.write_slice(data, &[one]).unwrap();
    let error = device.launch(second, &launch).unwrap_err();
    assert_eq!(error.reason, StopReason::BadTarget);
    device.unload(first).unwrap();
    let third = device.load(parse(&text(7))).unwrap();
    assert!(![one, two].contains(&function(&device, third)));
}

#[test]
fn freed_memory_is_used_again_and_is_zero() {
    let mut device = Device::new();
    let keep = device.allocate(10).unwrap();
    let sizes = [1u64, 256, 70_000, 300_000];
    for _ in 0..3 {
        let all = sizes.map(|size| device.allocate(size).unwrap());
        for (address, size) in all.into_iter().zip(sizes) {
            assert!(
                device
                    .read(address, size as usize)
                    .unwrap()
                    .iter()
                    .all(|byte| *byte == 0)
            );
            device.write(address, &vec![0xab; size as usize]).unwrap();
        }
        for address in all {
            device.free(address).unwrap();
        }
        assert!(all.iter().all(|address| *address < 0x6000_0010_0000));
    }
    let error = device.free(keep + 1).unwrap_err();
    assert!(error.to_string().contains("no allocation"), "{error}");
    device.free(keep).unwrap();
    let error = device.free(keep).unwrap_err();
    assert!(
        error.to_string().contains("10 bytes") && error.to_string().contains("freed before"),
        "{error}"
    );
}

/// Allocations against a list of ranges: live ones do not overlap, have gaps and keep their contents.
#[test]
fn random_allocations_are_apart() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut device = Device::new();
    let mut live: BTreeMap<u64, (u64, u8)> = BTreeMap::new();
    for _ in 0..2000 {
        if random.bool() || live.is_empty() {
            let bytes = [1, 255, 256, 257, 4096, 100_000][random.usize(..6)] + random.u64(..3);
            let start = device.allocate(bytes).unwrap();
            assert_eq!(start % 256, 0);
            let before = live.range(..start).next_back();
            assert!(before.is_none_or(|(other, (size, _))| other + size < start));
            let after = live.range(start..).next();
            assert!(after.is_none_or(|(other, _)| start + bytes < *other));
            let value = random.u8(1..);
            assert_eq!(
                device.read(start, bytes as usize).unwrap(),
                vec![0; bytes as usize]
            );
            device.write(start, &vec![value; bytes as usize]).unwrap();
            live.insert(start, (bytes, value));
        } else {
            let nth = random.usize(..live.len());
            let (&start, &(bytes, value)) = live.iter().nth(nth).unwrap();
            assert_eq!(
                device.read(start, bytes as usize).unwrap(),
                vec![value; bytes as usize]
            );
            device.free(start).unwrap();
            live.remove(&start);
        }
    }
}

#[test]
fn memcheck_reports_accesses_to_freed_memory() {
    let mut device = Device::new();
    let module = device.load(reader()).unwrap();
    let data = device.allocate(8).unwrap();
    device.write_slice(data, &[1u32, 2]).unwrap();
    let launch = Launch::new("k")
        .argument(data.to_le_bytes())
        .check(Checker::Memcheck)
        .check(Checker::Initcheck);
    device.launch(module, &launch).unwrap();
    assert!(device.reports().is_empty(), "{:?}", device.reports());
    device.free(data).unwrap();
    device.launch(module, &launch).unwrap();
    let messages: Vec<_> = device.reports().iter().map(|r| r.message.clone()).collect();
    let expected = [
        format!(
            "read of 4 bytes at {data:#x}, in the allocation at {data:#x}, after the memory was freed by the host"
        ),
        format!(
            "write of 4 bytes at {:#x}, in the allocation at {data:#x}, after the memory was freed by the host",
            data + 4
        ),
    ];
    assert_eq!(messages, expected);
    // A new allocation at the same address can be accessed, and nothing was written there.
    assert_eq!(device.allocate(8), Some(data));
    device.launch(module, &launch).unwrap();
    let codes: Vec<_> = device.reports().iter().map(|r| r.checker).collect();
    assert_eq!(codes, [Checker::Initcheck]);
}

#[test]
fn modules_need_addresses_of_the_size_of_the_device() {
    let text = ".version 8.0\n.target sm_80\n.address_size 32\n\
        .visible .global .u32 five = 5;\n\
        .visible .entry k(.param .u32 data)\n{\n.reg .b32 %r<3>;\n\
        ld.param.u32 %r1, [data];\nld.global.u32 %r2, [five];\nst.global.u32 [%r1], %r2;\nret;\n}\n";
    let mut device = Device::new();
    assert!(device.load(parse(text)).is_err());
    let mut device = Device::builder().address_size(AddressSize::Bits32).build();
    let module = device.load(parse(text)).unwrap();
    assert!(device.load(reader()).is_err());
    let data = device.allocate(4).unwrap();
    let address = u32::try_from(data).unwrap();
    device
        .launch(module, &Launch::new("k").argument(address.to_le_bytes()))
        .unwrap();
    assert_eq!(device.read_slice::<u32>(data, 1).unwrap(), [5]);
    assert_eq!(device.allocate(0xf000_0000), None);
    let mut machine = Machine::new(parse(text));
    let data = machine.allocate(4).unwrap();
    let address = u32::try_from(data).unwrap();
    machine
        .launch(&Launch::new("k").argument(address.to_le_bytes()))
        .unwrap();
    assert_eq!(machine.read_slice::<u32>(data, 1).unwrap(), [5]);
}

#[test]
fn variables_need_memory() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .b8 a[1099511627000];\n\
        .visible .global .b8 b[1024];\n.visible .entry k()\n{\nret;\n}\n";
    let mut device = Device::new();
    let error = device.load(parse(text)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("not enough memory for the variables"),
        "{error}"
    );
    assert!(device.allocate(1 << 39).is_some());
    let error = Machine::new(parse(text))
        .launch(&Launch::new("k"))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("not enough memory for the variables"),
        "{error}"
    );
}

/// Snapshots against copies of all memory.
#[test]
fn snapshots_restore_memory() {
    const BYTES: usize = 400_000;
    let mut random = fastrand::Rng::with_seed(3);
    let mut device = Device::new();
    let module = device.load(counter(9)).unwrap();
    let data = device.allocate(BYTES as u64).unwrap();
    let launch = Launch::new("k").argument(data.to_le_bytes());
    let mut snapshots = Vec::new();
    for _ in 0..60 {
        match random.u8(..8) {
            0 => snapshots.push((device.snapshot(), device.read(data, BYTES).unwrap())),
            1 if !snapshots.is_empty() => {
                let (snapshot, expected) = &snapshots[random.usize(..snapshots.len())];
                device.restore(snapshot);
                assert!(device.read(data, BYTES).unwrap() == *expected);
            }
            2 => drop((!snapshots.is_empty()).then(|| snapshots.swap_remove(0))),
            3 => {
                let before = device.read_slice::<u32>(data, 1).unwrap()[0];
                device.launch(module, &launch).unwrap();
                assert_eq!(
                    device.read_slice::<u32>(data, 1).unwrap()[0],
                    before.wrapping_add(9)
                );
            }
            _ => {
                let start = random.usize(..BYTES - 100);
                let bytes: Vec<u8> = (0..100).map(|_| random.u8(..)).collect();
                device.write(data + start as u64, &bytes).unwrap();
                assert_eq!(device.read(data + start as u64, 100).unwrap(), bytes);
            }
        }
    }
}

#[test]
fn snapshots_restore_allocations_and_modules() {
    let mut device = Device::new();
    let module = device.load(counter(4)).unwrap();
    let data = device.allocate(4).unwrap();
    let snapshot = device.snapshot();
    device.unload(module).unwrap();
    device.free(data).unwrap();
    let other = device.load(counter(70)).unwrap();
    device.allocate(100_000).unwrap();
    device.restore(&snapshot);
    assert!(device.module(other).is_none());
    device
        .launch(module, &Launch::new("k").argument(data.to_le_bytes()))
        .unwrap();
    assert_eq!(device.read_slice::<u32>(data, 1).unwrap(), [4]);
    device.free(data).unwrap();
}

/// Snapshots keep pages of the host only while they are used.
#[test]
fn pages_of_snapshots_count_as_memory() {
    let mut device = Device::new();
    let data = device.allocate(1 << 20).unwrap();
    // Two copies of 16 pages do not fit, nor do further ones.
    device.limit_memory(24 << 16);
    for byte in 1..20 {
        device.write(data, &vec![byte; 8 << 16]).unwrap();
        let snapshot = device.snapshot();
        device.write(data, &vec![byte + 1; 8 << 16]).unwrap();
        device.restore(&snapshot);
        assert_eq!(device.read(data, 8 << 16).unwrap(), vec![byte; 8 << 16]);
    }
    let _snapshots = [1, 2, 3].map(|byte| {
        let _ = device.write(data, &vec![byte; 8 << 16]);
        device.snapshot()
    });
    assert!(device.write(data, &vec![9; 8 << 16]).is_err());
}

type HostWords = Arc<Vec<AtomicU32>>;

/// Pages that the host keeps, for addresses of even numbers of pages.
#[derive(Debug, Default)]
struct HostPages(Mutex<BTreeMap<u64, HostWords>>);

impl PageSource for HostPages {
    fn page(&self, address: u64) -> Option<HostPage> {
        if address / PAGE_BYTES as u64 % 2 == 1 {
            return None;
        }
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let page = pages
            .entry(address)
            .or_insert_with(|| Arc::new((0..PAGE_BYTES / 4).map(|_| AtomicU32::new(0)).collect()));
        Some(Arc::clone(page) as HostPage)
    }
}

#[test]
fn pages_of_the_host_are_device_memory() {
    let pages = Arc::new(HostPages::default());
    let mut device = Device::builder()
        .pages(Arc::clone(&pages) as Arc<dyn PageSource>)
        .build();
    let module = device.load(reader()).unwrap();
    let data = device.allocate(4 * PAGE_BYTES as u64).unwrap();
    let page = (data / PAGE_BYTES as u64 + 2) / 2 * 2 * PAGE_BYTES as u64;
    // The host writes before the device has accessed the page.
    let words = pages.page(page).unwrap();
    let words: &[AtomicU32] = words.as_ref().as_ref();
    words[0].store(21u32.to_le(), Ordering::Relaxed);
    assert_eq!(device.read_slice::<u32>(page, 1).unwrap(), [21]);
    let launch = Launch::new("k").argument(page.to_le_bytes());
    device.launch(module, &launch).unwrap();
    assert_eq!(u32::from_le(words[1].load(Ordering::Relaxed)), 42);
    let snapshot = device.snapshot();
    words[0].store(30u32.to_le(), Ordering::Relaxed);
    device.launch(module, &launch).unwrap();
    assert_eq!(u32::from_le(words[1].load(Ordering::Relaxed)), 60);
    device.restore(&snapshot);
    assert_eq!(u32::from_le(words[0].load(Ordering::Relaxed)), 21);
    assert_eq!(device.read_slice::<u32>(page, 2).unwrap(), [21, 42]);
    // An allocation at the same address is zero, for the host as well.
    device.free(data).unwrap();
    assert_eq!(device.allocate(4 * PAGE_BYTES as u64), Some(data));
    assert_eq!(device.read_slice::<u32>(page, 2).unwrap(), [0, 0]);
    assert_eq!(words[1].load(Ordering::Relaxed), 0);
    // A page without memory of the host works as well.
    let other = page + PAGE_BYTES as u64;
    device.write_slice(other, &[8u32]).unwrap();
    device
        .launch(module, &Launch::new("k").argument(other.to_le_bytes()))
        .unwrap();
    assert_eq!(device.read_slice::<u32>(other, 2).unwrap(), [8, 16]);
}

#[test]
fn accesses_to_reserved_addresses_without_an_allocation_are_reported() {
    const PAGE: u64 = 1 << 16;
    let mut device = Device::new();
    let start = device.reserve(4 * PAGE, PAGE).unwrap();
    assert_eq!(start % PAGE, 0);
    let module = device.load(reader()).unwrap();
    let read = |device: &mut Device<'_>, address: u64| {
        let launch = Launch::new("k")
            .argument(address.to_le_bytes())
            .check(Checker::Memcheck)
            .check(Checker::Initcheck);
        device.launch(module, &launch).unwrap();
        device.reports().len()
    };
    assert_eq!(read(&mut device, start + PAGE), 2);
    device.map(start + PAGE, PAGE).unwrap();
    assert!(device.map(start, 2 * PAGE).is_err());
    assert!(device.map(start + 4 * PAGE, PAGE).is_err());
    assert_eq!(read(&mut device, start + PAGE), 1, "it is not initialized");
    device.write_slice(start + PAGE, &[4u32]).unwrap();
    assert_eq!(read(&mut device, start + PAGE), 0);
    assert!(device.free(start + PAGE).is_err());
    assert!(device.release(start).is_err());
    device.unmap(start + PAGE).unwrap();
    assert!(device.unmap(start + PAGE).is_err());
    assert_eq!(read(&mut device, start + PAGE), 2);
    device.map(start + PAGE, 2 * PAGE).unwrap();
    assert_eq!(device.read_slice::<u32>(start + PAGE, 2).unwrap(), [0, 0]);
    device.unmap(start + PAGE).unwrap();
    device.release(start).unwrap();
    assert!(device.release(start).is_err());
    assert_eq!(device.allocate_aligned(4 * PAGE, PAGE), Some(start));
}

#[test]
fn the_end_of_an_aligned_allocation_is_exact() {
    const PAGE: u64 = PAGE_BYTES as u64;
    let mut device = Device::new();
    let start = device.allocate_aligned(100, PAGE).unwrap();
    let next = device.allocate(4).unwrap();
    assert_eq!(start % PAGE, 0);
    assert!(next >= start + PAGE, "no other allocation is in the page");
    device.write(start, &[1; 100]).unwrap();
    assert!(device.write(start, &[1; 101]).is_err());
    assert!(device.read(start + 100, 1).is_err());
    device.free(start).unwrap();
    let next_owner = device.allocate_aligned(PAGE, PAGE);
    assert_eq!(next_owner, Some(start), "the whole page is free");
    assert_eq!(device.allocate_aligned(u64::MAX, PAGE), None);
}
