//! `gimlet update` and `gimlet install`: replace this release, if gimlet's installer installed it. No URL is built in:
//! releases come from where the user or the administrator says, and are verified before they are used.

mod archive;
mod installation;
mod owner;
mod release;
mod settings;
mod version;

use installation::{InstallRecord, Installation, InstalledRelease};
use owner::BinaryOwner;
use release::{ReleaseSource, SignatureState};
use settings::UpdateConfig;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use sys::Env;
use version::ReleaseNumber;

const UPDATE_USAGE: &str = "Usage: gimlet update [options]

Replaces this gimlet with the newest release of its channel.

Options:
  --check             say whether there is a newer release; change nothing
  --rollback          go back to the release before this one
  --pin [version]     stay at this release, or install that one and stay there
  --unpin             follow the channel again
  --url <url>         where releases are, for this run
  --allow-unsigned    accept a release whose signature cannot be checked

Releases come from the setting updateUrl (or GIMLET_UPDATE_URL) and are checked with updateKey
(or GIMLET_UPDATE_KEY); autoUpdatesChannel chooses latest or stable.";

const INSTALL_USAGE: &str = "Usage: gimlet install [latest|stable|version] [options]

Installs a release for you (in ~/.local), or for everybody with --system (in /usr/local).

Options:
  --system            install in /usr/local
  --prefix <folder>   install there
  --force             also when it is installed, pinned to another release, or in the place of another program
  --url <url>         where releases are; remembered for updates
  --key <key>         the Ed25519 public key they are signed with, in base64; remembered for updates
  --from <folder>     take the files from this copy of --url
  --allow-unsigned    accept a release whose signature cannot be checked";

/// `gimlet update`: returns the exit code, or a message that is ready to print.
pub(crate) fn update(rest: &[OsString], env: &Env, out: &mut dyn Write) -> Result<u8, String> {
    let request = UpdateRequest::parse(&words(rest))?;
    let Some(request) = request else { return say(out, UPDATE_USAGE) };
    refuse_when_off(env)?;
    let installation = match running_owner(env)? {
        BinaryOwner::Gimlet(installation) => installation.stopping_as(env),
        BinaryOwner::PackageManager { name, command } => return Err(managed_by(name, &command)),
        BinaryOwner::Nobody(binary) => {
            return Err(format!(
                "Error: {} was not put there by gimlet's installer, so it is not replaced. `gimlet install` installs a release \
             that can be updated; a copy built from source is updated by building it again",
                binary.display()
            ));
        }
    };
    let current = installation.current().ok_or_else(|| no_current(&installation))?;
    let job = UpdateJob { env, installation: &installation, out };
    match request {
        UpdateRequest::Unpin => job.unpin(),
        UpdateRequest::PinCurrent => job.pin(&current.number),
        UpdateRequest::Rollback => job.roll_back(&current),
        UpdateRequest::Fetch { pin, check, url, allow_unsigned } => {
            let record = installation.record()?;
            let settings = UpdateConfig::read(env, &record, url, None, allow_unsigned)?;
            job.update(&current, pin, check, &settings)
        }
    }
}

/// `gimlet install`: returns the same as [`update`].
pub(crate) fn install(rest: &[OsString], env: &Env, out: &mut dyn Write) -> Result<u8, String> {
    let Some(request) = InstallRequest::parse(&words(rest))? else { return say(out, INSTALL_USAGE) };
    refuse_when_off(env)?;
    let owner = running_owner(env)?;
    if let (BinaryOwner::PackageManager { name, command }, false, None) = (&owner, request.force, &request.prefix) {
        return Err(format!("{}, or install a second copy with --force", managed_by(name, command)));
    }
    let installation = match (&request.prefix, owner) {
        (Some(prefix), _) => Installation::at(prefix),
        (None, BinaryOwner::Gimlet(installation)) => installation,
        (None, BinaryOwner::PackageManager { .. } | BinaryOwner::Nobody(_)) => {
            let home = env.home().ok_or("Error: no home folder: set HOME, or use --prefix")?;
            Installation::at(&home.join(".local"))
        }
    };
    let installation = installation.stopping_as(env);
    let record =
        installation.record().or_else(|why| if request.force { Ok(InstallRecord::default()) } else { Err(why) })?;
    let settings = UpdateConfig::read(env, &record, request.url.clone(), request.key.clone(), request.allow_unsigned)?;
    UpdateJob { env, installation: &installation, out }.install(&request, record, &settings)
}

enum UpdateRequest {
    Unpin,
    PinCurrent,
    Rollback,
    Fetch { pin: Option<ReleaseNumber>, check: bool, url: Option<String>, allow_unsigned: bool },
}

impl UpdateRequest {
    /// Returns `None` when help is requested.
    fn parse(words: &[&str]) -> Result<Option<Self>, String> {
        let (mut pin, mut check, mut url, mut allow_unsigned) = (None, false, None, false);
        let mut rest = words.iter().peekable();
        while let Some(word) = rest.next() {
            match *word {
                "--help" | "-h" => return Ok(None),
                "--check" => check = true,
                "--allow-unsigned" => allow_unsigned = true,
                "--url" => url = Some(value(&mut rest, "--url")?),
                "--unpin" if words.len() == 1 => return Ok(Some(Self::Unpin)),
                "--rollback" if words.len() == 1 => return Ok(Some(Self::Rollback)),
                "--pin" if words.len() == 1 => return Ok(Some(Self::PinCurrent)),
                "--pin" => pin = Some(value(&mut rest, "--pin")?.parse().map_err(|why| format!("error: {why}"))?),
                "--unpin" | "--rollback" => {
                    return Err(format!("error: {word} cannot be combined with other options\n\n{UPDATE_USAGE}"));
                }
                other => return Err(format!("error: unknown option '{other}'\n\n{UPDATE_USAGE}")),
            }
        }
        if check && pin.is_some() {
            return Err(format!(
                "error: --check changes nothing, so it cannot be combined with --pin\n\n{UPDATE_USAGE}"
            ));
        }
        Ok(Some(Self::Fetch { pin, check, url, allow_unsigned }))
    }
}

#[derive(Default)]
struct InstallRequest {
    /// A channel or a number; `None`: the configured channel.
    target: Option<String>,
    prefix: Option<PathBuf>,
    force: bool,
    url: Option<String>,
    key: Option<String>,
    /// A folder with the files of the release. `None`: they are downloaded.
    from: Option<String>,
    allow_unsigned: bool,
}

impl InstallRequest {
    /// Returns `None` when help is requested.
    fn parse(words: &[&str]) -> Result<Option<Self>, String> {
        let mut request = Self::default();
        let mut rest = words.iter().peekable();
        while let Some(word) = rest.next() {
            match *word {
                "--help" | "-h" => return Ok(None),
                "--force" => request.force = true,
                "--allow-unsigned" => request.allow_unsigned = true,
                "--system" => request.prefix = Some(PathBuf::from("/usr/local")),
                "--prefix" => {
                    request.prefix =
                        Some(std::path::absolute(value(&mut rest, "--prefix")?).map_err(|e| e.to_string())?);
                }
                "--url" => request.url = Some(value(&mut rest, "--url")?),
                "--key" => request.key = Some(value(&mut rest, "--key")?),
                "--from" => request.from = Some(value(&mut rest, "--from")?),
                option if option.starts_with('-') => {
                    return Err(format!("error: unknown option '{option}'\n\n{INSTALL_USAGE}"));
                }
                target if request.target.is_none() => {
                    if !matches!(target, "latest" | "stable") {
                        target
                            .parse::<ReleaseNumber>()
                            .map_err(|why| format!("error: {why}; latest and stable are channels"))?;
                    }
                    request.target = Some(target.to_owned());
                }
                more => return Err(format!("error: one release at a time, not also '{more}'")),
            }
        }
        Ok(Some(request))
    }
}

type RemainingWords<'a> = std::iter::Peekable<std::slice::Iter<'a, &'a str>>;

fn value(rest: &mut RemainingWords<'_>, option: &str) -> Result<String, String> {
    let next = rest.next_if(|word| !word.starts_with("--"));
    next.map(|word| (*word).to_owned()).ok_or_else(|| format!("error: {option} needs a value"))
}

/// The context of a change to one installation.
struct UpdateJob<'a> {
    env: &'a Env,
    installation: &'a Installation,
    out: &'a mut dyn Write,
}

impl UpdateJob<'_> {
    fn unpin(self) -> Result<u8, String> {
        let lock = self.installation.open()?;
        let mut record = self.installation.record()?;
        let was = record.pin.take();
        self.installation.write_record(&record)?;
        drop(lock);
        say(
            self.out,
            &was.map_or_else(|| "gimlet was not pinned".into(), |pin| format!("gimlet is no longer pinned to {pin}")),
        )
    }

    fn pin(self, to: &ReleaseNumber) -> Result<u8, String> {
        let lock = self.installation.open()?;
        let mut record = self.installation.record()?;
        record.pin = Some(to.to_string());
        self.installation.write_record(&record)?;
        drop(lock);
        say(self.out, &format!("gimlet stays at {to}; `gimlet update --unpin` follows the channel again"))
    }

    fn roll_back(self, current: &InstalledRelease) -> Result<u8, String> {
        let lock = self.installation.open()?;
        let before = self.installation.before(current).ok_or_else(|| {
            format!("Error: no release before {}; `gimlet install VERSION` installs one", current.number)
        })?;
        self.installation.probe(&before, self.env)?;
        self.installation.switch(&before)?;
        drop(lock);
        let (before, current) = (&before.number, &current.number);
        say(
            self.out,
            &format!(
                "gimlet is {before} again. `gimlet update` installs {current} again, `gimlet update --pin` stays here"
            ),
        )
    }

    fn update(
        mut self,
        current: &InstalledRelease,
        pin: Option<ReleaseNumber>,
        check: bool,
        settings: &UpdateConfig,
    ) -> Result<u8, String> {
        let source = settings.source(self.env)?;
        let pinned = self.installation.record()?.pin;
        if let (Some(pinned), None) = (&pinned, &pin) {
            return say(
                self.out,
                &format!("gimlet is pinned to {pinned}; `gimlet update --unpin` follows the channel again"),
            );
        }
        let now = &current.number;
        let target = match &pin {
            Some(pin) => pin.clone(),
            None => block_on(source.channel(&settings.channel))??,
        };
        if pin.is_none() && target <= *now {
            let text =
                if target == *now { String::new() } else { format!("; the {} release is {target}", settings.channel) };
            // Removes what a killed run left behind, if permissions allow it.
            self.installation.open().ok();
            return say(self.out, &format!("gimlet is up to date ({now}){text}"));
        }
        if check {
            return say(self.out, &format!("gimlet {target} can be installed (this is {now}): run `gimlet update`"));
        }
        if target != *now {
            say(self.out, &format!("Updating gimlet from {now} to {target}"))?;
            let lock = self.installation.open()?;
            self.fetch(&source, &target, settings)?;
            drop(lock);
        }
        if let Some(pin) = pin {
            return self.pin(&pin);
        }
        say(self.out, &format!("gimlet is {target} now; `gimlet update --rollback` goes back to {now}"))
    }

    fn install(
        mut self,
        request: &InstallRequest,
        mut record: InstallRecord,
        settings: &UpdateConfig,
    ) -> Result<u8, String> {
        let source = match &request.from {
            Some(folder) => ReleaseSource::of(folder, self.env)?,
            None => settings.source(self.env)?,
        };
        let channel = match request.target.as_deref() {
            None => Some(settings.channel.as_str()),
            Some(channel @ ("latest" | "stable")) => Some(channel),
            Some(_) => None,
        };
        let target: ReleaseNumber = match (channel, &request.target) {
            (Some(channel), _) => block_on(source.channel(channel))??,
            (None, target) => target.as_deref().unwrap_or_default().parse()?,
        };
        let current = self.installation.current();
        if let (Some(pin), false) = (record.pin.as_ref().filter(|pin| **pin != target.to_string()), request.force) {
            return Err(format!("Error: gimlet is pinned to {pin}: run `gimlet update --unpin` first, or use --force"));
        }
        if let (Some(path), false) = (self.installation.foreign_binary(), request.force) {
            return Err(format!("Error: {} is another program or copy: move it away, or use --force", path.display()));
        }
        record.url = settings.to_remember().or(record.url);
        record.key = request.key.clone().or(record.key);
        if matches!(request.target.as_deref(), Some("latest" | "stable")) {
            record.channel.clone_from(&request.target);
        }
        record.pin = record.pin.filter(|pin| *pin == target.to_string());
        let is_there = current.as_ref().is_some_and(|current| current.number == target) && !request.force;
        let lock = self.installation.open()?;
        if !is_there {
            say(self.out, &format!("Installing gimlet {target}"))?;
        }
        self.installation.write_record(&record)?;
        if !is_there {
            self.fetch(&source, &target, settings)?;
        }
        self.installation.link()?;
        drop(lock);
        let binary = self.installation.binary();
        let verb = if is_there { "is installed already" } else { "is installed" };
        say(self.out, &format!("gimlet {target} {verb}: {}", binary.display()))?;
        match path_hint(&binary, self.env) {
            Some(hint) => say(self.out, &hint),
            None => Ok(0),
        }
    }

    /// Downloads, verifies, unpacks, tries and switches, in this order. The installation must be locked.
    fn fetch(&mut self, source: &ReleaseSource, number: &ReleaseNumber, settings: &UpdateConfig) -> Result<(), String> {
        let staging = self.installation.staging()?;
        let done = self.fetch_through(&staging, source, number, settings);
        std::fs::remove_dir_all(&staging).ok();
        done
    }

    fn fetch_through(
        &mut self,
        staging: &Path,
        source: &ReleaseSource,
        number: &ReleaseNumber,
        settings: &UpdateConfig,
    ) -> Result<(), String> {
        let archive = staging.join("archive.tar.gz");
        let name = format!("gimlet-{number}-{}-{}.tar.gz", std::env::consts::ARCH, std::env::consts::OS);
        let genuine = block_on(async {
            let (sums, genuine) = source.list(number, &settings.proof).await?;
            source.download(number, &name, &sums, &archive).await?;
            Ok::<_, String>(genuine)
        })??;
        if let SignatureState::Unsigned(why) = genuine {
            headless::print_to_stderr(&format!("Warning: the signature of gimlet {number} was not checked: {why}"));
        }
        let added = self.installation.add(&archive, staging, number, self.env)?;
        self.installation.switch(&added)?;
        self.installation.prune();
        Ok(())
    }
}

fn words(rest: &[OsString]) -> Vec<&str> {
    rest.iter().map(|word| word.to_str().unwrap_or("\u{fffd}")).collect()
}

fn refuse_when_off(env: &Env) -> Result<(), String> {
    if env.is_on("DISABLE_UPDATES") {
        return Err("Error: updates are disabled by DISABLE_UPDATES".into());
    }
    Ok(())
}

fn running_owner(env: &Env) -> Result<BinaryOwner, String> {
    let binary = std::env::current_exe().and_then(std::fs::canonicalize);
    let binary = binary.map_err(|error| format!("Error: the running binary cannot be found: {error}"))?;
    Ok(BinaryOwner::of(&binary, env))
}

fn managed_by(name: &str, command: &str) -> String {
    format!("Error: this gimlet was installed by {name}, which updates it: {command}")
}

fn no_current(installation: &Installation) -> String {
    format!("Error: {} leads to no release; `gimlet install --force` repairs it", installation.binary().display())
}

/// A hint when the shell would not find the binary, or would find another one; `None` when it finds this one.
fn path_hint(binary: &Path, env: &Env) -> Option<String> {
    let folder = binary.parent()?;
    let path = env.get("PATH").unwrap_or_default();
    let found = path.split(':').map(|folder| Path::new(folder).join("gimlet")).find(|path| path.exists());
    match found {
        Some(found) if found == binary => None,
        Some(found) => Some(format!("Note: your shell finds {} first", found.display())),
        None => Some(format!(
            "Note: {0} is not on PATH: add `export PATH=\"{0}:$PATH\"` to your shell's start file",
            folder.display()
        )),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the last line of a command is its result")]
fn say(out: &mut dyn Write, line: &str) -> Result<u8, String> {
    // A closed output does not change the result of the command.
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
    Ok(0)
}

/// Formats bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
    }
    text
}

fn block_on<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("Error: could not start the runtime: {error}"))?;
    Ok(runtime.block_on(work))
}
