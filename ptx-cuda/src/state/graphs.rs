//! Graphs: nodes, and edges between them. Executable graphs are in [`graph_execs`](super::graph_execs).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

use super::{Driver, Operation};
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};

/// A graph. Handles ascend in the order in which nodes are created.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: BTreeSet<Raw>,
    /// The number of the graph among all graphs and executable graphs of the process.
    pub(crate) number: u32,
    /// The node whose child graph, or whose body, this is. Programs cannot destroy such a graph.
    pub(crate) owner: Option<Raw>,
    /// The graph of which this is a copy.
    pub(crate) original: Option<Raw>,
    /// The values of conditional nodes.
    pub(crate) conditions: Vec<Condition>,
    /// The numbers of references to user objects.
    pub(crate) user_objects: BTreeMap<Raw, u32>,
}

impl Kind for Graph {
    const NUMBER: usize = 11;
    const UNKNOWN: Status = Status::INVALID_VALUE;
}

/// An edge to a node. The kinds of edges and ports differ in when kernels may begin, and each node begins when those before it have ended.
pub(crate) use crate::abi::graph::EdgeData as Edge;

/// A node of a graph.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) graph: Raw,
    pub(crate) work: Work,
    /// The attributes of a kernel that the program set, by their numbers.
    pub(crate) attributes: BTreeMap<u32, [u32; 16]>,
    /// The nodes before it.
    pub(crate) dependencies: BTreeMap<Raw, Edge>,
    /// The nodes after it.
    pub(crate) dependents: BTreeSet<Raw>,
    /// The node of which this is a copy.
    pub(crate) original: Option<Raw>,
    /// Words that the program may read until it changes the node: pointers to the arguments of a kernel, or descriptions of operations on memory.
    pub(crate) shared_words: Vec<usize>,
}

impl Kind for Node {
    const NUMBER: usize = 12;
    const UNKNOWN: Status = Status::INVALID_VALUE;
}

/// What a node does.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Operation(Operation),
    /// Performs all nodes of a graph that the node owns.
    Child(Raw),
    /// Allocates memory, whose address is that of the node's creation.
    Allocate {
        address: u64,
        bytes: u64,
    },
    /// Performs one of the graphs that the node owns, as the value at an address decides.
    Conditional {
        condition: u64,
        kind: ConditionalKind,
        bodies: Vec<Raw>,
    },
}

impl Work {
    /// The graphs that the node owns.
    fn graphs(&self) -> &[Raw] {
        match self {
            Self::Operation(_) | Self::Allocate { .. } => &[],
            Self::Child(graph) => std::slice::from_ref(graph),
            Self::Conditional { bodies, .. } => bodies,
        }
    }

    /// Whether both are of the same kind, so that one can replace the other.
    pub(crate) fn is_same_kind(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Operation(a), Self::Operation(b)) => {
                std::mem::discriminant(a) == std::mem::discriminant(b)
            }
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }
}

/// A value that decides what a conditional node does, in memory of the device.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) address: u64,
    /// The value that each launch sets at its beginning.
    pub(crate) default: Option<u32>,
}

/// How often a conditional node performs its graphs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum ConditionalKind {
    /// The first one if the value is not 0, else the second one, if there is one.
    If,
    /// As long as the value is not 0.
    While,
    /// The one whose number is the value.
    Switch,
}

impl Driver {
    /// Creates a graph without nodes.
    pub(crate) fn create_graph(&mut self, owner: Option<Raw>) -> Raw {
        let number = self.next_graph_number();
        self.graphs.insert(Graph {
            number,
            owner,
            ..Graph::default()
        })
    }

    /// The number of a new graph or executable graph.
    pub(super) fn next_graph_number(&mut self) -> u32 {
        self.created_graphs += 1;
        self.created_graphs
    }

    /// Adds a node to a graph.
    pub(crate) fn add_node(
        &mut self,
        graph: Raw,
        dependencies: &[(Raw, Edge)],
        work: Work,
    ) -> Outcome<Raw> {
        self.graphs.get(graph)?;
        let mut predecessors = BTreeMap::new();
        for (node, edge) in dependencies {
            if self.nodes.get(*node)?.graph != graph || predecessors.insert(*node, *edge).is_some()
            {
                return Err(Status::INVALID_VALUE);
            }
        }
        let handle = self.nodes.insert(Node {
            graph,
            work,
            attributes: BTreeMap::new(),
            dependencies: predecessors,
            dependents: BTreeSet::new(),
            original: None,
            shared_words: Vec::new(),
        });
        for (node, _) in dependencies {
            self.nodes.get_mut(*node)?.dependents.insert(handle);
        }
        self.graphs.get_mut(graph)?.nodes.insert(handle);
        Ok(handle)
    }

    /// Adds edges between nodes of a graph.
    pub(crate) fn add_edges(&mut self, graph: Raw, edges: &[(Raw, Raw, Edge)]) -> Outcome<()> {
        for (from, to, _) in edges {
            let [source, target] = [self.nodes.get(*from)?, self.nodes.get(*to)?];
            let exists = target.dependencies.contains_key(from);
            if source.graph != graph || target.graph != graph || from == to || exists {
                return Err(Status::INVALID_VALUE);
            }
        }
        for (from, to, edge) in edges {
            self.nodes.get_mut(*from)?.dependents.insert(*to);
            self.nodes.get_mut(*to)?.dependencies.insert(*from, *edge);
        }
        Ok(())
    }

    /// Removes edges between nodes of a graph.
    pub(crate) fn remove_edges(&mut self, graph: Raw, edges: &[(Raw, Raw, Edge)]) -> Outcome<()> {
        for (from, to, edge) in edges {
            let target = self.nodes.get(*to)?;
            if target.graph != graph || target.dependencies.get(from) != Some(edge) {
                return Err(Status::INVALID_VALUE);
            }
        }
        for (from, to, _) in edges {
            self.nodes.get_mut(*from)?.dependents.remove(to);
            self.nodes.get_mut(*to)?.dependencies.remove(from);
        }
        Ok(())
    }

    /// Removes a node with its edges. Nodes that allocate or free memory cannot be removed.
    pub(crate) fn destroy_node(&mut self, handle: Raw) -> Outcome<()> {
        let node = self.nodes.get(handle)?;
        if matches!(
            node.work,
            Work::Allocate { .. } | Work::Operation(Operation::Free(_))
        ) {
            return Err(Status::NOT_SUPPORTED);
        }
        let node = self.nodes.remove(handle)?;
        for before in node.dependencies.keys() {
            self.nodes.get_mut(*before)?.dependents.remove(&handle);
        }
        for after in &node.dependents {
            self.nodes.get_mut(*after)?.dependencies.remove(&handle);
        }
        self.graphs.get_mut(node.graph)?.nodes.remove(&handle);
        self.remove_graphs(node.work.graphs().to_vec());
        Ok(())
    }

    /// Destroys a graph that no node owns.
    pub(crate) fn destroy_graph(&mut self, graph: Raw) -> Outcome<()> {
        if self.graphs.get(graph)?.owner.is_some() {
            return Err(Status::INVALID_VALUE);
        }
        self.remove_graphs(vec![graph]);
        Ok(())
    }

    /// Removes graphs, with the graphs that their nodes own.
    pub(super) fn remove_graphs(&mut self, mut graphs: Vec<Raw>) {
        while let Some(handle) = graphs.pop() {
            let Ok(graph) = self.graphs.remove(handle) else {
                continue;
            };
            for node in graph.nodes {
                let Ok(node) = self.nodes.remove(node) else {
                    continue;
                };
                graphs.extend_from_slice(node.work.graphs());
                if let Work::Allocate { address, .. } = node.work {
                    self.release_graph_memory(address);
                }
            }
            for condition in graph.conditions {
                self.release_graph_memory(condition.address);
            }
            for (object, count) in graph.user_objects {
                let _ = self.release_user_object(object, count);
            }
        }
    }

    /// Copies a graph, with the graphs that its nodes own. Graphs that allocate or free memory cannot be copied.
    pub(crate) fn clone_graph(&mut self, source: Raw, owner: Option<Raw>) -> Outcome<Raw> {
        self.check_without_memory(source)?;
        let copy = self.create_graph(owner);
        let mut left = vec![(source, copy)];
        while let Some((source, target)) = left.pop() {
            let graph = self.graphs.get(source)?;
            let nodes = graph.nodes.clone();
            let conditions = graph.conditions.clone();
            let user_objects = graph.user_objects.clone();
            for condition in &conditions {
                self.hold_graph_memory(condition.address);
            }
            for (object, count) in &user_objects {
                self.retain_user_object(*object, *count)?;
            }
            let graph = self.graphs.get_mut(target)?;
            graph.original = Some(source);
            graph.conditions = conditions;
            graph.user_objects = user_objects;
            let mut copies = HashMap::new();
            for node in &nodes {
                let work = self.nodes.get(*node)?.work.clone();
                let attributes = self.nodes.get(*node)?.attributes.clone();
                let handle = self.add_node(target, &[], work)?;
                copies.insert(*node, handle);
                let mut graphs = self.nodes.get(handle)?.work.graphs().to_vec();
                for graph in &mut graphs {
                    let cloned = self.create_graph(Some(handle));
                    left.push((*graph, cloned));
                    *graph = cloned;
                }
                let copy = self.nodes.get_mut(handle)?;
                copy.original = Some(*node);
                copy.attributes = attributes;
                match &mut copy.work {
                    Work::Child(child) => *child = graphs[0],
                    Work::Conditional { bodies, .. } => *bodies = graphs,
                    Work::Operation(_) | Work::Allocate { .. } => {}
                }
            }
            let mut edges = Vec::new();
            for node in &nodes {
                for (before, edge) in &self.nodes.get(*node)?.dependencies {
                    edges.push((copies[before], copies[node], *edge));
                }
            }
            self.add_edges(target, &edges)?;
        }
        Ok(copy)
    }

    /// Fails if a graph, or one that its nodes own, allocates or frees memory.
    fn check_without_memory(&self, graph: Raw) -> Outcome<()> {
        let mut left = vec![graph];
        while let Some(graph) = left.pop() {
            for node in &self.graphs.get(graph)?.nodes {
                let work = &self.nodes.get(*node)?.work;
                left.extend_from_slice(work.graphs());
                if matches!(
                    work,
                    Work::Allocate { .. } | Work::Operation(Operation::Free(_))
                ) {
                    return Err(Status::NOT_SUPPORTED);
                }
            }
        }
        Ok(())
    }

    /// The nodes of a graph in an order that its edges allow: of all nodes that may follow, the one that was created first. Fails with a node of a cycle.
    pub(crate) fn order_of_graph(&self, graph: Raw) -> Outcome<Result<Vec<Raw>, Raw>> {
        let graph = self.graphs.get(graph)?;
        let mut missing = HashMap::new();
        let mut ready = BinaryHeap::new();
        for handle in &graph.nodes {
            let count = self.nodes.get(*handle)?.dependencies.len();
            missing.insert(*handle, count);
            if count == 0 {
                ready.push(Reverse(*handle));
            }
        }
        let mut order = Vec::with_capacity(graph.nodes.len());
        while let Some(Reverse(handle)) = ready.pop() {
            order.push(handle);
            for after in &self.nodes.get(handle)?.dependents {
                if let Some(count) = missing.get_mut(after) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(Reverse(*after));
                    }
                }
            }
        }
        if order.len() == graph.nodes.len() {
            return Ok(Ok(order));
        }
        let in_cycle = graph.nodes.iter().find(|node| missing[*node] > 0);
        Ok(Err(in_cycle.copied().unwrap_or(0)))
    }

    /// The copy of a node in a graph that is a copy of the node's graph.
    pub(crate) fn find_in_clone(&self, node: Raw, graph: Raw) -> Outcome<Raw> {
        self.nodes.get(node)?;
        let nodes = &self.graphs.get(graph)?.nodes;
        let copy = nodes.iter().find(|copy| {
            let copy = self.nodes.get(**copy);
            copy.is_ok_and(|copy| copy.original == Some(node))
        });
        copy.copied().ok_or(Status::INVALID_VALUE)
    }

    /// Replaces what a node does by something of the same kind.
    pub(crate) fn set_work(&mut self, node: Raw, work: Work) -> Outcome<()> {
        let node = self.nodes.get_mut(node)?;
        if !node.work.is_same_kind(&work) {
            return Err(Status::INVALID_VALUE);
        }
        node.work = work;
        node.shared_words.clear();
        Ok(())
    }

    /// Creates a value for a conditional node of a graph, and returns its address, which kernels write.
    pub(crate) fn create_condition(&mut self, graph: Raw, default: Option<u32>) -> Outcome<u64> {
        self.graphs.get(graph)?;
        let address = self.reserve_graph_memory(4)?;
        self.set_condition(address, default.unwrap_or(0));
        let condition = Condition { address, default };
        self.graphs.get_mut(graph)?.conditions.push(condition);
        Ok(address)
    }

    /// Sets the value of a conditional node.
    pub(super) fn set_condition(&mut self, address: u64, value: u32) {
        let _ = self.device.write(address, &value.to_le_bytes());
    }

    /// The value of a conditional node.
    pub(super) fn condition(&self, address: u64) -> Outcome<u32> {
        let values = self.device.read_slice(address, 1);
        let values = values.map_err(|_| Status::INVALID_VALUE)?;
        values.first().copied().ok_or(Status::INVALID_VALUE)
    }
}
