//! The command line of `cargo xtask eval`.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;

pub(super) const HELP: &str = "cargo xtask eval [OPTIONS]

Runs the tasks of eval/tasks and prints one table of tasks and one of slips.
  --backend clumsy|live|replay   who answers: the stand-in that slips (default), an endpoint, recorded conversations
  --tasks GLOB        only tasks whose names fit (commas separate several patterns), or with this tag: E, S, B, L, A or P
  --runs N            runs of each task (clumsy: seeds SEED, SEED+1, …; default 5, live 1)
  --seed N            the first seed (default 1)
  --slip-rate N       clumsy: of 100 intents, how many are sent with a slip (default 35)
  --binary FILE       the binary to run (default: builds the release binary)
  --against FILE      runs this binary too, interleaved, and compares
  --json FILE         writes the figures; eval/baseline.json is such a file
  --verbose           every slip that was not recovered at once, with the texts the model saw
  --keep              keeps the places of the runs and prints where they are
  --url URL, --key-variable NAME, --model ID, --record FOLDER   live: endpoint, the variable that holds the key, model, cassettes
  --cassettes FOLDER  replay: the recorded conversations (default eval/cassettes)
  --budgets           prints the table of budgets from captured requests; fails above one that is not known to be over
  --gate              the short form of the test command: every task once, compared with the recorded figures
  --texts             lists the sentences that a model may be sent, with their bytes
  --slips             runs the 40 slips of the first measurement and says how each is answered";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BackendKind {
    Clumsy,
    Live,
    Replay,
}

/// Which table is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Tasks,
    Budgets,
    Texts,
    Slips,
    Gate,
}

#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) job: Job,
    pub(super) backend: BackendKind,
    pub(super) tasks: Option<String>,
    pub(super) runs: Option<u64>,
    pub(super) seed: u64,
    pub(super) slip_rate: u64,
    pub(super) binary: Option<PathBuf>,
    pub(super) against: Option<PathBuf>,
    pub(super) json: Option<PathBuf>,
    pub(super) verbose: bool,
    pub(super) keep: bool,
    pub(super) url: Option<String>,
    pub(super) key_variable: String,
    pub(super) model: Option<String>,
    pub(super) record: Option<PathBuf>,
    pub(super) cassettes: PathBuf,
}

impl Options {
    pub(super) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            job: Job::Tasks,
            backend: BackendKind::Clumsy,
            tasks: None,
            runs: None,
            seed: 1,
            slip_rate: 35,
            binary: None,
            against: None,
            json: None,
            verbose: false,
            keep: false,
            url: None,
            key_variable: "ANTHROPIC_API_KEY".into(),
            model: None,
            record: None,
            cassettes: "eval/cassettes".into(),
        };
        let mut rest = words.iter().copied();
        while let Some(word) = rest.next() {
            options.take(word, &mut rest)?;
        }
        Ok(options)
    }

    fn take<'a>(&mut self, word: &str, rest: &mut impl Iterator<Item = &'a str>) -> Result<()> {
        let mut value = || rest.next().with_context(|| format!("{word} needs a value"));
        let number = |text: &str| text.parse::<u64>().with_context(|| format!("{text} is no number"));
        let file = |text: &str| PathBuf::from(text).canonicalize().with_context(|| format!("{text} does not exist"));
        match word {
            "--budgets" => self.job = Job::Budgets,
            "--texts" => self.job = Job::Texts,
            "--slips" => self.job = Job::Slips,
            "--gate" => self.job = Job::Gate,
            "--verbose" => self.verbose = true,
            "--keep" => self.keep = true,
            "--backend" => {
                self.backend = match value()? {
                    "clumsy" => BackendKind::Clumsy,
                    "live" => BackendKind::Live,
                    "replay" => BackendKind::Replay,
                    other => bail!("{other} is no backend: clumsy, live or replay"),
                }
            }
            "--tasks" => self.tasks = Some(value()?.to_owned()),
            "--runs" => self.runs = Some(number(value()?)?.max(1)),
            "--seed" => self.seed = number(value()?)?,
            "--slip-rate" => self.slip_rate = number(value()?)?,
            "--binary" => self.binary = Some(file(value()?)?),
            "--against" => self.against = Some(file(value()?)?),
            "--json" => self.json = Some(value()?.into()),
            "--url" => self.url = Some(value()?.to_owned()),
            "--key-variable" => value()?.clone_into(&mut self.key_variable),
            "--model" => self.model = Some(value()?.to_owned()),
            "--record" => self.record = Some(std::path::absolute(value()?)?),
            "--cassettes" => self.cassettes = file(value()?)?,
            other => bail!("unknown argument {other}\n{HELP}"),
        }
        Ok(())
    }
}
