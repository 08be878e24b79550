//! A program with a session inside. `cargo run -p gimlet-engine --example one_prompt -- "What is in this directory?"`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use engine::{SdkMessage, Session, SessionError};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), SessionError> {
    let mut session = Session::builder()
        // A real program would ask somebody.
        .on_permission(|call| async move { call.allow() })
        .on_question(|form| async move { Some(form.questions.iter().map(|q| q.options[0].label.clone()).collect()) })
        .on_message(|message| {
            if let SdkMessage::Assistant(said) = message {
                println!("{}", said.message.get());
            }
        })
        .on_notice(|text| eprintln!("{text}"))
        .open()
        .await?;
    let text = std::env::args().nth(1).unwrap_or_else(|| "What is in this directory?".into());
    let result = session.prompt(&text).await?;
    println!("cost: ${:.4}", result.total_cost_usd);
    session.close().await;
    Ok(())
}
