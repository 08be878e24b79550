//! Runs git without any program that the repository configures and without redirection to another checkout.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use sys::Env;
use sys::git::neutral::{NeutralObstacle, powerless_env};
use sys::process::{self, ChildInput, ChildOutput, RunOptions, SpawnSpec};

const GIT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long fetching the remote's default branch may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
const FETCH_MAX_AGE: Duration = Duration::from_hours(24);
const REMOTE_HEAD: &str = "origin/HEAD";
const REDIRECTS: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_ALTERNATE_OBJECT_DIRECTORIES"];

/// Runs git calls that only read, without any program that the repository configures.
pub struct PowerlessGit {
    dir: PathBuf,
    env: Env,
}

impl PowerlessGit {
    /// Reads the repository's configuration; blocking.
    pub fn new(dir: &Path, env: &Env) -> Result<Self, NeutralObstacle> {
        let env = quiet_environment(env);
        Ok(Self { dir: dir.to_path_buf(), env: powerless_env(dir, &env)? })
    }

    /// The output without the last newline; the error is git's message.
    pub async fn run(&self, args: &[&str], timeout: Duration) -> Result<String, String> {
        run_in(&self.dir, &self.env, args, timeout).await
    }
}

/// Without redirection to another checkout.
fn quiet_environment(env: &Env) -> Env {
    env.without(REDIRECTS).with([("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")])
}

async fn run_in(dir: &Path, env: &Env, args: &[&str], timeout: Duration) -> Result<String, String> {
    let failed = |why: String| Err(failure(dir, args, &why));
    let quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never"];
    let spec = SpawnSpec {
        program: "git".into(),
        args: quiet.iter().chain(args).map(Into::into).collect(),
        env: env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        cwd: dir.to_path_buf(),
        stdin: ChildInput::Null,
        output: ChildOutput::Split,
    };
    let options = RunOptions { timeout, keep: 4 << 20, ..RunOptions::default() };
    let done = match process::run(spec, options).await {
        Ok(done) => done,
        Err(error) => return failed(error.to_string()),
    };
    if done.exit.code == Some(0) {
        return Ok(String::from_utf8_lossy(&done.stdout.to_bytes()).trim_end_matches('\n').to_owned());
    }
    failed(String::from_utf8_lossy(&done.stderr.to_bytes()).trim().to_owned())
}

fn failure(dir: &Path, args: &[&str], why: &str) -> String {
    format!("git {} failed in {}: {why}", args[0], dir.display())
}

#[derive(Clone, Copy)]
pub struct GitRunner<'a> {
    pub dir: &'a Path,
    pub env: &'a Env,
}

impl GitRunner<'_> {
    /// The output without the last newline; the error is git's message.
    pub async fn run(&self, args: &[&str]) -> Result<String, String> {
        self.run_with(args, &[], GIT_TIMEOUT).await
    }

    pub(super) async fn run_with(
        &self,
        args: &[&str],
        variables: &[(&str, &str)],
        timeout: Duration,
    ) -> Result<String, String> {
        let env = quiet_environment(self.env);
        // A fetch uses the repository's configuration; it runs in trusted folders only.
        let powerless = if args.first() == Some(&"fetch") { Ok(env) } else { powerless_env(self.dir, &env) };
        match powerless {
            Ok(env) => run_in(self.dir, &env.with(variables.iter().copied()), args, timeout).await,
            Err(obstacle) => Err(failure(self.dir, args, &format!("its configuration may run a program: {obstacle}"))),
        }
    }

    pub async fn commit_of(&self, name: &str) -> Result<String, String> {
        self.run(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]).await
    }
}

/// Whether the remote may be contacted. Fetching runs programs that the repository configures, so only in a trusted
/// folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteAccess {
    MayBeAsked,
    AsLastSeen,
}

/// The start of a new worktree: with `head`, what is checked out now; otherwise the remote's default branch, when one
/// is known.
pub(super) async fn base(git: GitRunner<'_>, base_ref: Option<&str>, remote: RemoteAccess) -> String {
    if base_ref == Some("head") || git.commit_of(REMOTE_HEAD).await.is_err() {
        return "HEAD".into();
    }
    if remote == RemoteAccess::MayBeAsked && !is_fresh(git.dir) {
        let fetch = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "origin"];
        if let Err(error) = git.run_with(&fetch, &[], FETCH_TIMEOUT).await {
            tracing::warn!(error, "the remote could not be asked; its branch as last seen is used");
        }
    }
    REMOTE_HEAD.into()
}

fn is_fresh(dir: &Path) -> bool {
    let Some(git_dir) = sys::git::root(dir).and_then(|root| sys::git::git_dir(&root)) else { return true };
    let fetched = std::fs::metadata(sys::git::common_dir(&git_dir).join("FETCH_HEAD")).and_then(|meta| meta.modified());
    let now = Duration::from_millis(sys::clock::now_ms());
    fetched.is_ok_and(|at| at.duration_since(UNIX_EPOCH).is_ok_and(|at| now.saturating_sub(at) < FETCH_MAX_AGE))
}

/// Fetches a pull or merge request; returns its commit.
pub(super) async fn fetch_request(git: GitRunner<'_>, number: u64) -> Result<String, String> {
    let mut last = String::new();
    for reference in [format!("pull/{number}/head"), format!("merge-requests/{number}/head")] {
        match git.run(&["fetch", "--quiet", "--no-tags", "origin", &reference]).await {
            Ok(_) => return git.commit_of("FETCH_HEAD").await,
            Err(error) => last = error,
        }
    }
    Err(last)
}
