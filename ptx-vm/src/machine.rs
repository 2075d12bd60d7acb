//! A device with one module.

use core::borrow::Borrow;
use core::ops::{Deref, DerefMut};

use ptx_ir::Module;

use crate::device::{Device, ModuleId};
use crate::error::RunError;
use crate::executor::RunOptions;
use crate::launch::{Launch, Outcome, UnsupportedInstruction};
use crate::memory::AddressSize;
use crate::texture::{Sampler, TextureError};

/// A device with one module, which launches and variables refer to. The functions of the [`Device`] are those of the machine, too.
#[derive(Debug)]
pub struct Machine<'m> {
    device: Device<'m>,
    module: ModuleId,
}

impl<'m> Machine<'m> {
    /// Loads a module, borrowed, owned or shared as `Arc<Module>`, into a new device, whose addresses have the size of those of the module. Linear.
    ///
    /// The module should be accepted by `ptx-verify`. A launch that executes an unknown instruction ends with an error.
    #[must_use]
    pub fn new(module: impl Borrow<Module> + Send + Sync + 'm) -> Self {
        let size = AddressSize::of(module.borrow());
        let mut device = Device::builder().address_size(size).build();
        let module = device.insert(Box::new(module), 1);
        Self { device, module }
    }

    /// The device.
    #[must_use]
    pub const fn device(&self) -> &Device<'m> {
        &self.device
    }

    /// The module on the device.
    #[must_use]
    pub const fn module(&self) -> ModuleId {
        self.module
    }

    /// The address of a variable in `.global` or `.const`, and its size in bytes.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        self.device.variable(self.module, name)
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    ///
    /// If the launch is invalid or an instruction fails.
    pub fn launch(&mut self, launch: &Launch) -> Result<Outcome, RunError> {
        self.device.launch(self.module, launch)
    }

    /// Runs a kernel to its end, on several host threads: see [`Device::launch_with`].
    ///
    /// # Errors
    ///
    /// If the launch is invalid or an instruction fails.
    pub fn launch_with(
        &mut self,
        launch: &Launch,
        options: RunOptions<'_>,
    ) -> Result<Outcome, RunError> {
        self.device.launch_with(self.module, launch, options)
    }

    /// Binds a variable of type `.texref`, `.samplerref` or `.surfref` to the object of a handle: see [`Device::bind`].
    ///
    /// # Errors
    ///
    /// If there is no such variable, or it is of another type.
    pub fn bind(&mut self, name: &str, handle: u64) -> Result<(), TextureError> {
        self.device.bind(self.module, name, handle)
    }

    /// The sampler that the initial value of a variable declares: see [`Device::declared_sampler`].
    #[must_use]
    pub fn declared_sampler(&self, name: &str) -> Option<Sampler> {
        self.device.declared_sampler(self.module, name)
    }

    /// Runs kernels, each of which but the first one is a programmatic dependent launch: see [`Device::launch_dependent`].
    ///
    /// # Errors
    ///
    /// If a launch is invalid or an instruction fails.
    pub fn launch_dependent(
        &mut self,
        launches: &[&Launch],
        options: RunOptions<'_>,
    ) -> Result<Vec<Outcome>, RunError> {
        let launches: Vec<_> = launches
            .iter()
            .map(|launch| (self.module, *launch))
            .collect();
        self.device.launch_dependent(&launches, options)
    }

    /// The instructions of the module that the machine does not support: see [`Device::unsupported`].
    pub fn unsupported(&self) -> impl Iterator<Item = UnsupportedInstruction> {
        self.device.unsupported(self.module)
    }

    /// The names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.device.kernels(self.module)
    }
}

impl<'m> Deref for Machine<'m> {
    type Target = Device<'m>;

    fn deref(&self) -> &Device<'m> {
        &self.device
    }
}

impl<'m> DerefMut for Machine<'m> {
    fn deref_mut(&mut self) -> &mut Device<'m> {
        &mut self.device
    }
}
