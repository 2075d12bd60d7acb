//! What an observer sees of the executions of a program of its crate.

use std::ops::ControlFlow;

use ptx_memory::{
    End, Ending, ExploreOptions, Location, MemoryProxy, MemoryScope, Observer, Order, Program,
    Step, ThreadAccess, ThreadPlace, Update, Value, explore,
};

/// A thread writes four bytes, another one reads the upper two of them.
struct HalfRead {
    places: [ThreadPlace; 2],
}

#[derive(Clone)]
struct HalfReadThread {
    thread: usize,
    is_done: bool,
    result: Option<u128>,
}

fn access(address: u64, bytes: u32) -> ThreadAccess {
    ThreadAccess {
        location: Some(Location {
            address,
            bytes,
            mapping: 0,
        }),
        order: Order::Weak,
        scope: MemoryScope::Sys,
        proxy: MemoryProxy::Generic,
        dependencies: ptx_memory::EventSet::new(),
        instruction: 0,
    }
}

impl Program for HalfRead {
    type Thread = HalfReadThread;

    fn places(&self) -> &[ThreadPlace] {
        &self.places
    }

    fn start(&self, thread: usize) -> HalfReadThread {
        HalfReadThread {
            thread,
            is_done: false,
            result: None,
        }
    }

    fn next(&self, thread: &mut HalfReadThread) -> Step {
        if thread.is_done {
            return Step::Exit;
        }
        if thread.thread == 0 {
            thread.is_done = true;
            return Step::Write(access(0, 4), Some(0x0102_0304));
        }
        Step::Read(access(2, 2))
    }

    fn receive(&self, thread: &mut HalfReadThread, value: Value) {
        thread.is_done = true;
        thread.result = value.bits;
    }

    fn update(&self, _: &HalfReadThread, _: u128) -> Update {
        Update::Unknown
    }

    fn is_same(&self, _: &HalfReadThread, _: &HalfReadThread) -> bool {
        false
    }

    fn initial(&self, _: u64, _: u32) -> Option<u128> {
        None
    }
}

/// Counts restarts, and collects whether the read returns memory that was never written, with the final contents.
#[derive(Default)]
struct Collector {
    restarts: usize,
    executions: Vec<(bool, Vec<Option<u128>>)>,
}

impl Observer<HalfRead> for Collector {
    fn execution(&mut self, ending: &Ending<'_, HalfRead>) -> ControlFlow<()> {
        assert_eq!(ending.end, End::Complete);
        let contents = ending.final_contents(&[(0, 4)], 10);
        assert_eq!(contents.len(), 1);
        let is_unwritten = !ending.unwritten_reads().is_empty();
        self.executions
            .push((is_unwritten, contents.into_iter().next().unwrap()));
        ControlFlow::Continue(())
    }

    fn restart(&mut self) {
        self.restarts += 1;
        self.executions.clear();
    }
}

#[test]
fn accesses_that_overlap_partially_are_explored_again() {
    let program = HalfRead {
        places: [
            ThreadPlace::default(),
            ThreadPlace {
                cta: 1,
                cluster: 1,
                gpu: 0,
            },
        ],
    };
    let mut collector = Collector::default();
    let statistics = explore(&program, &ExploreOptions::default(), &mut collector);
    assert!(statistics.is_exhaustive(), "{statistics:?}");
    assert!(collector.restarts > 0);
    collector.executions.sort();
    let written = vec![Some(0x0102_0304)];
    assert_eq!(
        collector.executions,
        [(false, written.clone()), (true, written)]
    );
}
