//! Follows a command part by part: the directory each part runs in, the words it gets after patterns are expanded, and what a
//! part that only reads looks at.

use super::names::{FoundNames, NameQuery};
use super::repository::GitCall;
use crate::path::normalise;
use crate::sensitive;
use crate::shell::readonly::{self, ReadAccess};
use crate::shell::relaxed::{self, NameSeparator};
use crate::shell::script::{ShellWord, SimpleCommand, SubstitutedText, UnitJoin};
use crate::shell::{find, wrapper};
use std::path::{Path, PathBuf};

/// What one read-only part looks at.
#[derive(Debug, Default)]
pub(super) struct ReadFootprint {
    pub(super) paths: Vec<ReadOperand>,
    /// Opens files whose names are not in the command.
    pub(super) opens_unseen: bool,
    /// Git calls that use the repository of a directory.
    pub(super) repositories: Vec<GitCall>,
}

#[derive(Debug)]
pub(super) struct ReadOperand {
    /// As the program would open it: not normalised, because links count before `..` does.
    pub(super) open: PathBuf,
}

/// Names that a part prints, one after the other.
struct PrintedNames {
    /// The group of the part.
    scope: u32,
    separator: NameSeparator,
    queries: Vec<NameQuery>,
}

impl PrintedNames {
    fn is_tree(&self) -> bool {
        self.queries.iter().any(|query| matches!(query, NameQuery::Below { .. }))
    }
}

/// Follows `cd` and its relatives through a command, and puts names in the place of patterns.
pub(super) struct DirectoryTracker<'a> {
    /// `None` once it is not certain.
    cwd: Option<PathBuf>,
    home: Option<&'a Path>,
    /// The group in which a `cd` was last met.
    cd_scope: Option<u32>,
    /// The group of a part that prints names of files below these paths, and nothing else.
    printed_below: Option<(u32, Vec<PathBuf>)>,
    /// Names, of which the next part gets all or some.
    printed_names: Option<PrintedNames>,
    /// What patterns stand for; `None` when the command may change that before the shell looks.
    names: Option<&'a FoundNames>,
    /// Names that were wanted on the way.
    queries: Vec<NameQuery>,
    /// The caller looked up names for this part and could not determine them.
    is_untold: bool,
}

impl<'a> DirectoryTracker<'a> {
    pub(super) fn new(cwd: &Path, home: Option<&'a Path>, names: Option<&'a FoundNames>) -> Self {
        Self {
            cwd: Some(cwd.to_path_buf()),
            home,
            cd_scope: None,
            printed_below: None,
            printed_names: None,
            names,
            queries: Vec::new(),
            is_untold: false,
        }
    }

    /// A tracker in the directory of `other` that knows these names.
    pub(super) fn at<'b>(other: &DirectoryTracker<'_>, names: &'b FoundNames) -> DirectoryTracker<'b> {
        DirectoryTracker {
            cwd: other.cwd.clone(),
            home: None,
            cd_scope: None,
            printed_below: None,
            printed_names: None,
            names: Some(names),
            queries: Vec::new(),
            is_untold: false,
        }
    }

    pub(super) fn into_queries(self) -> Vec<NameQuery> {
        self.queries
    }

    pub(super) fn has_moved(&self) -> bool {
        self.cd_scope.is_some()
    }

    /// What the unit looks at when it only reads, `None` when it may do more; moves along when it is a `cd`.
    pub(super) fn step(&mut self, unit: &SimpleCommand) -> Option<ReadFootprint> {
        // After `cd x; …` or `cd x || …` the directory depends on whether `cd` worked, outside a group on whether the
        // group was a subshell.
        let follows = matches!(unit.join, UnitJoin::And | UnitJoin::Pipe);
        if self.cd_scope.is_some_and(|scope| scope != unit.scope || !follows) {
            self.cwd = None;
        }
        self.is_untold = false;
        let words = self.expand(&unit.words);
        let inner = wrapper::strip_for_reading(&words);
        let is_fed = unit.join == UnitJoin::Pipe && !unit.has_own_input;
        let below =
            self.printed_below.take().filter(|(scope, _)| is_fed && *scope == unit.scope).map(|(_, paths)| paths);
        let printed = self.printed_names.take().filter(|printed| is_fed && printed.scope == unit.scope);
        let appends = words.iter().any(|word| word.raw == "xargs");
        let parts = if appends {
            self.appended(&words, below.as_deref(), printed.as_ref())
        } else {
            let shows_names = inner.first().is_some_and(|program| readonly::shows_names(&program.raw));
            let looks = readonly::looks(inner).filter(|_| shows_names || !self.is_untold);
            looks.and_then(|looks| self.parts(looks))
        };
        if !appends && !unit.merges_errors {
            self.remember_output(unit, inner, parts.as_ref(), below, printed);
        }
        let moves = inner.first().is_some_and(|word| matches!(word.text.as_str(), "cd" | "pushd" | "popd" | "chdir"));
        if moves {
            let target = parts.as_ref().and_then(|parts| parts.paths.first()).map(|path| normalise(&path.open));
            let certain = !unit.feeds && !matches!(unit.join, UnitJoin::Or | UnitJoin::Pipe);
            self.cwd = target.filter(|_| certain);
            self.cd_scope = Some(unit.scope);
        }
        parts
    }

    /// Notes which names the unit prints, for the part that reads them.
    fn remember_output(
        &mut self,
        unit: &SimpleCommand,
        inner: &[ShellWord],
        parts: Option<&ReadFootprint>,
        below: Option<Vec<PathBuf>>,
        printed: Option<PrintedNames>,
    ) {
        let Some(parts) = parts else { return };
        if parts.paths.is_empty() && find::selects_lines(inner) {
            self.printed_below = below.map(|paths| (unit.scope, paths));
            let keeps = |printed: &PrintedNames| printed.separator == NameSeparator::Line && find::keeps_lines(inner);
            self.printed_names = printed.filter(keeps);
            return;
        }
        if find::prints_names(inner) {
            let paths = parts.paths.iter().map(|path| path.open.clone()).chain(self.cwd.clone()).collect();
            self.printed_below = Some((unit.scope, paths));
        }
        let Some(cwd) = &self.cwd else { return };
        let texts: Vec<String> = inner.iter().map(|word| word.text.clone()).collect();
        if let Some(separator) = relaxed::tracked_names(&texts) {
            let queries = vec![NameQuery::Tracked { dir: cwd.clone() }];
            self.printed_names = Some(PrintedNames { scope: unit.scope, separator, queries });
        } else if let Some(printed) = find::PrintedTree::read(inner) {
            let below = |root| NameQuery::Below { dir: cwd.clone(), root, names: printed.names.clone() };
            let queries = printed.roots.into_iter().map(below).collect();
            self.printed_names = Some(PrintedNames { scope: unit.scope, separator: printed.separator, queries });
        }
    }

    /// What the command behind `xargs` looks at.
    fn appended(
        &mut self,
        words: &[ShellWord],
        below: Option<&[PathBuf]>,
        printed: Option<&PrintedNames>,
    ) -> Option<ReadFootprint> {
        let call = find::XargsCall::read(words)?;
        // Text of any kind may be printed.
        if call.only_prints() {
            return readonly::looks(call.command).and_then(|looks| self.parts(looks));
        }
        // Programs that only count or search may get any name of a tree.
        let matters = |printed: &&PrintedNames| !printed.is_tree() || call.counted().is_none();
        if let Some(known) = printed.filter(matters).and_then(|printed| self.given_names(&call, printed)) {
            return Some(known);
        }
        // What is appended otherwise is known only where names of files come over the pipe.
        let below = below?;
        let mut parts = call.counted().and_then(|looks| self.parts(looks))?;
        parts.opens_unseen = true;
        if call.shows_content() {
            let links = below.iter().map(|dir| Some((dir, self.look_up(NameQuery::Links { dir: dir.clone() })?)));
            for (dir, links) in links.collect::<Option<Vec<_>>>()? {
                parts.paths.extend(links.iter().map(|link| ReadOperand { open: dir.join(link) }));
            }
        }
        parts.paths.extend(below.iter().cloned().map(|open| ReadOperand { open }));
        Some(parts)
    }

    /// What the command behind `xargs` looks at when it gets these names.
    fn given_names(&mut self, call: &find::XargsCall<'_>, printed: &PrintedNames) -> Option<ReadFootprint> {
        // All are looked up, also when the first is not known yet.
        let found: Vec<_> = printed.queries.iter().map(|query| self.look_up(query.clone())).collect();
        let names: Vec<String> = found.into_iter().collect::<Option<Vec<_>>>()?.concat();
        let full = call.with_names(&names, printed.separator)?;
        let mut parts = readonly::looks(&full).and_then(|looks| self.parts(looks))?;
        // In which order they come is not known, so any of them may be the one that is taken for a file.
        if printed.is_tree() && full.first().is_some_and(|program| readonly::shows_content(&program.raw)) {
            let cwd = self.cwd.as_ref()?;
            parts.paths.extend(names.iter().map(|name| ReadOperand { open: cwd.join(name) }));
        }
        Some(parts)
    }

    /// The words as the program gets them, as far as that is known: names in the place of patterns and of `$(git ls-files)`,
    /// the directory in the place of `$PWD`.
    pub(super) fn expand(&mut self, words: &[ShellWord]) -> Vec<ShellWord> {
        let mut expanded = Vec::with_capacity(words.len());
        for word in words {
            match self.names_for(word) {
                // A pattern without a match is left as it is.
                Some(names) if names.is_empty() && word.glob => {
                    let matched = !word.text.starts_with('-');
                    expanded.push(ShellWord { glob: false, matched, ..self.in_directory(word) });
                }
                Some(names) => expanded.extend(names.into_iter().map(matched)),
                None => expanded.push(relaxed::with_revision(word).unwrap_or_else(|| self.in_directory(word))),
            }
        }
        expanded
    }

    fn names_for(&mut self, word: &ShellWord) -> Option<Vec<String>> {
        let dir = self.cwd.clone()?;
        if let Some(SubstitutedText::Text { quoted: false, command: Some(command) }) = &word.substituted {
            if !word.is_one_substitution() || relaxed::tracked_names(command) != Some(NameSeparator::Line) {
                return None;
            }
            let names = self.look_up(NameQuery::Tracked { dir })?;
            return names.iter().all(|name| find::is_plain_name(name)).then_some(names);
        }
        if !word.glob || word.tilde || word.substituted.is_some() {
            return None;
        }
        let pattern = match &word.variables[..] {
            [] => word.pattern.clone(),
            [_] => {
                let dir = dir.to_str().filter(|_| self.in_directory(word).variables.is_empty())?;
                let escaped =
                    |c: char| if c.is_ascii_punctuation() && c != '/' { format!("\\{c}") } else { c.to_string() };
                format!("{}{}", dir.chars().map(escaped).collect::<String>(), word.pattern.strip_prefix("${PWD}")?)
            }
            _ => return None,
        };
        self.look_up(NameQuery::Pattern { dir, pattern })
    }

    fn look_up(&mut self, query: NameQuery) -> Option<Vec<String>> {
        let found = self.names.and_then(|names| names.get(&query));
        self.is_untold |= found.is_some_and(Option::is_none);
        self.queries.push(query);
        found.cloned().flatten()
    }

    /// The word with `$PWD` replaced, where the directory is certain and stays one word.
    fn in_directory(&self, word: &ShellWord) -> ShellWord {
        let [variable] = &word.variables[..] else { return word.clone() };
        let dir = self.cwd.as_ref().and_then(|dir| dir.to_str());
        let (Some(dir), Some(rest)) = (dir, word.text.strip_prefix("${PWD}")) else { return word.clone() };
        if variable.name != "PWD" || !(variable.quoted || find::is_plain_name(dir)) {
            return word.clone();
        }
        ShellWord { text: format!("{dir}{rest}"), variables: Vec::new(), expands: false, ..word.clone() }
    }

    fn parts(&self, looks: Vec<ReadAccess<'_>>) -> Option<ReadFootprint> {
        let mut parts = ReadFootprint::default();
        for look in looks {
            match look {
                // What a substitution prints was judged with the commands in it.
                ReadAccess::Path(word) | ReadAccess::Search(Some(word))
                    if word.substituted == Some(SubstitutedText::File) => {}
                ReadAccess::Listed(word) => {
                    let open = self.path(word)?;
                    parts
                        .paths
                        .push(ReadOperand { open: open.parent().map_or_else(|| open.clone(), Path::to_path_buf) });
                }
                ReadAccess::Path(word) => parts.paths.push(ReadOperand { open: self.path(word)? }),
                ReadAccess::Search(word) => {
                    parts.opens_unseen = true;
                    let open = word.map_or_else(|| self.cwd.clone(), |word| self.path(word))?;
                    parts.paths.push(ReadOperand { open });
                }
                ReadAccess::Glob { word, content } => {
                    parts.opens_unseen |= content;
                    parts.paths.push(ReadOperand { open: self.glob_directory(word, content)? });
                }
                ReadAccess::Enter(word) => {
                    let inward =
                        word.text.split('/').skip_while(|part| matches!(*part, ".." | ".")).all(|part| part != "..");
                    parts.paths.push(ReadOperand { open: self.path(word).filter(|_| inward)? });
                }
                ReadAccess::Repository(call) => {
                    let dir = match call.directory {
                        Some(word) => self.path(word)?,
                        None => self.cwd.clone()?,
                    };
                    if call.directory.is_some() {
                        parts.paths.push(ReadOperand { open: dir.clone() });
                    }
                    if call.uses_programs {
                        parts.repositories.push(GitCall { dir, external_diff: call.external_diff });
                    }
                }
            }
        }
        Some(parts)
    }

    /// Where the program would open the word.
    pub(super) fn path(&self, word: &ShellWord) -> Option<PathBuf> {
        if word.substituted.is_some() || !word.variables.is_empty() {
            return None;
        }
        if word.tilde {
            let rest = word.text.strip_prefix('~')?;
            let home = self.home?;
            return match rest.strip_prefix('/') {
                Some(rest) => Some(home.join(rest)),
                None => rest.is_empty().then(|| home.to_path_buf()),
            };
        }
        if word.text.is_empty() {
            return None;
        }
        if word.text.starts_with('/') {
            return Some(PathBuf::from(&word.text));
        }
        Some(self.cwd.as_ref()?.join(&word.text))
    }

    /// The directory a pattern is matched in. Only the last component may be a pattern, and when content is shown it
    /// must end in a visible, ordinary extension, so that it cannot match a key.
    fn glob_directory(&self, word: &ShellWord, content: bool) -> Option<PathBuf> {
        let is_pattern = |text: &str| text.contains(['*', '?', '[']);
        // `*/` stands for folders.
        let text = word.text.strip_suffix('/').filter(|_| !content).unwrap_or(&word.text);
        let (dir, last) = text.rsplit_once('/').unwrap_or(("", text));
        if word.tilde || is_pattern(dir) || word.substituted.is_some() || !word.variables.is_empty() {
            return None;
        }
        if content {
            let (_, extension) = last.rsplit_once('.')?;
            let sample = format!("x.{extension}");
            if extension.is_empty()
                || is_pattern(extension)
                || sensitive::is_secret(Path::new(&sample))
                || last.starts_with('.')
            {
                return None;
            }
        }
        let cwd = self.cwd.as_ref()?;
        Some(match dir {
            "" if word.text.starts_with('/') => PathBuf::from("/"),
            "" => cwd.clone(),
            dir => cwd.join(dir),
        })
    }
}

/// A name that the shell puts into the command.
fn matched(name: String) -> ShellWord {
    ShellWord { raw: name.clone(), text: name, matched: true, ..ShellWord::default() }
}
