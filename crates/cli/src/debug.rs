//! The debug log: to a file, or to stderr on request; never to stdout. Only our own crates are logged, because
//! libraries would print headers and keys.

use crate::args::DebugArgs;
use config::state::config_home;
use engine::SessionChoice;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::Env;
use sys::sync::Mutex;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

const OWN_CRATES: [&str; 17] = [
    "gimlet",
    "headless",
    "tui",
    "terminal",
    "acp",
    "engine",
    "session_parts",
    "tools",
    "hooks",
    "mcp",
    "model",
    "store",
    "config",
    "permission",
    "http",
    "sys",
    "wire",
];

/// Starts the log when the flags or the environment request one. A failure is reported and not fatal.
pub(crate) fn start(debug: &DebugArgs, env: &Env, session: &mut SessionChoice) -> Result<(), String> {
    if !debug.on && !env.is_on("DEBUG") {
        return Ok(());
    }
    let writer = if debug.to_stderr {
        DebugWriter::Stderr
    } else {
        let Some(path) = path(debug, env, session) else {
            return Err("Warning: no debug log: no configuration directory (set HOME or CLAUDE_CONFIG_DIR)".into());
        };
        let file = open(&path).map_err(|e| format!("Warning: no debug log: {}: {e}", path.display()))?;
        if config_home(env).is_some_and(|home| path.parent() == Some(&home.join("debug"))) {
            link_latest(&path);
        }
        DebugWriter::File(Arc::new(Mutex::new(file)))
    };
    let level = level(env.get("CLAUDE_CODE_DEBUG_LOG_LEVEL"));
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        .with_writer(writer)
        .finish()
        .with(directives(debug.filter.as_deref(), level).parse::<Targets>().unwrap_or_default());
    tracing::subscriber::set_global_default(subscriber).map_err(|e| format!("Warning: no debug log: {e}"))
}

/// The path from the flag or the variable, or a file named after the session, whose id is then chosen here.
fn path(debug: &DebugArgs, env: &Env, session: &mut SessionChoice) -> Option<PathBuf> {
    if let Some(file) = &debug.file {
        return Some(file.clone());
    }
    if let Some(file) = env.non_empty("CLAUDE_CODE_DEBUG_LOGS_DIR") {
        return Some(file.into());
    }
    let name = match session {
        SessionChoice::New { id } => id.get_or_insert_with(sys::id::uuid).clone(),
        SessionChoice::Resume { target, fork: None } if sys::id::is_uuid(target) => target.clone(),
        SessionChoice::Resume { .. } | SessionChoice::Continue { .. } => sys::id::uuid(),
    };
    Some(config_home(env)?.join("debug").join(format!("{name}.txt")))
}

/// Makes the link `latest` beside the log point to it. A failure is ignored.
fn link_latest(log: &Path) {
    let (Some(dir), Some(name)) = (log.parent(), log.file_name()) else { return };
    let new = dir.join(format!(".latest-{}", sys::pid()));
    if std::os::unix::fs::symlink(name, &new).is_ok() && std::fs::rename(&new, dir.join("latest")).is_err() {
        std::fs::remove_file(&new).ok();
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

fn level(name: Option<&str>) -> &'static str {
    match name {
        Some("verbose") => "trace",
        Some("info") => "info",
        Some("warn") => "warn",
        Some("error") => "error",
        Some(_) | None => "debug",
    }
}

/// `model,store` logs only these two; `!http` logs all except that one.
fn directives(filter: Option<&str>, level: &str) -> String {
    let parts: Vec<&str> = filter.unwrap_or_default().split(',').map(str::trim).filter(|p| !p.is_empty()).collect();
    let excluded: Vec<&str> = parts.iter().filter_map(|p| p.strip_prefix('!')).collect();
    let included: Vec<&str> = parts.iter().copied().filter(|p| !p.starts_with('!')).collect();
    let wanted = OWN_CRATES.iter().filter(|name| included.is_empty() || included.contains(name));
    let wanted = wanted.filter(|name| !excluded.contains(name)).map(|name| format!("{name}={level}"));
    std::iter::once("off".to_owned()).chain(wanted).collect::<Vec<_>>().join(",")
}

#[derive(Clone)]
enum DebugWriter {
    Stderr,
    File(Arc<Mutex<File>>),
}

impl<'a> MakeWriter<'a> for DebugWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Write for DebugWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            // If the reader does not read, lines are lost; the session must not block.
            Self::Stderr if headless::is_writable(io::stderr().as_fd()) => io::stderr().write(bytes),
            Self::Stderr => Ok(bytes.len()),
            Self::File(file) => file.lock().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_name_our_crates_only() {
        assert_eq!(directives(Some("model,store"), "debug"), "off,model=debug,store=debug");
        assert_eq!(directives(Some("hyper"), "debug"), "off");
        let all_but = directives(Some("!http"), "info");
        assert!(all_but.starts_with("off,gimlet=info,") && !all_but.contains("http="));
    }
}
