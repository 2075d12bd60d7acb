//! Pages of global memory: of the machine, of the caller, or shared with snapshots.

use core::fmt;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::account::{Account, Held};

/// The bytes of a page of global memory.
pub const PAGE_BYTES: usize = 1 << 16;

/// Memory of the host that a page of global memory uses: its words, in the byte order of the host.
pub type HostPage = Arc<dyn AsRef<[AtomicU32]> + Send + Sync>;

/// A source of pages of global memory, for callers that share device memory with other code of the process.
///
/// On hosts with little-endian byte order, a page has the same bytes on the host and on the device. The machine accesses its words with relaxed atomic operations; other
/// code may access them at any time.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::sync::{Arc, Mutex};
///
/// use ptx_vm::{Device, HostPage, PAGE_BYTES, PageSource};
///
/// /// Pages that the host can read without a copy, by their addresses.
/// #[derive(Debug, Default)]
/// struct Pages(Mutex<Vec<(u64, Arc<Vec<AtomicU32>>)>>);
///
/// impl PageSource for Pages {
///     fn page(&self, address: u64) -> Option<HostPage> {
///         let words = (0..PAGE_BYTES / 4).map(|_| AtomicU32::new(0)).collect();
///         let page: Arc<Vec<AtomicU32>> = Arc::new(words);
///         self.0.lock().ok()?.push((address, Arc::clone(&page)));
///         Some(page)
///     }
/// }
///
/// let pages = Arc::new(Pages::default());
/// let mut device = Device::builder().pages(Arc::clone(&pages) as Arc<dyn PageSource>).build();
/// let data = device.allocate(4).ok_or("no memory")?;
/// device.write(data, &5u32.to_le_bytes())?;
/// let used = pages.0.lock().map_err(|_| "poisoned")?;
/// let (start, words) = &used[0];
/// let word = &words[((data - start) / 4) as usize];
/// assert_eq!(u32::from_le_bytes(word.load(Ordering::Relaxed).to_ne_bytes()), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait PageSource: fmt::Debug + Send + Sync {
    /// Returns the memory of the page that begins at an address, before its first access and, after its memory was freed, possibly again. `None`, or a page with another
    /// number of words, leaves the page to the machine. A page of new memory must be zero.
    fn page(&self, address: u64) -> Option<HostPage>;
}

/// A page that can be written.
pub(super) enum Page {
    /// Memory of the machine.
    Own(Box<[AtomicU32]>),
    /// Memory of the caller.
    Host(HostPage),
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own(_) => "Own",
            Self::Host(_) => "Host",
        })
    }
}

impl Page {
    /// The words of the page.
    #[inline]
    pub(super) fn words(&self) -> &[AtomicU32] {
        match self {
            Self::Own(words) => words,
            Self::Host(page) => page.as_ref().as_ref(),
        }
    }

    /// The page at an address that the caller provides.
    pub(super) fn of_source(source: &dyn PageSource, address: u64) -> Option<Self> {
        let page = source.page(address)?;
        let words: &[AtomicU32] = page.as_ref().as_ref();
        (4 * words.len() == PAGE_BYTES).then_some(Self::Host(page))
    }

    /// A copy of the words of a page.
    pub(super) fn copy_of(words: &[AtomicU32]) -> Box<[AtomicU32]> {
        let values = words.iter().map(|word| word.load(Ordering::Relaxed));
        values.map(AtomicU32::new).collect()
    }
}

/// Pages that snapshots share, by their numbers. They do not change.
#[derive(Clone, Debug, Default)]
pub(super) struct Frozen(Arc<HashMap<u64, Arc<FrozenPage>>>);

#[derive(Debug)]
struct FrozenPage {
    words: Box<[AtomicU32]>,
    /// The memory of the page, which is released with it.
    _held: Held,
}

impl Frozen {
    pub(super) fn get(&self, number: u64) -> Option<&[AtomicU32]> {
        Some(&self.0.get(&number)?.words)
    }

    /// Adds a page, whose memory the account already counts.
    pub(super) fn insert(&mut self, number: u64, words: Box<[AtomicU32]>, account: &Arc<Account>) {
        let held = Held::counted(Arc::clone(account), PAGE_BYTES as u64);
        let page = FrozenPage { words, _held: held };
        Arc::make_mut(&mut self.0).insert(number, Arc::new(page));
    }

    /// The numbers of all pages.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.0.keys().copied()
    }

    /// Removes pages.
    pub(super) fn remove(&mut self, numbers: core::ops::Range<u64>) {
        if self.0.is_empty() || numbers.is_empty() {
            return;
        }
        let pages = Arc::make_mut(&mut self.0);
        if numbers.end - numbers.start < pages.len() as u64 {
            for number in numbers {
                pages.remove(&number);
            }
        } else {
            pages.retain(|number, _| !numbers.contains(number));
        }
    }
}
