//! Turns an index into a conversation: chooses the leaf, follows parents to the root or a compaction, inserts messages
//! that the compaction kept, and adds parallel lines. Returns `NeedMore` while the answer depends on unread lines.

use super::index::{EntryNode, NodeKind, PreservedMessages, TranscriptIndex};
use std::collections::{HashMap, HashSet};

pub(super) enum ChainResult {
    /// Indexes of nodes, in conversation order, and the leaf.
    Chain {
        order: Vec<usize>,
        leaf: usize,
    },
    NeedMore,
    /// The whole file has no leaf.
    Nothing,
}

/// The chain that ends in `at`, or in the leaf the file implies.
pub(super) fn resolve(index: &TranscriptIndex, at: Option<&str>) -> ChainResult {
    let Some(tree) = LinkedTree::link(index) else { return ChainResult::NeedMore };
    let leaf = match at {
        Some(uuid) => tree.index.get(uuid).map_or(LeafChoice::Unknown, LeafChoice::Found),
        None => tree.choose_leaf(),
    };
    let leaf = match leaf {
        LeafChoice::Found(leaf) => leaf,
        LeafChoice::Unknown if index.complete => return ChainResult::Nothing,
        LeafChoice::Unknown => return ChainResult::NeedMore,
    };
    // Messages that a compaction kept, with nothing after them, end the conversation, unless it is cut here.
    let last = if at.is_none() { tree.spliced.get(&leaf).copied().unwrap_or(leaf) } else { leaf };
    let Some(path) = tree.path(last) else { return ChainResult::NeedMore };
    let newest = at.map_or(u64::MAX, |_| index.nodes[leaf].span.offset);
    ChainResult::Chain { order: with_parallel_lines(index, &path, newest), leaf: last }
}

enum LeafChoice {
    Found(usize),
    Unknown,
}

/// The index with links changed where a compaction kept older messages.
struct LinkedTree<'i> {
    index: &'i TranscriptIndex,
    /// Child to parent.
    relinked: HashMap<usize, usize>,
    /// Maps an entry to the last of the kept messages that follow it.
    spliced: HashMap<usize, usize>,
}

impl<'i> LinkedTree<'i> {
    /// Returns `None` when kept messages are further back than the pass has read.
    fn link(index: &'i TranscriptIndex) -> Option<Self> {
        Self::link_from(index, 0)
    }

    /// The same with the compactions alone that come after `first` in the index: those that are older.
    fn link_from(index: &'i TranscriptIndex, first: usize) -> Option<Self> {
        let mut tree = Self { index, relinked: HashMap::new(), spliced: HashMap::new() };
        let newest = index.nodes.iter().skip(first).position(|n| n.boundary.is_some()).map(|at| first + at);
        // Oldest first, so that the newest compaction decides.
        for at in (first..index.nodes.len()).rev() {
            let Some(kept) = index.nodes[at].boundary.as_ref().and_then(|b| b.kept.as_ref()) else { continue };
            if tree.relink_kept(kept).is_none() && newest == Some(at) && !index.complete {
                return None;
            }
        }
        Some(tree)
    }

    fn relink_kept(&mut self, kept: &PreservedMessages) -> Option<()> {
        let (anchor, chain) = match kept {
            PreservedMessages::Listed { anchor, uuids } => {
                let found: Vec<usize> = uuids.iter().filter_map(|u| self.index.get(u)).collect();
                if found.len() < uuids.len() && !self.index.complete {
                    return None;
                }
                (self.index.get(anchor)?, found)
            }
            PreservedMessages::Segment { anchor, head, tail } => (self.index.get(anchor)?, self.segment(head, tail)?),
        };
        let mut above = anchor;
        for &node in &chain {
            if node != anchor {
                self.relinked.insert(node, above);
                above = node;
            }
        }
        if above != anchor {
            self.spliced.insert(anchor, above);
        }
        Some(())
    }

    fn segment(&self, head: &str, tail: &str) -> Option<Vec<usize>> {
        let head = self.index.get(head)?;
        let mut chain = vec![self.index.get(tail)?];
        while chain.last() != Some(&head) {
            let parent = self.index.nodes[*chain.last()?].parent.as_deref()?;
            let next = self.index.get(parent)?;
            if chain.len() > self.index.nodes.len() {
                return None;
            }
            chain.push(next);
        }
        chain.reverse();
        Some(chain)
    }

    /// The node above `at` in the conversation.
    fn parent(&self, at: usize) -> ParentLink {
        if let Some(&parent) = self.relinked.get(&at) {
            return ParentLink::Node(parent);
        }
        let node = &self.index.nodes[at];
        if node.boundary.is_some() {
            return ParentLink::Root;
        }
        let Some(uuid) = node.parent.as_deref() else { return ParentLink::Root };
        match self.index.get(uuid) {
            // Entries written after the compaction follow the kept messages.
            Some(parent) => ParentLink::Node(self.spliced.get(&parent).copied().unwrap_or(parent)),
            None if self.index.complete => self.before(at),
            None => ParentLink::NotRead,
        }
    }

    /// For a node whose parent is missing from the file: the previous node in the file becomes its parent.
    fn before(&self, at: usize) -> ParentLink {
        if at + 1 < self.index.nodes.len() { ParentLink::Node(at + 1) } else { ParentLink::Root }
    }

    /// The path from root to leaf. `None` when it leads to unread lines.
    fn path(&self, leaf: usize) -> Option<Vec<usize>> {
        let mut path = vec![leaf];
        let mut seen = HashSet::from([leaf]);
        let mut at = leaf;
        let mut earlier: Option<Self> = None;
        loop {
            if let Some(boundary) = self.index.nodes[at].undoes.as_deref() {
                match self.index.get(boundary) {
                    Some(boundary) => earlier = Some(Self::link_from(self.index, boundary + 1)?),
                    None if !self.index.complete => return None,
                    // A copy of the conversation does not have what was taken back.
                    None => {}
                }
            }
            match earlier.as_ref().unwrap_or(self).parent(at) {
                ParentLink::Root => break,
                ParentLink::NotRead => return None,
                ParentLink::Node(next) if !seen.insert(next) => break,
                ParentLink::Node(next) => {
                    path.push(next);
                    at = next;
                }
            }
        }
        path.reverse();
        Some(path)
    }

    fn choose_leaf(&self) -> LeafChoice {
        let nodes = &self.index.nodes;
        let mut has_child = vec![false; nodes.len()];
        for node in nodes {
            if let Some(parent) = node.parent.as_deref().and_then(|p| self.index.get(p)) {
                has_child[parent] = true;
            }
        }
        let ends = |range: std::ops::Range<usize>| range.filter(|&at| !has_child[at]);
        let hint = self.index.hint.as_ref();
        let newer =
            ends(0..hint.map_or(nodes.len(), |h| h.nodes_after)).find_map(|at| self.last_said(at, BranchRule::Yes));
        if let Some(leaf) = newer {
            return leaf;
        }
        if let Some(leaf) = hint.map(|h| self.index.get(&h.leaf)) {
            match leaf {
                Some(leaf) => return LeafChoice::Found(leaf),
                None if !self.index.complete => return LeafChoice::Unknown,
                None => {}
            }
        }
        let any = |strict| ends(0..nodes.len()).find_map(|at| self.last_said(at, strict));
        any(BranchRule::Yes)
            .or_else(|| any(BranchRule::No))
            .or_else(|| self.newest_said())
            .unwrap_or(LeafChoice::Unknown)
    }

    /// The newest message, for a file without a leaf because its parents form a ring.
    fn newest_said(&self) -> Option<LeafChoice> {
        self.index.nodes.iter().position(EntryNode::is_said).map(LeafChoice::Found)
    }

    /// The last message on the way up from `end`; `None` when this branch has none that counts.
    fn last_said(&self, end: usize, strict: BranchRule) -> Option<LeafChoice> {
        let hint = self.index.hint.as_ref().and_then(|h| self.index.get(&h.leaf));
        let mut at = end;
        for _ in 0..=self.index.nodes.len() {
            let node = &self.index.nodes[at];
            if strict == BranchRule::Yes && node.is_team {
                return None;
            }
            let counts = node.is_said() && node.body.is_some() && (strict == BranchRule::No || !node.is_meta);
            if counts || Some(at) == hint || node.undoes.is_some() {
                return Some(LeafChoice::Found(at));
            }
            match self.parent(at) {
                ParentLink::Root => return None,
                ParentLink::NotRead => return Some(LeafChoice::Unknown),
                ParentLink::Node(next) => at = next,
            }
        }
        None
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BranchRule {
    Yes,
    No,
}

enum ParentLink {
    Node(usize),
    Root,
    NotRead,
}

/// Adds lines beside the path that belong to the same responses, and the results of their calls.
fn with_parallel_lines(index: &TranscriptIndex, path: &[usize], newest: u64) -> Vec<usize> {
    let responses = PathResponses::on(index, path);
    let on_path: HashSet<usize> = path.iter().copied().collect();
    let mut beside: Vec<usize> = Vec::new();
    let mut answered: HashSet<&str> = responses.answered.clone();
    let oldest = path.iter().map(|&at| index.nodes[at].span.offset).min().unwrap_or(0);
    // Newest first, so that the last result of a call is the one that counts.
    for (at, node) in index.nodes.iter().enumerate() {
        let here = (oldest..=newest).contains(&node.span.offset);
        if here && !on_path.contains(&at) && responses.wants(node, &mut answered) {
            beside.push(at);
        }
    }
    if beside.is_empty() {
        return path.to_vec();
    }
    let mut keyed: Vec<(PathKey, usize)> = path.iter().enumerate().map(|(p, &at)| ((p, PathSide::On, 0), at)).collect();
    keyed.extend(beside.into_iter().map(|at| (responses.key(index, path, at), at)));
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, at)| at).collect()
}

/// Position on the path, side of it, then file order.
type PathKey = (usize, PathSide, u64);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PathSide {
    Before,
    On,
    Response,
    Results,
}

/// The API responses that the path passes, by message id.
struct PathResponses<'i> {
    /// Message id to positions on the path.
    lines: HashMap<&'i str, Vec<usize>>,
    /// Call to message id, lines beside the path included.
    calls: HashMap<&'i str, &'i str>,
    /// Message id to positions of results on the path.
    results: HashMap<&'i str, Vec<usize>>,
    answered: HashSet<&'i str>,
}

impl<'i> PathResponses<'i> {
    fn on(index: &'i TranscriptIndex, path: &[usize]) -> Self {
        let mut this =
            Self { lines: HashMap::new(), calls: HashMap::new(), results: HashMap::new(), answered: HashSet::new() };
        for (position, &at) in path.iter().enumerate() {
            let node = &index.nodes[at];
            if let (NodeKind::Assistant, Some(id)) = (node.kind, node.message_id.as_deref()) {
                this.lines.entry(id).or_default().push(position);
            }
        }
        for node in index.nodes.iter().filter(|n| n.kind == NodeKind::Assistant) {
            let Some(id) = node.message_id.as_deref().filter(|id| this.lines.contains_key(id)) else { continue };
            this.calls.extend(node.calls.iter().map(|c| (&**c, id)));
        }
        for (position, &at) in path.iter().enumerate() {
            let node = &index.nodes[at];
            if node.kind != NodeKind::User {
                continue;
            }
            for call in &node.calls {
                this.answered.insert(call);
                if let Some(id) = this.calls.get(&**call) {
                    this.results.entry(id).or_default().push(position);
                }
            }
        }
        this
    }

    fn wants(&self, node: &'i EntryNode, answered: &mut HashSet<&'i str>) -> bool {
        match node.kind {
            NodeKind::Assistant => node.message_id.as_deref().is_some_and(|id| self.lines.contains_key(id)),
            NodeKind::User => {
                let ours = node.calls.iter().any(|c| self.calls.contains_key(&**c) && !answered.contains(&**c));
                if ours {
                    answered.extend(node.calls.iter().map(|c| &**c));
                }
                ours
            }
            NodeKind::System | NodeKind::Attachment | NodeKind::Progress => false,
        }
    }

    fn key(&self, index: &TranscriptIndex, path: &[usize], at: usize) -> PathKey {
        let node = &index.nodes[at];
        let offset = node.span.offset;
        let offset_of = |position: usize| index.nodes[path[position]].span.offset;
        let id = match node.kind {
            NodeKind::Assistant => node.message_id.as_deref(),
            NodeKind::User => node.calls.iter().find_map(|c| self.calls.get(&**c).copied()),
            NodeKind::System | NodeKind::Attachment | NodeKind::Progress => None,
        };
        let empty = Vec::new();
        let lines = id.and_then(|id| self.lines.get(id)).unwrap_or(&empty);
        if node.kind == NodeKind::Assistant {
            return match lines.iter().rev().find(|&&p| offset_of(p) < offset) {
                Some(&position) => (position, PathSide::Response, offset),
                None => (lines.first().copied().unwrap_or(0), PathSide::Before, offset),
            };
        }
        let results = id.and_then(|id| self.results.get(id)).unwrap_or(&empty);
        if let Some(&position) = results.iter().find(|&&p| offset_of(p) > offset) {
            return (position, PathSide::Before, offset);
        }
        let last = results.last().or(lines.last()).copied().unwrap_or(0);
        (last, PathSide::Results, offset)
    }
}
