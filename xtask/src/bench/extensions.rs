//! A start with a thousand skills, two hundred agents and a hundred hooks, compared with one without any.

use super::start::TURN;
use super::table::{Amount, Row};
use super::{Bench, medians, reply};
use anyhow::Result;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Duration;

const SKILLS: usize = 1_000;
const AGENTS: usize = 200;
const HOOKS: usize = 100;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let hello = [reply::text(["Hello."])];
    let first_request = || {
        bench.server.script(&hello);
        bench.to_first_request(&TURN)
    };
    let (empty, kept) = (bench.place.config(), bench.place.config().with_extension("full"));
    fill(&kept)?;
    let swap = |full: bool| -> Result<()> {
        let aside = empty.with_extension("aside");
        if full {
            fs::rename(&empty, &aside)?;
            fs::rename(&kept, &empty)?;
        } else {
            fs::rename(&empty, &kept)?;
            fs::rename(&aside, &empty)?;
        }
        Ok(())
    };
    let with = || -> Result<Duration> {
        swap(true)?;
        let first = first_request();
        swap(false)?;
        first
    };
    let (full, without) = medians(bench.times(), with, first_request)?;
    fs::remove_dir_all(&kept)?;
    Ok(vec![
        Row::new("1,000 skills, 200 agents, 100 hooks: to first request", Amount::Time(full))
            .peer("none of them", Amount::Time(without)),
        Row::new("what they add", Amount::Time(full.saturating_sub(without))).budget(Amount::ms(15.0)),
    ])
}

/// Creates files as people write them: half of the skills need the lenient reader.
fn fill(config: &Path) -> Result<()> {
    for number in 0..SKILLS {
        let dir = config.join(format!("skills/skill-{number}"));
        fs::create_dir_all(&dir)?;
        let colon = if number % 2 == 0 { ":" } else { "" };
        let text = format!(
            "---\nname: skill-{number}\ndescription: Handles case {number}{colon} whenever the user asks for it in words\n\
             allowed-tools: Read, Grep\n---\n{}",
            "Some guidance on the matter.\n".repeat(60)
        );
        fs::write(dir.join("SKILL.md"), text)?;
    }
    fs::create_dir_all(config.join("agents"))?;
    for number in 0..AGENTS {
        let text =
            format!("---\nname: agent-{number}\ndescription: Does {number}\ntools: Read, Grep\n---\nYou do it.\n");
        fs::write(config.join(format!("agents/{number}.md")), text)?;
    }
    let hook = |number: usize| json!({"matcher": format!("Tool{number}"), "hooks": [{"type": "command", "command": format!("check {number}")}]});
    let hooks: Vec<_> = (0..HOOKS).map(hook).collect();
    fs::write(config.join("settings.json"), json!({"hooks": {"PreToolUse": hooks}}).to_string())?;
    Ok(())
}
