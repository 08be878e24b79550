//! Finds the files a command would open, on the real tree: expands patterns, walks trees as the program does, follows
//! links. Stops at the first file that a rule forbids, and reports when there are too many files to check.

use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, WalkBuilder};
use permission::reads::{
    ForbiddenRead, NamePattern, ReadExtent, ReadFindings, ReadPlan, ReadTarget, TreeWalk, name_fits, plain_name,
};
use permission::{Policy, normalise};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of entries checked for one command.
const MAX_ENTRIES: usize = 100_000;
const MAX_TIME: Duration = Duration::from_millis(700);

/// Checks everything `plan` names against the rules of `policy`.
pub fn check_reads(plan: &ReadPlan, policy: &Policy) -> ReadFindings {
    let mut look = ReadCheck {
        policy,
        remaining: MAX_ENTRIES,
        deadline: Instant::now() + MAX_TIME,
        folders: sys::real_path::ResolvedFolders::default(),
        reads: ReadFindings { forbidden: Vec::new(), unknown: plan.unknown.clone() },
    };
    for target in &plan.targets {
        if look.target(target).is_err() {
            look.reads.unknown.get_or_insert_with(|| {
                format!("there are too many files to tell beforehand which of them {} reads", target.program)
            });
        }
        if !look.reads.forbidden.is_empty() {
            break;
        }
    }
    look.reads
}

/// There are too many files to check.
struct TooManyReads;

struct ReadCheck<'a> {
    policy: &'a Policy,
    remaining: usize,
    deadline: Instant,
    folders: sys::real_path::ResolvedFolders,
    reads: ReadFindings,
}

impl ReadCheck<'_> {
    fn target(&mut self, target: &ReadTarget) -> Result<(), TooManyReads> {
        for path in self.expand(&target.pattern)? {
            if self.depends_on_process(&path, &target.program) {
                continue;
            }
            let meta = std::fs::metadata(&path);
            let is_dir = meta.is_ok_and(|meta| meta.is_dir());
            match &target.extent {
                ReadExtent::File if is_dir => {}
                ReadExtent::Listing if !is_dir => {}
                ReadExtent::Tree(walk) if is_dir => self.tree(&path, walk, &target.program)?,
                ReadExtent::File | ReadExtent::Listing | ReadExtent::Tree(_) => {
                    self.check(&path, &sys::real_path::path(&path), &target.program, false);
                }
            }
            if !self.reads.forbidden.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Notes that a path leads elsewhere in the process that will open it.
    fn depends_on_process(&mut self, path: &Path, program: &str) -> bool {
        let depends = sys::real_path::depends_on_process(path);
        if depends {
            self.reads.unknown.get_or_insert_with(|| {
                format!("what {program} would read is not known: {} leads elsewhere in every process", path.display())
            });
        }
        depends
    }

    fn check(&mut self, path: &Path, real: &Path, program: &str, in_tree: bool) {
        let given = normalise(path);
        if self.policy.forbids_reading(&given, real) {
            // The path that the rule matches.
            let path = if self.policy.forbids_reading(&given, &given) { given } else { real.to_path_buf() };
            self.reads.forbidden.push(ForbiddenRead { path, program: program.to_owned(), in_tree });
        }
    }

    fn count_entry(&mut self) -> Result<(), TooManyReads> {
        self.remaining = self.remaining.checked_sub(1).ok_or(TooManyReads)?;
        if self.remaining.is_multiple_of(256) && Instant::now() > self.deadline { Err(TooManyReads) } else { Ok(()) }
    }

    /// The paths that match a pattern. Without pattern characters it is the path itself, whether that exists or not.
    fn expand(&mut self, pattern: &str) -> Result<Vec<PathBuf>, TooManyReads> {
        let mut paths = vec![PathBuf::from("/")];
        for name in pattern.split('/').filter(|name| !name.is_empty()) {
            if let Some(plain) = plain_name(name) {
                for path in &mut paths {
                    path.push(&plain);
                }
                continue;
            }
            let mut next = Vec::new();
            for path in paths {
                if name == "**" {
                    self.descend(&path, &mut next)?;
                } else {
                    self.matches(&path, name, &mut next)?;
                }
            }
            paths = next;
        }
        Ok(paths)
    }

    fn matches(&mut self, dir: &Path, pattern: &str, into: &mut Vec<PathBuf>) -> Result<(), TooManyReads> {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            self.count_entry()?;
            if name_fits(pattern, &entry.file_name().to_string_lossy()) {
                into.push(entry.path());
            }
        }
        // `.*` also matches `..`.
        if pattern.starts_with('.') && name_fits(pattern, "..") {
            into.push(dir.join(".."));
        }
        Ok(())
    }

    /// `**`, if the shell supports it: the folder, everything below it, and what `*` would match.
    fn descend(&mut self, dir: &Path, into: &mut Vec<PathBuf>) -> Result<(), TooManyReads> {
        into.push(dir.to_path_buf());
        for entry in WalkBuilder::new(dir).standard_filters(false).build().flatten().skip(1) {
            self.count_entry()?;
            into.push(entry.into_path());
        }
        Ok(())
    }

    fn tree(&mut self, root: &Path, walk: &TreeWalk, program: &str) -> Result<(), TooManyReads> {
        // The folder itself may be forbidden.
        self.check(root, &sys::real_path::path(root), program, false);
        if !self.reads.forbidden.is_empty() {
            return Ok(());
        }
        let filter = TreeFilter::of(walk, root);
        if walk.ignores && root.ancestors().any(|dir| sys::fs::unreadable_ignore_file(dir).is_some()) {
            self.odd_ignores(program);
            return Ok(());
        }
        let Some(entries) = entries(root, walk, &filter) else { return Err(TooManyReads) };
        for entry in entries.flatten().skip(1) {
            self.count_entry()?;
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            let is_link = entry.path_is_symlink();
            if !filter.takes(&entry) || (is_link && !walk.follows_links && !walk.names_links && keeps_links(program)) {
                continue;
            }
            if walk.names_only {
                self.listed(entry.path(), program);
            } else if !is_dir {
                if is_link && self.depends_on_process(entry.path(), program) {
                    continue;
                }
                let real = if is_link { sys::real_path::path(entry.path()) } else { self.folders.file(entry.path()) };
                self.check(entry.path(), &real, program, true);
            }
            if !self.reads.forbidden.is_empty() {
                break;
            }
        }
        if filter.odd_ignores.load(Ordering::Relaxed) {
            self.odd_ignores(program);
        }
        Ok(())
    }

    /// Ignore rules that cannot be read here, because what holds them may never end: nothing is known of what they leave out.
    fn odd_ignores(&mut self, program: &str) {
        self.reads.unknown.get_or_insert_with(|| {
            format!("which files {program} reads is not known: an ignore file is not a regular file of ordinary size")
        });
    }

    /// A name alone reveals nothing, unless it is in a forbidden folder.
    fn listed(&mut self, path: &Path, program: &str) {
        let Some(parent) = path.parent() else { return };
        let real = self.folders.file(parent);
        if self.policy.forbids_reading(&normalise(parent), &real) {
            self.check(path, &self.folders.file(path), program, true);
        }
    }
}

/// Programs that do not follow links inside a tree.
fn keeps_links(program: &str) -> bool {
    matches!(program, "grep" | "egrep" | "fgrep" | "rg" | "cp" | "mv" | "ln" | "tar" | "bsdtar" | "rsync" | "git")
}

fn entries(root: &Path, walk: &TreeWalk, filter: &TreeFilter) -> Option<ignore::Walk> {
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(walk.ignores)
        .hidden(walk.skips_hidden)
        .follow_links(walk.follows_links)
        .max_depth(walk.depth);
    if walk.ignores {
        builder.add_custom_ignore_filename(".rgignore");
    }
    if !walk.overrides.is_empty() {
        let mut overrides = OverrideBuilder::new(&walk.dir);
        for glob in &walk.overrides {
            overrides.add(glob).ok()?;
        }
        builder.overrides(overrides.build().ok()?);
    }
    let excluded = filter.exclude_dir.clone();
    let (reads_ignores, odd_ignores) = (walk.ignores, filter.odd_ignores.clone());
    builder.filter_entry(move |entry| {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        if reads_ignores && is_dir && sys::fs::unreadable_ignore_file(entry.path()).is_some() {
            odd_ignores.store(true, Ordering::Relaxed);
            return false;
        }
        entry.depth() == 0 || !is_dir || !surely(&excluded, &entry.file_name().to_string_lossy())
    });
    Some(builder.build())
}

/// Which entries of a tree are read.
struct TreeFilter {
    include: Vec<NamePattern>,
    exclude: Vec<NamePattern>,
    exclude_dir: Vec<NamePattern>,
    /// Compared with the whole path, in which `*` stands for slashes as well.
    exclude_path: Vec<NamePattern>,
    include_path: Vec<NamePattern>,
    shown: PathBuf,
    root: PathBuf,
    /// Set by the walk when it left out a folder whose ignore files cannot be read.
    odd_ignores: Arc<AtomicBool>,
}

impl TreeFilter {
    pub(crate) fn of(walk: &TreeWalk, root: &Path) -> Self {
        let read = |patterns: &[String]| patterns.iter().map(|pattern| NamePattern::parse(pattern)).collect();
        Self {
            include: read(&walk.include),
            exclude: read(&walk.exclude),
            exclude_dir: read(&walk.exclude_dir),
            exclude_path: read(&walk.exclude_path),
            include_path: read(&walk.include_path),
            shown: PathBuf::from(&walk.operand_text),
            root: root.to_path_buf(),
            odd_ignores: Arc::default(),
        }
    }

    fn takes(&self, entry: &DirEntry) -> bool {
        let name = entry.file_name().to_string_lossy();
        let fits = self.include.is_empty() || any(&self.include, &name);
        let whole = || self.shown.join(entry.path().strip_prefix(&self.root).unwrap_or(entry.path()));
        let left_out = || !self.exclude_path.is_empty() && surely(&self.exclude_path, &whole().to_string_lossy());
        fits && !surely(&self.exclude, &name) && !left_out() && self.is_included(entry.path())
    }
}

impl TreeFilter {
    fn is_included(&self, path: &Path) -> bool {
        let inner = path.strip_prefix(&self.root).unwrap_or(path);
        let mut ways = inner.ancestors().filter(|way| !way.as_os_str().is_empty());
        self.include_path.is_empty() || ways.any(|way| any(&self.include_path, &way.to_string_lossy()))
    }
}

fn any(patterns: &[NamePattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(name))
}

/// What is left out must be left out by every program.
fn surely(patterns: &[NamePattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.surely_matches(name))
}
