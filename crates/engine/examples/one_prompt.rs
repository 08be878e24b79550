//! A minimal host: opens a session in the current directory, sends one prompt, allows every tool call and prints the
//! assistant messages. Run it with `cargo run -p gimlet-engine --example one_prompt -- "What is in this directory?"`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use engine::{Command, Event, Prompt, SessionOptions, StartRequest};
use std::error::Error;
use wire::control::{HostQuestion, HostReply, PermissionVerdict};
use wire::sdk::SdkMessage;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let env = sys::Env::snapshot();
    let cwd = sys::launch::cwd(&env)?;
    let text = std::env::args().nth(1).unwrap_or_else(|| "What is in this directory?".into());
    let options =
        SessionOptions { multi_turn: true, permission_prompt_tool: Some("stdio".into()), ..SessionOptions::default() };
    let (commands, mut events) = engine::open(StartRequest { env, cwd, options }).await?;
    commands.send(Command::Submit(Prompt::new(wire::raw::to_raw(&text)?))).await?;

    while let Some(event) = events.recv().await {
        match event {
            Event::Message(SdkMessage::Assistant(said)) => println!("{}", said.message.get()),
            Event::Message(SdkMessage::Result(result)) => {
                println!("cost: ${:.4}", result.total_cost_usd);
                // No more prompts: the session ends and closes the stream of events.
                commands.send(Command::Close).await?;
            }
            // A real host would show the question to somebody.
            Event::Ask { id, question: HostQuestion::CanUseTool(asked) } => {
                let yes = PermissionVerdict::allow(serde_json::from_str(asked.input.get())?);
                commands.send(Command::Reply(HostReply::success(id, &yes))).await?;
            }
            Event::Notice(text) | Event::Fault(text) => eprintln!("{text}"),
            Event::Refused(error) => return Err(error.into()),
            Event::Message(_)
            | Event::Ask { .. }
            | Event::AskWithdrawn { .. }
            | Event::Response(_)
            | Event::Mirror(_)
            | Event::Dropped(_)
            | Event::Aside(_) => {}
        }
    }
    Ok(())
}
