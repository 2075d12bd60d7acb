//! Handles of textures, samplers and surfaces, and queries of their properties.

use super::execution::{Control, Execution, Failed, Outcome};
use super::location::Location;
use crate::error::StopReason;
use crate::lanes::lanes;
use crate::program::{Act, ActOperand, Address};
use crate::texture::{
    ArrayData, OpaqueKind, OpaqueObject, Resolved, SurfaceObject, TextureObject, is_query, property,
};
use ptx_isa::{Modifier, ScalarType};

/// The dimensions of the textures or surfaces that an instruction accesses, and what comes before the coordinates.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Geometry {
    pub(super) name: &'static str,
    /// The number of coordinates. Of cubes, of the direction.
    pub(super) coordinates: usize,
    pub(super) is_cube: bool,
    pub(super) has_layers: bool,
    pub(super) has_samples: bool,
}

impl Geometry {
    /// The geometry that a modifier of an instruction selects.
    pub(super) fn of(act: &Act) -> Option<Self> {
        act.modifiers.iter().find_map(|modifier| {
            let (coordinates, is_cube, has_layers, has_samples) = match modifier {
                Modifier::D1d => (1, false, false, false),
                Modifier::D2d => (2, false, false, false),
                Modifier::D3d => (3, false, false, false),
                Modifier::A1d => (1, false, true, false),
                Modifier::A2d => (2, false, true, false),
                Modifier::Cube => (3, true, false, false),
                Modifier::Acube => (3, true, true, false),
                Modifier::D2dms => (2, false, false, true),
                Modifier::A2dms => (2, false, true, true),
                _ => return None,
            };
            Some(Self {
                name: modifier.text(),
                coordinates,
                is_cube,
                has_layers,
                has_samples,
            })
        })
    }

    /// Whether the geometry is that of an array. A line is also an image with one row, as for the hardware.
    fn matches(&self, array: &ArrayData) -> bool {
        let description = &array.description;
        let extent = description.extent;
        let dimensions = extent.dimensions();
        let has_dimensions = if self.is_cube {
            extent.is_cube()
        } else {
            !extent.is_cube()
                && (dimensions == self.coordinates || dimensions == 1 && self.coordinates == 2)
        };
        has_dimensions
            && self.has_layers == description.layers.is_some()
            && self.has_samples == (description.samples > 1)
    }

    /// The error of an access with this geometry to an array of another one; none if they match.
    pub(super) fn check(&self, array: &ArrayData, lane: usize) -> Result<(), Failed> {
        if self.matches(array) {
            return Ok(());
        }
        Err(self.mismatch(array, lane))
    }

    /// As [`check`](Self::check) for surfaces, for which the faces of cubes are layers.
    pub(super) fn check_surface(&self, array: &ArrayData, lane: usize) -> Result<(), Failed> {
        let is_faces = array.description.extent.is_cube() && self.has_layers;
        if is_faces && self.coordinates == 2 || self.matches(array) {
            return Ok(());
        }
        Err(self.mismatch(array, lane))
    }

    fn mismatch(&self, array: &ArrayData, lane: usize) -> Failed {
        let description = &array.description;
        let layers = match description.layers {
            Some(layers) => format!(", {layers} layers"),
            None => String::new(),
        };
        let samples = match description.samples {
            1 => String::new(),
            samples => format!(", {samples} samples"),
        };
        invalid(
            format!(
                "the instruction accesses an object with the geometry `{}`, found {:?}{layers}{samples}",
                self.name, description.extent
            ),
            lane,
        )
    }
}

/// The error of an operand that the PTX ISA manual does not allow.
pub(super) fn invalid(description: String, lane: usize) -> Failed {
    (StopReason::Invalid(description), lane)
}

impl Act {
    /// An operand of the form that is an address.
    pub(super) fn address(&self, index: usize) -> Option<&Address> {
        match self.operands.get(index) {
            Some(Some(ActOperand::Address(address))) => Some(address),
            _ => None,
        }
    }
}

impl<'e> Execution<'e> {
    /// The object or the variable that an operand denotes: by a handle or the address of a variable in a register, by the name of a variable, or by the name
    /// of a parameter of the kernel.
    fn opaque(&self, address: &Address, lane: usize) -> Result<Resolved<'e>, Failed> {
        let value = match self.location(address, lane) {
            // The address of a parameter, as `mov` gives it.
            Location::Global(offset)
                if offset.is_multiple_of(8) && offset < self.grid.parameters.len() as u64 =>
            {
                self.read(Location::Parameter(offset), 8, lane)? as u64
            }
            location @ Location::Parameter(_) => self.read(location, 8, lane)? as u64,
            location => location.address(),
        };
        self.grid.textures.resolve(value).ok_or_else(|| {
            invalid(
                format!(
                    "expected the handle of a texture, a sampler or a surface, found {}",
                    self.grid.textures.describe_unknown(value)
                ),
                lane,
            )
        })
    }

    /// The object of a kind that an operand denotes.
    fn object(
        &self,
        address: &Address,
        kind: OpaqueKind,
        lane: usize,
    ) -> Result<&'e OpaqueObject, Failed> {
        let object = match self.opaque(address, lane)? {
            Resolved::Object(object) => object,
            Resolved::Variable(variable) => variable.object.as_ref().ok_or_else(|| {
                invalid(
                    format!("`{}` is not bound to {}", variable.name, kind.name()),
                    lane,
                )
            })?,
        };
        if object.kind() != kind {
            let (expected, found) = (kind.name(), object.kind().name());
            return Err(invalid(format!("expected {expected}, found {found}"), lane));
        }
        Ok(object)
    }

    /// The texture that an operand denotes.
    pub(super) fn texture(
        &self,
        address: &Address,
        lane: usize,
    ) -> Result<&'e TextureObject, Failed> {
        match self.object(address, OpaqueKind::Texture, lane)? {
            OpaqueObject::Texture(texture) => Ok(texture),
            other => Err(invalid(
                format!("expected a texture, found {}", other.kind().name()),
                lane,
            )),
        }
    }

    /// The surface that an operand denotes.
    pub(super) fn surface(
        &self,
        address: &Address,
        lane: usize,
    ) -> Result<&'e SurfaceObject, Failed> {
        match self.object(address, OpaqueKind::Surface, lane)? {
            OpaqueObject::Surface(surface) => Ok(surface),
            other => Err(invalid(
                format!("expected a surface, found {}", other.kind().name()),
                lane,
            )),
        }
    }

    /// The sampler that an operand denotes. A variable that is not bound has the declared properties.
    pub(super) fn sampler(
        &self,
        address: &Address,
        lane: usize,
    ) -> Result<crate::texture::Sampler, Failed> {
        let resolved = self.opaque(address, lane)?;
        let object = match &resolved {
            Resolved::Object(object) => Some(*object),
            Resolved::Variable(variable) => variable.object.as_ref(),
        };
        match (object, resolved) {
            (Some(OpaqueObject::Sampler(sampler)), _) => Ok(*sampler),
            (None, Resolved::Variable(variable)) if variable.kind == OpaqueKind::Sampler => {
                Ok(variable.declared.sampler(variable.kind))
            }
            (Some(other), _) => Err(invalid(
                format!("expected a sampler, found {}", other.kind().name()),
                lane,
            )),
            (None, _) => Err(invalid("expected a sampler".into(), lane)),
        }
    }

    /// Writes a property of an object, or whether a value denotes an object of a type.
    pub(super) fn query_object(&mut self, act: &Act) -> Outcome {
        let (Some(result), query) = (act.place(0), act.modifiers.iter().find(|m| is_query(**m)))
        else {
            return Ok(Control::Next);
        };
        for lane in lanes(self.active) {
            let value = match query {
                Some(query) => self.property(act, *query, lane)?.into(),
                None => u128::from(self.has_type(act, lane)),
            };
            self.set(result, lane, value);
        }
        Ok(Control::Next)
    }

    fn property(&self, act: &Act, query: Modifier, lane: usize) -> Result<u32, Failed> {
        let address = act.address(1);
        let address = address.ok_or_else(|| invalid("missing operand".into(), lane))?;
        let resolved = self.opaque(address, lane)?;
        let level = act.place(2).map_or(0, |place| self.get(place, lane) as u32);
        property(&resolved, level, query).ok_or_else(|| {
            invalid(
                format!("the object has no property `{}`", query.text()),
                lane,
            )
        })
    }

    /// Whether the value of the second operand denotes an object of the type that a modifier names.
    fn has_type(&self, act: &Act, lane: usize) -> bool {
        let types = act.modifiers.iter().filter_map(|m| m.scalar_type());
        let kind = types.filter_map(|ty: ScalarType| OpaqueKind::of(ty)).next();
        let value = act.place(1).map(|place| self.get(place, lane) as u64);
        let resolved = value.and_then(|value| self.grid.textures.resolve(value));
        let found = match resolved {
            Some(Resolved::Object(object)) => Some(object.kind()),
            Some(Resolved::Variable(variable)) => Some(variable.kind),
            None => None,
        };
        kind.is_some() && found == kind
    }
}
