//! `memory show`: the instructions that a session started here would send to the model, each part with its file, line
//! and token count. Reads files, runs nothing.

use config::memory::{InstructionMemory, MemoryFile, MemoryQuery};
use config::{ConfigLoader, MemoryScope, SettingsSelection};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use sys::Env;
use wire::counting::counted;

pub(crate) const USAGE: &str = "Usage: gimlet memory show [PATH] [--json]

Prints the instructions that apply to PATH (a directory, or a file to be worked on; the current directory by default), in the order
the model receives them, with the file and line each part came from and its cost in tokens.";

/// Returns the text to print and the exit code; an error is a wrong command line or unreadable settings.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let mut words = Vec::new();
    let mut as_json = false;
    for word in rest.iter().map(|word| word.to_string_lossy()) {
        match &*word {
            "--json" => as_json = true,
            "--help" | "-h" => return Ok((USAGE.into(), 0)),
            flag if flag.starts_with("--") => return Err(format!("error: unknown option '{flag}'\n{USAGE}")),
            _ => words.push(word.into_owned()),
        }
    }
    let path = match words.as_slice() {
        [command] if command == "show" => None,
        [command, path] if command == "show" => Some(path.as_str()),
        _ => return Err(USAGE.into()),
    };
    let shown = MemoryReport::load(path, env)?;
    let text = if as_json { shown.json().to_string() } else { shown.text() };
    Ok((text, 0))
}

struct MemoryReport {
    memory: InstructionMemory,
    /// The files that load additionally when the given file is read.
    path_files: Vec<MemoryFile>,
}

impl MemoryReport {
    fn load(path: Option<&str>, env: &Env) -> Result<Self, String> {
        let here = sys::launch::cwd(env).unwrap_or_else(|_| PathBuf::from("/"));
        let target = path.map_or_else(|| here.clone(), |path| sys::real_path::path(&here.join(path)));
        // A file below this directory is treated as in a session that was started here.
        let (cwd, file) = match (target.is_dir(), target.strip_prefix(&here)) {
            (true, _) => (target, None),
            (false, Ok(_)) => (here, Some(target)),
            (false, Err(_)) => (target.parent().unwrap_or(Path::new("/")).to_path_buf(), Some(target)),
        };
        if !cwd.is_dir() {
            return Err(format!("Error: {} is not a directory", cwd.display()));
        }
        let selection = SettingsSelection::default();
        let loaded = ConfigLoader::open(&cwd, env, &selection).map_err(|error| format!("Error: {error}"))?;
        let root = sys::git::root(&cwd).unwrap_or_else(|| cwd.clone());
        let root = sys::git::main_checkout(&root).unwrap_or(root);
        let notes = store::StoreLayout::new(env).project_dir(&root).join("memory");
        let query = MemoryQuery {
            cwd: &cwd,
            env: &loaded.env,
            selection: &selection,
            loaded: &loaded,
            added: &[],
            notes: Some(&notes),
        };
        let mut memory = config::memory::load(&query);
        let brought = file.map(|file| memory.lazy.file_touched(&file).files).unwrap_or_default();
        Ok(Self { memory, path_files: brought })
    }

    fn files(&self) -> impl Iterator<Item = &MemoryFile> {
        self.memory.files.iter().chain(&self.path_files)
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let total: u64 = self.files().map(tokens).sum();
        for file in self.files() {
            write!(out, "=== {} ({}, {} tokens", file.path.display(), scope(file.scope), tokens(file)).ok();
            if let Some(by) = &file.imported_by {
                write!(out, ", imported by {}", by.display()).ok();
            }
            if !file.globs.is_empty() {
                write!(out, ", for {}", file.globs.join(", ")).ok();
            }
            out.push_str(")\n");
            for (line, text) in parts(file) {
                writeln!(out, "--- {}:{line}\n{}", file.path.display(), text.trim_end()).ok();
            }
            out.push('\n');
        }
        for (path, globs) in self.memory.lazy.waiting() {
            writeln!(out, "waits for a matching file: {} ({})", path.display(), globs.join(", ")).ok();
        }
        for skipped in &self.memory.skipped {
            writeln!(out, "left out: {}: {}", skipped.path.display(), skipped.reason).ok();
        }
        for finding in &self.memory.findings {
            writeln!(out, "{finding}").ok();
        }
        write!(out, "{}, about {total} tokens", counted(self.files().count(), "file")).ok();
        out
    }

    fn json(&self) -> Value {
        let file = |file: &MemoryFile| {
            let parts: Vec<Value> = parts(file).map(|(line, text)| json!({"line": line, "text": text})).collect();
            json!({
                "path": file.path,
                "scope": file.scope.hook_name(),
                "reason": file.reason.hook_name(),
                "importedBy": file.imported_by,
                "globs": file.globs,
                "tokens": tokens(file),
                "parts": parts,
            })
        };
        let waiting: Vec<Value> =
            self.memory.lazy.waiting().map(|(path, globs)| json!({"path": path, "globs": globs})).collect();
        let left_out: Vec<Value> =
            self.memory.skipped.iter().map(|s| json!({"path": s.path, "reason": s.reason})).collect();
        let findings: Vec<Value> = self
            .memory
            .findings
            .iter()
            .map(|f| json!({"path": f.path, "line": f.line, "message": f.message}))
            .collect();
        json!({
            "files": self.files().map(file).collect::<Vec<_>>(),
            "tokens": self.files().map(tokens).sum::<u64>(),
            "waiting": waiting,
            "leftOut": left_out,
            "findings": findings,
        })
    }
}

fn tokens(file: &MemoryFile) -> u64 {
    model::estimate::text(file.text.len())
}

/// The parts of a file's text with the line each begins on.
fn parts(file: &MemoryFile) -> impl Iterator<Item = (usize, &str)> {
    let ends = file.lines.iter().skip(1).map(|(at, _)| *at).chain([file.text.len()]);
    file.lines.iter().zip(ends).map(|((at, line), end)| (*line, &file.text[*at..end]))
}

fn scope(scope: MemoryScope) -> &'static str {
    match scope {
        MemoryScope::Managed => "managed",
        MemoryScope::User => "user",
        MemoryScope::Project => "project",
        MemoryScope::Local => "local",
        MemoryScope::Auto => "notes",
    }
}
