//! The environment of the demo: a fresh temporary folder with the sample project, a separate home and configuration,
//! and no variables of the user except the search path, the language and the time zone.

use engine::{SessionChoice, SessionOptions, StartRequest};
use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use sys::Env;
use sys::process::{self, ChildInput, ChildOutput, RunOptions, SpawnSpec};

const CASSETTE: &str = include_str!("../../demo/cassette.jsonl");
const FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("../../demo/project/README.md")),
    ("roman.sh", include_str!("../../demo/project/roman.sh")),
    ("test.sh", include_str!("../../demo/project/test.sh")),
];
/// Exactly what the task needs; reading inside the project needs no rule.
const COMMAND_RULE: &str = "Bash(sh test.sh)";
pub(super) const RULES: [&str; 2] = [COMMAND_RULE, "Edit(/roman.sh)"];
const KEPT_VARIABLES: [&str; 4] = ["PATH", "LANG", "LC_ALL", "TZ"];
/// What the interface wants to know of the terminal, and how the user wants it.
const TERMINAL_VARIABLES: [&str; 9] = [
    "TERM",
    "COLORTERM",
    "COLORFGBG",
    "NO_COLOR",
    "FORCE_COLOR",
    "TERM_PROGRAM",
    "TMUX",
    "STY",
    "CLAUDE_AX_SCREEN_READER",
];
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const MODEL: &str = "sonnet";

pub(super) struct DemoStage {
    folder: PathBuf,
    env: Env,
    session_id: String,
}

impl DemoStage {
    pub(super) fn build(user: &Env) -> Result<Self, String> {
        let base = PathBuf::from(user.non_empty("TMPDIR").unwrap_or("/tmp"));
        let base = base.canonicalize().map_err(|e| format!("no temporary folder {}: {e}", base.display()))?;
        let folder = base.join(format!("gimlet-demo-{}", sys::id::base36(8)));
        let failed = |path: &Path, e: std::io::Error| format!("cannot write {}: {e}", path.display());
        for dir in
            [folder.clone(), folder.join("project"), folder.join("config"), folder.join("home"), folder.join("tmp")]
        {
            std::fs::DirBuilder::new().mode(0o700).create(&dir).map_err(|e| failed(&dir, e))?;
        }
        let write = |path: PathBuf, text: &str| std::fs::write(&path, text).map_err(|e| failed(&path, e));
        for (name, text) in FILES {
            write(folder.join("project").join(name), text)?;
        }
        write(folder.join("cassette.jsonl"), CASSETTE)?;
        let env = environment(user, &folder);
        Ok(Self { folder, env, session_id: sys::id::uuid() })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    pub(super) fn transcript(&self) -> PathBuf {
        store::StoreLayout::new(&self.env).transcript(&self.project(), &self.session_id)
    }

    pub(super) fn boot(&self) -> StartRequest {
        let mut options = SessionOptions::default();
        options.model.name = Some(MODEL.into());
        options.permissions.allowed = RULES.map(str::to_owned).to_vec();
        options.cassette.replay = Some(self.folder.join("cassette.jsonl"));
        options.conversation.choice = SessionChoice::New { id: Some(self.session_id.clone()) };
        StartRequest { env: self.env.clone(), cwd: self.project(), options }
    }

    /// The same for the interface: edits are asked about, and the terminal is described to it.
    pub(super) fn interactive_boot(&self, user: &Env) -> StartRequest {
        let mut boot = self.boot();
        boot.options.permissions.allowed = vec![COMMAND_RULE.to_owned()];
        boot.options.host.partial_messages = true;
        boot.options.host.multi_turn = true;
        boot.options.host.replay_history = true;
        boot.options.permissions.prompt_tool = Some("stdio".into());
        let kept =
            TERMINAL_VARIABLES.iter().filter_map(|name| Some((OsString::from(name), user.non_empty(name)?.into())));
        boot.env = boot.env.with(kept.collect::<Vec<(OsString, OsString)>>());
        boot
    }

    /// The result depends on the project's test, not on the text of the model.
    pub(super) async fn check(&self) -> Result<(), String> {
        let spec = SpawnSpec {
            program: "sh".into(),
            args: vec!["test.sh".into()],
            env: self.env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            cwd: self.project(),
            stdin: ChildInput::Null,
            output: ChildOutput::Merged,
        };
        let done =
            process::run(spec, RunOptions::default()).await.map_err(|e| format!("`sh test.sh` did not start: {e}"))?;
        match done.exit.code {
            Some(0) => Ok(()),
            _ => Err("`sh test.sh` still fails in the sample project".into()),
        }
    }
}

fn environment(user: &Env, folder: &Path) -> Env {
    let kept = KEPT_VARIABLES.iter().filter_map(|name| Some(((*name).into(), user.non_empty(name)?.into())));
    let own = [("HOME", "home"), ("CLAUDE_CONFIG_DIR", "config"), ("CLAUDE_CODE_TMPDIR", "tmp"), ("TMPDIR", "tmp")];
    let own = own.map(|(name, dir)| (name.into(), folder.join(dir).into_os_string()));
    let vars: Vec<(OsString, OsString)> =
        std::iter::once(("PATH".into(), DEFAULT_PATH.into())).chain(kept).chain(own).collect();
    Env::default().with(vars)
}
