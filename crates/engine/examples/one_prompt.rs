//! A minimal host: opens a session in the current directory, sends one prompt, allows every tool call and prints the
//! assistant messages. Run it with `cargo run -p gimlet-engine --example one_prompt -- "What is in this directory?"`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use engine::{Command, Event, Prompt, SessionOptions, StartRequest};
use std::error::Error;
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
            Event::Control(line) => {
                if let Some(yes) = consent(&line)? {
                    commands.send(Command::Answer(yes)).await?;
                }
            }
            Event::Notice(text) | Event::Fault(text) => eprintln!("{text}"),
            Event::Refused(error) => return Err(error.into()),
            Event::Message(_) | Event::Mirror(_) | Event::Dropped(_) | Event::Aside(_) => {}
        }
    }
    Ok(())
}

/// Answers a permission question with "allow"; a real host would show it to a person. `None` for other control lines.
fn consent(line: &str) -> Result<Option<Box<serde_json::value::RawValue>>, serde_json::Error> {
    let asked: serde_json::Value = serde_json::from_str(line)?;
    if asked["request"]["subtype"] != "can_use_tool" {
        return Ok(None);
    }
    let verdict = serde_json::json!({"behavior": "allow"});
    let answer = serde_json::json!({"subtype": "success", "request_id": asked["request_id"], "response": verdict});
    wire::raw::to_raw(&answer).map(Some)
}
