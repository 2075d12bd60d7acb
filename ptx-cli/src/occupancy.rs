//! The sizes of launches as options, and the occupancy as text.

use ptx_report::counted;
use ptx_report::occupancy::{
    KernelOccupancy, LaunchSizes, MOST_REGISTERS, Occupancy, RegisterOrigin,
};

/// The sizes of a launch.
#[derive(Debug, clap::Args)]
pub(crate) struct LaunchOptions {
    /// The number of threads of a CTA, for the occupancy [default: that of .reqntid or .maxntid]
    #[arg(long, value_name = "THREADS", value_parser = clap::value_parser!(u32).range(1..=1024))]
    block: Option<u32>,
    /// The number of bytes of dynamic shared memory, for the occupancy
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(..=1 << 20))]
    shared: Option<u64>,
}

impl LaunchOptions {
    pub(crate) fn sizes(&self) -> LaunchSizes {
        let mut sizes = LaunchSizes::default();
        (sizes.block, sizes.dynamic_shared) = (self.block, self.shared);
        sizes
    }
}

/// `2 CTAs, 8 of 64 warps (12.5 %) …`
pub(crate) fn occupancy_text(occupancy: &KernelOccupancy) -> String {
    let Occupancy {
        blocks,
        warps,
        most_warps,
        limiters,
        ..
    } = &occupancy.occupancy;
    let at_most = if occupancy.dynamic_shared_unknown {
        "at most "
    } else {
        ""
    };
    let limiters: Vec<&str> = limiters.iter().map(|limiter| limiter.text()).collect();
    let registers = match occupancy.registers_from {
        RegisterOrigin::Ptxas => "registers",
        _ => "live registers",
    };
    let mut text = format!(
        "{at_most}{}, {warps} of {most_warps} warps ({:.1} %), limited by {}: {} threads, {} {registers}, {} of shared memory",
        counted(*blocks as usize, "CTA"),
        occupancy.percent,
        limiters.join(" and "),
        occupancy.needs.threads,
        occupancy.needs.registers,
        counted(occupancy.needs.shared_bytes as usize, "byte"),
    );
    if occupancy.dynamic_shared_unknown {
        text += " without dynamic shared memory";
    }
    if let Some(registers) = occupancy.registers_for_more {
        text += &format!("; one more CTA with {registers} registers");
    }
    if let Some(bytes) = occupancy.shared_bytes_for_more {
        text += &format!("; one more CTA with {bytes} B of shared memory");
    }
    text
}

/// What to say about a number of live registers that a thread does not have.
pub(crate) fn excess_registers(live: u32) -> String {
    if live > MOST_REGISTERS {
        format!("; a thread has {MOST_REGISTERS}, so ptxas may spill some to local memory")
    } else {
        String::new()
    }
}
