//! `headersHelper`: a shell command that prints headers as a JSON object of strings, within ten seconds. A command
//! from a repository does not get variables that look like secrets.

use crate::Headers;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::time::Duration;
use sys::Env;
use sys::process::{self, ChildInput, ChildOutput, RunOptions, SpawnSpec, TerminalAccess};

const HELPER_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// The directory a helper runs in, and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperPlace {
    pub cwd: PathBuf,
    /// The helper came with a repository or a plugin.
    pub is_from_repository: bool,
}

pub(super) async fn run(
    command: &str,
    (server, url): (&str, &str),
    env: &Env,
    place: &HelperPlace,
) -> Result<Headers, String> {
    let own = [("CLAUDE_CODE_MCP_SERVER_NAME", server), ("CLAUDE_CODE_MCP_SERVER_URL", url)];
    let env = env.with(own);
    let visible = |name: &std::ffi::OsStr| !(place.is_from_repository && looks_secret(&name.to_string_lossy()));
    let spec = SpawnSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        env: env.iter().filter(|(name, _)| visible(name)).map(|(n, v)| (n.to_owned(), v.to_owned())).collect(),
        cwd: place.cwd.clone(),
        stdin: ChildInput::Null,
        output: ChildOutput::Split,
    };
    let options = RunOptions {
        timeout: HELPER_TIMEOUT,
        keep: MAX_OUTPUT_BYTES,
        terminal: TerminalAccess::None,
        ..RunOptions::default()
    };
    let failed = |why: String| format!("headersHelper of server \"{server}\" failed: {why}");
    let done = process::run(spec, options).await.map_err(|error| failed(error.to_string()))?;
    if done.timed_out {
        return Err(failed(format!("it did not finish within {} s", HELPER_TIMEOUT.as_secs())));
    }
    if done.exit.code != Some(0) {
        let ended = done.exit.code.map_or_else(|| "a signal ended it".into(), |code| format!("exit code {code}"));
        return Err(failed(ended));
    }
    let text = done.stdout.to_bytes();
    read(&text).ok_or_else(|| failed("it must print a JSON object whose values are strings".into()))
}

fn read(text: &[u8]) -> Option<Headers> {
    let headers: Map<String, Value> = serde_json::from_slice(text.trim_ascii()).ok()?;
    let plain = |text: &str| !text.contains(['\r', '\n', '\0']);
    let one = |(name, value): (String, Value)| {
        let value = value.as_str().filter(|value| plain(value) && plain(&name))?.to_owned();
        Some((name, value))
    };
    headers.into_iter().map(one).collect()
}

fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words =
        ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY", "APIKEY", "PRIVATE_KEY", "ACCESS_KEY"];
    words.iter().any(|word| name.contains(word)) || name.ends_with("_KEY") || name == "ANTHROPIC_CUSTOM_HEADERS"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn headers_are_read_and_secrets_withheld_from_strangers() {
        // [TST-215]
        let env = Env::default().with([("PATH", "/usr/bin:/bin"), ("MY_TOKEN", "t"), ("PLAIN", "p")]);
        let script = r#"printf '{"A":"%s","B":"%s","C":"%s","D":"%s"}' "$MY_TOKEN" "$PLAIN" "$CLAUDE_CODE_MCP_SERVER_NAME" "$CLAUDE_CODE_MCP_SERVER_URL""#;
        let place = |is_from_repository| HelperPlace { cwd: "/".into(), is_from_repository };
        let got = run(script, ("s", "http://h"), &env, &place(true)).await.unwrap();
        let values: Vec<&str> = got.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["", "p", "s", "http://h"]);
        assert_eq!(run(script, ("s", "u"), &env, &place(false)).await.unwrap()[0].1, "t");
        for bad in ["exit 3", "echo nope", r#"echo '{"a": 1}'"#, r#"printf '{"a": "x\\r\\ny: z"}'"#] {
            assert!(run(bad, ("s", "u"), &env, &place(false)).await.is_err(), "{bad}");
        }
    }
}
