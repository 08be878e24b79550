//! Commands that only show state. Their replies are not sent to the model.

use super::CommandReply;
use crate::command_table::described;
use crate::session::{LiveSession, SessionIo};
use model::estimate;
use session_parts::cache_watch::CacheMiss;
use session_parts::usage_report::{self, UsageGrouping, UsageRange};
use std::fmt::Write;
use store::StoreLayout;
use wire::counting::thousands;
use wire::sdk::RateLimitInfo;
use wire::settings::RuleBehaviour;

pub(super) fn help(io: &SessionIo) -> CommandReply {
    let mut text = String::from("Commands:\n");
    for command in io.commands().listing() {
        let hint = if command.argument_hint.is_empty() { String::new() } else { format!(" {}", command.argument_hint) };
        let names: Vec<&str> = std::iter::once(&command.name).chain(&command.aliases).map(String::as_str).collect();
        write!(text, "\n  /{}{hint}\n      {}", names.join(", /"), command.description).ok();
    }
    text.push_str("\n\nWhatever does not begin with the name of a command is sent to the model. `gimlet --help` lists the options.");
    CommandReply::for_user(text)
}

pub(super) fn status(session: &mut LiveSession) -> CommandReply {
    let io = &session.io;
    let mut text = format!(
        "gimlet {} (speaks as {})\nSession: {}\nDirectory: {}\nModel: {}\nEffort: {}\nPermission mode: {}\nCredentials: {}",
        env!("CARGO_PKG_VERSION"),
        wire::version::COMPAT,
        io.output.host.session_id,
        io.workspace().cwd.display(),
        session.context.model(),
        session.context.effort().unwrap_or("not chosen"),
        io.rules.mode().as_str(),
        io.output.facts.api_key_source,
    );
    for dir in io.rules.watch.additional() {
        write!(text, "\nAdditional directory: {}", dir.display()).ok();
    }
    if let Some(file) = io.output.transcript.file() {
        write!(text, "\nTranscript: {}", file.display()).ok();
    }
    write!(text, "\nOutput style: {}\nSandbox: {}", io.output.facts.output_style, sandbox(io)).ok();
    text.push_str("\nSettings:");
    let files: Vec<_> = io.rules.watch.loaded.layers.iter().collect();
    if files.is_empty() {
        text.push_str(" none");
    }
    for layer in files {
        let shown = layer.path.as_ref().map_or_else(|| "(command line)".to_owned(), |path| path.display().to_string());
        write!(text, "\n  {}: {shown}", layer.source.as_str()).ok();
    }
    for problem in &io.rules.watch.loaded.diagnostics {
        write!(text, "\n  Problem: {problem}").ok();
    }
    if !io.rules.watch.loaded.trusted {
        text.push_str("\nThis folder is not trusted: what it declares to run is not run (`gimlet trust`).");
    }
    CommandReply::for_user(text)
}

/// What `/recap` asks beside the conversation.
pub(super) const RECAP_QUESTION: &str = "Say in at most three short sentences where this conversation stands, for someone \
    who comes back to it after a break: what was asked, what is done, and what is next or waits for them. Only what the \
    conversation shows.";

/// What the sandbox allows, or how it is switched on.
pub(super) fn sandbox_state(io: &SessionIo) -> CommandReply {
    const DETAILS: &str = "`gimlet sandbox status` in a shell lists every path; docs/sandbox.md has the settings.";
    let Some(sandbox) = &io.rules.watch.sandbox else {
        return CommandReply::for_user(format!(
            "The sandbox is off: commands run with your rights, under the permission rules.\n`sandbox.enabled: true` in \
             the settings switches it on (/config sandbox.enabled=true in the terminal).\n{DETAILS}"
        ));
    };
    if let Some(why) = sandbox.unavailable() {
        return CommandReply::for_user(format!(
            "{why}\nCommands run without it, under the permission rules.\n{DETAILS}"
        ));
    }
    let what = sandbox.describe().unwrap_or_default();
    let asks = if sandbox.allows_without_asking() {
        "Sandboxed commands run without asking."
    } else {
        "Commands still ask for permission."
    };
    CommandReply::for_user(format!("The sandbox is on: {what}.\n{asks}\n{DETAILS}"))
}

fn sandbox(io: &SessionIo) -> &'static str {
    match &io.rules.watch.sandbox {
        None => "off",
        Some(confinement) if confinement.unavailable().is_some() => "not available here",
        Some(_) => "on",
    }
}

pub(super) async fn usage(session: &mut LiveSession) -> CommandReply {
    let io = &mut session.io;
    io.provider.side.drain_usage(&mut io.output.ledger);
    let models = io.output.ledger.models();
    let unknown = models.values().any(|usage| usage.cost_basis == "unknown");
    let mut text = format!(
        "Total cost: ${:.4}{}\nTotal duration (API): {}\nTotal duration (wall): {}",
        io.output.ledger.cost(),
        if unknown { " (without models of unknown price)" } else { "" },
        seconds(io.output.ledger.all_api_ms()),
        seconds(io.output.ledger.wall_ms()),
    );
    if models.is_empty() {
        text.push_str("\nNo model has been used yet.");
    } else {
        text.push_str("\nUsage by model:");
    }
    for (name, usage) in &models {
        let cost = match &*usage.cost_basis {
            "unknown" => "price unknown".to_owned(),
            _ => format!("${:.4}", usage.cost_usd),
        };
        write!(
            text,
            "\n  {name}: {} input, {} output, {} cache read, {} cache write ({cost})",
            thousands(usage.input_tokens),
            thousands(usage.output_tokens),
            thousands(usage.cache_read_input_tokens),
            thousands(usage.cache_creation_input_tokens),
        )
        .ok();
    }
    write_misses(&mut text, &io.output.ledger.misses());
    let limits = io.provider.connection.limits();
    write_limits(&mut text, limits.info().as_ref());
    let layout = StoreLayout::new(&io.env);
    if let Ok(spent) = tokio::task::spawn_blocking(move || recent(&layout)).await {
        text.push_str(&spent);
    }
    CommandReply::for_user(text)
}

/// The causes of cache misses with what they cost, the most expensive one first.
fn write_misses(text: &mut String, misses: &[CacheMiss]) {
    if misses.is_empty() {
        return;
    }
    let usd: f64 = misses.iter().filter_map(|miss| miss.usd).sum();
    let tokens: u64 = misses.iter().map(|miss| miss.tokens).sum();
    write!(text, "\nCache misses: {} tokens paid for again, ${usd:.4} more than hits", thousands(tokens)).ok();
    for miss in misses {
        let usd = miss.usd.map_or_else(|| "price unknown".to_owned(), |usd| format!("${usd:.4}"));
        let cause = miss.cause.name().replace('_', " ");
        let detail = if miss.detail.is_empty() { String::new() } else { format!(" ({})", miss.detail) };
        write!(text, "\n  {cause}{detail}: {} tokens, {usd}", thousands(miss.tokens)).ok();
    }
}

/// What the provider said about the account's limits.
fn write_limits(text: &mut String, info: Option<&RateLimitInfo>) {
    let Some(info) = info else { return };
    write!(text, "\nLimit of the account: {}", info.status).ok();
    if let Some(kind) = &info.rate_limit_type {
        write!(text, ", {}", kind.replace('_', " ")).ok();
    }
    if let Some(share) = info.utilization {
        write!(text, ", {:.0} % used", share * 100.0).ok();
    }
    if let Some(at) = info.resets_at {
        write!(text, ", resets {}", sys::clock::iso(at.saturating_mul(1_000))).ok();
    }
}

/// What all conversations used today and in the last seven days. Blocking.
fn recent(layout: &StoreLayout) -> String {
    let today = sys::clock::today();
    let week = UsageRange { since: sys::clock::days_before(&today, 6), until: None };
    let recorded = usage_report::read(layout, &week);
    let day = UsageRange { since: Some(today), until: None };
    let mut text = String::from("\nAll sessions:");
    for (name, range) in [("today", day), ("last 7 days", week.clone())] {
        let total = usage_report::report(&recorded, UsageGrouping::Day, &range).total;
        write!(text, "\n  {name}: ${:.4}, {} tokens", total.cost_usd, thousands(total.tokens())).ok();
        if let Some(share) = total.cache_share() {
            write!(text, ", {:.0} % of the prompts from the cache", share * 100.0).ok();
        }
    }
    for row in usage_report::report(&recorded, UsageGrouping::Model, &week).rows {
        write!(text, "\n    {}: ${:.4}, {} tokens", row.key, row.sum.cost_usd, thousands(row.sum.tokens())).ok();
    }
    text.push_str("\n`gimlet usage` reports more: by day, session, project, model or agent.");
    text
}

fn seconds(ms: u64) -> String {
    let (minutes, rest) = (ms / 60_000, ms % 60_000);
    if minutes == 0 {
        format!("{}.{}s", rest / 1000, rest % 1000 / 100)
    } else {
        format!("{minutes}m {}s", rest / 1000)
    }
}

pub(super) fn memory(session: &LiveSession) -> CommandReply {
    let memory = session.io.rules.watch.memory();
    let mut text = String::from("Instruction files, in the order the model receives them:");
    if memory.files.is_empty() {
        text.push_str("\n  none. /init writes one.");
    }
    for file in &memory.files {
        let tokens = thousands(estimate::text(file.text.len()));
        write!(text, "\n  {} ({}, about {tokens} tokens)", file.path.display(), file.scope.hook_name()).ok();
    }
    for skipped in &memory.skipped {
        write!(text, "\n  left out: {} ({})", skipped.path.display(), skipped.reason).ok();
    }
    write!(text, "\nNotes from earlier sessions: {}", session.io.rules.watch.notes.display()).ok();
    text.push_str("\n`gimlet memory show` prints their text with the file and line of every part.");
    CommandReply::for_user(text)
}

pub(super) fn agents(io: &SessionIo) -> CommandReply {
    let mut text = String::from("Agents the model can start:");
    for agent in io.tooling.spawner.agents.all() {
        let about = agent.description.lines().next().unwrap_or_default();
        write!(text, "\n  {}: {}", agent.name, shortened(about)).ok();
    }
    text.push_str(
        "\n\nTo make one, write a Markdown file with `name` and `description` in its head to .claude/agents/ (this project) \
         or ~/.claude/agents/ (all projects); its text is the agent's prompt. To change one, edit its file.",
    );
    CommandReply::for_user(text)
}

fn shortened(text: &str) -> String {
    const MAX_DESCRIPTION_CHARS: usize = 120;
    if text.chars().count() <= MAX_DESCRIPTION_CHARS {
        text.to_owned()
    } else {
        text.chars().take(MAX_DESCRIPTION_CHARS).collect::<String>() + "…"
    }
}

pub(super) fn hooks(io: &SessionIo) -> CommandReply {
    let catalogue = io.hooks.current.catalogue();
    let mut text = String::from("Hooks in use:");
    if catalogue.is_empty() {
        text.push_str("\n  none");
    }
    for entry in catalogue.iter() {
        let matcher = entry.matcher_text.as_deref().map_or_else(String::new, |matcher| format!(" ({matcher})"));
        let what =
            permission::escape_invisible(&permission::masked_formats(&entry.handler.kind.text())).replace('\n', " ");
        write!(text, "\n  {}{matcher}: {} [{}]", entry.event.as_str(), shortened(&what), entry.origin.label()).ok();
    }
    for problem in &catalogue.diagnostics {
        write!(text, "\n  Problem: {problem}").ok();
    }
    text.push_str("\n`gimlet hooks test <event>` runs them; they are declared in settings files.");
    CommandReply::for_user(text)
}

pub(super) fn permissions(io: &SessionIo) -> String {
    let mut text = format!("Permission mode: {}", io.rules.mode().as_str());
    for (behaviour, title) in
        [(RuleBehaviour::Deny, "Denied"), (RuleBehaviour::Ask, "Asked about"), (RuleBehaviour::Allow, "Allowed")]
    {
        let rules: Vec<_> = io.rules.watch.rules().into_iter().filter(|rule| rule.behaviour == behaviour).collect();
        if rules.is_empty() {
            continue;
        }
        write!(text, "\n{title}:").ok();
        for rule in rules {
            write!(text, "\n  {} [{}]", permission::escape_invisible(&rule.text), rule.source.as_str()).ok();
        }
    }
    write!(text, "\nWorking directories:\n  {}", io.tooling.directories.project.display()).ok();
    for dir in io.rules.watch.additional() {
        write!(text, "\n  {}", dir.display()).ok();
    }
    text.push_str("\n`gimlet permissions explain '<command>'` says which rule decides about a command.");
    text
}

pub(super) fn skills(io: &SessionIo) -> CommandReply {
    let skills = io.knowledge.skills.skills();
    let mut text = String::from("Skills and custom commands:");
    if skills.all.is_empty() {
        text.push_str("\n  none");
    }
    for skill in &skills.all {
        let tokens = estimate::text(skill.description.as_deref().unwrap_or_default().len());
        let who = match (skill.is_user_visible(), skill.is_listed()) {
            (true, true) => "",
            (true, false) => ", only when typed",
            (false, true) => ", only by the model",
            (false, false) => ", switched off",
        };
        write!(text, "\n  /{}: {} [about {tokens} tokens{who}]", skill.name, shortened(&described(skill))).ok();
    }
    CommandReply::for_user(text)
}

pub(super) fn tasks(io: &SessionIo) -> CommandReply {
    let running = io.tooling.state.tasks.running();
    if running.is_empty() {
        return CommandReply::for_user("Nothing is running in the background.");
    }
    let mut text = String::from("In the background:");
    for task in running {
        let kind = match task.kind {
            "mcp_task" => "call",
            _ if task.is_agent() => "agent",
            _ => "shell",
        };
        write!(text, "\n  {} {kind} {}: {}", task.id, task.status.as_str(), shortened(&task.description)).ok();
    }
    CommandReply::for_user(text)
}

pub(super) fn todos(io: &SessionIo) -> CommandReply {
    let todos = io.tooling.state.todos.snapshot();
    let tasks = tools::task_list::open_tasks(&io.tooling.state.facts);
    if todos.is_empty() && tasks.is_empty() {
        return CommandReply::for_user("The model has no open tasks.");
    }
    let listed = todos.iter().map(|todo| format!("[{}] {}", todo.status, todo.content));
    CommandReply::for_user(listed.chain(tasks).collect::<Vec<_>>().join("\n"))
}
