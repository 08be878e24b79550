//! Effects outside the terminal: the engine, files, the history, the external editor. Slow work runs outside the loop,
//! and its result arrives as an input.

use super::TuiStart;
use crate::app::onboarding::SignInEntry;
use crate::app::{AppEffect, AppInput, PromptMessage, pictures};
use crate::clipboard::{self, CopyOutcome};
use crate::completion::index::{FileIndex, FileQuestion, IgnoreFiles};
use crate::notify::TerminalIdentity;
use crate::picker::fetch::PickerFetcher;
use engine::{Command, CommandSender, ShellOutputUse, StartRequest};
use serde_json::json;
use serde_json::value::RawValue;
use std::io::Write;
use std::path::{Path, PathBuf};
use sys::Env;
use tokio::sync::mpsc;
use wire::counting::counted;
use wire::raw::to_raw;

/// The most prompts of earlier sessions that are loaded.
const HISTORY_LIMIT: usize = 2_000;

pub(super) struct EffectRunner {
    env: Env,
    cwd: PathBuf,
    commands: Option<CommandSender>,
    /// Commands sent before there was a session.
    queued_commands: Vec<Command>,
    inputs: mpsc::Receiver<AppInput>,
    sender: mpsc::Sender<AppInput>,
    index: Option<FileIndex>,
    shell: ShellOutputUse,
    fetch: PickerFetcher,
    pub(super) boot: StartRequest,
    pub(super) doctor: fn(&Env) -> String,
    /// Sends bytes for the terminal from background work.
    sequences: mpsc::Sender<Vec<u8>>,
}

impl EffectRunner {
    /// Also returns the receiver of the bytes that background work wants written to the terminal.
    pub(super) fn new(start: &TuiStart, shell: ShellOutputUse) -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (sender, inputs) = mpsc::channel(16);
        let (sequences, bytes) = mpsc::channel(4);
        let boot = start.boot.clone();
        let fetch = PickerFetcher::new(boot.env.clone(), boot.cwd.clone(), sender.clone());
        let outside = Self {
            env: boot.env.clone(),
            cwd: boot.cwd.clone(),
            commands: None,
            queued_commands: Vec::new(),
            inputs,
            sender,
            index: None,
            shell,
            fetch,
            boot,
            doctor: start.doctor,
            sequences,
        };
        (outside, bytes)
    }

    pub(super) fn sender(&self) -> mpsc::Sender<AppInput> {
        self.sender.clone()
    }

    /// Opens an existing file in the user's editor; creates its directory when needed.
    pub(super) async fn edit_file(&self, path: &std::path::Path) -> Result<(), String> {
        let (editor, cwd, path) = (self.editor(), self.cwd.clone(), path.to_path_buf());
        let worked = tokio::task::spawn_blocking(move || {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            sys::tty::run_foreground(&editor, &path, &cwd)
        });
        match worked.await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err("The editor reported a failure.".into()),
            Ok(Err(error)) => Err(format!("The editor could not be started: {error}. Set EDITOR")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn editor(&self) -> String {
        ["VISUAL", "EDITOR"].iter().find_map(|name| self.env.non_empty(name)).unwrap_or("vi").to_owned()
    }

    /// Sends commands to this session from now on; returns those that were queued.
    pub(super) fn connect(&mut self, commands: CommandSender) -> Vec<Command> {
        self.commands = Some(commands);
        std::mem::take(&mut self.queued_commands)
    }

    /// Changes the working directory.
    pub(super) fn relocate(&mut self, cwd: &std::path::Path) {
        if cwd != self.cwd {
            self.cwd = cwd.to_path_buf();
            self.boot.cwd = cwd.to_path_buf();
            self.index = None;
            self.fetch = PickerFetcher::new(self.env.clone(), self.cwd.clone(), self.sender.clone());
        }
    }

    pub(super) fn stop_fetching(&mut self) {
        self.fetch.stop();
    }

    /// Sends the last command and disconnects from the session.
    pub(super) async fn close(&mut self, last: Command) {
        if let Some(commands) = self.commands.take() {
            commands.send(last).await.ok();
        }
    }

    pub(super) async fn send_all(&mut self, commands: Vec<Command>) {
        for command in commands {
            self.send(command).await;
        }
    }

    /// The next result of background work. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<AppInput> {
        self.inputs.recv().await
    }

    pub(super) async fn perform(&mut self, effect: AppEffect) {
        match effect {
            AppEffect::Submit(prompt) => {
                if let Some(content) = content(&prompt) {
                    let shell = prompt.is_shell.then_some(self.shell);
                    let joins = prompt.uuid.as_ref().map(|_| engine::TurnJoin { image_paste_ids: prompt.image_ids });
                    let uuid = prompt.uuid;
                    let prompt = engine::Prompt {
                        by_human: true,
                        verbatim: prompt.is_verbatim,
                        shell,
                        uuid,
                        mid_turn: joins,
                        ..engine::Prompt::new(content)
                    };
                    self.send(Command::Submit(prompt)).await;
                }
            }
            AppEffect::LookAtRepository => {
                let (cwd, env, sender) = (self.cwd.clone(), self.env.clone(), self.sender.clone());
                tokio::spawn(async move {
                    let state = engine::repository::state(&cwd, &env).await;
                    sender.send(AppInput::Repository(state)).await.ok();
                });
            }
            AppEffect::Interrupt => self.send(Command::Interrupt).await,
            AppEffect::Request { id, request } => self.send(Command::Request { id, request }).await,
            AppEffect::Reply(reply) => self.send(Command::Reply(reply)).await,
            AppEffect::Withdraw(id) => self.send(Command::Withdraw { id }).await,
            AppEffect::ClipboardPicture => {
                let env = self.env.clone();
                self.run_blocking(move || {
                    let read = crate::images::from_clipboard(&env);
                    let fit = |bytes: Vec<u8>| {
                        engine::picture::fit(&bytes).map_err(|why| format!("The picture in the clipboard {why}"))
                    };
                    AppInput::Pictures { found: Some(vec![read.and_then(fit)]), text: String::new() }
                });
            }
            AppEffect::ReadPictures { paths, text } => {
                self.run_blocking(move || AppInput::Pictures { found: crate::images::read(&paths), text });
            }
            AppEffect::SaveCopy(text) => {
                let cwd = self.cwd.clone();
                self.run_blocking(move || AppInput::Copied(save_copy(&cwd, &text)));
            }
            AppEffect::Copy(text) => {
                let (env, between) = (self.env.clone(), TerminalIdentity::of(&self.env).multiplexer);
                let sender = self.sequences.clone();
                self.run_blocking(move || {
                    let count = text.chars().count();
                    AppInput::Copied(clipboard::copy(&text, &env, between).and_then(|copied| match copied {
                        CopyOutcome::By(program) => {
                            Ok(format!("Copied {} with {program}.", counted(count, "character")))
                        }
                        CopyOutcome::Terminal(bytes) => match sender.blocking_send(bytes) {
                            Ok(()) => {
                                Ok(format!("Copied {} through the terminal (OSC 52).", counted(count, "character")))
                            }
                            Err(_) => Err("The terminal was closed".into()),
                        },
                    }))
                });
            }
            AppEffect::FindFiles(question) => self.find_files(question),
            AppEffect::LoadHistory => {
                let (env, cwd, sender) = (self.env.clone(), self.cwd.clone(), self.sender.clone());
                tokio::task::spawn_blocking(move || {
                    sender
                        .blocking_send(AppInput::History(engine::prompt_history::newest(&env, &cwd, HISTORY_LIMIT)))
                        .ok();
                });
            }
            AppEffect::Remember { typed, session_id } => {
                let (env, cwd) = (self.env.clone(), self.cwd.clone());
                tokio::task::spawn_blocking(move || engine::prompt_history::remember(&env, &cwd, &session_id, &typed));
            }
            AppEffect::Picker(request) => self.fetch.serve(request),
            // The loop handles these.
            AppEffect::Chosen(_)
            | AppEffect::Fork { .. }
            | AppEffect::ReturnTo(_)
            | AppEffect::Moved { .. }
            | AppEffect::Entry(_)
            | AppEffect::ExternalEditor(_)
            | AppEffect::RunPanelJob(_)
            | AppEffect::View(_)
            | AppEffect::SignIn(_)
            | AppEffect::Suspend
            | AppEffect::Redraw
            | AppEffect::ClearScreen
            | AppEffect::Alert(_)
            | AppEffect::Mark(_)
            | AppEffect::Sequence(_)
            | AppEffect::AskBackground
            | AppEffect::Exit => {}
        }
    }

    /// Runs blocking work; its result arrives as an input.
    fn run_blocking(&self, work: impl FnOnce() -> AppInput + Send + 'static) {
        let sender = self.sender.clone();
        tokio::task::spawn_blocking(move || sender.blocking_send(work()).ok());
    }

    async fn send(&mut self, command: Command) {
        match &self.commands {
            Some(commands) => {
                commands.send(command).await.ok();
            }
            None => self.queued_commands.push(command),
        }
    }

    /// Searches files. The first call starts the index.
    fn find_files(&mut self, question: FileQuestion) {
        if self.index.is_none() {
            let (sender, home) = (self.sender.clone(), self.env.home());
            let answer = move |query, found| {
                sender.blocking_send(AppInput::Files { query, found }).ok();
            };
            self.index = FileIndex::start(self.cwd.clone(), home, IgnoreFiles::Respected, answer).ok();
        }
        if let Some(index) = &self.index {
            index.ask(question);
        }
    }

    /// Stores an API key; returns where.
    pub(super) async fn sign_in(&self, entry: SignInEntry) -> Result<String, String> {
        let (env, cwd) = (self.env.clone(), self.cwd.clone());
        let stored = tokio::task::spawn_blocking(move || store_sign_in(&env, &cwd, &entry)).await;
        stored.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Edits `text` in the user's editor; returns it unchanged when that fails. The terminal must be released.
    pub(super) async fn edit(&self, text: String) -> String {
        let editor = self.editor();
        let cwd = self.cwd.clone();
        let before = text.clone();
        let edited = tokio::task::spawn_blocking(move || -> std::io::Result<String> {
            let path = sys::fs::private_temp("gimlet-prompt", "md", text.as_bytes())?;
            let worked = sys::tty::run_foreground(&editor, &path, &cwd);
            let edited = std::fs::read_to_string(&path);
            std::fs::remove_file(&path).ok();
            if worked? { edited } else { Ok(text) }
        });
        let edited = edited.await.ok().and_then(Result::ok);
        edited.map_or(before, |text| text.trim_end_matches('\n').to_owned())
    }
}

/// Writes a new file into the working directory without overwriting any.
fn save_copy(cwd: &Path, text: &str) -> Result<String, String> {
    for number in 0..1_000 {
        let path = pictures::copy_path(cwd, number);
        match std::fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                let written = file.write_all(text.as_bytes());
                return written.map(|()| format!("Written to {}.", path.display())).map_err(|error| error.to_string());
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("{} could not be written: {error}", path.display())),
        }
    }
    Err("There are too many answer files here already".into())
}

/// The content of a prompt: a string, or blocks when there are images.
fn content(prompt: &PromptMessage) -> Option<Box<RawValue>> {
    if prompt.images.is_empty() {
        return to_raw(&prompt.text).ok();
    }
    let mut blocks: Vec<serde_json::Value> = prompt
        .images
        .iter()
        .map(|(media_type, data)| {
            json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
        })
        .collect();
    blocks.push(json!({"type": "text", "text": prompt.text}));
    to_raw(&blocks).ok()
}

/// Stores what was typed to sign in; returns where, in words.
pub(super) fn store_sign_in(env: &Env, cwd: &Path, entry: &SignInEntry) -> Result<String, String> {
    let place = engine::prompt_history::store_key(env, &entry.key)?;
    let Some(endpoint) = &entry.endpoint else { return Ok(place) };
    let settings = engine::prompt_history::store_endpoint(env, cwd, endpoint)?;
    let what = if endpoint.model.is_some() { "the address and the model" } else { "the address" };
    Ok(format!("{place}, {what} in {settings}"))
}
