//! The memory of the device, as memory of this process.
//!
//! The bytes of the device are a file in memory that is mapped twice: as the *machine's view*, which is always accessible, and at the addresses of the device, the
//! *program's view*, where only managed and pinned allocations are accessible, so that a program that accesses device memory through a pointer stops as on a computer
//! with a GPU.

use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use ptx_vm::{HostPage, PAGE_BYTES, PageSource};

/// The bytes of a page of the operating system, or a multiple of them, on every computer.
pub(crate) const LARGE_PAGE: u64 = 64 << 10;

/// The bytes of a page of the operating system.
pub(crate) fn page_bytes() -> u64 {
    // SAFETY: the call has no requirements.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// The first address of the device, which is that of [`ptx_vm::AddressSize::Bits64`].
pub(crate) const START: u64 = 0x6000_0000_0000;

/// The name of the file with the memory of the device, which links in `/proc` contain.
pub(crate) const NAME: &str = "ptxkit device memory";

/// The name of the file with memory of the host that programs registered, and its bytes: all addresses of a program.
const HOST_NAME: &str = "ptxkit host memory";
const HOST_ADDRESSES: u64 = 1 << 52;

/// The name of a file with memory that processes share, and that is mapped in the memory of the device of each.
pub(crate) const SHARED_NAME: &str = "ptxkit shared memory";

/// The memory of the device.
pub(crate) struct Arena {
    file: OwnedFd,
    /// The memory of the host that programs registered, at the addresses of the host.
    host_file: OwnedFd,
    bytes: u64,
    /// The first address of the machine's view.
    machine: usize,
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// A page of the machine's view.
struct ArenaPage {
    arena: Arc<Arena>,
    offset: u64,
}

impl AsRef<[AtomicU32]> for ArenaPage {
    fn as_ref(&self) -> &[AtomicU32] {
        let first = (self.arena.machine + self.offset as usize) as *const AtomicU32;
        // SAFETY: the page is within the machine's view, which is accessible as long as the arena exists. Its address is a multiple of the size of a page. The memory is
        // accessed by atomic operations, by copies of this crate while no kernel runs, and by the program, as device memory is.
        unsafe { std::slice::from_raw_parts(first, PAGE_BYTES / 4) }
    }
}

/// The pages of an arena, for the machine.
#[derive(Debug)]
pub(crate) struct ArenaPages(pub(crate) Arc<Arena>);

impl PageSource for ArenaPages {
    fn page(&self, address: u64) -> Option<HostPage> {
        let offset = address.checked_sub(START)?;
        let end = offset.checked_add(PAGE_BYTES as u64)?;
        (end <= self.0.bytes).then(|| {
            Arc::new(ArenaPage {
                arena: Arc::clone(&self.0),
                offset,
            }) as HostPage
        })
    }
}

/// The result of a system call that returns `MAP_FAILED` on failure.
fn checked(address: *mut libc::c_void) -> io::Result<usize> {
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(address as usize)
}

/// A new file in memory, whose bytes are zero, and take memory when they are first written.
pub(crate) fn memory_file(name: &str, bytes: u64) -> io::Result<OwnedFd> {
    let name = CString::new(name).map_err(io::Error::other)?;
    // SAFETY: the name is a text that ends with a zero byte.
    let file = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, and nothing else owns it.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    let length = i64::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: the descriptor is open.
    if unsafe { libc::ftruncate(file.as_raw_fd(), length) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

impl Arena {
    /// Reserves addresses for `bytes` bytes of device memory, a multiple of [`LARGE_PAGE`]. Pages take memory when they are first written.
    pub(crate) fn new(bytes: u64) -> io::Result<Arc<Self>> {
        let file = memory_file(NAME, bytes)?;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the system chooses.
        let machine = checked(unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes as usize,
                access,
                flags,
                file.as_raw_fd(),
                0,
            )
        })?;
        // SAFETY: a new mapping, which fails if something else is at the address.
        let program = checked(unsafe {
            libc::mmap(
                START as *mut libc::c_void,
                bytes as usize,
                libc::PROT_NONE,
                flags | libc::MAP_FIXED_NOREPLACE,
                file.as_raw_fd(),
                0,
            )
        })?;
        if program as u64 != START {
            return Err(io::Error::other("the addresses of the device are in use"));
        }
        Ok(Arc::new(Self {
            file,
            host_file: memory_file(HOST_NAME, HOST_ADDRESSES)?,
            bytes,
            machine,
        }))
    }

    /// Whether an address is one of the device.
    pub(crate) const fn contains(&self, address: u64) -> bool {
        address >= START && address - START < self.bytes
    }

    /// The address in the machine's view of an address of the device.
    pub(crate) const fn machine_view(&self, address: u64) -> usize {
        self.machine + (address - START) as usize
    }

    /// Makes the pages of one device address those of another one. They are inaccessible for the program. Addresses and the size are multiples of [`LARGE_PAGE`].
    pub(crate) fn map(&self, address: u64, pages: u64, bytes: u64) -> io::Result<()> {
        self.map_views(address, bytes, self.file.as_raw_fd(), pages - START)
    }

    /// Maps pages of a file over both views of device addresses. They are inaccessible for the program.
    fn map_views(&self, address: u64, bytes: u64, file: RawFd, offset: u64) -> io::Result<()> {
        let views = [
            (
                self.machine_view(address),
                libc::PROT_READ | libc::PROT_WRITE,
            ),
            (address as usize, libc::PROT_NONE),
        ];
        for (view, access) in views {
            // SAFETY: the pages are within the views that this arena mapped. Nothing but kernels and copies of this crate, which are not running, accesses them.
            checked(unsafe {
                libc::mmap(
                    view as *mut libc::c_void,
                    bytes as usize,
                    access,
                    libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED,
                    file,
                    offset as i64,
                )
            })?;
        }
        Ok(())
    }

    /// Makes pages accessible, or inaccessible, for the program at their addresses of the device. The address and the size are multiples of [`LARGE_PAGE`].
    pub(crate) fn expose(&self, address: u64, bytes: u64, accessible: bool) -> io::Result<()> {
        let access = if accessible {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_NONE
        };
        // SAFETY: the pages are within the program's view, which this arena mapped.
        let result =
            unsafe { libc::mprotect(address as *mut libc::c_void, bytes as usize, access) };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// The number of the descriptor of the memory of the device in this process.
    pub(crate) fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// A new descriptor of the memory of the device, which the program closes.
    pub(crate) fn duplicate(&self) -> io::Result<i32> {
        Ok(self.file.try_clone()?.into_raw_fd())
    }

    /// Maps pages of the memory of another process, from an offset, over pages of the device; without a file, the pages of the device again. The address, the size and the
    /// offset are multiples of [`LARGE_PAGE`].
    pub(crate) fn replace(
        &self,
        address: u64,
        bytes: u64,
        other: Option<(&File, u64)>,
    ) -> io::Result<()> {
        let (file, offset) = match other {
            Some((file, offset)) => (file.as_raw_fd(), offset),
            None => (self.file.as_raw_fd(), address - START),
        };
        self.map_views(address, bytes, file, offset)
    }

    /// Sets all pages that are within a range to zero, and returns their memory to the system.
    pub(crate) fn release(&self, address: u64, bytes: u64) {
        let first = (address - START).next_multiple_of(LARGE_PAGE);
        let end = (address - START + bytes) / LARGE_PAGE * LARGE_PAGE;
        if first < end {
            punch(self.file.as_raw_fd(), first as i64, (end - first) as i64);
        }
    }

    /// The ranges of device addresses that have memory, in ascending order. All other bytes are zero.
    pub(crate) fn used(&self) -> Vec<Range<u64>> {
        let file = self.file.as_raw_fd();
        let mut ranges = Vec::new();
        let mut end = 0;
        loop {
            // SAFETY: the descriptor is open, and nothing uses its offset.
            let first = unsafe { libc::lseek(file, end, libc::SEEK_DATA) };
            if first < 0 {
                return ranges;
            }
            // SAFETY: as above.
            end = unsafe { libc::lseek(file, first, libc::SEEK_HOLE) };
            if end <= first {
                return ranges;
            }
            ranges.push(START + first as u64..START + end as u64);
        }
    }

    /// Replaces pages of the program by pages of a file with the same contents. Both addresses are multiples of the system's page size. The pages may contain the stack of
    /// this thread.
    pub(crate) fn adopt(&self, host: Range<usize>) -> io::Result<()> {
        let file = self.host_file.as_raw_fd() as usize;
        for part in parts(host) {
            let (start, bytes) = (part.start, part.len());
            let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
            let flags = (libc::MAP_SHARED | libc::MAP_FIXED) as usize;
            let copy = [libc::SYS_pwrite64 as usize, file, start, bytes, start];
            let map = libc::SYS_mmap as usize;
            let map = [map, start, bytes, protection, flags, file, start];
            // SAFETY: the program passes memory that it owns. Its pages are replaced by pages with the same contents.
            let result = unsafe { copy_and_map(copy, map) };
            if result != start {
                return Err(io::Error::other("the pages cannot be mapped"));
            }
        }
        Ok(())
    }

    /// Makes pages that [`adopt`](Self::adopt) replaced those of device addresses, too. The address and the size are multiples of the system's page size.
    pub(crate) fn map_adopted(&self, host: usize, address: u64, bytes: u64) -> io::Result<()> {
        self.map_views(address, bytes, self.host_file.as_raw_fd(), host as u64)
    }

    /// Replaces pages that [`adopt`](Self::adopt) replaced by pages of the program with the same contents.
    pub(crate) fn abandon(&self, host: Range<usize>) -> io::Result<()> {
        let file = self.host_file.as_raw_fd() as usize;
        for part in parts(host) {
            let (start, bytes) = (part.start, part.len());
            let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new mapping at an address that the system chooses.
            let pages =
                checked(unsafe { libc::mmap(ptr::null_mut(), bytes, access, private, -1, 0) })?;
            let copy = [libc::SYS_pread64 as usize, file, pages, bytes, start];
            let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
            let map = libc::SYS_mremap as usize;
            let map = [map, pages, bytes, bytes, flags, start, 0];
            // SAFETY: the pages were mapped by `adopt`. Those that replace them have the same contents, and exist since the call above.
            let result = unsafe { copy_and_map(copy, map) };
            if result != start {
                return Err(io::Error::other("the pages cannot be mapped"));
            }
            punch(file as RawFd, start as i64, bytes as i64);
        }
        Ok(())
    }
}

/// Parts of a range of pages that one system call can copy.
fn parts(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    const PART: usize = 1 << 30;
    let end = range.end;
    range
        .step_by(PART)
        .map(move |start| start..end.min(start + PART))
}

/// Returns the memory of a part of a file to the system: its bytes are zero.
fn punch(file: RawFd, start: i64, bytes: i64) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: the descriptor is open. If the system cannot do it, the pages keep their contents, which nothing relies on.
    unsafe {
        libc::fallocate(file, mode, start, bytes);
    }
}

/// A system call that copies, whose fourth number is that of bytes, and one that maps what was copied, each with its number before its arguments. The second one follows
/// only if the first one copied all bytes, and the program does not write to memory between both: the memory that is copied may be the stack of this thread. Returns the
/// result of the last call.
///
/// # Safety
///
/// The calls must be ones that this process may make.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_and_map(copy: [usize; 5], map: [usize; 7]) -> usize {
    let result;
    // SAFETY: the caller guarantees that the calls may be made. They change no registers but those below, and the code writes to no memory.
    unsafe {
        core::arch::asm!(
            "syscall",
            "cmp rax, rdx",
            "jne 2f",
            "mov rax, [{map}]",
            "mov rdi, [{map} + 8]",
            "mov rsi, [{map} + 16]",
            "mov rdx, [{map} + 24]",
            "mov r10, [{map} + 32]",
            "mov r8, [{map} + 40]",
            "mov r9, [{map} + 48]",
            "syscall",
            "2:",
            map = in(reg) map.as_ptr(),
            inlateout("rax") copy[0] => result,
            inout("rdi") copy[1] => _,
            inout("rsi") copy[2] => _,
            inout("rdx") copy[3] => _,
            inout("r10") copy[4] => _,
            out("r8") _,
            out("r9") _,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result
}

/// A system call that copies, whose fourth number is that of bytes, and one that maps what was copied, each with its number before its arguments. The second one follows
/// only if the first one copied all bytes, and the program does not write to memory between both: the memory that is copied may be the stack of this thread. Returns the
/// result of the last call.
///
/// # Safety
///
/// The calls must be ones that this process may make.
#[cfg(target_arch = "aarch64")]
unsafe fn copy_and_map(copy: [usize; 5], map: [usize; 7]) -> usize {
    let result;
    // SAFETY: the caller guarantees that the calls may be made. They change no registers but those below, and the code writes to no memory.
    unsafe {
        core::arch::asm!(
            "svc #0",
            "cmp x0, x2",
            "b.ne 2f",
            "ldr x8, [{map}]",
            "ldp x0, x1, [{map}, #8]",
            "ldp x2, x3, [{map}, #24]",
            "ldp x4, x5, [{map}, #40]",
            "svc #0",
            "2:",
            map = in(reg) map.as_ptr(),
            inout("x8") copy[0] => _,
            inlateout("x0") copy[1] => result,
            inout("x1") copy[2] => _,
            inout("x2") copy[3] => _,
            inout("x3") copy[4] => _,
            out("x4") _,
            out("x5") _,
            options(nostack),
        );
    }
    result
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the mappings any more: pages of the machine hold the arena.
        unsafe {
            libc::munmap(self.machine as *mut libc::c_void, self.bytes as usize);
            libc::munmap(START as *mut libc::c_void, self.bytes as usize);
        }
    }
}
