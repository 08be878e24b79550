//! Checks whether the programs that settings name exist. Nothing is started; a command that only the shell can resolve
//! is not checked.

use super::places::url_problem;
use super::{DoctorContext, DoctorFinding, bad, good, is_program, on_path};
use config::SettingsSelection;
use config::mcp::{DeclaredMcpServer, McpApproval, McpAudience, McpQuery};
use engine::hooks::{HookRestriction, catalogue};
use hooks::{CommandHandler, HandlerKind};
use std::path::{Path, PathBuf};
use sys::Env;
use wire::mcp::McpTransport;

pub(super) fn hooks(context: &DoctorContext<'_>, findings: &mut Vec<DoctorFinding>) {
    let (catalogue, _) = catalogue(context.loaded, HookRestriction::No);
    for problem in &catalogue.diagnostics {
        findings.push(bad("hooks", problem.clone(), "correct the hooks named there; `gimlet hooks list` shows all"));
    }
    for entry in catalogue.iter() {
        let what = format!("{} hook of {}", entry.event.as_str(), entry.origin.label());
        if let Some(why) = entry.matcher_problem() {
            let matcher = entry.matcher_text.as_deref().unwrap_or_default();
            let text =
                format!("{what}: the matcher {matcher:?} is not a regular expression, so it matches nothing ({why})");
            findings.push(bad("hooks", text, format!("correct the matcher {matcher:?} of the {what}")));
        }
        let missing = match &entry.handler.kind {
            HandlerKind::Command(command) => missing_program(command, context),
            HandlerKind::Http(http) => url_problem(&http.url).map(|problem| format!("its address {problem}")),
            HandlerKind::McpTool(_) | HandlerKind::Prompt(_) | HandlerKind::Agent(_) | HandlerKind::Callback { .. } => {
                None
            }
        };
        if let Some(missing) = missing {
            let fix = format!("install the program of the {what}, or remove the hook from its file");
            findings.push(bad("hooks", format!("{what}: {missing}"), fix));
        }
    }
    let count = catalogue.iter().count();
    if count > 0 {
        findings.push(good("hooks", format!("{count} hook(s)")));
    }
}

/// Programs that settings name beside hooks.
pub(super) fn helpers(context: &DoctorContext<'_>, findings: &mut Vec<DoctorFinding>) {
    let settings = &context.loaded.settings;
    let line = |declared: &Option<serde_json::Value>| {
        declared.as_ref().and_then(|line| line.get("command")?.as_str().map(str::to_owned))
    };
    for (key, command) in [
        ("apiKeyHelper", settings.api_key_helper.clone()),
        ("statusLine", line(&settings.status_line)),
        ("subagentStatusLine", line(&settings.subagent_status_line)),
    ] {
        let Some(missing) = command.and_then(|command| missing_in_line(first_words(&command, context), true, context))
        else {
            continue;
        };
        let fix = format!("put the program of {key} in its place, or correct the setting {key}");
        findings.push(bad("settings", format!("{key}: {missing}"), fix));
    }
}

pub(super) fn servers(context: &DoctorContext<'_>, findings: &mut Vec<DoctorFinding>) {
    let request = McpQuery {
        cwd: context.cwd,
        env: context.env,
        loaded: context.loaded,
        selection: &SettingsSelection::default(),
        flags: &[],
        strict: false,
        audience: McpAudience::Headless,
    };
    let found = match config::mcp::effective(&request) {
        Ok(found) => found,
        Err(error) => return findings.push(bad("servers", error.to_string(), "correct the MCP configuration")),
    };
    for problem in &found.diagnostics {
        findings.push(bad("servers", problem.to_string(), "correct the declaration of the server named there"));
    }
    for server in found.servers.iter().filter(|s| matches!(s.approval, McpApproval::Approved | McpApproval::Pending)) {
        if let Some(problem) = server_problem(server, context) {
            let fix = format!(
                "install the program or correct the address of MCP server {0}; `gimlet mcp get {0}` shows it",
                server.name
            );
            findings.push(bad("servers", format!("{} cannot start: {problem}", server.name), fix));
        }
    }
    if !found.servers.is_empty() {
        findings.push(good("servers", format!("{} MCP server(s)", found.servers.len())));
    }
}

fn server_problem(server: &DeclaredMcpServer, context: &DoctorContext<'_>) -> Option<String> {
    match &server.config.transport {
        McpTransport::Stdio(stdio) => {
            let program = resolve(&stdio.command, context.cwd, &context.loaded.env.with(&stdio.env));
            program.is_none().then(|| format!("there is no program {:?}", stdio.command))
        }
        McpTransport::Http(remote) | McpTransport::Sse(remote) | McpTransport::Ws(remote) => {
            let url = remote.url.replacen("ws", "http", usize::from(remote.url.starts_with("ws")));
            url_problem(&url).map(|problem| format!("its address {problem}"))
        }
        McpTransport::Sdk { .. } => None,
    }
}

/// Finds a program by its path, or by its name on the search path.
fn resolve(program: &str, base: &Path, env: &Env) -> Option<PathBuf> {
    if !program.contains('/') {
        return on_path(program, env);
    }
    Some(base.join(program)).filter(|path| is_program(path))
}

/// Words that the shell itself implements.
#[rustfmt::skip]
const SHELL_WORDS: &[&str] = &[
    "[", "[[", "{", "!", ":", ".", "alias", "bg", "break", "case", "cd", "command", "continue", "declare", "echo", "eval",
    "exec", "exit", "export", "false", "fg", "for", "function", "getopts", "hash", "if", "jobs", "kill", "let", "local",
    "printf", "pwd", "read", "readonly", "return", "set", "shift", "source", "test", "time", "times", "trap", "true", "type",
    "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "while",
];

const INTERPRETERS: &[&str] =
    &["sh", "bash", "zsh", "dash", "python", "python3", "node", "ruby", "perl", "bun", "deno"];

/// The program that is missing for a hook command to run; `None` also when that needs a shell to find out.
fn missing_program(command: &CommandHandler, context: &DoctorContext<'_>) -> Option<String> {
    let words: Vec<Option<String>> = match &command.args {
        Some(args) => std::iter::once(&command.command).chain(args).map(|word| expand(word, context)).collect(),
        None => first_words(&command.command, context),
    };
    missing_in_line(words, command.args.is_none(), context)
}

/// `for_shell`: words of the shell itself are programs too.
fn missing_in_line(words: Vec<Option<String>>, for_shell: bool, context: &DoctorContext<'_>) -> Option<String> {
    let mut words = words.into_iter();
    let program = words.next()??;
    let is_shell_word = for_shell && SHELL_WORDS.contains(&program.as_str());
    if !is_shell_word && resolve(&program, context.cwd, &context.loaded.env).is_none() {
        return Some(format!("there is no program {program:?}"));
    }
    let name = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let script = words.next().flatten().filter(|word| word.contains('/') && !word.starts_with('-'))?;
    let is_missing = INTERPRETERS.contains(&name.as_str()) && !context.cwd.join(&script).exists();
    is_missing.then(|| format!("there is no script {script:?}"))
}

/// The first two words of a shell command after its assignments; `None` for a word that only the shell can resolve.
fn first_words(line: &str, context: &DoctorContext<'_>) -> Vec<Option<String>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while words.len() < 2 && !rest.is_empty() {
        let (word, after) = shell_word(rest);
        rest = after;
        let is_assignment = words.is_empty() && word.split_once('=').is_some_and(|(name, _)| is_name(name));
        if is_assignment {
            continue;
        }
        let ends = word.is_empty() || word.contains(['|', ';', '&', '(', ')', '<', '>', '\n']);
        if ends {
            words.push(None);
            break;
        }
        words.push(expand(&word, context));
    }
    words
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The next word without its quotes, and the rest of the text.
fn shell_word(text: &str) -> (String, &str) {
    let mut word = String::new();
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_whitespace() => return (word, text[at..].trim_start()),
            _ => word.push(c),
        }
    }
    (word, "")
}

/// Expands the variables that every hook has; `None` when anything else must be expanded.
fn expand(word: &str, context: &DoctorContext<'_>) -> Option<String> {
    let project = context.cwd.display().to_string();
    let home = context.env.home().map(|home| home.display().to_string()).unwrap_or_default();
    let mut text = word.to_owned();
    for (name, value) in [("CLAUDE_PROJECT_DIR", &project), ("HOME", &home)] {
        text = text.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
    }
    if let Some(rest) = text.strip_prefix("~/") {
        text = format!("{home}/{rest}");
    }
    (!text.contains(['$', '`', '*', '?', '{', '\\', '~'])).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    // [F-C8]
    #[test]
    fn words_are_cut_as_a_shell_cuts_them() {
        assert_eq!(shell_word("\"$X\"/a.sh  b"), ("$X/a.sh".to_owned(), "b"));
        assert_eq!(shell_word("'a b' c"), ("a b".to_owned(), "c"));
        assert_eq!(shell_word("a"), ("a".to_owned(), ""));
    }
}
