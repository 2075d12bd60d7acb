//! Texture references and surface references: variables of modules that the program binds to memory.
//!
//! A reference is bound before the next launch, so that the program may set its properties in any order.

use ptx_vm::{AddressMode, Coordinates, FilterMode};

use super::arrays::refused;
use super::{Driver, Resource};
use crate::abi::arrays::{TextureDescriptor, texture_flag};
use crate::handles::{Kind, Raw, Table};
use crate::status::{Outcome, Status};

/// A variable of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Variable {
    module: Raw,
    name: String,
}

/// A texture reference.
#[derive(Clone, Debug)]
pub(crate) struct TextureReference {
    /// The variable; `None` if the program created the reference.
    variable: Option<Variable>,
    pub(crate) descriptor: TextureDescriptor,
    pub(crate) format: u32,
    pub(crate) channels: u32,
    /// The memory that it is bound to.
    pub(crate) resource: Option<Resource>,
    /// The texture of the machine that the variable is bound to.
    texture: Option<u64>,
    is_changed: bool,
}

impl Kind for TextureReference {
    const NUMBER: usize = 22;
}

/// A surface reference.
#[derive(Clone, Debug)]
pub(crate) struct SurfaceReference {
    variable: Variable,
    pub(crate) array: Option<Raw>,
    /// The surface of the machine that the variable is bound to.
    surface: Option<u64>,
}

impl Kind for SurfaceReference {
    const NUMBER: usize = 23;
}

/// All references.
#[derive(Debug, Default)]
pub(crate) struct References {
    textures: Table<TextureReference>,
    surfaces: Table<SurfaceReference>,
    /// The program changed a texture reference that is not bound yet.
    is_changed: bool,
}

impl References {
    /// The texture reference of a handle.
    pub(crate) fn texture(&self, handle: Raw) -> Outcome<&TextureReference> {
        self.textures.get(handle)
    }

    /// The texture reference of a handle, to change it.
    pub(crate) fn change_texture(&mut self, handle: Raw) -> Outcome<&mut TextureReference> {
        let reference = self.textures.get_mut(handle)?;
        reference.is_changed = true;
        self.is_changed = true;
        Ok(reference)
    }

    /// The surface reference of a handle.
    pub(crate) fn surface(&self, handle: Raw) -> Outcome<&SurfaceReference> {
        self.surfaces.get(handle)
    }

    /// Creates a texture reference without a variable.
    pub(crate) fn create_texture(&mut self) -> Raw {
        self.textures.insert(TextureReference::new(None))
    }

    /// Destroys a texture reference that the program created.
    pub(crate) fn destroy_texture(&mut self, handle: Raw) -> Outcome<()> {
        if self.textures.get(handle)?.variable.is_some() {
            return Err(Status::INVALID_VALUE);
        }
        self.textures.remove(handle).map(|_| ())
    }
}

impl TextureReference {
    fn new(variable: Option<Variable>) -> Self {
        Self {
            variable,
            descriptor: TextureDescriptor {
                address_modes: [1; 3],
                ..TextureDescriptor::default()
            },
            format: 0x20,
            channels: 1,
            resource: None,
            texture: None,
            is_changed: false,
        }
    }

    /// A reference with the properties that the module declares for the variable.
    fn declared(variable: Variable, sampler: &ptx_vm::Sampler) -> Self {
        let mut reference = Self::new(Some(variable));
        let descriptor = &mut reference.descriptor;
        descriptor.address_modes = sampler.address_modes.map(|mode| match mode {
            AddressMode::Wrap => 0,
            AddressMode::Mirror => 2,
            AddressMode::ClampToBorder => 3,
            _ => 1,
        });
        descriptor.filter = (sampler.filter == FilterMode::Linear).into();
        if sampler.coordinates == Coordinates::Normalized {
            descriptor.flags |= texture_flag::NORMALIZED_COORDINATES;
        }
        reference
    }
}

impl Driver {
    /// The texture reference of a variable of a module.
    pub(crate) fn texture_reference(&mut self, module: Raw, name: &str) -> Outcome<Raw> {
        let id = self.modules.get(module)?.id;
        let variable = Variable {
            module,
            name: name.to_owned(),
        };
        let known = self.references.textures.iter();
        let mut same = known.filter(|(_, r)| r.variable.as_ref() == Some(&variable));
        if let Some(handle) = same.next().map(|(handle, _)| handle) {
            return Ok(handle);
        }
        drop(same);
        let sampler = self.device.declared_sampler(id, name);
        let reference = TextureReference::declared(variable, &sampler.ok_or(Status::NOT_FOUND)?);
        Ok(self.references.textures.insert(reference))
    }

    /// The surface reference of a variable of a module.
    pub(crate) fn surface_reference(&mut self, module: Raw, name: &str) -> Outcome<Raw> {
        let id = self.modules.get(module)?.id;
        let variable = Variable {
            module,
            name: name.to_owned(),
        };
        let known = self.references.surfaces.iter();
        let mut same = known.filter(|(_, r)| r.variable == variable);
        if let Some(handle) = same.next().map(|(handle, _)| handle) {
            return Ok(handle);
        }
        drop(same);
        if !self.device.is_surface_variable(id, name) {
            return Err(Status::NOT_FOUND);
        }
        Ok(self.references.surfaces.insert(SurfaceReference {
            variable,
            array: None,
            surface: None,
        }))
    }

    /// Binds a surface reference to an array.
    pub(crate) fn bind_surface(&mut self, handle: Raw, array: Raw) -> Outcome<()> {
        let variable = self.references.surfaces.get(handle)?.variable.clone();
        let id = self.modules.get(variable.module)?.id;
        let surface = self.create_surface(array)?;
        // The surface belongs to the reference, and not to the program.
        self.surfaces.remove(&surface);
        let bound = self.device.bind(id, &variable.name, surface);
        let old = match bound {
            Ok(()) => {
                let reference = self.references.surfaces.get_mut(handle)?;
                reference.array = Some(array);
                reference.surface.replace(surface)
            }
            Err(_) => Some(surface),
        };
        if let Some(old) = old {
            let _ = self.device.destroy_surface(old);
        }
        bound.map_err(|error| refused(&error))
    }

    /// Binds the texture references that the program changed. Called before launches; linear in the number of references after a change.
    pub(crate) fn bind_changed_references(&mut self) -> Outcome<()> {
        if !std::mem::take(&mut self.references.is_changed) {
            return Ok(());
        }
        let changed = self
            .references
            .textures
            .iter()
            .filter(|(_, r)| r.is_changed);
        let changed: Vec<Raw> = changed.map(|(handle, _)| handle).collect();
        for handle in changed {
            self.bind_texture(handle)?;
        }
        Ok(())
    }

    fn bind_texture(&mut self, handle: Raw) -> Outcome<()> {
        let reference = self.references.textures.get_mut(handle)?;
        reference.is_changed = false;
        let (Some(variable), Some(resource)) = (reference.variable.clone(), reference.resource)
        else {
            return Ok(());
        };
        let descriptor = reference.descriptor;
        let id = self.modules.get(variable.module)?.id;
        let texture = self.create_machine_texture(resource, &descriptor, None)?;
        let bound = self.device.bind(id, &variable.name, texture);
        let old = match bound {
            Ok(()) => {
                let reference = self.references.textures.get_mut(handle)?;
                reference.texture.replace(texture)
            }
            Err(_) => Some(texture),
        };
        if let Some(old) = old {
            let _ = self.device.destroy_texture(old);
        }
        bound.map_err(|error| refused(&error))
    }

    /// Removes the references of a module.
    pub(crate) fn forget_references(&mut self, module: Raw) {
        let textures = self.references.textures.iter();
        let textures =
            textures.filter(|(_, r)| matches!(&r.variable, Some(v) if v.module == module));
        let textures: Vec<Raw> = textures.map(|(handle, _)| handle).collect();
        for handle in textures {
            let removed = self.references.textures.remove(handle);
            if let Some(texture) = removed.ok().and_then(|reference| reference.texture) {
                let _ = self.device.destroy_texture(texture);
            }
        }
        let surfaces = self.references.surfaces.iter();
        let surfaces = surfaces.filter(|(_, r)| r.variable.module == module);
        let surfaces: Vec<Raw> = surfaces.map(|(handle, _)| handle).collect();
        for handle in surfaces {
            let removed = self.references.surfaces.remove(handle);
            if let Some(surface) = removed.ok().and_then(|reference| reference.surface) {
                let _ = self.device.destroy_surface(surface);
            }
        }
    }
}
