//! The set of written bytes of a memory.

/// The bits of a word of a page.
const WORD_BITS: u64 = 64;

/// A set of bytes as a table of two levels, whose parts exist from their first use on.
///
/// ```text
/// base ─▶ │ part │ part │ part │ …        64 pages each: none, some or all of their bytes are in the set
///            │
///            └─▶ │ page │ page │ …        none, some or all of its bytes are in the set
///                   │
///                   └─▶ words with a bit for each byte
/// ```
#[derive(Clone, Debug)]
pub(crate) struct WrittenBytes {
    /// All bytes before this address are in the set.
    base: u64,
    /// The binary logarithm of the bytes of a page.
    page_shift: u32,
    parts: Vec<Part>,
    /// The words of memory that pages and lists of pages use.
    words: u64,
}

/// The pages of a part.
const PART_PAGES: usize = 64;
/// The words of memory of the list of the pages of a part.
const LIST_WORDS: u64 = (size_of::<[Page; PART_PAGES]>() / 8) as u64;

impl Page {
    const fn words(&self) -> u64 {
        match self {
            Self::Some(words) => words.len() as u64,
            Self::None | Self::All => 0,
        }
    }
}

/// The pages of a part of the set.
#[derive(Clone, Debug, Default)]
enum Part {
    #[default]
    None,
    Some(Box<[Page; PART_PAGES]>),
    All,
}

/// The bytes of a page.
#[derive(Clone, Debug, Default)]
enum Page {
    #[default]
    None,
    Some(Box<[u64]>),
    All,
}

impl WrittenBytes {
    /// The set of the bytes before `base`. `page_bytes` is a power of two and at least 64.
    pub(crate) const fn new(base: u64, page_bytes: u64) -> Self {
        Self {
            base,
            page_shift: page_bytes.ilog2(),
            parts: Vec::new(),
            words: 0,
        }
    }

    /// Adds bytes.
    pub(crate) fn insert(&mut self, start: u64, bytes: u64) {
        self.change(start, bytes, true);
    }

    /// Removes bytes.
    pub(crate) fn remove(&mut self, start: u64, bytes: u64) {
        self.change(start, bytes, false);
    }

    /// The first byte of a range that is not in the set.
    #[inline]
    pub(crate) fn first_missing(&self, start: u64, bytes: u64) -> Option<u64> {
        let (mut offset, end) = self.offsets(start, bytes);
        while offset < end {
            let bits = (WORD_BITS - offset % WORD_BITS).min(end - offset);
            let missing = mask(offset % WORD_BITS, bits) & !self.word(offset);
            if missing != 0 {
                let first = u64::from(missing.trailing_zeros());
                return Some(self.base + offset - offset % WORD_BITS + first);
            }
            offset += bits;
        }
        None
    }

    /// Whether a byte of a range is in the set.
    pub(crate) fn has_any(&self, start: u64, bytes: u64) -> bool {
        (0..bytes).any(|byte| self.first_missing(start.saturating_add(byte), 1).is_none())
    }

    /// Whether an element of a range has no byte in the set.
    pub(crate) fn lacks_element(&self, start: u64, bytes: u64, element: u64) -> bool {
        (0..bytes).step_by(element.max(1) as usize).any(|offset| {
            (start + offset..start + (offset + element).min(bytes))
                .all(|address| self.first_missing(address, 1).is_some())
        })
    }

    const fn page_bytes(&self) -> u64 {
        1 << self.page_shift
    }

    /// The start and the end of the part of a range that is not before the base, relative to the base.
    const fn offsets(&self, start: u64, bytes: u64) -> (u64, u64) {
        let end = start.saturating_add(bytes);
        (
            start.saturating_sub(self.base),
            end.saturating_sub(self.base),
        )
    }

    /// The word that contains the bit of an offset.
    #[inline]
    fn word(&self, offset: u64) -> u64 {
        let page = (offset >> self.page_shift) as usize;
        let pages = match self.parts.get(page / PART_PAGES) {
            Some(Part::Some(pages)) => pages,
            Some(Part::All) => return u64::MAX,
            _ => return 0,
        };
        match pages.get(page % PART_PAGES) {
            Some(Page::Some(words)) => words
                .get(((offset & (self.page_bytes() - 1)) / WORD_BITS) as usize)
                .copied()
                .unwrap_or(0),
            Some(Page::All) => u64::MAX,
            _ => 0,
        }
    }

    /// Adds the bytes of a range to the set if `written`, and removes them otherwise.
    fn change(&mut self, start: u64, bytes: u64, written: bool) {
        let (mut offset, end) = self.offsets(start, bytes);
        let part_bytes = self.page_bytes() * PART_PAGES as u64;
        while offset < end {
            if offset.is_multiple_of(part_bytes) && end - offset >= part_bytes {
                self.change_part((offset / part_bytes) as usize, written);
                offset += part_bytes;
                continue;
            }
            let bytes_to_page_end = self.page_bytes() - (offset & (self.page_bytes() - 1));
            let bytes_in_page = bytes_to_page_end.min(end - offset);
            self.change_page(offset, bytes_in_page, written);
            offset += bytes_in_page;
        }
    }

    /// The memory in use, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.words * 8 + (self.parts.len() * size_of::<Part>()) as u64
    }

    /// Changes all bytes of a part.
    fn change_part(&mut self, index: usize, written: bool) {
        if index >= self.parts.len() {
            if !written {
                return;
            }
            self.parts.resize_with(index + 1, Part::default);
        }
        if let Some(part) = self.parts.get_mut(index) {
            if let Part::Some(pages) = part {
                let pages: u64 = pages.iter().map(Page::words).sum();
                self.words -= pages + LIST_WORDS;
            }
            *part = if written { Part::All } else { Part::None };
        }
    }

    /// A page, unless all its bytes are already in the set (`written`) or none is.
    fn page_mut(&mut self, index: usize, written: bool) -> Option<&mut Page> {
        if index / PART_PAGES >= self.parts.len() {
            if !written {
                return None;
            }
            self.parts
                .resize_with(index / PART_PAGES + 1, Part::default);
        }
        let part = self.parts.get_mut(index / PART_PAGES)?;
        let uniform_page = match (&part, written) {
            (Part::All, true) | (Part::None, false) => return None,
            (Part::All, false) => Some(Page::All),
            (Part::None, true) => Some(Page::None),
            (Part::Some(_), _) => None,
        };
        if let Some(page) = uniform_page {
            let pages = core::array::from_fn(|_| page.clone());
            *part = Part::Some(Box::new(pages));
            self.words += LIST_WORDS;
        }
        match part {
            Part::Some(pages) => pages.get_mut(index % PART_PAGES),
            Part::None | Part::All => None,
        }
    }

    /// Changes bytes of one page.
    fn change_page(&mut self, start: u64, bytes: u64, written: bool) {
        let index = (start >> self.page_shift) as usize;
        let page_bytes = self.page_bytes();
        let words = (page_bytes / WORD_BITS) as usize;
        let Some(page) = self.page_mut(index, written) else {
            return;
        };
        let words_before = page.words();
        if bytes == page_bytes {
            *page = if written { Page::All } else { Page::None };
            self.words -= words_before;
            return;
        }
        match (&page, written) {
            (Page::All, true) | (Page::None, false) => return,
            (Page::All, false) => *page = Page::Some(vec![u64::MAX; words].into()),
            (Page::None, true) => *page = Page::Some(vec![0; words].into()),
            (Page::Some(_), _) => {}
        }
        let Page::Some(page_words) = page else {
            return;
        };
        let added = page_words.len() as u64 - words_before;
        let mut position = start & (page_bytes - 1);
        let end = position + bytes;
        while position < end {
            let count = (WORD_BITS - position % WORD_BITS).min(end - position);
            let bits = mask(position % WORD_BITS, count);
            if let Some(word) = page_words.get_mut((position / WORD_BITS) as usize) {
                *word = if written { *word | bits } else { *word & !bits };
            }
            position += count;
        }
        self.words += added;
    }
}

/// A mask of `count` bits from a position on.
const fn mask(position: u64, count: u64) -> u64 {
    let ones = if count >= WORD_BITS {
        u64::MAX
    } else {
        (1 << count) - 1
    };
    ones << position
}
