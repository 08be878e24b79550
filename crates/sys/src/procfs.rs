//! Reads `/proc`. A process that ends while being read is simply absent. On other systems than Linux there is no
//! `/proc`: every list is empty and callers fall back to process groups.

use std::path::Path;

/// The fields of `/proc/<pid>/stat` that we use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) state: u8,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// Clock ticks since boot, as text.
    pub(crate) start: String,
}

impl ProcessStat {
    /// False for a zombie: it has a pid but runs no code.
    pub(crate) fn is_live(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }
}

pub(crate) fn stat(pid: i32) -> Option<ProcessStat> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(text: &str) -> Option<ProcessStat> {
    // The command name is in parentheses and may itself contain spaces and parentheses.
    let rest = &text[text.rfind(')')? + 1..];
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let _parent = fields.next()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let start = fields.nth(15)?.to_owned();
    Some(ProcessStat { state, group, session, start })
}

pub(crate) fn is_live(pid: i32) -> bool {
    stat(pid).is_some_and(|s| s.is_live())
}

/// All pids.
pub(crate) fn pids() -> Vec<i32> {
    numbered(Path::new("/proc"))
}

/// The children of all threads of `pid`. The kernel may omit one while another exits, so callers that must find all
/// repeat the search until it finds nothing.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let tasks = format!("/proc/{pid}/task");
    let mut found = Vec::new();
    for thread in numbered(Path::new(&tasks)) {
        match std::fs::read_to_string(format!("{tasks}/{thread}/children")) {
            Ok(text) => found.extend(text.split_ascii_whitespace().filter_map(|word| word.parse::<i32>().ok())),
            Err(_) if Path::new(&format!("{tasks}/{thread}")).exists() => return children_by_scan(pid),
            Err(_) => {}
        }
    }
    found
}

/// For kernels built without the `children` file.
fn children_by_scan(parent: i32) -> Vec<i32> {
    let is_child = |pid: &i32| {
        let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
        let Some(end) = text.rfind(')') else { return false };
        text[end + 1..].split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok()) == Some(parent)
    };
    pids().into_iter().filter(is_child).collect()
}

fn numbered(dir: &Path) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// True when the initial environment of `pid` has `token` among the colon-separated values of `name`.
pub(crate) fn has_marker(pid: i32, name: &str, token: &str) -> bool {
    environ(pid).is_some_and(|environ| has_token(&environ, name, token))
}

/// In the middle of an `exec` the kernel shows an empty environment; this waits until the real one is visible.
fn environ(pid: i32) -> Option<Vec<u8>> {
    let read = |file: &str| std::fs::read(format!("/proc/{pid}/{file}"));
    for _ in 0..100 {
        let environ = read("environ").ok()?;
        // Kernel threads have no executable.
        if !environ.is_empty() || !is_live(pid) || std::fs::read_link(format!("/proc/{pid}/exe")).is_err() {
            return Some(environ);
        }
        if !read("cmdline").ok()?.is_empty() {
            // The `exec` is over, so the environment is the real one.
            return read("environ").ok();
        }
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    None
}

fn has_token(environ: &[u8], name: &str, token: &str) -> bool {
    environ
        .split(|byte| *byte == 0)
        .filter_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        .any(|value| value.split(|byte| *byte == b':').any(|part| part == token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_survives_hostile_names() {
        let line = "77 (a) S 1 (b) R 5 70 60 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3";
        let stat = parse_stat(line).unwrap();
        assert_eq!(stat, ProcessStat { state: b'R', group: 70, session: 60, start: "987654".into() });
        assert!(parse_stat("garbage").is_none());
    }

    #[test]
    fn tokens_match_whole_and_anywhere_in_the_chain() {
        let environ = b"A=1\0GIMLET_RUN=outer:inner\0XGIMLET_RUN=other\0";
        assert!(has_token(environ, "GIMLET_RUN", "outer"));
        assert!(has_token(environ, "GIMLET_RUN", "inner"));
        assert!(!has_token(environ, "GIMLET_RUN", "inn"));
        assert!(!has_token(environ, "GIMLET_RUN", "other"));
        assert!(!has_token(b"", "GIMLET_RUN", "outer"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn we_are_alive() {
        assert!(is_live(std::process::id() as i32));
        assert!(pids().contains(&(std::process::id() as i32)));
    }
}
