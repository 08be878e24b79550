//! Effects that reach outside the terminal: the engine, files, the history, the external editor. What takes time runs
//! beside the loop and comes back as an input.

use crate::app::{Effect, Input, Prompt};
use crate::completion::index::{Ignores, Index};
use crate::picker::fetch::Fetch;
use engine::{Boot, Command, Commands, Shell};
use serde_json::json;
use serde_json::value::RawValue;
use std::path::PathBuf;
use sys::Env;
use tokio::sync::mpsc;
use wire::raw::to_raw;

/// Prompts of earlier sessions that are offered.
const HISTORY: usize = 2_000;

pub(super) struct Outside {
    env: Env,
    cwd: PathBuf,
    commands: Option<Commands>,
    /// Commands that came before there was a session.
    held: Vec<Command>,
    inputs: mpsc::Receiver<Input>,
    sender: mpsc::Sender<Input>,
    index: Option<Index>,
    shell: Shell,
    fetch: Fetch,
}

impl Outside {
    pub(super) fn new(boot: &Boot, shell: Shell) -> Self {
        let (sender, inputs) = mpsc::channel(16);
        let fetch = Fetch::new(boot.env.clone(), boot.cwd.clone(), sender.clone());
        Self {
            env: boot.env.clone(),
            cwd: boot.cwd.clone(),
            commands: None,
            held: Vec::new(),
            inputs,
            sender,
            index: None,
            shell,
            fetch,
        }
    }

    /// From now on commands are sent; returns those that came before.
    pub(super) fn connect(&mut self, commands: Commands) -> Vec<Command> {
        self.commands = Some(commands);
        std::mem::take(&mut self.held)
    }

    /// Works in another directory from now on.
    pub(super) fn relocate(&mut self, cwd: &std::path::Path) {
        if cwd != self.cwd {
            self.cwd = cwd.to_path_buf();
            self.index = None;
            self.fetch = Fetch::new(self.env.clone(), self.cwd.clone(), self.sender.clone());
        }
    }

    pub(super) fn stop_fetching(&mut self) {
        self.fetch.stop();
    }

    /// The last command of a session.
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

    /// What has come back. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Input> {
        self.inputs.recv().await
    }

    pub(super) async fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Submit(prompt) => {
                if let Some(content) = content(&prompt) {
                    let shell = prompt.is_shell.then_some(self.shell);
                    let prompt = engine::Prompt { by_human: true, shell, ..engine::Prompt::new(content) };
                    self.send(Command::Submit(prompt)).await;
                }
            }
            Effect::Interrupt => self.send(Command::Interrupt).await,
            Effect::Control { id, request } => {
                if let Ok(request) = RawValue::from_string(request) {
                    self.send(Command::Control { request_id: id, request }).await;
                }
            }
            Effect::Answer(response) => {
                if let Ok(response) = RawValue::from_string(response) {
                    self.send(Command::Answer(response)).await;
                }
            }
            Effect::FindFiles(query) => self.find_files(query),
            Effect::LoadHistory => {
                let (env, cwd, sender) = (self.env.clone(), self.cwd.clone(), self.sender.clone());
                tokio::task::spawn_blocking(move || {
                    sender.blocking_send(Input::History(engine::recall::newest(&env, &cwd, HISTORY))).ok();
                });
            }
            Effect::Remember { text, session_id } => {
                let (env, cwd) = (self.env.clone(), self.cwd.clone());
                tokio::task::spawn_blocking(move || engine::recall::remember(&env, &cwd, &session_id, &text));
            }
            Effect::Picker(request) => self.fetch.serve(request),
            // The loop's own.
            Effect::Chosen(_)
            | Effect::Entry(_)
            | Effect::ExternalEditor(_)
            | Effect::SignIn(_)
            | Effect::Suspend
            | Effect::Redraw
            | Effect::Exit => {}
        }
    }

    async fn send(&mut self, command: Command) {
        match &self.commands {
            Some(commands) => {
                commands.send(command).await.ok();
            }
            None => self.held.push(command),
        }
    }

    /// The index is built when the first file is asked for.
    fn find_files(&mut self, query: String) {
        if self.index.is_none() {
            let sender = self.sender.clone();
            let answer = move |query, found| {
                sender.blocking_send(Input::Files { query, found }).ok();
            };
            self.index = Index::start(self.cwd.clone(), Ignores::Respected, answer).ok();
        }
        if let Some(index) = &self.index {
            index.ask(query);
        }
    }

    /// Stores an API key; says where.
    pub(super) async fn sign_in(&self, key: String) -> Result<String, String> {
        let env = self.env.clone();
        let stored = tokio::task::spawn_blocking(move || engine::recall::store_key(&env, &key)).await;
        stored.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Has `text` edited in the person's editor; the text as it was when that fails. The terminal must be free.
    pub(super) async fn edit(&self, text: String) -> String {
        let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| self.env.non_empty(name)).unwrap_or("vi").to_owned();
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

/// A plain string, or blocks when there are images.
fn content(prompt: &Prompt) -> Option<Box<RawValue>> {
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
