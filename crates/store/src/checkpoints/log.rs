//! What a transcript says about its prompts: where each stands in the tree, what its turn changed, which files its
//! checkpoint names. The file is read once, line by line; messages are parsed only for prompts.

use super::rewind::RewindTarget;
use crate::error::StoreError;
use crate::head::{LineHead, LineMessageHead, LinePart};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use wire::entry::{CheckpointChange, CheckpointFiles, FileBackup};

/// In bytes. Longer lines are skipped.
const LINE_LIMIT: usize = 64 << 20;
/// How much of a prompt is kept for lists, in characters.
const SHOWN_CHARS: usize = 400;

/// A prompt of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptPoint {
    pub uuid: String,
    /// The line before it; `None` for the first.
    pub parent: Option<String>,
    /// The beginning of its text.
    pub text: String,
    /// Milliseconds since the epoch.
    pub at: u64,
    /// Counted from 1 on the present branch; `None` on others.
    pub number: Option<usize>,
    /// Files were saved for it.
    pub has_checkpoint: bool,
    pub mode: Option<String>,
    /// What its turn changed.
    pub files: usize,
    pub added: u64,
    pub removed: u64,
    /// A command of its turn changed something.
    pub has_shell_effects: bool,
    span: (u64, usize),
}

/// The end of a branch that was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchEnd {
    /// The uuid to resume at.
    pub leaf: String,
    /// The prompts that the present branch does not have, oldest first.
    pub prompts: Vec<String>,
    /// The first of them.
    pub text: String,
    /// The time of its last line, in milliseconds since the epoch.
    pub at: u64,
}

/// What a checkpoint says about a file.
#[derive(Clone, Debug)]
pub(super) struct FilesAtPrompt {
    pub(super) prompt: String,
    pub(super) files: BTreeMap<String, FileBackup>,
}

/// All that a transcript says about going back.
#[derive(Debug, Default)]
pub struct CheckpointLog {
    pub path: PathBuf,
    pub session_id: String,
    /// The directory of the first line that names one.
    pub cwd: Option<String>,
    /// In the order of the file, all branches.
    pub prompts: Vec<PromptPoint>,
    pub changes: Vec<CheckpointChange>,
    /// Branches that were left, oldest first.
    pub branches: Vec<BranchEnd>,
    /// The end of the present branch; `None` before the first prompt.
    pub leaf: Option<String>,
    pub(super) files: Vec<FilesAtPrompt>,
    /// The lists of the conversation, by the prompt or the end of a branch that they belong to, in the order of the file.
    lists: Vec<ListsLine>,
}

/// A line of the tree.
struct TreeNode {
    uuid: Box<str>,
    parent: Option<Box<str>>,
    at: u64,
    said: bool,
    /// Its index among the prompts.
    prompt: Option<usize>,
}

#[derive(Default)]
struct LogReader {
    log: CheckpointLog,
    nodes: Vec<TreeNode>,
    /// Position of the node with each uuid; the last line wins.
    by_uuid: HashMap<Box<str>, usize>,
    /// The leaf a line names, and how many nodes there were before it.
    hint: Option<(Option<String>, usize)>,
    /// Lines that the person took back.
    retracted: HashSet<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SnapshotLine {
    snapshot: CheckpointFiles,
    #[serde(default)]
    is_snapshot_update: bool,
    #[serde(default)]
    message_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListsLine {
    message_id: String,
    lists: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeltaLine {
    snapshot_message_id: String,
    tracking_path: String,
    backup: FileBackup,
}

impl CheckpointLog {
    /// Of a conversation that has no transcript yet.
    pub fn empty(path: &Path) -> Self {
        Self { path: path.to_path_buf(), ..Self::default() }
    }

    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let fail = |e| StoreError::read(path, e);
        let mut file = BufReader::with_capacity(256 << 10, File::open(path).map_err(fail)?);
        let mut reader = LogReader::default();
        let (mut bytes, mut offset) = (Vec::new(), 0_u64);
        loop {
            bytes.clear();
            let length = file.read_until(b'\n', &mut bytes).map_err(fail)?;
            if length == 0 {
                break;
            }
            let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            if line.len() <= LINE_LIMIT {
                reader.line(line, offset);
            }
            offset += length as u64;
        }
        let mut log = reader.finish();
        log.path = path.to_path_buf();
        if let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) {
            stem.clone_into(&mut log.session_id);
        }
        Ok(log)
    }

    /// The prompt that a person names: its number on the present branch, or its uuid or the beginning of one.
    pub fn find(&self, name: &str) -> Option<&PromptPoint> {
        if let Some(number) = name.parse::<usize>().ok().filter(|number| *number > 0) {
            let by_number = self.prompts.iter().find(|point| point.number == Some(number));
            if by_number.is_some() || name.len() < 8 {
                return by_number;
            }
        }
        let mut fitting = self.prompts.iter().filter(|point| point.uuid.starts_with(name) && name.len() >= 4);
        let found = fitting.next();
        found.filter(|point| point.uuid == name || fitting.next().is_none())
    }

    /// The message of a prompt as it was written: `content` of its line, JSON.
    pub fn content(&self, point: &PromptPoint) -> Result<String, StoreError> {
        let read = || {
            let mut line = vec![0; point.span.1];
            File::open(&self.path)?.read_exact_at(&mut line, point.span.0)?;
            Ok(line)
        };
        let line = read().map_err(|e| StoreError::read(&self.path, e))?;
        let message = LineHead::read(&line).and_then(|head| head.message.map(|raw| raw.get().to_owned()));
        let content = message.as_deref().and_then(|raw| {
            let head: LineMessageHead<'_> = serde_json::from_str(raw).ok()?;
            head.content.map(|content| content.get().to_owned())
        });
        Ok(content.unwrap_or_else(|| "\"\"".into()))
    }

    /// The lists as they were before a prompt or at the end of a branch; null before the first record of them, and `None`
    /// when there is none at all.
    pub fn lists_at(&self, target: RewindTarget<'_>) -> Option<&serde_json::Value> {
        let found = match target {
            RewindTarget::Before(point) => {
                let order = self.order(&point.uuid)?;
                let is_earlier = |line: &&ListsLine| self.order(&line.message_id).is_some_and(|at| at <= order);
                let before = self.lists.iter().rev().find(is_earlier).map(|line| &line.lists);
                return before.or((!self.lists.is_empty()).then_some(&serde_json::Value::Null));
            }
            RewindTarget::Branch(branch) => self.lists.iter().rev().find(|line| line.message_id == branch.leaf),
        };
        found.map(|line| &line.lists)
    }

    /// Files that tools were called for from the prompt at `order` on, in transcripts that do not say what calls changed.
    pub(super) fn edited_since(&self, order: usize) -> Vec<String> {
        let Some(point) = self.prompts.get(order).filter(|_| self.changes.is_empty()) else { return Vec::new() };
        let Ok(text) = std::fs::read(&self.path) else { return Vec::new() };
        let start = usize::try_from(point.span.0).unwrap_or(usize::MAX);
        let later = text.get(start..).unwrap_or_default();
        later.split(|byte| *byte == b'\n').flat_map(edited_files).collect()
    }

    /// The position of a prompt in the order of the file.
    pub(super) fn order(&self, uuid: &str) -> Option<usize> {
        self.prompts.iter().position(|point| point.uuid == uuid)
    }
}

/// The files that the calls of an assistant line edit.
fn edited_files(line: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct EditInput {
        #[serde(alias = "notebook_path")]
        file_path: String,
    }
    if memchr::memmem::find(line, b"\"tool_use\"").is_none() {
        return Vec::new();
    }
    let Some(head) = LineHead::read(line).filter(|head| head.kind.as_str() == Some("assistant")) else {
        return Vec::new();
    };
    let message = head.message.and_then(|raw| serde_json::from_str::<LineMessageHead<'_>>(raw.get()).ok());
    let content = message.and_then(|message| message.content);
    let parts: Vec<LinePart<'_>> = content.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let edits = parts.iter().filter(|part| {
        part.kind.as_str() == Some("tool_use")
            && matches!(part.name.as_str(), Some("Edit" | "Write" | "MultiEdit" | "NotebookEdit"))
    });
    let file = |part: &LinePart<'_>| Some(serde_json::from_str::<EditInput>(part.input?.get()).ok()?.file_path);
    edits.filter_map(file).collect()
}

impl LogReader {
    fn line(&mut self, line: &[u8], offset: u64) {
        // Our own lines and those of checkpoints begin with their type; most lines begin with their parent.
        if line.starts_with(b"{\"type\":\"x-checkpoint-change\"") {
            self.log.changes.extend(serde_json::from_slice::<CheckpointChange>(line));
            return;
        }
        if line.starts_with(b"{\"type\":\"x-prompt-lists\"") {
            self.log.lists.extend(serde_json::from_slice::<ListsLine>(line));
            return;
        }
        let Some(head) = LineHead::read(line) else { return };
        match head.kind.as_str() {
            Some("file-history-snapshot") => self.snapshot(line),
            Some("file-history-delta") => self.delta(line),
            Some("last-prompt") => {
                if let Some(leaf) = head.leaf_uuid.owned() {
                    self.hint = Some((Some(leaf), self.nodes.len()));
                }
            }
            Some("x-retracted") => {
                let uuids = head.uuids.and_then(|raw| serde_json::from_str::<Vec<String>>(raw.get()).ok());
                self.retracted.extend(uuids.into_iter().flatten());
            }
            Some("x-rewound") => self.hint = Some((head.leaf_uuid.owned(), self.nodes.len())),
            _ if head.is_node() && !head.is_sidechain.0 => self.node(&head, offset, line.len()),
            _ => {}
        }
    }

    fn node(&mut self, head: &LineHead<'_>, offset: u64, length: usize) {
        let Some(uuid) = head.uuid.boxed() else { return };
        if self.log.cwd.is_none() {
            self.log.cwd = head.cwd.owned();
        }
        let kind = head.kind.as_str().unwrap_or_default();
        let parent = head.parent.boxed().or_else(|| head.logical_parent.boxed()).filter(|parent| *parent != uuid);
        let at = head.timestamp.as_str().and_then(sys::clock::parse_iso).unwrap_or_default();
        let prompt = (kind == "user").then(|| self.prompt_text(head, &uuid)).flatten().map(|text| {
            self.log.prompts.push(PromptPoint {
                uuid: uuid.to_string(),
                // The tree is followed through compactions; a branch begins at the real parent.
                parent: head.parent.owned(),
                text,
                at,
                mode: head.permission_mode.owned(),
                span: (offset, length),
                ..PromptPoint::default()
            });
            self.log.prompts.len() - 1
        });
        let said = matches!(kind, "user" | "assistant");
        self.by_uuid.insert(uuid.clone(), self.nodes.len());
        self.nodes.push(TreeNode { uuid, parent, at, said, prompt });
    }

    /// The text of a line that is a prompt of a person or a host.
    fn prompt_text(&self, head: &LineHead<'_>, uuid: &str) -> Option<String> {
        if head.is_meta.0 || head.is_compact_summary.0 {
            return None;
        }
        // Quotes within texts are escaped, so this is a block; most user lines are results.
        let message = head.message?.get().as_bytes();
        if memchr::memmem::find(message, br#""type":"tool_result""#).is_some() {
            return None;
        }
        let content =
            head.message.and_then(|raw| serde_json::from_str::<LineMessageHead<'_>>(raw.get()).ok())?.content?;
        let text = if content.get().starts_with('"') {
            serde_json::from_str::<String>(content.get()).ok()?
        } else {
            let parts: Vec<LinePart<'_>> = serde_json::from_str(content.get()).ok()?;
            if parts.iter().any(|part| part.kind.as_str() == Some("tool_result")) {
                return None;
            }
            let texts: Vec<&str> = parts.iter().filter_map(|part| part.text.as_str()).collect();
            texts.join("\n")
        };
        let is_named = self.log.files.iter().rev().take(2).any(|at| at.prompt == uuid);
        let is_ours = ["<local-command-", "<command-", "<bash-", "[Request interrupted"]
            .iter()
            .any(|mark| text.starts_with(mark));
        let is_prompt = is_named || head.permission_mode.as_str().is_some() || !is_ours;
        is_prompt.then(|| text.chars().take(SHOWN_CHARS).collect())
    }

    fn snapshot(&mut self, line: &[u8]) {
        let Ok(SnapshotLine { snapshot, is_snapshot_update, message_id }) = serde_json::from_slice(line) else {
            return;
        };
        let prompt = if snapshot.message_id.is_empty() { message_id } else { snapshot.message_id };
        let files = snapshot.tracked_file_backups;
        match self.log.files.iter_mut().rev().find(|at| at.prompt == prompt) {
            Some(known) if is_snapshot_update => known.files.extend(files),
            Some(known) => known.files = files,
            None => self.log.files.push(FilesAtPrompt { prompt, files }),
        }
    }

    fn delta(&mut self, line: &[u8]) {
        let Ok(DeltaLine { snapshot_message_id: prompt, tracking_path, backup }) = serde_json::from_slice(line) else {
            return;
        };
        match self.log.files.iter_mut().rev().find(|at| at.prompt == prompt) {
            Some(known) => drop(known.files.insert(tracking_path, backup)),
            None => {
                self.log.files.push(FilesAtPrompt { prompt, files: BTreeMap::from([(tracking_path, backup)]) });
            }
        }
    }

    fn finish(mut self) -> CheckpointLog {
        for node in self.nodes.iter_mut().filter(|node| self.retracted.contains(&*node.uuid)) {
            node.prompt = None;
        }
        let leaf = self.leaf();
        let current = self.chain(leaf);
        let of_branch = |node: &TreeNode| node.prompt.filter(|_| current.contains(&*node.uuid));
        let present: Vec<usize> = self.nodes.iter().filter_map(of_branch).collect();
        self.log.branches = self.branches(&current);
        for (before, at) in present.into_iter().enumerate() {
            self.log.prompts[at].number = Some(before + 1);
        }
        self.log.leaf = leaf.map(|at| self.nodes[at].uuid.to_string());
        self.sum_changes();
        let retracted = &self.retracted;
        self.log.prompts.retain(|point| !retracted.contains(&point.uuid));
        self.log
    }

    /// The newest message, unless a later line names another one.
    fn leaf(&self) -> Option<usize> {
        let newest = self.nodes.iter().rposition(|node| node.said);
        match &self.hint {
            Some((leaf, before)) if newest.is_none_or(|at| at < *before) => {
                leaf.as_deref().and_then(|leaf| self.by_uuid.get(leaf)).copied()
            }
            Some(_) | None => newest,
        }
    }

    fn chain(&self, leaf: Option<usize>) -> HashSet<&str> {
        let mut chain = HashSet::new();
        let mut at = leaf;
        while let Some(node) = at.map(|at| &self.nodes[at]) {
            if !chain.insert(&*node.uuid) {
                break;
            }
            at = node.parent.as_deref().and_then(|parent| self.by_uuid.get(parent)).copied();
        }
        chain
    }

    /// Ends of branches that hold a prompt which the present branch does not hold.
    fn branches(&self, current: &HashSet<&str>) -> Vec<BranchEnd> {
        let mut has_child = vec![false; self.nodes.len()];
        for parent in self.nodes.iter().filter_map(|node| node.parent.as_deref()) {
            if let Some(at) = self.by_uuid.get(parent) {
                has_child[*at] = true;
            }
        }
        let mut ends: BTreeMap<usize, BranchEnd> = BTreeMap::new();
        let mut inner: HashSet<usize> = HashSet::new();
        for at in (0..self.nodes.len()).filter(|at| !has_child[*at]) {
            let above = self.above(at, current);
            let prompts: Vec<usize> = above.iter().filter_map(|here| self.nodes[*here].prompt).collect();
            let said = above.iter().find(|here| self.nodes[**here].said);
            let (Some(said), Some((last, earlier))) = (said, prompts.split_first()) else { continue };
            inner.extend(earlier);
            let first = earlier.last().unwrap_or(last);
            let (leaf, text) = (self.nodes[*said].uuid.to_string(), self.log.prompts[*first].text.clone());
            let uuids = prompts.iter().rev().map(|at| self.log.prompts[*at].uuid.clone()).collect();
            // Several ends of one answer (parallel calls) are one branch: the newest stands for all.
            ends.insert(*last, BranchEnd { leaf, prompts: uuids, text, at: self.nodes[*said].at });
        }
        ends.into_iter().filter(|(last, _)| !inner.contains(last)).map(|(_, end)| end).collect()
    }

    /// The nodes from `at` up to the present branch.
    fn above(&self, at: usize, current: &HashSet<&str>) -> Vec<usize> {
        let (mut above, mut walk) = (Vec::new(), Some(at));
        while let Some(here) = walk.filter(|here| !current.contains(&*self.nodes[*here].uuid)) {
            if above.len() > self.nodes.len() {
                break;
            }
            above.push(here);
            walk = self.nodes[here].parent.as_deref().and_then(|parent| self.by_uuid.get(parent)).copied();
        }
        above
    }

    fn sum_changes(&mut self) {
        let by_uuid: HashMap<&str, usize> =
            self.log.prompts.iter().enumerate().map(|(at, point)| (point.uuid.as_str(), at)).collect();
        let mut sums: BTreeMap<usize, TurnChanges<'_>> = BTreeMap::new();
        for change in &self.log.changes {
            if let Some(&at) = by_uuid.get(change.message_id.as_str()) {
                sums.entry(at).or_default().add(change);
            }
        }
        let sums: Vec<(usize, TurnSum)> = sums.into_iter().map(|(at, changes)| (at, changes.sum)).collect();
        // The reference's lines say only which files a checkpoint names.
        let named: HashMap<&str, usize> =
            self.log.files.iter().map(|at| (at.prompt.as_str(), at.files.len())).collect();
        let written_by_us = !self.log.changes.is_empty();
        for point in &mut self.log.prompts {
            let files = named.get(point.uuid.as_str());
            point.has_checkpoint = files.is_some();
            point.files = files.copied().filter(|_| !written_by_us).unwrap_or_default();
        }
        for (at, TurnSum { files, added, removed, has_shell_effects }) in sums {
            let point = &mut self.log.prompts[at];
            (point.files, point.added, point.removed) = (files, added, removed);
            point.has_shell_effects = has_shell_effects;
        }
    }
}

/// What the calls of one turn changed.
#[derive(Default)]
struct TurnChanges<'a> {
    /// The files that tools changed; each counts once.
    edited: BTreeSet<&'a str>,
    sum: TurnSum,
}

#[derive(Clone, Copy, Default)]
struct TurnSum {
    files: usize,
    added: u64,
    removed: u64,
    has_shell_effects: bool,
}

impl<'a> TurnChanges<'a> {
    fn add(&mut self, change: &'a CheckpointChange) {
        self.sum.added += change.added;
        self.sum.removed += change.removed;
        if let Some(path) = &change.path {
            self.sum.files += usize::from(self.edited.insert(path));
        } else {
            self.sum.files += usize::try_from(change.paths).unwrap_or_default();
            self.sum.has_shell_effects |= change.snapshot.is_some();
        }
    }
}
