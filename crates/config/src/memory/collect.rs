//! Collects instruction files, each at most once, together with the files they import.

use super::{InstructionMemory, LoadReason, MemoryFile, MemoryScope, SkippedMemory};
use crate::frontmatter::{self, FileFinding};
use crate::markdown;
use crate::nested_memory::LazyMemory;
use crate::project::{ProjectConfig, SettingsSelection};
use crate::rules::PathPatterns;
use crate::state::GlobalState;
use globset::{Glob, GlobSet, GlobSetBuilder};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sys::Env;

/// In bytes. Larger files are skipped.
const MAX_FILE: usize = 4 * 1024 * 1024;
/// The longest chain of imports.
const MAX_HOPS: u32 = 4;
/// The largest number of files: stops runaway imports.
const MAX_FILES: usize = 1_000;

/// A path where an instruction file may be.
#[derive(Clone)]
pub(crate) struct MemoryCandidate {
    pub(crate) path: PathBuf,
    pub(crate) scope: MemoryScope,
    pub(crate) imported_by: Option<PathBuf>,
    pub(crate) hops: u32,
    pub(crate) reason: LoadReason,
    pub(crate) trigger: Option<PathBuf>,
    pub(crate) is_agents_md: bool,
    /// Set for a rule: the directory of its patterns. Its front matter is not part of the text.
    pub(crate) rule_base: Option<PathBuf>,
}

impl MemoryCandidate {
    pub(crate) fn at(path: PathBuf, scope: MemoryScope) -> Self {
        Self {
            path,
            scope,
            imported_by: None,
            hops: 0,
            reason: LoadReason::SessionStart,
            trigger: None,
            is_agents_md: false,
            rule_base: None,
        }
    }
}

/// A rule that waits for a file that matches its patterns.
#[derive(Clone, Debug)]
pub(crate) struct WaitingRule {
    pub(crate) path: PathBuf,
    pub(crate) scope: MemoryScope,
    pub(crate) patterns: PathPatterns,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryCollector {
    home: Option<PathBuf>,
    /// The repository or the starting directory, resolved.
    folder: PathBuf,
    /// The user approved imports from outside the folder.
    approved: bool,
    excludes: GlobSet,
    /// Real paths already collected: prevents cycles and duplicates.
    seen: BTreeSet<PathBuf>,
    pub(crate) files: Vec<MemoryFile>,
    skipped: Vec<SkippedMemory>,
    findings: Vec<FileFinding>,
    pub(crate) waiting: Vec<WaitingRule>,
    /// The file that was read and causes others to load; `None` at the start.
    pub(crate) trigger: Option<PathBuf>,
}

impl MemoryCollector {
    pub(crate) fn new(env: &Env, loaded: &ProjectConfig, selection: &SettingsSelection) -> Self {
        let folder = sys::real_path::path(&loaded.trust_key);
        let state = GlobalState::read(env);
        let recorded = state.approves_external_imports(&loaded.trust_key) || state.approves_external_imports(&folder);
        let approved = recorded || selection.external_imports;
        let excludes = excludes(&loaded.settings.claude_md_excludes);
        Self { home: env.home(), folder, approved, excludes, ..Self::default() }
    }

    /// Returns the result; `lazy` keeps the collector and its list of collected files.
    pub(crate) fn finish(mut self, mut lazy: LazyMemory) -> InstructionMemory {
        let files = std::mem::take(&mut self.files);
        let skipped = std::mem::take(&mut self.skipped);
        let findings = std::mem::take(&mut self.findings);
        lazy.adopt(self);
        InstructionMemory { files, skipped, findings, lazy }
    }

    /// The files already collected.
    pub(crate) fn seen(&self) -> &BTreeSet<PathBuf> {
        &self.seen
    }

    pub(crate) fn forget(&mut self, seen: BTreeSet<PathBuf>) {
        self.seen = seen;
    }

    pub(crate) fn add_text(&mut self, path: PathBuf, scope: MemoryScope, text: &str) {
        let file = MemoryFile {
            path,
            scope,
            text: text.to_owned(),
            imported_by: None,
            reason: LoadReason::SessionStart,
            globs: Vec::new(),
            trigger: None,
            lines: vec![(0, 1)],
            is_agents_md: false,
        };
        self.files.push(file);
    }

    pub(crate) fn add(&mut self, mut found: MemoryCandidate) {
        if let Some(trigger) = &self.trigger
            && found.reason == LoadReason::SessionStart
        {
            found.reason = LoadReason::NestedTraversal;
            found.trigger = Some(trigger.clone());
        }
        let own_dir = found.path.parent().unwrap_or(Path::new("/")).to_path_buf();
        self.add_within(found, &own_dir);
    }

    /// `base` is the directory of the file in which the chain of imports began.
    fn add_within(&mut self, found: MemoryCandidate, base: &Path) {
        // Most candidates do not exist, and one check is cheaper than resolving every parent folder.
        if !found.path.exists() {
            return;
        }
        let Ok(real) = std::fs::canonicalize(&found.path) else { return };
        if self.files.len() >= MAX_FILES || self.seen.contains(&real) {
            return;
        }
        let excluded = |path: &Path| self.excludes.is_match(path);
        if found.scope != MemoryScope::Managed && (excluded(&found.path) || excluded(&real)) {
            return;
        }
        if !self.may_include(&real, found.scope, base) {
            self.skip(found.path, "it lies outside the project and its import was not approved");
            return;
        }
        let raw = match read(&real) {
            Ok(raw) => raw,
            Err(reason) => return self.skip(found.path, reason),
        };
        let (start, first_line, patterns) = self.rule_head(&found, &raw);
        // A rule with patterns is added again when a file matches.
        if let Some(patterns) = patterns.clone()
            && found.reason != LoadReason::PathGlobMatch
        {
            if self.waiting.iter().all(|rule| rule.path != found.path) {
                self.waiting.push(WaitingRule { path: found.path, scope: found.scope, patterns });
            }
            return;
        }
        self.seen.insert(real.clone());
        let (text, lines) = markdown::without_comments(&raw[start..], first_line);
        if found.is_agents_md && self.files.iter().any(|file| file.text.trim() == text.trim()) {
            return;
        }
        let imports = if found.hops < MAX_HOPS { markdown::imports(&text) } else { Vec::new() };
        let MemoryCandidate { path, scope, imported_by, hops, reason, trigger, is_agents_md, .. } = found;
        let globs = patterns.map(|patterns| patterns.texts().to_vec()).unwrap_or_default();
        let file = MemoryFile {
            path: path.clone(),
            scope,
            text,
            imported_by,
            reason,
            globs,
            trigger: trigger.clone(),
            lines,
            is_agents_md,
        };
        self.files.push(file);
        // Relative to the real location of the file, so that a linked file keeps its imports.
        let dir = real.parent().unwrap_or(Path::new("/")).to_path_buf();
        for import in imports {
            let next = MemoryCandidate {
                imported_by: Some(path.clone()),
                hops: hops + 1,
                reason: LoadReason::Include,
                trigger: trigger.clone(),
                ..MemoryCandidate::at(self.target(&import, &dir), scope)
            };
            self.add_within(next, base);
        }
    }

    /// Where a rule's text begins: offset and line, and its patterns. Other files have no front matter.
    fn rule_head(&mut self, found: &MemoryCandidate, raw: &str) -> (usize, usize, Option<PathPatterns>) {
        let Some(base) = &found.rule_base else {
            let start = if raw.starts_with('\u{feff}') { 3 } else { 0 };
            return (start, 1, None);
        };
        let mut head = frontmatter::read(raw);
        let globs = head.globs("paths").unwrap_or_default();
        let line = head.get("paths").map_or(1, |field| field.line);
        let findings = &mut self.findings;
        findings.extend(head.defects.iter().map(|d| FileFinding::new(&found.path, d.line, d.message.clone())));
        let patterns = (!globs.is_empty()).then(|| {
            let (patterns, broken) = PathPatterns::new(&globs, base);
            findings.extend(broken.into_iter().map(|problem| FileFinding::new(&found.path, line, problem)));
            patterns
        });
        (head.body_at, head.body_line, patterns)
    }

    fn may_include(&self, real: &Path, scope: MemoryScope, base: &Path) -> bool {
        match scope {
            MemoryScope::Managed | MemoryScope::User | MemoryScope::Auto => true,
            MemoryScope::Project | MemoryScope::Local => {
                self.approved || real.starts_with(&self.folder) || real.starts_with(sys::real_path::path(base))
            }
        }
    }

    fn target(&self, import: &str, dir: &Path) -> PathBuf {
        match (import.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => dir.join(import),
        }
    }

    fn skip(&mut self, path: PathBuf, reason: &'static str) {
        if self.skipped.iter().all(|skipped| skipped.path != path) {
            self.skipped.push(SkippedMemory { path, reason });
        }
    }
}

fn excludes(patterns: &[String]) -> GlobSet {
    if patterns.is_empty() {
        return GlobSet::empty();
    }
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        if let Ok(glob) = Glob::new(pattern) {
            set.add(glob);
        }
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

fn read(path: &Path) -> Result<String, &'static str> {
    use std::io::ErrorKind;
    let bytes = sys::fs::read_whole(path, MAX_FILE).map_err(|error| match error.kind() {
        ErrorKind::IsADirectory | ErrorKind::InvalidInput => "it is not a regular file",
        ErrorKind::FileTooLarge => "it is larger than 4 MiB",
        _ => "it cannot be read",
    })?;
    if bytes.contains(&0) {
        return Err("it is not a text file");
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
