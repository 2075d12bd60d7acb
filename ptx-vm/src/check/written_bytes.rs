//! The set of written bytes of a memory.

/// Bits of a word of a page.
const WORD: u64 = 64;

/// A set of bytes, whose pages exist from their first use on.
#[derive(Clone, Debug)]
pub(crate) struct WrittenBytes {
    /// All bytes before this address are in the set.
    base: u64,
    /// The binary logarithm of the bytes of a page.
    page: u32,
    parts: Vec<Part>,
    /// The pages and lists of pages that exist, in words of memory.
    words: u64,
}

/// Pages of a part.
const PART: usize = 64;
/// The words of the list of the pages of a part.
const LIST: u64 = (size_of::<[Page; PART]>() / 8) as u64;

impl Page {
    const fn words(&self) -> u64 {
        match self {
            Self::Some(words) => words.len() as u64,
            Self::None | Self::All => 0,
        }
    }
}

#[derive(Clone, Debug, Default)]
enum Part {
    #[default]
    None,
    Some(Box<[Page; PART]>),
    All,
}

#[derive(Clone, Debug, Default)]
enum Page {
    #[default]
    None,
    Some(Box<[u64]>),
    All,
}

impl WrittenBytes {
    /// The bytes before an address; those of a page are a power of two and at least 64.
    pub(crate) const fn new(base: u64, page: u64) -> Self {
        Self {
            base,
            page: page.ilog2(),
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
        let (mut at, end) = self.range(start, bytes);
        while at < end {
            let rest_of_word = WORD - at % WORD;
            let part = rest_of_word.min(end - at);
            let expected_bits = mask(at % WORD, part);
            let missing = expected_bits & !self.word(at);
            if missing != 0 {
                return Some(self.base + at - at % WORD + u64::from(missing.trailing_zeros()));
            }
            at += part;
        }
        None
    }

    /// Whether a byte of a range is in the set.
    pub(crate) fn has_any(&self, start: u64, bytes: u64) -> bool {
        (0..bytes).any(|byte| self.first_missing(start.saturating_add(byte), 1).is_none())
    }

    /// Whether an element of a range has no byte in the set.
    pub(crate) fn lacks_element(&self, start: u64, bytes: u64, element: u64) -> bool {
        let mut elements = (0..bytes).step_by(element.max(1) as usize);
        elements.any(|at| {
            let mut bytes_of_element = start + at..start + (at + element).min(bytes);
            bytes_of_element.all(|byte| self.first_missing(byte, 1).is_some())
        })
    }

    const fn page_bytes(&self) -> u64 {
        1 << self.page
    }

    /// The part of a range from the base on, in relation to it.
    const fn range(&self, start: u64, bytes: u64) -> (u64, u64) {
        let end = start.saturating_add(bytes);
        (
            start.saturating_sub(self.base),
            end.saturating_sub(self.base),
        )
    }

    #[inline]
    fn word(&self, at: u64) -> u64 {
        let page = (at >> self.page) as usize;
        let pages = match self.parts.get(page / PART) {
            Some(Part::Some(pages)) => pages,
            Some(Part::All) => return u64::MAX,
            _ => return 0,
        };
        match pages.get(page % PART) {
            Some(Page::Some(words)) => words
                .get(((at & (self.page_bytes() - 1)) / WORD) as usize)
                .copied()
                .unwrap_or(0),
            Some(Page::All) => u64::MAX,
            _ => 0,
        }
    }

    fn change(&mut self, start: u64, bytes: u64, written: bool) {
        let (mut at, end) = self.range(start, bytes);
        let part_bytes = self.page_bytes() * PART as u64;
        while at < end {
            if at.is_multiple_of(part_bytes) && end - at >= part_bytes {
                self.change_part((at / part_bytes) as usize, written);
                at += part_bytes;
                continue;
            }
            let rest_of_page = self.page_bytes() - (at & (self.page_bytes() - 1));
            let part = rest_of_page.min(end - at);
            self.change_page(at, part, written);
            at += part;
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
                self.words -= pages + LIST;
            }
            *part = if written { Part::All } else { Part::None };
        }
    }

    /// A page, if it is not already in the state that it is to be in.
    fn page_mut(&mut self, index: usize, written: bool) -> Option<&mut Page> {
        if index / PART >= self.parts.len() {
            if !written {
                return None;
            }
            self.parts.resize_with(index / PART + 1, Part::default);
        }
        let part = self.parts.get_mut(index / PART)?;
        let filled = match (&part, written) {
            (Part::All, true) | (Part::None, false) => return None,
            (Part::All, false) => Some(Page::All),
            (Part::None, true) => Some(Page::None),
            (Part::Some(_), _) => None,
        };
        if let Some(page) = filled {
            let pages = core::array::from_fn(|_| page.clone());
            *part = Part::Some(Box::new(pages));
            self.words += LIST;
        }
        match part {
            Part::Some(pages) => pages.get_mut(index % PART),
            Part::None | Part::All => None,
        }
    }

    /// Changes bytes of one page.
    fn change_page(&mut self, start: u64, bytes: u64, written: bool) {
        let index = (start >> self.page) as usize;
        let page_bytes = self.page_bytes();
        let words = (page_bytes / WORD) as usize;
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
        let Page::Some(all) = page else { return };
        let added = all.len() as u64 - words_before;
        let mut position = start & (page_bytes - 1);
        let end = position + bytes;
        while position < end {
            let part = (WORD - position % WORD).min(end - position);
            let bits = mask(position % WORD, part);
            if let Some(word) = all.get_mut((position / WORD) as usize) {
                *word = if written { *word | bits } else { *word & !bits };
            }
            position += part;
        }
        self.words += added;
    }
}

/// Bits from a position on.
const fn mask(at: u64, bits: u64) -> u64 {
    let ones = if bits >= WORD {
        u64::MAX
    } else {
        (1 << bits) - 1
    };
    ones << at
}
