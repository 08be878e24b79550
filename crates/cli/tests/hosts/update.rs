//! `gimlet update` and `gimlet install`: releases from a file server on this machine, installed in a folder of the
//! test. Forged releases are refused, and whatever is interrupted, `gimlet` on the search path always runs.
#![allow(clippy::disallowed_methods, reason = "programs are started from outside, as a user does")]
#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::EXE;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{FinishedRun, GimletRun, ModelServer, ReplyGate, Sandbox, ScriptedReply};

const OWN: &str = env!("CARGO_PKG_VERSION");
const NEW: &str = "9.0.0";

/// A publisher with a key and a file server.
struct Publisher {
    server: ModelServer,
    pair: Ed25519KeyPair,
}

impl Publisher {
    fn new() -> Self {
        Self { server: ModelServer::start(), pair: Ed25519KeyPair::generate().unwrap() }
    }

    fn key(&self) -> String {
        STANDARD.encode(self.pair.public_key().as_ref())
    }

    fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.server.route(path, ScriptedReply::status(200).body("application/octet-stream", bytes));
    }

    /// Publishes a signed release on the channel `latest`, whose binary reports the number `says`.
    fn publish(&self, number: &str, says: &str) {
        let archive = archive(number, &format!("#!/bin/sh\necho '2.0.0 (gimlet {says})'\n"));
        let list = format!("{}  {}\n", hex(&archive), archive_name(number));
        self.put(&format!("/{number}/{}", archive_name(number)), archive);
        self.put(&format!("/{number}/SHA256SUMS.sig"), self.pair.sign(list.as_bytes()).as_ref());
        self.put(&format!("/{number}/SHA256SUMS"), list);
        self.put("/latest", format!("{number}\n"));
    }
}

fn archive_name(number: &str) -> String {
    format!("gimlet-{number}-{}-{}.tar.gz", std::env::consts::ARCH, std::env::consts::OS)
}

fn hex(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn archive(number: &str, program: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let top = archive_name(number).replace(".tar.gz", "");
    let release = dir.path().join(&top);
    std::fs::create_dir_all(release.join("bin")).unwrap();
    std::fs::create_dir_all(release.join("share/man/man1")).unwrap();
    std::fs::write(release.join("share/man/man1/gimlet.1"), ".TH GIMLET 1\n").unwrap();
    let binary = release.join("bin/gimlet");
    std::fs::write(&binary, program).unwrap();
    std::fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["--format=ustar", "-czf", "release.tar.gz", &top]).current_dir(dir.path());
    assert!(tar.status().unwrap().success());
    std::fs::read(dir.path().join("release.tar.gz")).unwrap()
}

/// A machine on which this build was installed by the installer, in `~/.local`.
struct Machine {
    sandbox: Sandbox,
}

impl Machine {
    fn new() -> Self {
        let mut sandbox = Sandbox::new(EXE);
        sandbox.set("DPKG_ADMINDIR", sandbox.root().join("no-dpkg"));
        let machine = Self { sandbox };
        let home = machine.prefix().join("lib/gimlet");
        let bin = home.join("versions").join(OWN).join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(machine.prefix().join("bin")).unwrap();
        copy_binary(&bin.join("gimlet"));
        std::fs::write(home.join("install.json"), "{}\n").unwrap();
        symlink(format!("versions/{OWN}"), home.join("current")).unwrap();
        symlink("../lib/gimlet/current/bin/gimlet", machine.prefix().join("bin/gimlet")).unwrap();
        machine
    }

    /// With this publisher's address and key in the user's settings.
    fn following(publisher: &Publisher) -> Self {
        let machine = Self::new();
        let settings = serde_json::json!({"updateUrl": publisher.server.url(), "updateKey": publisher.key()});
        machine.sandbox.write_config("settings.json", settings.to_string());
        machine
    }

    fn prefix(&self) -> PathBuf {
        self.sandbox.home().join(".local")
    }

    /// Runs this build as installed.
    fn gimlet(&self, args: &[&str]) -> GimletRun {
        self.sandbox.gimlet(args).exe(self.prefix().join("lib/gimlet/versions").join(OWN).join("bin/gimlet"))
    }

    fn refused(&self, args: &[&str], why: &str) {
        let run = self.gimlet(args).run().expect_code(1);
        assert!(run.stderr.contains(why), "{run:?}");
    }

    /// The release of `gimlet` on the search path.
    fn runs(&self) -> String {
        let output = Command::new(self.prefix().join("bin/gimlet")).arg("--version").env_clear().output().unwrap();
        let line = String::from_utf8(output.stdout).unwrap();
        let number = line.split_once("(gimlet ").and_then(|(_, rest)| rest.trim().strip_suffix(')'));
        number.unwrap_or_else(|| panic!("it says {line}")).to_owned()
    }

    fn releases(&self) -> Vec<String> {
        let mut names: Vec<String> = names(&self.prefix().join("lib/gimlet/versions"));
        names.sort();
        names
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn copy_binary(to: &Path) {
    if std::fs::hard_link(EXE, to).is_err() {
        std::fs::copy(EXE, to).unwrap();
    }
}

fn said(run: &FinishedRun, text: &str) {
    assert!(run.stdout.contains(text), "{run:?}");
}

#[test]
fn a_signed_release_replaces_this_one_and_rollback_brings_it_back() {
    let publisher = Publisher::new();
    publisher.publish(NEW, NEW);
    let machine = Machine::following(&publisher);
    said(&machine.gimlet(&["update", "--check"]).run().expect_clean(), &format!("gimlet {NEW} can be installed"));
    assert_eq!(machine.runs(), OWN);
    let run = machine.gimlet(&["update"]).run().expect_clean();
    assert!(run.stdout.starts_with(&format!("Updating gimlet from {OWN} to {NEW}\n")), "{run:?}");
    assert_eq!(machine.runs(), NEW);
    assert_eq!(machine.releases(), [OWN, NEW]);
    // Manual and completions follow the release too.
    assert!(machine.prefix().join("lib/gimlet/current/share/man/man1/gimlet.1").is_file());
    said(&machine.gimlet(&["upgrade"]).run().expect_clean(), &format!("gimlet is up to date ({NEW})"));
    said(&machine.gimlet(&["update", "--rollback"]).run().expect_clean(), &format!("gimlet is {OWN} again"));
    assert_eq!(machine.runs(), OWN);
    machine.refused(&["update", "--rollback"], &format!("no release before {OWN}"));
    machine.gimlet(&["update"]).run().expect_clean();
    assert_eq!(machine.runs(), NEW);
}

#[test]
fn an_older_release_on_the_channel_is_not_an_update() {
    let publisher = Publisher::new();
    publisher.publish("0.0.1", "0.0.1");
    let machine = Machine::following(&publisher);
    let run = machine.gimlet(&["update"]).run().expect_clean();
    said(&run, &format!("gimlet is up to date ({OWN}); the latest release is 0.0.1"));
    assert_eq!(machine.runs(), OWN);
    // It is installed when its number is given.
    machine.gimlet(&["install", "0.0.1"]).run().expect_clean();
    assert_eq!(machine.runs(), "0.0.1");
}

#[test]
fn what_is_not_genuine_is_refused_and_nothing_changes() {
    let publisher = Publisher::new();
    publisher.publish(NEW, NEW);
    let machine = Machine::following(&publisher);
    let base = format!("/{NEW}");
    let list = |text: &str| publisher.put(&format!("{base}/SHA256SUMS"), text);
    let sign = |bytes: &[u8]| publisher.put(&format!("{base}/SHA256SUMS.sig"), bytes);
    let file = format!("{base}/{}", archive_name(NEW));

    // The archive differs from the signed list.
    publisher.put(&file, archive(NEW, "#!/bin/sh\necho evil\n"));
    machine.refused(&["update"], "is damaged: its SHA-256 is");
    // The list was changed after it was signed: no option helps.
    let evil = archive(NEW, &format!("#!/bin/sh\necho '(gimlet {NEW})'\n"));
    let forged = format!("{}  {}\n", hex(&evil), archive_name(NEW));
    publisher.put(&file, evil);
    list(&forged);
    machine.refused(&["update"], "was not made with the configured key");
    machine.refused(&["update", "--allow-unsigned"], "was not made with the configured key");
    // Signed by somebody else.
    sign(Ed25519KeyPair::generate().unwrap().sign(forged.as_bytes()).as_ref());
    machine.refused(&["update"], "was not made with the configured key");
    // A valid list of another release is not accepted for this one.
    publisher.publish("1.0.0", "1.0.0");
    let other = format!("{}  {}\n", hex(b""), archive_name("1.0.0"));
    list(&other);
    sign(publisher.pair.sign(other.as_bytes()).as_ref());
    machine.refused(&["install", NEW], "is not published for this machine");
    // The signed binary reports another number, or does not run.
    publisher.publish(NEW, "1.0.0");
    machine.refused(&["update"], "holds another program");
    let broken = archive(NEW, "#!/no/such/interpreter\n");
    let text = format!("{}  {}\n", hex(&broken), archive_name(NEW));
    publisher.put(&file, broken);
    sign(publisher.pair.sign(text.as_bytes()).as_ref());
    list(&text);
    machine.refused(&["update"], "does not run on this machine");

    assert_eq!((machine.runs().as_str(), machine.releases().as_slice()), (OWN, [OWN.to_owned()].as_slice()));
    assert!(!names(&machine.prefix().join("lib/gimlet")).iter().any(|name| name.starts_with("staging")));
}

#[test]
fn an_unsigned_release_needs_the_users_word() {
    let publisher = Publisher::new();
    publisher.publish(NEW, NEW);
    publisher.server.route(&format!("/{NEW}/SHA256SUMS.sig"), ScriptedReply::status(404));
    let machine = Machine::following(&publisher);
    machine.refused(&["update"], "cannot be checked: it is not signed");
    let settings = serde_json::json!({"updateUrl": publisher.server.url()});
    machine.sandbox.write_config("settings.json", settings.to_string());
    machine.refused(&["update"], "cannot be checked: no key is configured");
    assert_eq!(machine.runs(), OWN);
    let run = machine.gimlet(&["update", "--allow-unsigned"]).run().expect_code(0);
    assert!(run.stderr.contains("was not checked: no key is configured"), "{run:?}");
    assert_eq!(machine.runs(), NEW);
}

#[test]
fn without_an_address_nothing_is_contacted_and_a_project_cannot_name_one() {
    let publisher = Publisher::new();
    publisher.publish(NEW, NEW);
    let machine = Machine::new();
    let settings = serde_json::json!({"updateUrl": publisher.server.url(), "updateKey": publisher.key()}).to_string();
    for file in [".claude/settings.json", ".claude/settings.local.json"] {
        machine.sandbox.write(file, &settings);
    }
    for command in ["update", "install"] {
        machine.refused(&[command], "`gimlet config set updateUrl URL`");
    }
    assert_eq!(publisher.server.all_requests().len(), 0);
    // The environment and the command line do.
    let url = publisher.server.url();
    let run = machine.gimlet(&["update", "--check", "--url", url]).run().expect_clean();
    said(&run, NEW);
    let run = machine.gimlet(&["update"]).env("GIMLET_UPDATE_URL", url).env("GIMLET_UPDATE_KEY", publisher.key()).run();
    run.expect_clean();
    assert_eq!(machine.runs(), NEW);
}

#[test]
fn updates_can_be_switched_off() {
    let publisher = Publisher::new();
    publisher.publish(NEW, NEW);
    let machine = Machine::following(&publisher);
    for command in ["update", "install"] {
        let run = machine.gimlet(&[command]).env("DISABLE_UPDATES", "1").run().expect_code(1);
        assert!(run.stderr.contains("disabled by DISABLE_UPDATES"), "{run:?}");
    }
    // There is no automatic updater to switch off; the command still works.
    machine.gimlet(&["update"]).env("DISABLE_AUTOUPDATER", "1").run().expect_clean();
    assert_eq!(machine.runs(), NEW);
}

#[test]
fn a_pin_holds_until_it_is_taken_away() {
    let publisher = Publisher::new();
    publisher.publish("8.0.0", "8.0.0");
    publisher.publish(NEW, NEW);
    let machine = Machine::following(&publisher);
    said(&machine.gimlet(&["update", "--pin"]).run().expect_clean(), &format!("gimlet stays at {OWN}"));
    said(&machine.gimlet(&["update"]).run().expect_clean(), &format!("gimlet is pinned to {OWN}"));
    machine.refused(&["install", NEW], &format!("gimlet is pinned to {OWN}"));
    assert_eq!(machine.runs(), OWN);
    said(&machine.gimlet(&["update", "--pin", "8.0.0"]).run().expect_clean(), "gimlet stays at 8.0.0");
    assert_eq!(machine.runs(), "8.0.0");
    said(&machine.gimlet(&["update", "--unpin"]).run().expect_clean(), "no longer pinned to 8.0.0");
    machine.gimlet(&["update"]).run().expect_clean();
    assert_eq!(machine.runs(), NEW);
    // Only the previous release is kept; this build is older.
    assert_eq!(machine.releases(), ["8.0.0", NEW]);
}

#[test]
fn the_channel_is_chosen_by_settings() {
    let publisher = Publisher::new();
    publisher.publish("8.0.0", "8.0.0");
    publisher.publish(NEW, NEW);
    publisher.put("/stable", "8.0.0\n");
    let machine = Machine::following(&publisher);
    machine.gimlet(&["config", "set", "autoUpdatesChannel", "stable"]).run().expect_clean();
    machine.gimlet(&["update"]).run().expect_clean();
    assert_eq!(machine.runs(), "8.0.0");
}

#[test]
fn a_package_manager_keeps_what_it_installed() {
    let publisher = Publisher::new();
    publisher.publish(NEW, NEW);
    let sandbox = Sandbox::new(EXE);
    let place = |path: &str, beside: &str, text: &str| {
        let binary = sandbox.root().join(path);
        std::fs::create_dir_all(binary.parent().unwrap()).unwrap();
        copy_binary(&binary);
        let beside = sandbox.root().join(beside);
        std::fs::create_dir_all(beside.parent().unwrap()).unwrap();
        std::fs::write(beside, text).unwrap();
        binary
    };
    let list = format!("/.\n{}\n", sandbox.root().join("usr/bin/gimlet").display());
    let binaries = [
        (
            place("usr/bin/gimlet", "dpkg/info/gimlet.list", &list),
            "installed by dpkg",
            "apt-get install --only-upgrade gimlet",
        ),
        (
            place(
                "lib/node_modules/gimlet-cli/bin/gimlet",
                "lib/node_modules/gimlet-cli/package.json",
                r#"{"name": "gimlet-cli"}"#,
            ),
            "installed by npm",
            "npm install -g gimlet-cli@latest",
        ),
        (
            place(
                "cargo/bin/gimlet",
                "cargo/.crates.toml",
                "[v1]\n\"gimlet-cli 0.1.0 (path+file:///src)\" = [\"gimlet\"]\n",
            ),
            "installed by cargo install",
            "cargo install --force --path crates/cli",
        ),
        (
            place("somewhere/gimlet", "somewhere/note", ""),
            "was not put there by gimlet's installer",
            "`gimlet install`",
        ),
    ];
    for (binary, who, command) in binaries {
        let run = sandbox.gimlet(&["update", "--url", publisher.server.url()]).exe(&binary);
        let run = run.env("DPKG_ADMINDIR", sandbox.root().join("dpkg")).run().expect_code(1);
        assert!(run.stderr.contains(who) && run.stderr.contains(command), "{run:?}");
    }
    assert_eq!(publisher.server.all_requests().len(), 0);
}

#[test]
fn install_makes_an_installation_that_can_be_updated() {
    let publisher = Publisher::new();
    publisher.publish("8.0.0", "8.0.0");
    let mut sandbox = Sandbox::new(EXE);
    sandbox.set("DPKG_ADMINDIR", sandbox.root().join("no-dpkg"));
    sandbox.set("PATH", "/usr/bin:/bin");
    let prefix = sandbox.home().join(".local");
    let args = ["install", "--url", publisher.server.url(), "--key", &publisher.key()];
    let run = sandbox.gimlet(&args).run().expect_clean();
    said(&run, "Installing gimlet 8.0.0\n");
    said(&run, &format!("gimlet 8.0.0 is installed: {}", prefix.join("bin/gimlet").display()));
    said(&run, "is not on PATH");
    assert!(prefix.join("share/man/man1/gimlet.1").is_file());
    // The URL and the key are recorded; the second time the release is already installed.
    let run = sandbox.gimlet(&["install", "--prefix", prefix.to_str().unwrap()]).run().expect_clean();
    said(&run, "gimlet 8.0.0 is installed already");
    let record = std::fs::read_to_string(prefix.join("lib/gimlet/install.json")).unwrap();
    assert!(record.contains(publisher.server.url()) && record.contains(&publisher.key()), "{record}");
    // A program of somebody else is not overwritten.
    let taken = sandbox.root().join("taken");
    std::fs::create_dir_all(taken.join("bin")).unwrap();
    std::fs::write(taken.join("bin/gimlet"), "mine").unwrap();
    let to = ["--prefix", taken.to_str().unwrap()];
    let run = sandbox.gimlet(&[&args[..], &to].concat()).run().expect_code(1);
    assert!(run.stderr.contains("is another program or copy"), "{run:?}");
    assert_eq!(std::fs::read_to_string(taken.join("bin/gimlet")).unwrap(), "mine");
    sandbox.gimlet(&[&args[..], &to, &["--force"]].concat()).run().expect_code(0);
    assert!(std::fs::read_link(taken.join("bin/gimlet")).is_ok());
}

#[test]
fn a_folder_can_hold_releases_too() {
    let publisher = Publisher::new();
    let machine = Machine::new();
    let folder = machine.sandbox.root().join("releases");
    let files = folder.join(NEW);
    std::fs::create_dir_all(&files).unwrap();
    let archive = archive(NEW, &format!("#!/bin/sh\necho '2.0.0 (gimlet {NEW})'\n"));
    let list = format!("{}  {}\n", hex(&archive), archive_name(NEW));
    std::fs::write(files.join("SHA256SUMS.sig"), STANDARD.encode(publisher.pair.sign(list.as_bytes()).as_ref()))
        .unwrap();
    std::fs::write(files.join("SHA256SUMS"), list).unwrap();
    std::fs::write(files.join(archive_name(NEW)), archive).unwrap();
    std::fs::write(folder.join("latest"), NEW).unwrap();
    let url = format!("file://{}", folder.display());
    let run = machine.gimlet(&["update", "--url", &url]).env("GIMLET_UPDATE_KEY", publisher.key()).run();
    run.expect_clean();
    assert_eq!(machine.runs(), NEW);
}

/// Stops the run before each change of the disk in turn and kills it there. Returns how many there were.
fn killed_everywhere(args: &[&str], machine: impl Fn() -> Machine, check: impl Fn(&Machine)) -> u32 {
    for step in 1.. {
        let machine = machine();
        let mut running = machine.gimlet(args).env("GIMLET_TEST_STOP_BEFORE", step.to_string()).spawn();
        let mut stopped = false;
        while let Some(line) = running.next_line() {
            if line == format!("stopped before step {step}") {
                stopped = true;
                running.kill();
            }
        }
        let finished = running.finish();
        if !stopped {
            finished.expect_clean();
            return step - 1;
        }
        check(&machine);
        // What was left behind does not disturb the next attempt.
        machine.gimlet(args).run().expect_clean();
        let left = names(&machine.prefix().join("lib/gimlet"));
        assert!(!left.iter().any(|name| name.contains("staging") || name.contains(".next")), "step {step}: {left:?}");
    }
    unreachable!("the loop ends with the last step")
}

#[test]
fn a_killed_update_leaves_a_binary_that_runs() {
    let publisher = Publisher::new();
    publisher.publish(NEW, NEW);
    let steps = killed_everywhere(
        &["update"],
        || Machine::following(&publisher),
        |machine| assert!([OWN, NEW].contains(&machine.runs().as_str()), "{}", machine.runs()),
    );
    assert!(steps >= 6, "only {steps} steps");
}

#[test]
fn a_killed_rollback_and_a_killed_repair_leave_a_binary_that_runs() {
    let publisher = Publisher::new();
    publisher.publish(NEW, NEW);
    let updated = || {
        let machine = Machine::following(&publisher);
        machine.gimlet(&["update"]).run().expect_clean();
        machine
    };
    let runs = |machine: &Machine| assert!([OWN, NEW].contains(&machine.runs().as_str()), "{}", machine.runs());
    // Installing the current release once more.
    let steps = killed_everywhere(&["install", NEW, "--force"], updated, runs);
    assert!(steps >= 6, "only {steps} steps");
    for step in 1..=3 {
        let machine = updated();
        let mut running =
            machine.gimlet(&["update", "--rollback"]).env("GIMLET_TEST_STOP_BEFORE", step.to_string()).spawn();
        assert_eq!(running.next_line().unwrap(), format!("stopped before step {step}"));
        running.kill();
        running.finish();
        runs(&machine);
    }
}

#[test]
fn a_download_that_is_killed_or_breaks_off_changes_nothing() {
    let publisher = Publisher::new();
    publisher.publish(NEW, NEW);
    let machine = Machine::following(&publisher);
    let archive = archive(NEW, &format!("#!/bin/sh\necho '2.0.0 (gimlet {NEW})'\n"));
    let file = format!("/{NEW}/{}", archive_name(NEW));
    let whole = ScriptedReply::status(200).body("application/octet-stream", archive);
    let gate = ReplyGate::new();
    publisher.server.route(&file, whole.clone().split_every(64).gate(&gate));
    let running = machine.gimlet(&["update"]).spawn();
    gate.wait_until_reached(1);
    running.kill();
    running.finish();
    assert_eq!(machine.runs(), OWN);
    publisher.server.route(&file, whole.split_every(64).cut_after_bytes(100));
    machine.refused(&["update"], "broke off");
    assert_eq!(machine.runs(), OWN);
    publisher.publish(NEW, NEW);
    machine.gimlet(&["update"]).run().expect_clean();
    assert_eq!(machine.runs(), NEW);
}

#[test]
fn two_updates_at_once_do_not_meet() {
    let publisher = Publisher::new();
    publisher.publish(NEW, NEW);
    let machine = Machine::following(&publisher);
    let mut first = machine.gimlet(&["update"]).env("GIMLET_TEST_STOP_BEFORE", "2").spawn();
    while first.next_line().unwrap() != "stopped before step 2" {}
    machine.refused(&["update"], "another `gimlet update` or `gimlet install` is running");
    first.kill();
    first.finish();
    machine.gimlet(&["update"]).run().expect_clean();
    assert_eq!(machine.runs(), NEW);
}

#[test]
fn wrong_command_lines_say_what_is_right() {
    let machine = Machine::new();
    for (args, text) in [
        (&["update", "--nonsense"][..], "unknown option '--nonsense'"),
        (&["update", "--check", "--rollback"], "--rollback cannot be combined with other options"),
        (&["update", "--pin", "new"], "'new' is not a release number"),
        (&["install", "newest"], "latest and stable are channels"),
        (&["install", "--key"], "--key needs a value"),
        (&["update", "--url", "ftp://x"], "only http and https"),
    ] {
        machine.refused(args, text);
    }
    let help = machine.gimlet(&["install", "--help"]).run().expect_clean();
    said(&help, "Usage: gimlet install [latest|stable|version]");
    said(&machine.gimlet(&["update", "-h"]).run().expect_clean(), "--rollback");
}
