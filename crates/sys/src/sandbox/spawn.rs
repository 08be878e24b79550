//! Starts a command in a sandbox.

#[cfg(target_os = "linux")]
use super::bwrap::{self, BwrapSession};
#[cfg(target_os = "linux")]
use super::plan::{MountPlan, in_writable_place, plan};
#[cfg(target_os = "linux")]
use super::seccomp::{self, InternetAccess};
#[cfg(target_os = "linux")]
use super::stand_ins::StandIns;
#[cfg(target_os = "linux")]
use super::{ProcMount, RuleEffect, UnixSockets, first_program, landlock, listener_socket};
use super::{SandboxBackend, SandboxProfile, SandboxSweep};
#[cfg(target_os = "linux")]
use crate::process::ChildInput;
use crate::process::{self, ChildProcess, SpawnSpec};
use std::io;
use std::net::TcpListener;
#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};

/// A command in a sandbox.
#[derive(Debug)]
pub struct SandboxedChild {
    pub child: ChildProcess,
    /// Yields the proxy's listening socket; `None` when the command has no network.
    pub proxy_door: Option<ProxyDoor>,
    /// What to do when the command has ended.
    pub sweep: SandboxSweep,
}

/// Receives the proxy's listening socket from the network of a sandbox.
#[derive(Debug)]
pub struct ProxyDoor(tokio::net::UnixStream);

impl ProxyDoor {
    /// Waits for the socket on which programs in the sandbox reach the proxy. Fails when the sandbox ended first.
    pub async fn listener(self) -> io::Result<TcpListener> {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsFd;
            loop {
                self.0.readable().await?;
                match self.0.try_io(tokio::io::Interest::READABLE, || listener_socket::receive_listener(self.0.as_fd()))
                {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    other => return other,
                }
            }
        }
        #[cfg(not(target_os = "linux"))]
        {
            self.0.readable().await?;
            Err(io::Error::from(io::ErrorKind::Unsupported))
        }
    }
}

/// Starts `spec` under `profile`. Must be called inside the runtime, on a thread that lives as long as the command: the
/// sandbox ends with the thread that created it.
#[cfg(target_os = "linux")]
pub fn spawn(backend: &SandboxBackend, profile: &SandboxProfile, spec: SpawnSpec) -> io::Result<SandboxedChild> {
    match backend {
        SandboxBackend::Bwrap { program, proc } => in_bwrap(program, *proc, profile, spec),
        SandboxBackend::Landlock { abi } => in_landlock(*abi, profile, spec),
        SandboxBackend::Seatbelt => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }
}

#[cfg(not(target_os = "linux"))]
pub fn spawn(backend: &SandboxBackend, profile: &SandboxProfile, mut spec: SpawnSpec) -> io::Result<SandboxedChild> {
    if *backend != SandboxBackend::Seatbelt {
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    let text = super::seatbelt::profile(profile, super::seatbelt::SandboxProxy::None);
    let inner = std::mem::replace(&mut spec.program, super::seatbelt::PROGRAM.into());
    let args = std::mem::take(&mut spec.args);
    spec.args = vec!["-p".into(), text.into(), inner];
    spec.args.extend(args);
    Ok(SandboxedChild { child: process::spawn(spec)?, door: None, sweep: SandboxSweep::default() })
}

#[cfg(target_os = "linux")]
fn in_bwrap(
    program: &Path,
    proc: ProcMount,
    profile: &SandboxProfile,
    mut spec: SpawnSpec,
) -> io::Result<SandboxedChild> {
    let void = unreadable_file(&profile.private)?;
    let mut plan = planned(profile);
    let stand_ins = StandIns::make(&plan.absent);
    plan.absent = stand_ins.paths().to_vec();
    let filter = filter(InternetAccess::Namespaced, profile.unix_sockets);
    let filter = through_pipe(&seccomp::bytes(&filter))?;
    let (inside, outside) = std::os::unix::net::UnixStream::pair()?;
    outside.set_nonblocking(true)?;
    let own = std::env::current_exe()?;
    let mut args = bwrap::arguments(&bwrap::BwrapSpec {
        files: &profile.files,
        plan: &plan,
        proc,
        void: &void,
        own: &own,
        cwd: &spec.cwd,
        filter: raw(&filter),
        session: if spec.stdin == ChildInput::Inherit { BwrapSession::Shared } else { BwrapSession::Own },
    });
    spec.env.retain(|(name, value)| {
        let loader = bwrap::is_loader_variable(name);
        if loader {
            args.extend(["--setenv".into(), name.clone(), value.clone()]);
        }
        !loader
    });
    args.extend(["--".into(), bwrap::INNER.into(), first_program::ARGUMENT.into(), raw(&inside).to_string().into()]);
    args.push(std::mem::replace(&mut spec.program, program.into()));
    args.append(&mut spec.args);
    spec.args = args;
    // `bwrap` itself starts in `/`: the directory of the command may have been removed.
    spec.cwd = PathBuf::from("/");
    let sweep = SandboxSweep::new(&profile.private, profile.removed_if_made.clone(), &[], stand_ins);
    let child = process::spawn_prepared(spec, process::ChildPreparation::Inherit(vec![filter, inside.into()]))?;
    Ok(SandboxedChild { child, proxy_door: Some(ProxyDoor(tokio::net::UnixStream::from_std(outside)?)), sweep })
}

#[cfg(target_os = "linux")]
fn in_landlock(abi: u32, profile: &SandboxProfile, spec: SpawnSpec) -> io::Result<SandboxedChild> {
    let ruleset = landlock::ruleset(profile, abi)?;
    let filter = filter(InternetAccess::Blocked, profile.unix_sockets);
    let plan = planned(profile);
    let own = |path: &Path| profile.own_data.iter().any(|own| path.starts_with(own));
    let protected = profile.rules().iter().filter(|rule| rule.effect == RuleEffect::Protect && !own(&rule.path));
    let restorable = protected.filter(|rule| in_writable_place(profile.rules(), &rule.path) && rule.path.exists());
    let kept: Vec<PathBuf> = restorable.map(|rule| rule.path.clone()).collect();
    let never = profile.removed_if_made.iter().cloned();
    let absent = plan.absent.into_iter().chain(never).filter(|path| !own(path)).collect();
    let sweep = SandboxSweep::new(&profile.private, absent, &kept, StandIns::default());
    let restrict = move || {
        landlock::drop_capabilities()?;
        landlock::apply(&ruleset)?;
        seccomp::apply(&filter)
    };
    let child = process::spawn_prepared(spec, process::ChildPreparation::Restrict(Box::new(restrict)))?;
    Ok(SandboxedChild { child, proxy_door: None, sweep })
}

#[cfg(target_os = "linux")]
fn planned(profile: &SandboxProfile) -> MountPlan {
    plan(profile.rules())
}

#[cfg(target_os = "linux")]
fn filter(internet: InternetAccess, unix_sockets: UnixSockets) -> Vec<libc::sock_filter> {
    seccomp::program(seccomp::SeccompSpec { internet, unix_sockets })
}

#[cfg(target_os = "linux")]
fn raw(fd: &impl std::os::fd::AsRawFd) -> i32 {
    fd.as_raw_fd()
}

/// A descriptor from which `bytes` can be read; they must fit into a pipe.
#[cfg(target_os = "linux")]
fn through_pipe(bytes: &[u8]) -> io::Result<std::os::fd::OwnedFd> {
    use std::io::Write;
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(bytes)?;
    Ok(reader.into())
}

/// Creates the file that cannot be read and is mounted over hidden files.
#[cfg(target_os = "linux")]
fn unreadable_file(private: &Path) -> io::Result<PathBuf> {
    use std::os::unix::fs::OpenOptionsExt;
    let path = private.join("void");
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o000).open(&path);
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(path),
    }
}
