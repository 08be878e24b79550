//! What a hook adds to the time of a call, besides its process.

use super::table::{Amount, Row};
use super::turns::{CALLS, call_gap};
use super::{Bench, median_of, medians};
use anyhow::Result;
use serde_json::json;

const HOOKS: &str =
    r#"{"hooks": {"PreToolUse": [{"matcher": "Read", "hooks": [{"type": "command", "command": ":"}]}]}}"#;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let (settings, project) = (bench.place.config().join("settings.json"), bench.place.project());
    for number in 0..=CALLS {
        std::fs::write(project.join(format!("hooked_{number}.txt")), "one line of text\n")?;
    }
    let gap = || call_gap(bench, |number| ("Read", json!({"file_path": project.join(format!("hooked_{number}.txt"))})));
    let hooked = || {
        std::fs::write(&settings, HOOKS)?;
        let measured = gap();
        std::fs::remove_file(&settings)?;
        measured
    };
    let (with, without) = medians(bench.few(), hooked, gap)?;
    let shell = median_of(CALLS, || bench.place.peer("sh", &["-c", ":"]))?;
    let added = with.saturating_sub(without).saturating_sub(shell);
    Ok(vec![
        Row::new("hook per call, beyond its process", Amount::Time(added))
            .peer("sh -c :", Amount::Time(shell))
            .budget(Amount::ms(1.0)),
    ])
}
