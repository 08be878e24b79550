//! Paths without a disk: lexical normalisation, containment by component, and gitignore-style rule patterns.

use crate::glob::PathGlob;
use std::path::{Component, Path, PathBuf};
use wire::settings::RuleBehaviour;

/// Removes `.` and `..` without looking at links. `path` must be absolute.
pub fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

/// Whether `path` is one of `roots` or below one, by whole components.
pub(crate) fn is_inside(path: &Path, roots: &[PathBuf]) -> bool {
    path.is_absolute() && roots.iter().any(|root| path.starts_with(root))
}

/// A path in both spellings: as named, and where it really is. `real` is `None` when it was not resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResolvedPath<'a> {
    pub(crate) given: &'a Path,
    pub(crate) real: Option<&'a Path>,
}

impl ResolvedPath<'_> {
    pub(crate) fn any(&self, test: impl Fn(&Path) -> bool) -> bool {
        let differs = |real: &&Path| real.as_os_str() != self.given.as_os_str();
        test(self.given) || self.real.filter(differs).is_some_and(test)
    }

    /// An unresolved path never passes.
    pub(crate) fn both(&self, test: impl Fn(&Path) -> bool) -> bool {
        test(self.given) && self.real.is_some_and(test)
    }
}

/// Where the four kinds of leading anchor point.
#[derive(Clone, Copy)]
pub(crate) struct PatternAnchors<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) home: Option<&'a Path>,
    /// The directory of the settings file that contains the rule.
    pub(crate) root: &'a Path,
    /// Follows links; identity for what does not exist.
    pub(crate) resolve: &'a dyn Fn(&Path) -> PathBuf,
}

/// The specifier of a `Read(…)` or `Edit(…)` rule, compiled.
#[derive(Clone, Debug)]
pub(crate) struct PathPattern {
    /// The directory matching starts from, in both spellings.
    anchors: Vec<PathBuf>,
    globs: Vec<PathGlob>,
}

impl PathPattern {
    pub(crate) fn compile(spec: &str, behaviour: RuleBehaviour, anchors: PatternAnchors<'_>) -> Result<Self, String> {
        if spec.starts_with('!') {
            return Err("negated patterns are not supported".into());
        }
        let (mut anchor, mut rest) = anchor_of(spec, anchors)?;
        while let Some(after) = rest.strip_prefix("../") {
            anchor.pop();
            rest = after;
        }
        let anchor = normalise(&anchor);
        let mut globs = Vec::new();
        for text in shapes(rest, behaviour) {
            globs.push(PathGlob::parse(&text)?);
        }
        let real = (anchors.resolve)(&anchor);
        let anchors = if real == anchor { vec![anchor] } else { vec![anchor, real] };
        Ok(Self { anchors, globs })
    }

    pub(crate) fn matches(&self, path: &Path) -> bool {
        let below = |anchor: &PathBuf| path.strip_prefix(anchor).ok();
        self.anchors.iter().filter_map(below).any(|relative| self.globs.iter().any(|glob| glob.matches(relative)))
    }
}

/// Splits the anchor off. What remains is relative to it; a rest that began at an explicit anchor keeps a leading
/// slash, as in gitignore.
fn anchor_of<'a>(spec: &'a str, anchors: PatternAnchors<'_>) -> Result<(PathBuf, &'a str), String> {
    if spec.starts_with("//") {
        return Ok((PathBuf::from("/"), &spec[1..]));
    }
    if spec == "~" || spec.starts_with("~/") {
        let home = anchors.home.ok_or("there is no home directory")?;
        return Ok((home.to_path_buf(), &spec[1..]));
    }
    if spec.starts_with('/') {
        return Ok((anchors.root.to_path_buf(), spec));
    }
    Ok((anchors.cwd.to_path_buf(), spec.strip_prefix("./").unwrap_or(spec)))
}

/// The globs a gitignore line stands for, relative to its anchor.
fn shapes(rest: &str, behaviour: RuleBehaviour) -> Vec<String> {
    let rooted = rest.starts_with('/');
    let body = rest.trim_start_matches('/').trim_end_matches('/');
    if body.is_empty() || body == "**" {
        return vec!["**".into(), String::new()];
    }
    let (name, only_below) = match body.strip_suffix("/**") {
        Some(name) => (name, true),
        None => (body, false),
    };
    let single = !name.contains('/');
    let anywhere = !rooted && single && (!only_below || behaviour != RuleBehaviour::Allow);
    let prefix = if anywhere { "**/" } else { "" };
    // A directory rule covers the directory itself: listing it tells what is in it.
    vec![format!("{prefix}{name}"), format!("{prefix}{name}/**")]
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
