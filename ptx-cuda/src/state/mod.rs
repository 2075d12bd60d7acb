//! The state of the driver: one device, and the objects that programs create. Nothing here knows the C interface, but for the descriptors of arrays and textures,
//! which programs get back as they gave them.

mod arrays;
pub(crate) mod attributes;
mod captures;
mod contexts;
mod copies;
mod device_library;
pub(crate) mod formats;
mod graph_execs;
mod graph_memory;
mod graphs;
pub(crate) mod images;
mod inspection;
mod launches;
mod linkers;
mod memory;
mod memory_operations;
mod modules;
mod occupancy;
mod operations;
mod output;
pub(crate) mod pools;
mod prototypes;
mod queues;
mod recording;
mod references;
pub(crate) mod registered;
mod shared_events;
pub(crate) mod shared_memory;
mod streams;
mod textures;
mod user_objects;
pub(crate) mod virtual_memory;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ptx_vm::Device;

use shared_memory::{OpenedMemory, SharedMemory};

pub(crate) use arrays::{ARRAY_ALIGNMENT, CudaArray, Mipmap};
pub(crate) use captures::{Capture, CaptureMode, CapturedStream, exchange_mode};
pub(crate) use contexts::{Context, current};
pub(crate) use copies::{Copy, Fill, Place, Region};
pub(crate) use graph_execs::{GraphExec, GraphFault, UpdateFaultKind};
pub(crate) use graph_memory::{GraphMemory, GraphMemoryUse};
pub(crate) use graphs::{ConditionalKind, Edge, Graph, Node, Work};
pub(crate) use inspection::cancel_launches;
pub(crate) use launches::{BLOCK_THREADS, KernelLaunch};
pub(crate) use linkers::{LinkInput, Linker};
pub(crate) use memory::{Allocation, AllocationKind};
pub(crate) use memory_operations::{Condition, MemoryOperation, Reduction, Value, Wait};
pub(crate) use modules::{Kernel, LoadedModule};
pub(crate) use operations::{HostFunction, Operation};
pub(crate) use pools::Pool;
pub(crate) use queues::{Pending, Progress, is_any_blocked};
pub(crate) use references::References;
pub(crate) use streams::{DEFAULT_STREAM, Event, Stream};
pub(crate) use textures::{Resource, Surface, Texture};
pub(crate) use user_objects::UserObject;

use crate::arena::{Arena, ArenaPages};
use crate::config::Config;
use crate::handles::{Raw, Table};
use crate::report::Reporter;
use crate::status::{Outcome, Status};
use inspection::Inspection;
use memory::Memory;
use queues::Queue;
use recording::Recorder;
use streams::StreamAttributes;
use virtual_memory::{PhysicalMemory, VirtualMemory};

/// The bytes of addresses of the device, most of which are never used.
const ADDRESSES: u64 = 1 << 40;

/// The state of the driver.
pub(crate) struct Driver {
    pub(crate) config: Config,
    pub(crate) device: Device<'static>,
    pub(crate) memory: Memory,
    pub(crate) virtual_memory: VirtualMemory,
    pub(crate) physical_memory: Table<PhysicalMemory>,
    pub(crate) contexts: Table<Context>,
    /// The primary context, once it was needed.
    pub(crate) primary: Option<Raw>,
    pub(crate) modules: Table<LoadedModule>,
    pub(crate) kernels: Table<Kernel>,
    pub(crate) linkers: Table<Linker>,
    pub(crate) streams: Table<Stream>,
    pub(crate) events: Table<Event>,
    /// The attributes of streams that the program set.
    pub(crate) stream_attributes: StreamAttributes,
    pub(crate) graphs: Table<Graph>,
    pub(crate) nodes: Table<Node>,
    pub(crate) graph_execs: Table<GraphExec>,
    /// The number of graphs and executable graphs that were created.
    created_graphs: u32,
    /// The memory that nodes of graphs allocate, by its address.
    graph_memory: BTreeMap<u64, GraphMemory>,
    pub(crate) graph_memory_use: GraphMemoryUse,
    pub(crate) user_objects: Table<UserObject>,
    /// The destructors of user objects that were destroyed, which have to be called.
    pub(crate) destructors: Vec<HostFunction>,
    captures: Table<Capture>,
    /// The streams that are captured.
    captured_streams: BTreeMap<Raw, CapturedStream>,
    /// The operations of streams that were not performed.
    queues: BTreeMap<Raw, Queue>,
    /// The number of operations that were not performed at once.
    kept_operations: u64,
    pub(crate) pools: Table<Pool>,
    pub(crate) arrays: Table<CudaArray>,
    pub(crate) mipmaps: Table<Mipmap>,
    /// The textures, by the handles that the machine gave them.
    pub(crate) textures: HashMap<u64, Texture>,
    /// The surfaces, by the handles that the machine gave them.
    pub(crate) surfaces: HashMap<u64, Surface>,
    pub(crate) references: References,
    /// The default pools that were needed.
    default_pools: Vec<(AllocationKind, Raw)>,
    /// The pool that the program chose for functions that name none.
    chosen_pool: Option<Raw>,
    /// The output of kernels that is not yet written.
    pub(crate) output: Vec<u8>,
    /// The limits that the program set, by their numbers.
    pub(crate) limits: HashMap<u32, usize>,
    /// The memory of other processes that is open.
    opened: HashMap<SharedMemory, OpenedMemory>,
    /// The number of launches.
    pub(crate) launches: u64,
    /// The number of executed warp instructions.
    pub(crate) steps: u64,
    pub(crate) inspection: Inspection,
    pub(crate) reporter: Reporter,
    recorder: Recorder,
}

/// The bytes before the first allocation. Programs that read a little before it, as before all other allocations, go on, as on a GPU, whose memory is mapped in pages of
/// this size. Only `memcheck` reports them.
const FIRST_PAGE: u64 = 2 << 20;

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
        device.reserve(FIRST_PAGE, FIRST_PAGE);
        let reporter = Reporter::new(config.report.clone());
        let recorder = Recorder::new(config.record.as_deref());
        Ok(Self {
            memory: Memory::new(arena, config.memory),
            config,
            device,
            virtual_memory: VirtualMemory::default(),
            physical_memory: Table::default(),
            contexts: Table::default(),
            primary: None,
            modules: Table::default(),
            kernels: Table::default(),
            linkers: Table::default(),
            streams: Table::default(),
            events: Table::default(),
            stream_attributes: StreamAttributes::new(),
            graphs: Table::default(),
            nodes: Table::default(),
            graph_execs: Table::default(),
            created_graphs: 0,
            graph_memory: BTreeMap::new(),
            graph_memory_use: GraphMemoryUse::default(),
            user_objects: Table::default(),
            destructors: Vec::new(),
            captures: Table::default(),
            captured_streams: BTreeMap::new(),
            queues: BTreeMap::new(),
            kept_operations: 0,
            pools: Table::default(),
            arrays: Table::default(),
            mipmaps: Table::default(),
            textures: HashMap::new(),
            surfaces: HashMap::new(),
            references: References::default(),
            default_pools: Vec::new(),
            chosen_pool: None,
            output: Vec::new(),
            limits: HashMap::new(),
            opened: HashMap::new(),
            launches: 0,
            steps: 0,
            inspection: Inspection::default(),
            reporter,
            recorder,
        })
    }
}
