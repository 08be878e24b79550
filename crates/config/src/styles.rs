//! Output styles: how answers are written. Some are built in; files may add others or replace them. The chosen style is
//! read once per session.

use crate::frontmatter;
use crate::roots::{DefinitionRoot, DefinitionRoots, DefinitionScope};
use crate::scan;
use std::path::PathBuf;

/// The style that changes nothing.
pub const DEFAULT: &str = "default";

/// Whether the built-in guidance on engineering work stays in the system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guidance {
    Kept,
    Dropped,
}

/// One style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputStyle {
    pub name: String,
    pub description: Option<String>,
    pub guidance: Guidance,
    /// The text added to the system prompt.
    pub text: String,
    /// `None` for a built-in style.
    pub path: Option<PathBuf>,
}

const BUILT_IN: &[(&str, &str, &str)] = &[
    (
        "Proactive",
        "Acts on reasonable assumptions instead of asking",
        "Work on your own initiative. Where details are open, choose the most sensible reading, state it in one line, and go \
         on. Carry a task through to a checked result before you report. Ask only when a wrong guess would destroy work or \
         cannot be undone.",
    ),
    (
        "Concise",
        "As few words as possible",
        "Answer with as few words as the matter allows. No introductions, no closing remarks, no repetition of what the user \
         can see. One line when one line is enough. Code, commands and exact messages are never shortened.",
    ),
    (
        "Explanatory",
        "Explains choices and how the code base works along the way",
        "While you work, explain what the user can learn from it: why this approach and not another, and which pattern of the \
         code base it follows. Put such remarks in short blocks headed `Insight`, two or three sentences each, about this code \
         rather than programming in general. They go into the conversation, never into the files.",
    ),
    (
        "Learning",
        "Leaves small, instructive pieces for the user to write",
        "Help the user learn by doing. Do the routine parts yourself; where a piece of 2 to 10 lines holds a real decision, leave \
         it to the user: prepare the place in the file, mark it with `TODO(human)`, and say what the piece must do, where it \
         stands and what to weigh. Then wait. When it is written, comment on it in one or two sentences and go on.",
    ),
];

/// The style of this name; `None` for the default style and for undeclared names. Case does not matter.
pub fn find(roots: &DefinitionRoots, name: &str) -> Option<OutputStyle> {
    if name.eq_ignore_ascii_case(DEFAULT) {
        return None;
    }
    files(roots).find(|style| style.name.eq_ignore_ascii_case(name)).or_else(|| {
        let row = BUILT_IN.iter().find(|(built_in, ..)| built_in.eq_ignore_ascii_case(name))?;
        Some(built_in(row))
    })
}

/// All names, the default first.
pub fn names(roots: &DefinitionRoots) -> Vec<String> {
    let mut all = vec![DEFAULT.to_owned()];
    let built_in = BUILT_IN.iter().map(|(name, ..)| (*name).to_owned());
    for name in built_in.chain(files(roots).map(|style| style.name)) {
        if !all.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            all.push(name);
        }
    }
    all
}

fn built_in((name, description, text): &(&str, &str, &str)) -> OutputStyle {
    OutputStyle {
        name: (*name).to_owned(),
        description: Some((*description).to_owned()),
        guidance: Guidance::Kept,
        text: (*text).to_owned(),
        path: None,
    }
}

/// Highest priority first: managed, the nearest project directory, then the user's.
fn files(roots: &DefinitionRoots) -> impl Iterator<Item = OutputStyle> {
    let mut places: Vec<&DefinitionRoot> =
        roots.roots.iter().filter(|root| root.scope != DefinitionScope::Added).collect();
    sys::compact_sort::sort_by_key(&mut places, |root| match root.scope {
        DefinitionScope::Managed => 0,
        DefinitionScope::Project | DefinitionScope::Nested | DefinitionScope::Added | DefinitionScope::CommandLine => 1,
        DefinitionScope::User => 2,
    });
    let inside = |root: &DefinitionRoot| {
        let dir = root.dir.join("output-styles");
        scan::entries(&dir).into_iter().map(move |entry| dir.join(entry.name))
    };
    places.into_iter().flat_map(inside).filter_map(|path| {
        if !scan::is_markdown(path.file_name()?.to_str()?) {
            return None;
        }
        let text = crate::layer::read_text(&path).ok()?;
        let mut read = frontmatter::read(&text);
        let stem = path.file_stem()?.to_string_lossy().into_owned();
        let keeps = read.flag("keep-coding-instructions").unwrap_or(false);
        Some(OutputStyle {
            name: read.text("name").unwrap_or(stem),
            description: read.text("description"),
            guidance: if keeps { Guidance::Kept } else { Guidance::Dropped },
            text: text[read.body_at..].trim().to_owned(),
            path: Some(path),
        })
    })
}
