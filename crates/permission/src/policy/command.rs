//! Deciding shell commands. Deny, ask and the safety checks use the generous reading of the command, everything that
//! allows uses the strict one; a command is allowed only when each of its parts is.

use super::{Asked, Decision, Facts, Kind, Policy, Reason, because};
use crate::path::{Spelled, inside, normalise};
use crate::rule::{Rule, Target};
use crate::sensitive;
use crate::shell::pattern::CommandPattern;
use crate::shell::reading::Reading;
use crate::shell::readonly::{self, Look};
use crate::shell::script::{Join, Redirect, Unit, Word, join_raw};
use crate::shell::suspects::Suspect;
use crate::shell::{files, find, flags, git, little, outputs, wrapper};
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::Behaviour;

/// More paths than this are not resolved, and what is not resolved is not allowed.
const MAX_NEEDS: usize = 256;

impl Policy {
    pub(super) fn command_needs(&self, command: &str, cwd: &Path) -> Vec<PathBuf> {
        let home = self.place.home.as_deref();
        let reading = Reading::of(command);
        let mut needs = vec![cwd.to_path_buf()];
        needs.extend(files::touched(&reading.suspects, cwd, home).into_iter().map(|file| file.path));
        needs.extend(reading.sourced.iter().map(|file| cwd.join(file)));
        let mut walk = Walk::new(cwd, home, Git::Elsewhere);
        for unit in reading.strict.iter().flatten() {
            needs.extend(unit.redirects.iter().filter_map(|redirect| walk.path(&redirect.word)));
            let paths = walk.step(unit).map(|parts| parts.paths).unwrap_or_default();
            needs.extend(paths.into_iter().map(|path| path.open));
            needs.extend(written(unit).iter().filter_map(|word| walk.path(word)));
            let changed = changes(wrapper::unwrap(&unit.words)).into_iter().flatten();
            needs.extend(changed.filter_map(|word| walk.path(word)));
        }
        needs.extend(self.removal_needs(&reading, command, cwd));
        needs.sort();
        needs.dedup();
        needs.truncate(MAX_NEEDS);
        needs
    }

    /// The first deny or ask rule that any part of the command might fall under.
    pub(super) fn command_rule(&self, behaviour: Behaviour, reading: &Reading, facts: &Facts) -> Option<&Rule> {
        let by_text = self.command_rules(behaviour).find(|(_, pattern)| {
            reading.any_spelling(|text| pattern.matches(text))
                || reading.any_call(|words| flags::covers(pattern, words))
        });
        by_text.map(|(rule, _)| rule).or_else(|| self.file_rule(behaviour, &reading.suspects, facts))
    }

    /// Whether the command runs a file as part of itself that is no existing file of the working directories, or is
    /// written by the same command.
    pub(super) fn sources_unknown(&self, reading: &Reading, facts: &Facts) -> bool {
        let written = || files::written(&reading.suspects, &facts.cwd, self.place.home.as_deref());
        reading.sourced.iter().any(|file| {
            let path = facts.cwd.join(file);
            let moves = reading.suspects.iter().any(|s| s.any_program(|program, _| matches!(program, "cd" | "pushd")));
            moves || !facts.is_present(&path) || !self.may_see(facts.spelled(&path)) || written().contains(&path)
        })
    }

    fn command_rules(&self, behaviour: Behaviour) -> impl Iterator<Item = (&Rule, &CommandPattern)> {
        self.rules.iter().filter(move |rule| rule.behaviour == behaviour).filter_map(|rule| match &rule.target {
            Target::Command(pattern) => Some((rule, pattern)),
            Target::Tool(_)
            | Target::Read(_)
            | Target::Edit(_)
            | Target::Domain(_)
            | Target::Agent(_)
            | Target::Skill { .. }
            | Target::Parameter(_)
            | Target::Unjudged(_) => None,
        })
    }

    pub(super) fn restricts_commands(&self) -> bool {
        [Behaviour::Deny, Behaviour::Ask].into_iter().any(|behaviour| self.command_rules(behaviour).next().is_some())
    }

    /// Path rules also speak of the files that well-known programs and redirections touch.
    fn file_rule(&self, behaviour: Behaviour, suspects: &[Suspect], facts: &Facts) -> Option<&Rule> {
        if !self.has_path_rules(behaviour) {
            return None;
        }
        let files = files::touched(suspects, &facts.cwd, self.place.home.as_deref());
        files.iter().find_map(|file| {
            let given = normalise(&file.path);
            let kind = if file.writes { Kind::Write } else { Kind::Read };
            self.path_rule(behaviour, kind, Spelled { given: &given, real: facts.real(&file.path) })
        })
    }

    fn has_path_rules(&self, behaviour: Behaviour) -> bool {
        let speaks_of_paths = |rule: &Rule| matches!(rule.target, Target::Read(_) | Target::Edit(_));
        self.rules.iter().any(|rule| rule.behaviour == behaviour && speaks_of_paths(rule))
    }

    /// Redirections and file commands that reach protected files or the network names of bash.
    pub(super) fn unsafe_writing(&self, reading: &Reading, facts: &Facts) -> Option<&'static str> {
        let socket = |target: &String| target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/");
        if reading.suspects.iter().any(|s| s.reads.iter().chain(&s.writes).any(socket)) {
            return Some("a redirection that opens a network connection");
        }
        let targets = files::written(&reading.suspects, &facts.cwd, self.place.home.as_deref());
        let protected = targets.iter().any(|open| {
            let given = normalise(open);
            Spelled { given: &given, real: facts.real(open) }.any(sensitive::is_protected)
        });
        protected.then_some("the shell would write to a protected path: what is written there may run later")
    }

    /// Whether the command is read-only as a whole.
    pub(super) fn only_reads(&self, reading: &Reading, facts: &Facts) -> bool {
        reading.strict.as_ref().is_ok_and(|units| {
            let parts = self.judge(units, facts, Grants::Nothing);
            parts.iter().all(|part| part.grant.is_some())
        })
    }

    /// The last two steps of the order for a command: allow rules part by part, then the read-only default.
    pub(super) fn decide_command(&self, reading: &Reading, asked: &Asked<'_>) -> Decision {
        let exact = |(_, pattern): &(&Rule, &CommandPattern)| pattern.is_exact() && pattern.matches(&reading.whole);
        if let Some((rule, _)) = self.command_rules(Behaviour::Allow).find(exact) {
            return Decision::Allow(because(rule));
        }
        let units = match &reading.strict {
            Ok(units) => units,
            Err(why) => return self.ask(asked, Reason::NotUnderstood(why)),
        };
        // The reason is that of the first part that needed more than reading.
        let mut decisive = None;
        for part in self.judge(units, asked.facts, Grants::RulesAndMode) {
            match part.grant {
                None => return self.ask(asked, Reason::NoRule),
                Some(Reason::ReadOnlyCommand) => {}
                Some(reason) => {
                    decisive.get_or_insert(reason);
                }
            }
        }
        Decision::Allow(decisive.unwrap_or(Reason::ReadOnlyCommand))
    }

    /// What grants each part, in order.
    pub(super) fn judge(&self, units: &[Unit], facts: &Facts, grants: Grants) -> Vec<Judged> {
        let mut walk = Walk::new(&facts.cwd, self.place.home.as_deref(), self.git_at(facts));
        let judged = units.iter().map(|unit| {
            let redirects = unit.redirects.iter().all(|redirect| self.may_redirect(redirect, &walk, facts, grants))
                && self.may_output(unit, &walk, facts, grants);
            let reads = walk.step(unit).filter(|parts| self.may_look(parts, facts));
            let inert = unit.assignments.iter().all(|assignment| wrapper::is_inert(assignment));
            let grant = match grants {
                _ if !redirects || !inert => None,
                _ if reads.is_some() => Some(Reason::ReadOnlyCommand),
                Grants::Nothing => None,
                Grants::RulesAndMode => self.unit_grant(unit, &walk, facts),
            };
            Judged { text: unit.text(), grant }
        });
        judged.collect()
    }

    fn git_at(&self, facts: &Facts) -> Git {
        let start = normalise(&self.place.cwd);
        let here = facts.cwd == start || facts.real(&facts.cwd) == Some(start.as_path());
        if here || facts.own_repository { Git::Own } else { Git::Elsewhere }
    }

    /// A redirection is a read or a write of that file, whatever the command in front of it may do.
    fn may_redirect(&self, redirect: &Redirect, walk: &Walk<'_>, facts: &Facts, grants: Grants) -> bool {
        let Some(open) = walk.path(&redirect.word) else { return false };
        if !redirect.writes {
            return self.may_read(&LookedAt { open }, facts);
        }
        if grants == Grants::Nothing {
            return false;
        }
        let given = normalise(&open);
        let path = Spelled { given: &given, real: facts.real(&open) };
        let whole =
            |rule: &Rule| rule.behaviour == Behaviour::Allow && (rule.covers_tool("Edit") || rule.covers_tool("Write"));
        let by_mode = self.mode == PermissionMode::AcceptEdits && self.may_change(path) && !facts.is_shared(&open);
        let ordinary = !path.any(sensitive::is_protected) && !path.any(sensitive::is_secret);
        let named = || self.path_rule(Behaviour::Allow, Kind::Write, path).is_some() || self.rules.iter().any(whole);
        (by_mode && ordinary) || named()
    }

    /// A file that an option makes the program write is judged like a redirection to it.
    fn may_output(&self, unit: &Unit, walk: &Walk<'_>, facts: &Facts, grants: Grants) -> bool {
        let Some(program) = wrapper::unwrap(&unit.words).first() else { return true };
        let program = wrapper::base_name(&program.text);
        // Whoever allows a program whose purpose is to write has allowed the writing; protected files are another matter.
        if outputs::exists_to_write(program) {
            return true;
        }
        written(unit).into_iter().all(|word| self.may_redirect(&Redirect { word, writes: true }, walk, facts, grants))
    }

    fn unit_grant(&self, unit: &Unit, walk: &Walk<'_>, facts: &Facts) -> Option<Reason> {
        if let Some(rule) = self.unit_rule(unit, facts) {
            return Some(because(rule));
        }
        let accepts = self.mode == PermissionMode::AcceptEdits && self.edits_in_scope(unit, walk, facts);
        accepts.then_some(Reason::Mode(self.mode))
    }

    /// Whether `git push` goes where it went when the session started.
    fn pushes_home(&self, words: &[Word], facts: &Facts) -> bool {
        let (Some(known), Some(target)) = (&self.place.remotes, git::push_target(words)) else { return true };
        match target {
            git::PushTarget::Default => *known == facts.remotes,
            git::PushTarget::Named(name) => {
                let same = |name: &str| known.get(name) == facts.remotes.get(name);
                known.contains_key(name) && same(name) && same("")
            }
        }
    }

    fn unit_rule(&self, unit: &Unit, facts: &Facts) -> Option<&Rule> {
        let inner = wrapper::unwrap(&unit.words);
        let exact_only = wrapper::needs_exact_rule(&unit.words) || wrapper::needs_exact_rule(inner);
        let mut texts = vec![unit.text(), join_raw(inner)];
        texts.extend(git::without_directory(inner));
        let lossy = git::loses_work(inner);
        let exact_only = exact_only || !self.pushes_home(inner, facts);
        let fits = |pattern: &CommandPattern| {
            let speaks_of_it = lossy.as_deref().is_none_or(|command| pattern.names(command));
            (pattern.is_exact() || (!exact_only && speaks_of_it)) && texts.iter().any(|text| pattern.matches(text))
        };
        self.command_rules(Behaviour::Allow).find(|(_, pattern)| fits(pattern)).map(|(rule, _)| rule)
    }

    /// Simple file commands on ordinary files of the working directories.
    fn edits_in_scope(&self, unit: &Unit, walk: &Walk<'_>, facts: &Facts) -> bool {
        let Some(words) = changes(wrapper::unwrap(&unit.words)) else { return false };
        words.iter().all(|word| {
            let Some(open) = walk.path(word) else { return false };
            let given = normalise(&open);
            let path = Spelled { given: &given, real: facts.real(&open) };
            self.may_change(path)
                && !facts.is_shared(&open)
                && !path.any(sensitive::is_protected)
                && !path.any(sensitive::is_secret)
        })
    }

    /// Whether everything a read-only command looks at may be read.
    fn may_look(&self, parts: &Parts, facts: &Facts) -> bool {
        let real_cwd = facts.real(&facts.cwd);
        let at_home = Spelled { given: &facts.cwd, real: real_cwd }.both(|p| inside(p, &self.place.roots));
        // The files were computed and held against the rules before, unless nobody looked.
        let below_denied = parts.opens_unseen && self.restricts_reading() && facts.reads.is_none();
        at_home && !below_denied && parts.paths.iter().all(|path| self.may_read(path, facts))
    }

    fn may_read(&self, path: &LookedAt, facts: &Facts) -> bool {
        let given = normalise(&path.open);
        let spelled = Spelled { given: &given, real: facts.real(&path.open) };
        let named = || self.path_rule(Behaviour::Allow, Kind::Read, spelled).is_some();
        if spelled.any(sensitive::is_secret) {
            return named();
        }
        self.may_see(spelled) || named()
    }
}

/// One part of a command and what grants it.
pub(super) struct Judged {
    pub(super) text: String,
    pub(super) grant: Option<Reason>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Grants {
    /// Only what reads.
    Nothing,
    RulesAndMode,
}

/// The files that options of the command make it write.
fn written(unit: &Unit) -> Vec<Word> {
    let Some((program, arguments)) = wrapper::unwrap(&unit.words).split_first() else { return Vec::new() };
    let texts: Vec<String> = arguments.iter().map(|word| word.text.clone()).collect();
    let files = outputs::of(wrapper::base_name(&program.text), &texts).files;
    let files = files.into_iter().filter(|file| file != "/dev/null");
    files.map(|text| Word { raw: text.clone(), tilde: text.starts_with('~'), text, ..Word::default() }).collect()
}

/// The operands of a command that creates, moves or removes files; `None` for anything else.
fn changes(words: &[Word]) -> Option<Vec<&Word>> {
    let (name, arguments) = words.split_first()?;
    if name.raw == "sed" {
        return little::sed_in_place(arguments);
    }
    let flags = match name.raw.as_str() {
        "mkdir" | "rmdir" => "pv",
        "touch" => "acm",
        "rm" => "rRfdv",
        "mv" => "fnv",
        "cp" => "rRapfnv",
        _ => return None,
    };
    let mut operands = Vec::new();
    for word in arguments {
        match word.text.strip_prefix('-') {
            Some(letters) if !letters.is_empty() && letters.chars().all(|c| flags.contains(c)) => {}
            Some(_) => return None,
            None if word.glob => return None,
            None => operands.push(word),
        }
    }
    (!operands.is_empty()).then_some(operands)
}

/// What one read-only part looks at.
#[derive(Debug, Default)]
struct Parts {
    paths: Vec<LookedAt>,
    /// Opens files whose names are not in the command.
    opens_unseen: bool,
}

#[derive(Debug)]
struct LookedAt {
    /// As the program would open it: not normalised, because links count before `..` does.
    open: PathBuf,
}

/// Follows `cd` through a command.
struct Walk<'a> {
    /// `None` once it is not certain.
    cwd: Option<PathBuf>,
    home: Option<&'a Path>,
    start: &'a Path,
    /// The group in which a `cd` stood.
    moved: Option<u32>,
    git: Git,
    /// The part before prints names of files below these, and nothing else.
    names: Option<Vec<PathBuf>>,
}

/// Which repository git would use where the shell stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Git {
    Own,
    /// One that may bring configuration of its own.
    Elsewhere,
}

impl<'a> Walk<'a> {
    fn new(cwd: &'a Path, home: Option<&'a Path>, git: Git) -> Self {
        Self { cwd: Some(cwd.to_path_buf()), home, start: cwd, moved: None, git, names: None }
    }

    /// What the unit looks at when it only reads; moves along when it is a `cd`.
    fn step(&mut self, unit: &Unit) -> Option<Parts> {
        // After `cd x; …` or `cd x || …` the directory depends on whether `cd` worked, outside a group on whether the
        // group was a subshell.
        let follows = matches!(unit.join, Join::And | Join::Pipe);
        if self.moved.is_some_and(|scope| scope != unit.scope || !follows) {
            self.cwd = None;
        }
        let inner = wrapper::unwrap(&unit.words);
        let given = self.names.take().filter(|_| unit.join == Join::Pipe);
        // What xargs appends is known only where names of files come over the pipe.
        let appends = unit.words.iter().any(|word| word.raw == "xargs");
        let looks =
            if appends { given.as_ref().and_then(|_| find::appended(&unit.words)) } else { readonly::looks(inner) };
        let moves = inner.first().is_some_and(|word| matches!(word.text.as_str(), "cd" | "pushd" | "popd" | "chdir"));
        let mut parts = looks.and_then(|looks| self.parts(looks));
        if let (true, Some(parts), Some(below)) = (appends, &mut parts, &given) {
            parts.opens_unseen = true;
            parts.paths.extend(below.iter().cloned().map(|open| LookedAt { open }));
        }
        self.names = match &parts {
            Some(parts) if !appends && parts.paths.is_empty() && find::selects_lines(inner) => given,
            Some(parts) if find::prints_names(inner) => {
                Some(parts.paths.iter().map(|path| path.open.clone()).chain(self.cwd.clone()).collect())
            }
            Some(_) | None => None,
        };
        if moves {
            let target = parts.as_ref().and_then(|parts| parts.paths.first()).map(|path| normalise(&path.open));
            let certain = !unit.feeds && !matches!(unit.join, Join::Or | Join::Pipe);
            self.cwd = target.filter(|_| certain);
            self.moved = Some(unit.scope);
        }
        parts
    }

    fn parts(&self, looks: Vec<Look<'_>>) -> Option<Parts> {
        let mut parts = Parts::default();
        for look in looks {
            match look {
                Look::Path(word) => parts.paths.push(LookedAt { open: self.path(word)? }),
                Look::Search(word) => {
                    parts.opens_unseen = true;
                    let open = word.map_or_else(|| self.cwd.clone(), |word| self.path(word))?;
                    parts.paths.push(LookedAt { open });
                }
                Look::Glob { word, content } => {
                    parts.opens_unseen |= content;
                    parts.paths.push(LookedAt { open: self.glob_directory(word, content)? });
                }
                Look::Enter(word) => {
                    let inward =
                        word.text.split('/').skip_while(|part| matches!(*part, ".." | ".")).all(|part| part != "..");
                    parts.paths.push(LookedAt { open: self.path(word).filter(|_| inward)? });
                }
                // A repository elsewhere may bring configuration that runs programs.
                Look::Repository => {
                    let here = self.cwd.as_deref().map(normalise);
                    if self.git == Git::Elsewhere || here.as_deref() != Some(normalise(self.start).as_path()) {
                        return None;
                    }
                }
            }
        }
        Some(parts)
    }

    /// Where the program would open the word.
    fn path(&self, word: &Word) -> Option<PathBuf> {
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
    /// must end in a visible, ordinary extension, so that it cannot stand for a key.
    fn glob_directory(&self, word: &Word, content: bool) -> Option<PathBuf> {
        let is_pattern = |text: &str| text.contains(['*', '?', '[']);
        // `*/` stands for folders.
        let text = word.text.strip_suffix('/').filter(|_| !content).unwrap_or(&word.text);
        let (dir, last) = text.rsplit_once('/').unwrap_or(("", text));
        if word.tilde || is_pattern(dir) {
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
