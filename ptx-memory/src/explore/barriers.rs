//! Barriers of a partial execution.

use std::collections::BTreeMap;

use crate::event::ThreadPlace;
use crate::program::{BarrierStep, ExchangedValue, Participants};
use crate::relation::EventSet;

/// A barrier of a CTA or cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    is_cluster: bool,
    gpu: u32,
    /// The number of the CTA or cluster.
    group: u32,
    barrier: u64,
}

/// The arrivals of a barrier up to its completion.
#[derive(Clone, Debug, Default)]
struct Generation {
    /// The threads that arrived, with their events, and whether they wait by the same operation.
    arrivals: Vec<(usize, u32)>,
    /// The events, with their threads, that precede what follows the waits of other threads.
    released: Vec<(usize, u32)>,
    /// The events of threads that wait.
    waits: Vec<(usize, u32)>,
    /// The reads on which arrivals depend.
    dependencies: EventSet,
    is_complete: bool,
    /// Whether the threads pass if no others come.
    lets_late_pass: bool,
    /// Whether the barrier waits for a number of arrivals, or for nothing.
    is_counted: bool,
    /// Whether the barrier waits for the lanes of a warp that have not ended.
    is_group: bool,
    /// What the threads exchange.
    values: Vec<ExchangedValue>,
}

/// What a thread learns when it passes a barrier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passage {
    /// The reads on which the arrivals depend.
    pub(crate) dependencies: EventSet,
    /// What the threads exchange.
    pub(crate) values: Vec<ExchangedValue>,
}

/// What a thread did at a barrier.
#[derive(Clone, Copy, Debug)]
struct Membership {
    key: Key,
    generation: usize,
}

/// The barriers of a partial execution.
#[derive(Clone, Debug)]
pub(crate) struct Barriers {
    places: Vec<ThreadPlace>,
    generations: BTreeMap<Key, Vec<Generation>>,
    /// The generation of each operation of a thread.
    members: BTreeMap<(usize, usize), Membership>,
    /// The number of arrivals and waits of each thread at each barrier without a count.
    visits: BTreeMap<(Key, usize, bool), usize>,
    is_completed: bool,
    /// Arrivals at a counted barrier that have to choose a generation.
    choices: Vec<Choice>,
}

/// An arrival at a counted barrier for which more threads than the count may arrive.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    key: Key,
    generation: usize,
    arrival: Arrival,
}

/// An operation of a thread on a barrier.
#[derive(Clone, Debug)]
struct Arrival {
    thread: usize,
    operation: usize,
    step: BarrierStep,
    event: u32,
    /// The events that precede what follows the waits of other threads.
    released: Vec<u32>,
    dependencies: EventSet,
}

/// Whether a thread is one of the lanes of a barrier of a warp, whose number contains the warp and the mask.
fn is_member(places: &[ThreadPlace], key: Key, thread: usize) -> bool {
    let place = places.get(thread);
    let earlier = places.iter().take(thread);
    let index = earlier.filter(|other| Some(*other) == place).count() as u64;
    let warp = key.barrier >> 32 & 0xff_ffff;
    index / 32 == warp && key.barrier >> (index % 32) & 1 == 1
}

impl Barriers {
    pub(crate) fn new(places: &[ThreadPlace]) -> Self {
        Self {
            places: places.to_vec(),
            generations: BTreeMap::new(),
            members: BTreeMap::new(),
            visits: BTreeMap::new(),
            is_completed: false,
            choices: Vec::new(),
        }
    }

    /// Completes the barriers of CTAs and clusters at which all threads arrived that have not ended. Returns whether there are any.
    pub(crate) fn complete_without(&mut self, has_ended: &dyn Fn(usize) -> bool) -> bool {
        let mut is_completed = false;
        for (key, generations) in &mut self.generations {
            for generation in generations.iter_mut() {
                let waits_for_count = generation.is_counted && !generation.is_group;
                if generation.is_complete || waits_for_count || generation.arrivals.is_empty() {
                    continue;
                }
                let is_awaited = self.places.iter().enumerate().any(|(thread, place)| {
                    let group = if key.is_cluster {
                        place.cluster
                    } else {
                        place.cta
                    };
                    let has_arrived = generation
                        .arrivals
                        .iter()
                        .any(|(other, _)| *other == thread);
                    place.gpu == key.gpu
                        && group == key.group
                        && (!generation.is_group || is_member(&self.places, *key, thread))
                        && !has_arrived
                        && !has_ended(thread)
                });
                if !is_awaited {
                    generation.is_complete = true;
                    is_completed = true;
                }
            }
        }
        is_completed
    }

    /// Whether a barrier was completed since the last call.
    pub(crate) fn take_completed(&mut self) -> bool {
        std::mem::take(&mut self.is_completed)
    }

    fn key(&self, thread: usize, step: &BarrierStep) -> Key {
        let place = self.places.get(thread).copied().unwrap_or_default();
        let is_cluster = step.participants == Participants::Cluster;
        Key {
            is_cluster,
            gpu: place.gpu,
            group: if is_cluster { place.cluster } else { place.cta },
            barrier: step.barrier,
        }
    }

    /// The number of threads of the CTA or cluster.
    fn threads(&self, key: Key) -> usize {
        self.places
            .iter()
            .filter(|place| {
                let group = if key.is_cluster {
                    place.cluster
                } else {
                    place.cta
                };
                place.gpu == key.gpu && group == key.group
            })
            .count()
    }

    /// Lets an operation of a thread arrive, unless it did. Returns whether the thread passes the barrier.
    pub(crate) fn visit(
        &mut self,
        (thread, operation): (usize, usize),
        step: &BarrierStep,
        event: u32,
        released: Vec<u32>,
        dependencies: &EventSet,
        synchronization: &mut Vec<(u32, u32)>,
    ) -> Option<Passage> {
        if let Some(&member) = self.members.get(&(thread, operation)) {
            return self.passes(member, step);
        }
        let key = self.key(thread, step);
        let mut dependencies = dependencies.clone();
        dependencies.extend(&step.dependencies);
        let arrival = Arrival {
            thread,
            operation,
            step: step.clone(),
            event,
            released,
            dependencies,
        };
        let generation = match step.participants {
            Participants::Count(count) | Participants::AtLeast(count)
                if self.threads(key) > count as usize =>
            {
                let is_known = self.choices.iter().any(|choice| {
                    (choice.arrival.thread, choice.arrival.operation) == (thread, operation)
                });
                if !is_known {
                    self.choices.push(Choice {
                        key,
                        generation: self.first_open(key),
                        arrival,
                    });
                }
                return None;
            }
            Participants::Count(_) | Participants::AtLeast(_) => self.first_open(key),
            _ => {
                // The n-th arrival and the n-th wait of a thread belong to generation n.
                let visit = self.visits.entry((key, thread, step.arrives)).or_default();
                *visit += 1;
                *visit - 1
            }
        };
        self.join(key, generation, &arrival, synchronization);
        self.passes(Membership { key, generation }, step)
    }

    /// Whether a thread passes the barrier with a generation.
    fn passes(&self, member: Membership, step: &BarrierStep) -> Option<Passage> {
        if !step.waits || step.participants == Participants::Unlimited {
            return Some(Passage::default());
        }
        let generation = self
            .generations
            .get(&member.key)
            .and_then(|generations| generations.get(member.generation))?;
        generation.is_complete.then(|| Passage {
            dependencies: generation.dependencies.clone(),
            values: generation.values.clone(),
        })
    }

    /// The first generation that is not complete.
    fn first_open(&self, key: Key) -> usize {
        self.generations.get(&key).map_or(0, |generations| {
            generations
                .iter()
                .take_while(|generation| generation.is_complete)
                .count()
        })
    }

    fn join(
        &mut self,
        key: Key,
        number: usize,
        arrival: &Arrival,
        synchronization: &mut Vec<(u32, u32)>,
    ) {
        let Arrival {
            thread,
            operation,
            step,
            event,
            released,
            dependencies,
        } = arrival;
        self.members.insert(
            (*thread, *operation),
            Membership {
                key,
                generation: number,
            },
        );
        let expected = match step.participants {
            Participants::Count(count)
            | Participants::AtLeast(count)
            | Participants::Group(count) => count as usize,
            _ => self.threads(key),
        };
        let generations = self.generations.entry(key).or_default();
        if generations.len() <= number {
            generations.resize(number + 1, Generation::default());
        }
        let Some(generation) = generations.get_mut(number) else {
            return;
        };
        generation.is_counted =
            !matches!(step.participants, Participants::Cta | Participants::Cluster);
        generation.is_group = matches!(step.participants, Participants::Group(_));
        if let Some(bits) = step.exchange {
            generation.values.push(ExchangedValue {
                thread: *thread,
                bits,
            });
        }
        generation.lets_late_pass = matches!(step.participants, Participants::AtLeast(_));
        let others = |members: &[(usize, u32)]| -> Vec<u32> {
            members
                .iter()
                .filter(|(other, _)| other != thread)
                .map(|(_, event)| *event)
                .collect()
        };
        // An arrival synchronizes with the waits of other threads.
        if step.arrives {
            for wait in others(&generation.waits) {
                synchronization.extend(released.iter().map(|first| (*first, wait)));
            }
            let released = released.iter().map(|first| (*thread, *first));
            generation.released.extend(released);
        }
        if step.waits {
            if step.orders {
                let released = others(&generation.released);
                synchronization.extend(released.iter().map(|first| (*first, *event)));
            }
            generation.waits.push((*thread, *event));
        }
        if step.arrives {
            generation.dependencies.extend(dependencies);
            generation.arrivals.push((*thread, *event));
            if generation.arrivals.len() == expected && !generation.is_complete {
                generation.is_complete = true;
                self.is_completed = true;
            }
        }
    }

    /// Whether an arrival has not joined a generation.
    pub(crate) fn has_choices(&self) -> bool {
        !self.choices.is_empty()
    }

    /// The first arrival that may join its generation, or leave that to other threads.
    pub(crate) fn next_choice(&mut self) -> Option<usize> {
        for index in 0..self.choices.len() {
            let key = self.choices.get(index)?.key;
            let open = self.first_open(key);
            let choice = self.choices.get_mut(index)?;
            // A thread that left a generation to others waits for its completion.
            if choice.generation <= open {
                choice.generation = open;
                return Some(index);
            }
        }
        None
    }

    /// Lets an arrival join its generation, or leave that to other threads.
    pub(crate) fn choose(
        &mut self,
        index: usize,
        joins: bool,
        synchronization: &mut Vec<(u32, u32)>,
    ) {
        if joins && index < self.choices.len() {
            let choice = self.choices.remove(index);
            self.join(
                choice.key,
                choice.generation,
                &choice.arrival,
                synchronization,
            );
            self.is_completed = true;
        } else if let Some(choice) = self.choices.get_mut(index) {
            choice.generation += 1;
        }
    }

    /// Lets threads pass that wait at a barrier at which enough other threads arrived before, and synchronizes these with them. Returns whether
    /// there are any.
    pub(crate) fn release_late(&mut self, synchronization: &mut Vec<(u32, u32)>) -> bool {
        let mut is_released = false;
        for generations in self.generations.values_mut() {
            let mut arrivals: Vec<u32> = Vec::new();
            for generation in generations.iter_mut() {
                let lets_late_pass = generation.lets_late_pass && !generation.is_complete;
                if lets_late_pass && !arrivals.is_empty() {
                    generation.is_complete = true;
                    is_released = true;
                    for (_, wait) in &generation.waits {
                        synchronization.extend(arrivals.iter().map(|arrival| (*arrival, *wait)));
                    }
                }
                arrivals.extend(generation.arrivals.iter().map(|(_, event)| *event));
            }
        }
        is_released
    }
}
