//! The items and wires of a region, and its layout.

use super::{End, Line, Point, Rect, Size};

/// A box or port that is placed in a region.
#[derive(Copy, Clone)]
pub(super) struct Item {
    pub(super) size: Size,
    pub(super) role: Role,
}

#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum Role {
    /// A box of the input.
    Box(usize),
    /// A nested region.
    Region(usize),
    /// A port where edges enter the region, at its upper border.
    Entry,
    /// A port where edges leave the region, at its lower border.
    Exit,
}

impl Role {
    /// The end of a line that leads to an item of this role.
    pub(super) fn end(self) -> End {
        match self {
            Self::Box(_) => End::Box,
            _ => End::Border,
        }
    }
}

/// An edge between two items of a region. Several edges of the input share a wire where they have the same ends and kind.
#[derive(Copy, Clone)]
pub(super) struct Wire {
    pub(super) from: WireEnd,
    pub(super) to: WireEnd,
    /// The first of the edges that share the wire.
    pub(super) edge: usize,
    pub(super) kind: u8,
    pub(super) fans_out: bool,
}

/// An end of a wire.
#[derive(Copy, Clone)]
pub(super) struct WireEnd {
    pub(super) item: usize,
    /// If the item is a nested region, the entry or exit of that region where the wire ends.
    pub(super) port: Option<usize>,
    /// If the item is a nested region, the distance of the port from the left. It is known when that region is laid out.
    pub(super) x: Option<f64>,
}

impl WireEnd {
    /// An end at an item that is not a nested region.
    pub(super) fn item(item: usize) -> Self {
        Self {
            item,
            port: None,
            x: None,
        }
    }

    /// An end at a port of a nested region.
    pub(super) fn port(item: usize, port: usize) -> Self {
        Self {
            item,
            port: Some(port),
            x: None,
        }
    }
}

/// A region that is laid out, with its upper left corner at the origin.
pub(super) struct Arranged {
    pub(super) size: Size,
    pub(super) items: Vec<Rect>,
    pub(super) lines: Vec<Line>,
    /// The edges that leave boxes of the region, and the points where they do.
    pub(super) starts: Vec<(usize, Point)>,
}
