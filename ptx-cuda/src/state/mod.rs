//! The state of the driver: one device, and the objects that programs create. Nothing here knows the C interface, but for the descriptors of arrays and textures,
//! which programs get back as they gave them.

mod arrays;
pub(crate) mod attributes;
mod contexts;
mod copies;
mod device_library;
pub(crate) mod formats;
mod graphs;
pub(crate) mod images;
mod launches;
mod linkers;
mod memory;
mod modules;
mod operations;
mod output;
mod pools;
pub(crate) mod registered;
mod references;
mod streams;
mod textures;

use std::collections::HashMap;
use std::process;
use std::sync::Arc;

use ptx_vm::Device;

pub(crate) use contexts::{Context, current};
pub(crate) use arrays::{ARRAY_ALIGNMENT, CudaArray, Mipmap};
pub(crate) use copies::{Copy, Fill, Place, Region};
pub(crate) use launches::{BLOCK_THREADS, KernelLaunch};
pub(crate) use linkers::{LinkInput, Linker};
pub(crate) use memory::{Allocation, AllocationKind};
pub(crate) use modules::{Kernel, LoadedModule};
pub(crate) use operations::{HostFunction, Operation};
pub(crate) use pools::Pool;
pub(crate) use references::References;
pub(crate) use streams::{DEFAULT_STREAM, Event, Stream};
pub(crate) use textures::{Resource, Surface, Texture};

use crate::arena::{Arena, ArenaPages};
use crate::config::Config;
use crate::handles::{Raw, Table};
use crate::status::{Outcome, Status};
use memory::Memory;

/// The bytes of addresses of the device, most of which are never used.
const ADDRESSES: u64 = 1 << 40;

/// The state of the driver.
pub(crate) struct Driver {
    pub(crate) config: Config,
    /// The process that initialized the driver.
    pub(crate) process: u32,
    pub(crate) device: Device<'static>,
    pub(crate) memory: Memory,
    pub(crate) contexts: Table<Context>,
    /// The primary context, once it was needed.
    pub(crate) primary: Option<Raw>,
    pub(crate) modules: Table<LoadedModule>,
    pub(crate) kernels: Table<Kernel>,
    pub(crate) linkers: Table<Linker>,
    pub(crate) streams: Table<Stream>,
    pub(crate) events: Table<Event>,
    pub(crate) pools: Table<Pool>,
    pub(crate) arrays: Table<CudaArray>,
    pub(crate) mipmaps: Table<Mipmap>,
    /// The textures, by the handles that the machine gave them.
    pub(crate) textures: HashMap<u64, Texture>,
    /// The surfaces, by the handles that the machine gave them.
    pub(crate) surfaces: HashMap<u64, Surface>,
    pub(crate) references: References,
    /// The pool of functions that name none, once it was needed.
    default_pool: Option<Raw>,
    /// The output of kernels that is not yet written.
    pub(crate) output: Vec<u8>,
    /// The limits that the program set, by their numbers.
    pub(crate) limits: HashMap<u32, usize>,
    /// The number of launches.
    pub(crate) launches: u64,
}

impl Driver {
    /// The state with the configuration in the environment.
    pub(crate) fn new() -> Outcome<Self> {
        let config = Config::from_environment();
        let arena = Arena::new(ADDRESSES).map_err(|error| {
            eprintln!("ptxkit: the memory of the device cannot be reserved: {error}");
            Status::SYSTEM_DRIVER_MISMATCH
        })?;
        let pages = Arc::new(ArenaPages(Arc::clone(&arena)));
        let mut device = Device::builder().pages(pages).build();
        device.limit_memory(config.memory);
        Ok(Self {
            memory: Memory::new(arena, config.memory),
            config,
            process: process::id(),
            device,
            contexts: Table::default(),
            primary: None,
            modules: Table::default(),
            kernels: Table::default(),
            linkers: Table::default(),
            streams: Table::default(),
            events: Table::default(),
            pools: Table::default(),
            arrays: Table::default(),
            mipmaps: Table::default(),
            textures: HashMap::new(),
            surfaces: HashMap::new(),
            references: References::default(),
            default_pool: None,
            output: Vec::new(),
            limits: HashMap::new(),
            launches: 0,
        })
    }
}
