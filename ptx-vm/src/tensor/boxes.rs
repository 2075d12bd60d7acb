//! The elements of a tensor that a copy accesses, as rows that are contiguous in global and in shared memory: manual 5.5.3 to 5.5.6.

use super::element::TensorInterleave;
use super::map::{Column, MAX_RANK, Mode, TensorMap};

/// The coordinates of a copy, and the elements that it accesses there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Area {
    /// The coordinates, dimension 0 first.
    pub(crate) coordinates: Vec<i32>,
    pub(crate) selection: Selection,
}

/// The elements that a copy accesses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Selection {
    /// The box of the map.
    Box,
    /// Rows of a tensor of two dimensions. The coordinates are one in dimension 0, and those of the rows.
    Rows,
    /// A column of pixels. The offsets are added to the coordinates of each pixel, dimension 1 first.
    Column(Vec<u32>),
    /// A column of pixels in dimension 1.
    WideColumn {
        /// The number of pixels that are accessed in addition.
        halo: u32,
        /// The distance that the box and the first pixel are moved.
        offset: u32,
        /// The column has 128 pixels, and the halo follows after each 32 pixels. Otherwise it follows after the last pixel of the map.
        is_128: bool,
    },
}

/// Adjacent elements of a tensor that are adjacent in shared memory before swizzling, too.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    /// The offset of the first element in shared memory, from the beginning of the copy, before swizzling. A multiple of 16.
    pub(crate) shared: u64,
    /// The address of the first element; `None` if the row is outside of the tensor in a dimension other than 0.
    pub(crate) address: Option<u64>,
    /// The coordinate of the first element in dimension 0.
    pub(crate) first: i64,
    /// The number of elements.
    pub(crate) elements: u32,
}

/// A pixel, by its coordinates in dimensions 1 to 4; those of dimensions that the tensor does not have are 0.
type Pixel = [i64; MAX_RANK - 1];

/// Pixels in the order in which they are accessed.
#[derive(Clone, Debug)]
enum Pixels {
    /// A box: the first pixel, the step and the number of pixels in each dimension.
    Box {
        first: Pixel,
        steps: Pixel,
        counts: [u64; MAX_RANK - 1],
    },
    /// At most 2^11 pixels.
    List(Vec<Pixel>),
}

impl Pixels {
    fn count(&self) -> u64 {
        match self {
            Self::Box { counts, .. } => counts.iter().product(),
            Self::List(pixels) => pixels.len() as u64,
        }
    }

    fn get(&self, index: u64) -> Pixel {
        match self {
            Self::Box {
                first,
                steps,
                counts,
            } => {
                let mut remaining = index;
                core::array::from_fn(|dim| {
                    let position = remaining % counts[dim].max(1);
                    remaining /= counts[dim].max(1);
                    first[dim] + position as i64 * steps[dim]
                })
            }
            Self::List(pixels) => pixels.get(index as usize).copied().unwrap_or_default(),
        }
    }
}

/// The rows of an area, in the order of shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Rows<'a> {
    map: &'a TensorMap,
    pixels: Pixels,
    /// The slices of an interleaved layout; one slice of the whole row without.
    slices: Slices,
    /// The number of pixels after which the next slice begins.
    pixels_of_slice: u64,
    index: u64,
}

/// The slices in dimension 0.
#[derive(Copy, Clone, Debug)]
struct Slices {
    /// The coordinate of the first element of the first slice.
    first: i64,
    /// The number of elements of a slice.
    elements: u32,
    count: u64,
    /// The distance of slices in elements.
    step: i64,
    /// The distance of adjacent slices in bytes; 0 if there is one slice.
    stride: u64,
    /// The bytes of a slice in shared memory.
    shared_bytes: u64,
}

impl<'a> Rows<'a> {
    /// The rows of an area of a valid map. The error is a sentence.
    pub(crate) fn new(map: &'a TensorMap, area: &Area) -> Result<Self, String> {
        let coordinates = &area.coordinates;
        let rank = match area.selection {
            Selection::Rows => 2,
            _ => coordinates.len(),
        };
        if map.rank() != rank {
            let found = map.rank();
            return Err(format!(
                "the tensor map has {found} dimensions, but the instruction expects {rank}"
            ));
        }
        let slices = slices(map, coordinates.first().copied().unwrap_or(0))?;
        let (pixels, pixels_of_slice) = match (&map.mode, &area.selection) {
            (Mode::Tile(box_dims), Selection::Box) => {
                let pixels = box_pixels(map, box_dims, coordinates);
                let images = match &pixels {
                    Pixels::Box { counts, .. } if rank > 2 => counts[rank - 2],
                    _ => 1,
                };
                let pixels_of_slice = pixels.count() / images.max(1);
                (pixels, pixels_of_slice)
            }
            (Mode::Tile(box_dims), Selection::Rows) => {
                check_rows(map, box_dims)?;
                let pixels = coordinates[1..].iter().map(|row| [(*row).into(), 0, 0, 0]);
                let pixels: Vec<Pixel> = pixels.collect();
                let count = pixels.len() as u64;
                (Pixels::List(pixels), count)
            }
            (Mode::Im2col(column), Selection::Column(offsets)) => {
                let pixels = column_pixels(map, column, coordinates, offsets)?;
                let count = pixels.len() as u64;
                (Pixels::List(pixels), count)
            }
            (
                Mode::Wide(column),
                &Selection::WideColumn {
                    halo,
                    offset,
                    is_128,
                },
            ) => {
                let pixels = wide_pixels(map, column, coordinates, [halo, offset], is_128)?;
                let count = pixels.len() as u64;
                (Pixels::List(pixels), count)
            }
            (mode, selection) => return Err(wrong_mode(mode, selection)),
        };
        Ok(Self {
            map,
            pixels,
            slices,
            pixels_of_slice,
            index: 0,
        })
    }

    /// The number of bytes of shared memory, with gaps.
    pub(crate) fn shared_bytes(&self) -> u64 {
        let rows = self.pixels.count().saturating_mul(self.slices.count);
        rows.saturating_mul(self.slices.shared_bytes)
    }

    /// The number of bytes that are copied, including those of elements outside of the tensor, but not the gaps in shared memory.
    pub(crate) fn bytes(&self) -> u64 {
        let elements = u64::from(self.slices.elements);
        let rows = self.pixels.count().saturating_mul(self.slices.count);
        rows.saturating_mul(elements * u64::from(self.map.element.bits()) / 8)
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        // Rows of a slice are adjacent, and slices of an image.
        let slices = self.slices;
        let rows_of_image = self.pixels_of_slice * slices.count;
        if self.index >= self.pixels.count().saturating_mul(slices.count) {
            return None;
        }
        let (image, row) = (self.index / rows_of_image, self.index % rows_of_image);
        let (slice, pixel) = (row / self.pixels_of_slice, row % self.pixels_of_slice);
        let pixel = self.pixels.get(image * self.pixels_of_slice + pixel);
        let map = self.map;
        let mut dims = pixel.iter().zip(&map.dims[1..]);
        let is_inside = dims.all(|(&coordinate, &dim)| {
            u64::try_from(coordinate).is_ok_and(|coordinate| coordinate < dim)
        });
        let first = slices.first + slice as i64 * slices.step;
        let address = is_inside.then(|| {
            let start = map.address.wrapping_add(offset_in_row(map, &slices, first));
            let offsets = pixel.iter().zip(&map.strides);
            offsets.fold(start, |address, (&coordinate, &stride)| {
                address.wrapping_add((coordinate as u64).wrapping_mul(stride))
            })
        });
        let shared = self.index * slices.shared_bytes;
        self.index += 1;
        Some(Row {
            shared,
            address,
            first,
            elements: slices.elements,
        })
    }
}

/// The offset in bytes of a coordinate in dimension 0, which is that of the first element of a slice.
fn offset_in_row(map: &TensorMap, slices: &Slices, coordinate: i64) -> u64 {
    if slices.stride == 0 {
        (coordinate * i64::from(map.element.bits()) / 8) as u64
    } else {
        let slice = coordinate / i64::from(slices.elements);
        (slice as u64).wrapping_mul(slices.stride)
    }
}

/// The slices that an access at a coordinate in dimension 0 has.
fn slices(map: &TensorMap, coordinate: i32) -> Result<Slices, String> {
    let unit = map.element.unit();
    let elements = map.row_elements();
    let slice_bytes = map.interleave.slice_bytes();
    let multiple = match map.interleave {
        TensorInterleave::None if map.element.is_padded() => 128,
        TensorInterleave::None => unit.elements,
        _ => slice_bytes / unit.global_bytes,
    };
    if !i64::from(coordinate)
        .unsigned_abs()
        .is_multiple_of(multiple.into())
    {
        return Err(format!(
            "coordinate 0 is {coordinate}, but a multiple of {multiple} is expected for this tensor map"
        ));
    }
    if map.interleave == TensorInterleave::None {
        return Ok(Slices {
            first: coordinate.into(),
            elements,
            count: 1,
            step: 0,
            stride: 0,
            shared_bytes: u64::from(elements / unit.elements * unit.shared_bytes),
        });
    }
    let rank = map.rank();
    let step = map.steps.first().copied().unwrap_or(1).max(1);
    Ok(Slices {
        first: coordinate.into(),
        elements: multiple,
        count: (elements / multiple).div_ceil(step).into(),
        step: i64::from(multiple) * i64::from(step),
        // A slice contains the pixels of an image.
        stride: map.strides[rank - 3].wrapping_mul(map.dims[rank - 2]),
        shared_bytes: slice_bytes.into(),
    })
}

/// The pixels of a box at coordinates.
fn box_pixels(map: &TensorMap, box_dims: &[u32], coordinates: &[i32]) -> Pixels {
    let (mut first, mut steps, mut counts) = ([0; 4], [1; 4], [1; 4]);
    for dim in 1..map.rank() {
        first[dim - 1] = coordinates[dim].into();
        steps[dim - 1] = map.steps[dim].into();
        counts[dim - 1] = box_dims[dim].div_ceil(map.steps[dim].max(1)).into();
    }
    Pixels::Box {
        first,
        steps,
        counts,
    }
}

/// Checks that a map describes rows that may be gathered and scattered.
fn check_rows(map: &TensorMap, box_dims: &[u32]) -> Result<(), String> {
    if box_dims[1] != 1 {
        let found = box_dims[1];
        return Err(format!(
            "box_dim[1] of the tensor map is {found}, but 1 is expected for rows"
        ));
    }
    if map.interleave != TensorInterleave::None {
        return Err(
            "the tensor map is interleaved, but rows of tensors without interleave are expected"
                .into(),
        );
    }
    Ok(())
}

/// The box of a column: the first and the last coordinate in each dimension.
fn column_box(map: &TensorMap, column: &Column, offset: i64) -> Vec<(i64, i64)> {
    let corners = column.lower.iter().zip(&column.upper).zip(&map.dims[1..]);
    corners
        .map(|((&lower, &upper), &dim)| {
            let last = dim as i64 - 1 + i64::from(upper);
            (i64::from(lower) + offset, last + offset)
        })
        .collect()
}

/// Moves to the next pixel of a column: along dimension 1 to the end of the box, then in the next dimension of the box, and then to the next image.
fn advance(pixel: &mut Pixel, map: &TensorMap, limits: &[(i64, i64)]) {
    for (dim, &(first, last)) in limits.iter().enumerate() {
        pixel[dim] += i64::from(map.steps[dim + 1]);
        if pixel[dim] <= last {
            return;
        }
        pixel[dim] = first;
    }
    pixel[map.rank() - 2] += 1;
}

/// The first pixel of a column, which is at the coordinates.
fn first_pixel(coordinates: &[i32]) -> Pixel {
    core::array::from_fn(|dim| coordinates.get(dim + 1).map_or(0, |c| (*c).into()))
}

/// The pixels of a column in im2col mode.
fn column_pixels(
    map: &TensorMap,
    column: &Column,
    coordinates: &[i32],
    offsets: &[u32],
) -> Result<Vec<Pixel>, String> {
    let limits = column_box(map, column, 0);
    let mut pixel = first_pixel(coordinates);
    for (dim, (&coordinate, &(first, last))) in pixel.iter().zip(&limits).enumerate() {
        if !(first..=last).contains(&coordinate) {
            return Err(format!(
                "coordinate {} is {coordinate}, but {first} to {last} is expected: the first pixel has to be in the box of the tensor map",
                dim + 1
            ));
        }
    }
    let limit: u32 = match map.rank() {
        3 => 1 << 16,
        4 => 1 << 8,
        _ => 1 << 5,
    };
    if let Some(offset) = offsets.iter().find(|offset| **offset >= limit) {
        return Err(format!(
            "the im2col offset is {offset}, but 0 to {} is expected",
            limit - 1
        ));
    }
    let mut pixels = Vec::new();
    for _ in 0..column.pixels {
        let mut accessed = pixel;
        for (coordinate, offset) in accessed.iter_mut().zip(offsets) {
            *coordinate += i64::from(*offset);
        }
        pixels.push(accessed);
        advance(&mut pixel, map, &limits);
    }
    Ok(pixels)
}

/// The pixels of a column in the modes `im2col::w` and `im2col::w::128`.
fn wide_pixels(
    map: &TensorMap,
    column: &Column,
    coordinates: &[i32],
    [halo, offset]: [u32; 2],
    is_128: bool,
) -> Result<Vec<Pixel>, String> {
    let halo_limit = if is_128 { 32 } else { 512 };
    for (name, value, limit) in [("wHalo", halo, halo_limit), ("wOffset", offset, 32)] {
        if value >= limit {
            return Err(format!(
                "{name} is {value}, but 0 to {} is expected",
                limit - 1
            ));
        }
    }
    let (count, group) = if is_128 {
        (128, 32)
    } else {
        (column.pixels, column.pixels)
    };
    if count == 0 {
        return Err(
            "the number of pixels per column of the tensor map is 0, but 1 to 1024 is expected"
                .into(),
        );
    }
    let limits = column_box(map, column, offset.into());
    let mut pixel = first_pixel(coordinates);
    pixel[0] += i64::from(offset);
    if let Some(&(first, last)) = limits.first()
        && pixel[0] > last
    {
        return Err(format!(
            "the first pixel is at {} in dimension 1, but it is expected in the box from {first} to {last} or left of it",
            pixel[0]
        ));
    }
    let mut pixels = Vec::new();
    for _ in 0..count / group {
        for _ in 0..group {
            pixels.push(pixel);
            advance(&mut pixel, map, &limits);
        }
        let mut halo_pixel = pixel;
        for _ in 0..halo {
            pixels.push(halo_pixel);
            advance(&mut halo_pixel, map, &limits);
        }
    }
    Ok(pixels)
}

/// The error of a map that is used in a mode that it was not made for.
fn wrong_mode(mode: &Mode, selection: &Selection) -> String {
    let made_for = match mode {
        Mode::Tile(_) => "tiles",
        Mode::Im2col(_) => "im2col",
        Mode::Wide(_) => "im2col::w",
    };
    let used_for = match selection {
        Selection::Box | Selection::Rows => "tiles",
        Selection::Column(_) => "im2col",
        Selection::WideColumn { .. } => "im2col::w",
    };
    format!("the tensor map is one for {made_for}, but one for {used_for} is expected")
}
