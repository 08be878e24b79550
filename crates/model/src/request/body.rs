//! The body as a list of pieces: small parts are collected in one buffer, large blocks are shared.

use super::ModelRequest;
use super::marks::{BlockPosition, CacheLife, CachePlan, CacheTtl, closing};
use crate::catalog::strip_long_suffix;
use crate::fragment::{Fragment, Message};
use crate::object::{self, RawObject, push_string};
use bytes::Bytes;

/// Blocks of at least this many bytes are shared with the history instead of copied.
const SHARED_FROM: usize = 16 * 1024;

#[derive(Default)]
struct Rope {
    pieces: Vec<Bytes>,
    tail: String,
}

impl Rope {
    fn text(&mut self, text: &str) {
        self.tail.push_str(text);
    }

    fn fragment(&mut self, fragment: &Fragment) {
        if fragment.len() < SHARED_FROM {
            return self.text(fragment.get());
        }
        self.flush();
        self.pieces.push(Bytes::from_owner(fragment.clone()));
    }

    /// Adds `fragment` with a cache marker as its last key.
    fn marked(&mut self, fragment: &Fragment, ttl: CacheTtl) {
        let Some(open) = fragment.get().strip_suffix('}').filter(|open| *open != "{") else {
            return self.fragment(fragment);
        };
        if open.len() < SHARED_FROM {
            self.text(open);
        } else {
            self.flush();
            self.pieces.push(Bytes::from_owner(fragment.clone()).slice(..open.len()));
        }
        self.text(closing(ttl));
    }

    fn flush(&mut self) {
        if !self.tail.is_empty() {
            self.pieces.push(Bytes::from(std::mem::take(&mut self.tail)));
        }
    }

    fn finish(mut self) -> Vec<Bytes> {
        self.flush();
        self.pieces
    }
}

pub(super) fn messages(request: &ModelRequest) -> Vec<Bytes> {
    let mut head = head(request);
    head.set("stream", object::raw("true".to_owned()));
    if let Some(choice) = &request.tool_choice {
        head.set("tool_choice", choice.raw().to_owned());
    }
    let mut rope = Rope::default();
    let overridden = merge(&mut head, request.extra_body.as_deref());
    open(&mut rope, &head);
    prefix(&mut rope, request, &overridden);
    conversation(&mut rope, &request.messages, cache_plan(request).as_ref());
    rope.text("}");
    rope.finish()
}

pub(super) fn count(request: &ModelRequest) -> Vec<Bytes> {
    let mut head = RawObject::default();
    head.set("model", object::string(strip_long_suffix(&request.model)));
    set_thinking(&mut head, request);
    if let Some(choice) = &request.tool_choice {
        head.set("tool_choice", choice.raw().to_owned());
    }
    let mut rope = Rope::default();
    open(&mut rope, &head);
    prefix(&mut rope, request, &OverriddenMembers::default());
    conversation(&mut rope, &request.messages, None);
    rope.text("}");
    rope.finish()
}

/// The small members in their fixed order.
fn head(request: &ModelRequest) -> RawObject {
    let mut head = RawObject::default();
    head.set("model", object::string(strip_long_suffix(&request.model)));
    head.set("max_tokens", object::raw(request.max_tokens.to_string()));
    set_thinking(&mut head, request);
    if request.experiments.allow() {
        if let Some(config) = output_config(request) {
            head.set("output_config", config.to_raw());
        }
        if let Some(edits) = &request.context_management {
            head.set("context_management", edits.raw().to_owned());
        }
        if request.fast {
            head.set("speed", object::string("fast"));
        }
    }
    if let Some(user) = &request.user_id {
        let mut metadata = RawObject::default();
        metadata.set("user_id", object::string(user));
        head.set("metadata", metadata.to_raw());
    }
    head
}

fn set_thinking(head: &mut RawObject, request: &ModelRequest) {
    if let Some(thinking) = &request.thinking {
        let mut text = String::new();
        thinking.write(&mut text);
        head.set("thinking", object::raw(text));
    }
}

fn output_config(request: &ModelRequest) -> Option<RawObject> {
    let mut config = RawObject::default();
    if let Some(effort) = request.effort {
        config.set("effort", object::string(effort.name()));
    }
    if let Some(format) = &request.format {
        config.set("format", format.raw().to_owned());
    }
    if let Some(total) = request.task_budget {
        config.set("task_budget", object::raw(format!(r#"{{"type":"tokens","total":{total}}}"#)));
    }
    (!config.is_empty()).then_some(config)
}

/// The long members that the user's extra body replaces.
#[derive(Default)]
struct OverriddenMembers {
    tools: bool,
    system: bool,
}

/// Merges the user's members, which replace ours except `messages` and `stream`.
fn merge(head: &mut RawObject, extra: Option<&RawObject>) -> OverriddenMembers {
    let mut overridden = OverriddenMembers::default();
    for (key, value) in extra.into_iter().flat_map(RawObject::iter) {
        match key {
            "messages" | "stream" => continue,
            "tools" => overridden.tools = true,
            "system" => overridden.system = true,
            _ => {}
        }
        head.set(key, value.to_owned());
    }
    overridden
}

fn open(rope: &mut Rope, head: &RawObject) {
    let text = head.to_text();
    rope.text(text.strip_suffix('}').unwrap_or(&text));
}

fn prefix(rope: &mut Rope, request: &ModelRequest, overridden: &OverriddenMembers) {
    let ttl = cache_plan(request).filter(|plan| !plan.skips_prefix).map(|plan| plan.life.fixed);
    let (tools, system) = (&request.tools, &request.system);
    if !tools.is_empty() && !overridden.tools {
        // The marker of the system prompt covers the tools; without a system prompt the tools need a marker.
        let ttl = ttl.filter(|_| system.is_empty() || overridden.system);
        list(rope, r#","tools":["#, tools, ttl.map(|ttl| (tools.len() - 1, ttl)));
    }
    if !system.is_empty() && !overridden.system {
        let end = request.static_blocks.clamp(1, system.len()) - 1;
        list(rope, r#","system":["#, system, ttl.map(|ttl| (end, ttl)));
    }
}

/// `marked`: the index of the item with a marker, and how long it lives.
fn list(rope: &mut Rope, opening: &str, items: &[Fragment], marked: Option<(usize, CacheTtl)>) {
    rope.text(opening);
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            rope.text(",");
        }
        match marked.filter(|(at, _)| *at == i) {
            Some((_, ttl)) => rope.marked(item, ttl),
            None => rope.fragment(item),
        }
    }
    rope.text("]");
}

/// The cache lifetimes and markers. The long lifetime is a beta feature, so it is used only with experiments allowed.
fn cache_plan(request: &ModelRequest) -> Option<CachePlan> {
    let plan = request.cache.clone()?;
    Some(if request.experiments.allow() { plan } else { CachePlan { life: CacheLife::default(), ..plan } })
}

fn conversation(rope: &mut Rope, messages: &[Message], plan: Option<&CachePlan>) {
    rope.text(r#","messages":["#);
    for (turn, message) in messages.iter().enumerate() {
        rope.text(if turn > 0 { r#",{"role":"# } else { r#"{"role":"# });
        push_string(&mut rope.tail, message.role.name());
        rope.text(r#","content":["#);
        for (block, fragment) in message.blocks.iter().enumerate() {
            if block > 0 {
                rope.text(",");
            }
            match plan.and_then(|plan| plan.life_at(BlockPosition { message: turn, block })) {
                Some(ttl) => rope.marked(fragment, ttl),
                None => rope.fragment(fragment),
            }
        }
        rope.text("]}");
    }
    rope.text("]");
}
