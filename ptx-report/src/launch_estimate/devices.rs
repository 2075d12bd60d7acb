//! Devices and their peak rates.

use super::{Resource, TERA};

/// The instructions that a multiprocessor issues in a cycle.
const ISSUE_SLOTS: f64 = 4.0;
/// The bytes of shared memory that a multiprocessor accesses in a cycle: a pass over all banks.
const SHARED_BYTES: f64 = 128.0;

/// A device. Rates of tensor cores are those of dense 16-bit products with 32-bit sums.
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Device {
    /// Its name.
    pub name: &'static str,
    /// The compute capability: major and minor number.
    pub capability: (u32, u32),
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// The boost clock in MHz.
    pub clock_mhz: u32,
    /// The bandwidth of global memory in GB/s.
    pub bandwidth: f64,
    /// The 16-bit floating-point operations in 10^12 per second.
    pub half: f64,
    /// The single-precision operations in 10^12 per second.
    pub single: f64,
    /// The double-precision operations in 10^12 per second.
    pub double: f64,
    /// The operations of tensor cores in 10^12 per second.
    pub tensor: f64,
    /// Where these figures are published.
    pub source: &'static str,
}

/// The devices, the default of each compute capability before others.
pub const DEVICES: &[Device] = &[
    Device {
        name: "T4",
        capability: (7, 5),
        multiprocessors: 40,
        clock_mhz: 1590,
        bandwidth: 320.0,
        half: 16.2,
        single: 8.1,
        double: 0.25,
        tensor: 65.0,
        source: "NVIDIA Turing GPU architecture white paper and T4 data sheet",
    },
    Device {
        name: "A100 SXM4 80 GB",
        capability: (8, 0),
        multiprocessors: 108,
        clock_mhz: 1410,
        bandwidth: 2039.0,
        half: 78.0,
        single: 19.5,
        double: 9.7,
        tensor: 312.0,
        source: "NVIDIA A100 Tensor Core GPU data sheet and Ampere architecture white paper",
    },
    Device {
        name: "RTX 3090",
        capability: (8, 6),
        multiprocessors: 82,
        clock_mhz: 1695,
        bandwidth: 936.0,
        half: 35.6,
        single: 35.6,
        double: 0.56,
        tensor: 71.0,
        source: "NVIDIA Ampere GA102 GPU architecture white paper",
    },
    Device {
        name: "RTX 4090",
        capability: (8, 9),
        multiprocessors: 128,
        clock_mhz: 2520,
        bandwidth: 1008.0,
        half: 82.6,
        single: 82.6,
        double: 1.29,
        tensor: 165.2,
        source: "NVIDIA Ada GPU architecture white paper",
    },
    Device {
        name: "H100 SXM5",
        capability: (9, 0),
        multiprocessors: 132,
        clock_mhz: 1980,
        bandwidth: 3350.0,
        half: 133.8,
        single: 66.9,
        double: 33.5,
        tensor: 989.4,
        source: "NVIDIA H100 Tensor Core GPU data sheet and architecture white paper",
    },
    Device {
        name: "H200 SXM",
        capability: (9, 0),
        multiprocessors: 132,
        clock_mhz: 1980,
        bandwidth: 4800.0,
        half: 133.8,
        single: 66.9,
        double: 33.5,
        tensor: 989.4,
        source: "NVIDIA H200 Tensor Core GPU data sheet and H100 architecture white paper",
    },
    Device {
        name: "B200",
        capability: (10, 0),
        multiprocessors: 148,
        clock_mhz: 1965,
        bandwidth: 8000.0,
        half: 150.0,
        single: 75.0,
        double: 37.0,
        tensor: 2250.0,
        source: "NVIDIA DGX B200 data sheet; multiprocessors and clock as the driver reports them",
    },
    Device {
        name: "RTX 5090",
        capability: (12, 0),
        multiprocessors: 170,
        clock_mhz: 2407,
        bandwidth: 1792.0,
        half: 104.8,
        single: 104.8,
        double: 1.64,
        tensor: 209.5,
        source: "NVIDIA RTX Blackwell GPU architecture white paper",
    },
];

impl Device {
    /// The device with a name, in letters of any case; also a part of the name: `h200`.
    ///
    /// ```
    /// use ptx_report::launch_estimate::Device;
    /// assert_eq!(Device::named("h200").unwrap().bandwidth, 4800.0);
    /// assert_eq!(Device::named("abacus"), None);
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = name.to_ascii_lowercase();
        let mut devices = DEVICES.iter();
        devices.find(|device| device.name.to_ascii_lowercase().contains(&name))
    }

    /// The default device of a target: one with the same compute capability.
    ///
    /// ```
    /// use ptx_report::launch_estimate::Device;
    /// assert_eq!(Device::of_target("sm_90a").unwrap().name, "H100 SXM5");
    /// assert_eq!(Device::of_target("sm_62"), None);
    /// ```
    #[must_use]
    pub fn of_target(target: &str) -> Option<&'static Self> {
        let capability = crate::occupancy::capability_of_target(target)?;
        DEVICES
            .iter()
            .find(|device| device.capability == capability)
    }

    /// What each resource does in a second: bytes, operations or instructions.
    pub(super) fn rates(&self) -> [(Resource, f64); 7] {
        let cycles = f64::from(self.multiprocessors) * f64::from(self.clock_mhz) * 1e6;
        [
            (Resource::GlobalMemory, self.bandwidth * 1e9),
            (Resource::SharedMemory, cycles * SHARED_BYTES),
            (Resource::TensorCores, self.tensor * TERA),
            (Resource::Half, self.half * TERA),
            (Resource::Single, self.single * TERA),
            (Resource::Double, self.double * TERA),
            (Resource::IssueSlots, cycles * ISSUE_SLOTS),
        ]
    }
}
