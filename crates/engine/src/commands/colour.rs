//! `/color`: the colour of the lines around the prompt. It is kept with the conversation, so that each is known at sight
//! again when it is resumed or copied.

use super::CommandReply;
use crate::session::LiveSession;
use config::agents::COLORS;
use serde::Deserialize;
use wire::entry::MetaEntry;

/// Takes the colour back.
const DEFAULT: &str = "default";

pub(super) fn run(session: &mut LiveSession, wanted: &str) -> CommandReply {
    let wanted = wanted.to_ascii_lowercase();
    let colours = COLORS.join(", ");
    if wanted.is_empty() {
        let now = session.control.view.colour.as_deref().unwrap_or(DEFAULT);
        return CommandReply::for_user(format!("Colour: {now}. Colours: {colours}, {DEFAULT}."));
    }
    if wanted != DEFAULT && !COLORS.contains(&wanted.as_str()) {
        return CommandReply::refused(format!("\"{wanted}\" is not a colour. Choose one of {colours}, {DEFAULT}."));
    }
    match set(session, &wanted) {
        Ok(()) => CommandReply::for_user(format!("Colour of this session: {wanted}.")),
        Err(error) => CommandReply::refused(format!("The colour could not be saved: {error}")),
    }
}

fn set(session: &mut LiveSession, wanted: &str) -> Result<(), store::StoreError> {
    session.begin()?;
    let session_id = session.io.output.host.session_id.clone();
    session.io.output.transcript.meta(MetaEntry::AgentColor { agent_color: wanted.to_owned(), session_id })?;
    session.control.view.colour = Some(wanted.to_owned()).filter(|colour| colour != DEFAULT);
    Ok(())
}

/// The colour in a line of a transcript; `None` for other lines and for colours that are not known here.
pub(crate) fn recorded(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ColourLine {
        #[serde(rename = "type")]
        kind: String,
        agent_color: String,
    }
    let line: ColourLine = serde_json::from_str(line).ok()?;
    (line.kind == "agent-color" && COLORS.contains(&line.agent_color.as_str())).then_some(line.agent_color)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_colours_are_taken_from_a_transcript() {
        let line = |kind: &str, colour: &str| format!(r#"{{"type":"{kind}","agentColor":"{colour}","sessionId":"s"}}"#);
        assert_eq!(recorded(&line("agent-color", "pink")).as_deref(), Some("pink"));
        for other in [line("agent-color", "default"), line("agent-color", "\\u001b[31m"), line("agent-name", "pink")] {
            assert_eq!(recorded(&other), None, "{other}");
        }
    }
}
