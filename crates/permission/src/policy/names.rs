//! Names that the shell, or `git ls-files`, puts into a command when it runs. The policy says which it wants to know, its
//! caller looks at the disk; a command is then judged with the names in their place.

use super::directory_tracker::DirectoryTracker;
use super::{Access, PathFacts, PermissionQuery, Policy};
use crate::shell::find::FindName;
use crate::shell::flow::ShellField;
use crate::shell::reading::CommandReading;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names that are known only on the real tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameQuery {
    /// What the shell makes of a pattern in a directory, spelled as the shell does. Behind a backslash a character of the
    /// pattern stands for itself.
    Pattern { dir: PathBuf, pattern: String },
    /// The files below a directory that the index of its repository lists, relative to the directory.
    Tracked { dir: PathBuf },
    /// The links below a directory, relative to it. Without an answer where a name below it is not plain: `xargs` would cut it
    /// into others.
    Links { dir: PathBuf },
    /// What `find`, run in `dir`, may print of the tree at `root`: everything whose name fits all of `names`, and the root.
    Below { dir: PathBuf, root: String, names: Vec<FindName> },
}

impl NameQuery {
    fn dir(&self) -> &Path {
        match self {
            Self::Pattern { dir, .. } | Self::Tracked { dir } | Self::Links { dir } | Self::Below { dir, .. } => dir,
        }
    }
}

/// What was found for each query. `None`: the names are not known, because there are too many or some are not UTF-8.
pub type FoundNames = BTreeMap<NameQuery, Option<Vec<String>>>;

impl Policy {
    /// The names that a decision about the commands of `request` wants to know.
    pub fn name_queries(&self, request: &PermissionQuery<'_>, cwd: &Path) -> Vec<NameQuery> {
        let mut queries = Vec::new();
        for access in request.accesses {
            let Access::Run(command) = access else { continue };
            let mut tracker = DirectoryTracker::new(cwd, self.directories.home.as_deref(), None);
            for unit in CommandReading::of(command).units() {
                tracker.step(unit);
            }
            queries.extend(tracker.into_queries());
        }
        queries.sort();
        queries.dedup();
        queries
    }
}

impl PathFacts {
    /// The names for `Policy::name_queries`. `resolve` follows links; `None` stands for a path that leads elsewhere in every
    /// process.
    #[must_use]
    pub fn with_names(mut self, found: FoundNames, resolve: impl Fn(&Path) -> Option<PathBuf>) -> Self {
        for (query, names) in &found {
            let Some(names) = names else { continue };
            let literal = match query {
                NameQuery::Pattern { pattern, .. } if names.is_empty() => Some(literal(pattern)),
                NameQuery::Pattern { .. }
                | NameQuery::Tracked { .. }
                | NameQuery::Links { .. }
                | NameQuery::Below { .. } => None,
            };
            for name in names.iter().chain(&literal) {
                let path = query.dir().join(name);
                let parent = path.parent().map(Path::to_path_buf);
                for path in parent.into_iter().chain([path]) {
                    if !self.real.contains_key(&path)
                        && let Some(real) = resolve(&path)
                    {
                        self.real.insert(path, real);
                    }
                }
            }
        }
        self.names = found;
        self
    }
}

/// The characters of a pattern, as the shell hands them on when nothing matches.
fn literal(pattern: &str) -> String {
    ShellField::from_pattern(pattern).text()
}
