//! Loads, stores and atomic reductions of surfaces.

use ptx_isa::{Modifier, ScalarType, TypeKind};

use super::execution::{Control, Execution, Failed, Outcome};
use super::location::Location;
use super::opaque::{Geometry, invalid};
use super::touch::Use;
use crate::error::StopReason;
use crate::lanes::{Place, lanes};
use crate::program::{Act, Address};
use crate::texture::{SurfaceObject, TexelFormat};

/// An access to a surface.
struct SurfaceAccess<'a> {
    surface: &'a Address,
    coordinates: &'a [Place],
    /// The values that are stored, or the places of the loaded ones.
    values: &'a [Place],
    geometry: Geometry,
    /// The type of an element.
    ty: ScalarType,
    /// The number of elements.
    elements: usize,
    /// The first coordinate counts texels, whose format determines the bytes; otherwise bytes.
    is_formatted: bool,
    kind: AccessKind,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum AccessKind {
    Load,
    Store,
    Reduce(Operator),
}

/// An operation of a reduction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Operator {
    Add,
    Min,
    Max,
    And,
    Or,
}

impl Operator {
    const fn of(modifier: Modifier) -> Option<Self> {
        Some(match modifier {
            Modifier::Add => Self::Add,
            Modifier::Min => Self::Min,
            Modifier::Max => Self::Max,
            Modifier::And => Self::And,
            Modifier::Or => Self::Or,
            _ => return None,
        })
    }

    /// The result for integers of a number of bits.
    fn apply(self, old: u64, value: u64, bits: u32, is_signed: bool) -> u64 {
        let unused = 64 - bits;
        // The order of signed numbers is that of unsigned ones with the highest bit inverted.
        let order = |number: u64| {
            let sign = u64::from(is_signed) << 63;
            (number << unused) ^ sign
        };
        match self {
            Self::Add => old.wrapping_add(value),
            Self::And => old & value,
            Self::Or => old | value,
            Self::Min if order(value) < order(old) => value,
            Self::Max if order(value) > order(old) => value,
            Self::Min | Self::Max => old,
        }
    }
}

impl<'a> SurfaceAccess<'a> {
    fn of(act: &'a Act) -> Option<Self> {
        let operator = act.modifiers.iter().find_map(|m| Operator::of(*m));
        let mut types = act.modifiers.iter().filter_map(|m| m.scalar_type());
        let mut lengths = act.modifiers.iter().filter_map(|m| m.vector_len());
        // A load names its results first.
        let (surface, values, kind) = match (act.address(0), operator) {
            (None, _) => (1, 0, AccessKind::Load),
            (Some(_), None) => (0, 2, AccessKind::Store),
            (Some(_), Some(operator)) => (0, 2, AccessKind::Reduce(operator)),
        };
        Some(Self {
            surface: act.address(surface)?,
            coordinates: act.all_places(surface + 1),
            values: act.all_places(values),
            geometry: Geometry::of(act)?,
            ty: types.next()?,
            elements: lengths.next().map_or(1, usize::from),
            is_formatted: act.has(Modifier::P),
            kind,
        })
    }

    /// The bytes of an access to texels of a format.
    fn bytes(&self, format: TexelFormat) -> u64 {
        if self.is_formatted {
            format.bytes().into()
        } else {
            u64::from(self.ty.bits() / 8) * self.elements as u64
        }
    }
}

/// The treatment of coordinates outside of a surface.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Outside {
    Trap,
    Clamp,
    /// Loads give zero, and stores do nothing.
    Zero,
}

impl Outside {
    fn of(act: &Act) -> Self {
        if act.has(Modifier::Clamp) {
            Self::Clamp
        } else if act.has(Modifier::Zero) {
            Self::Zero
        } else {
            Self::Trap
        }
    }
}

impl Execution<'_> {
    /// Accesses a surface.
    pub(super) fn access_surface(&mut self, act: &Act) -> Outcome {
        let first = self.first();
        let access = SurfaceAccess::of(act);
        let access = access.ok_or_else(|| invalid("unsupported operands".into(), first))?;
        let outside = Outside::of(act);
        for lane in lanes(self.active) {
            let surface = self.surface(access.surface, lane)?;
            access.geometry.check_surface(&surface.array, lane)?;
            let format = surface.array.description.format;
            let location = match self.surface_location(&access, surface, outside, lane) {
                Ok(location) => location,
                Err(failed) => {
                    // A checker that reports the access skips it, as other impossible ones.
                    let is_reported =
                        self.observe(|observer, execution| observer.failed(execution, &failed));
                    if is_reported != Some(true) {
                        return Err(failed);
                    }
                    continue;
                }
            };
            self.perform_surface_access(&access, format, location, lane)?;
        }
        Ok(Control::Next)
    }

    /// The location of an access of a lane; `None` outside of the surface if there is no access.
    fn surface_location(
        &self,
        access: &SurfaceAccess<'_>,
        surface: &SurfaceObject,
        outside: Outside,
        lane: usize,
    ) -> Result<Option<Location>, Failed> {
        let array = &surface.array;
        let description = &array.description;
        let [_, height, depth] = description.level_size(surface.level).map(i64::from);
        let mut values = access
            .coordinates
            .iter()
            .map(|place| self.get(*place, lane) as u32);
        let layer = if access.geometry.has_layers {
            values.next()
        } else {
            None
        };
        let mut values = values
            .take(access.geometry.coordinates)
            .map(|bits| i64::from(bits.cast_signed()));
        let [x, y, z] = core::array::from_fn(|_| values.next().unwrap_or(0));
        let bytes = access.bytes(description.format) as i64;
        let x = if access.is_formatted { x * bytes } else { x };
        let row_bytes = array.row_bytes(surface.level) as i64;
        let images = i64::from(description.images());
        let layer = i64::from(layer.unwrap_or(0));
        let last = [row_bytes - bytes, height - 1, depth - 1, images - 1];
        let found = [x, y, z, layer];
        let is_outside = |(number, last): (i64, i64)| number < 0 || number > last;
        let mut position = found;
        if found.into_iter().zip(last).any(is_outside) {
            match outside {
                Outside::Trap => {
                    let message = format!(
                        "an access of {bytes} bytes at byte {x}, row {y}, slice {z}, layer {layer} is outside of the surface with {row_bytes} bytes in a row, {height} rows, {depth} slices, {images} layers"
                    );
                    return Err((StopReason::OutsideSurface(message), lane));
                }
                // An access longer than a row has no nearest place.
                Outside::Clamp if last[0] >= 0 => {
                    for (number, last) in position.iter_mut().zip(last) {
                        *number = (*number).clamp(0, last);
                    }
                }
                _ => return Ok(None),
            }
        }
        let [x, y, z, layer] = position;
        let row = array.row(surface.level, layer as u32, [y as u32, z as u32]);
        Ok(Some(Location::Global(row + x as u64)))
    }

    /// Performs the access of a lane.
    fn perform_surface_access(
        &mut self,
        access: &SurfaceAccess<'_>,
        format: TexelFormat,
        location: Option<Location>,
        lane: usize,
    ) -> Result<(), Failed> {
        let bits = u32::from(access.ty.bits());
        let bytes = access.bytes(format) as u8;
        match (access.kind, location) {
            (AccessKind::Load, _) => {
                let loaded = match location {
                    Some(location) => self.read(location, bytes, lane)?,
                    None => 0,
                };
                for (index, place) in (0u32..).zip(access.values) {
                    let element = loaded.checked_shr(index * bits).unwrap_or(0);
                    self.set(*place, lane, element & (u128::MAX >> (128 - bits)));
                }
                Ok(())
            }
            (_, None) => Ok(()),
            (AccessKind::Store, Some(location)) => {
                let values = access.values.iter().take(access.elements);
                let stored = if access.is_formatted {
                    let mut channels = [0; 4];
                    for (channel, place) in channels.iter_mut().zip(values) {
                        *channel = self.get(*place, lane) as u32;
                    }
                    format.encode(channels)
                } else {
                    (0u32..).zip(values).fold(0, |stored, (index, place)| {
                        let element = self.get(*place, lane) & (u128::MAX >> (128 - bits));
                        stored | element << (index * bits)
                    })
                };
                self.write(location, bytes, stored, lane)
            }
            (AccessKind::Reduce(operator), Some(location)) => {
                self.reduce_in_surface(access, format, (operator, location), lane)
            }
        }
    }

    /// Combines an element of a surface with a value.
    fn reduce_in_surface(
        &mut self,
        access: &SurfaceAccess<'_>,
        format: TexelFormat,
        (operator, location): (Operator, Location),
        lane: usize,
    ) -> Result<(), Failed> {
        let bits = u32::from(access.ty.bits());
        let bytes = (bits / 8) as u8;
        if access.is_formatted && format.bytes() != bits / 8 {
            let found = format.bytes();
            return Err(invalid(
                format!("expected a surface with texels of {bytes} bytes, found {found}"),
                lane,
            ));
        }
        let is_signed = if access.is_formatted {
            format.channel.is_signed()
        } else {
            access.ty.kind() == TypeKind::Signed
        };
        let Some(place) = access.values.first() else {
            return Ok(());
        };
        let value = self.get(*place, lane) as u64;
        if self.by_byte && !self.touch_one(location, Use::ReadWrite, bytes, lane) {
            return Ok(());
        }
        // The observer has seen the access as a whole.
        let is_observed = core::mem::replace(&mut self.by_byte, false);
        let result = self.read(location, bytes, lane).and_then(|old| {
            let new = operator.apply(old as u64, value, bits, is_signed);
            let mask = u64::MAX >> (64 - bits);
            self.write(location, bytes, (new & mask).into(), lane)
        });
        self.by_byte = is_observed;
        result
    }
}
