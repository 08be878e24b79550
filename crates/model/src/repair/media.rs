//! Replaces images over the provider's limit with a short text, and also the oldest images and documents when the body
//! is too large.

use super::RepairLimits;
use crate::fragment::{Fragment, FragmentHead, Message};
use crate::object::{RawObject, raw};
use serde_json::value::RawValue;

const TOO_LARGE: &str = "[image left out: larger than the provider accepts]";
const STRIPPED: &str = "[image or document left out: the conversation was too large to send]";
/// Media are removed in steps of this many bytes, so that the removed set rarely changes as a conversation grows.
const STEP: usize = 4 * 1024 * 1024;
/// Bytes of JSON around a message.
const ENVELOPE: usize = 32;

/// `block`, or a copy without images longer than `limit` bytes. The same fragment when nothing had to change.
pub(super) fn without_large_images(block: &Fragment, limit: usize) -> Fragment {
    if block.len() <= limit {
        return block.clone();
    }
    replace(block, &|media: &Fragment| {
        (*media.head() == FragmentHead::Image && media.len() > limit).then_some(TOO_LARGE)
    })
}

/// Removes media, oldest first, until the conversation fits. Returns its size in bytes when it still does not.
pub(super) fn strip_to_fit(turns: &mut [Message], limits: RepairLimits, notes: &mut Vec<String>) -> Option<usize> {
    let conversation: usize =
        turns.iter().map(|t| ENVELOPE + t.blocks.iter().map(|b| b.len() + 1).sum::<usize>()).sum();
    let total = conversation + limits.fixed;
    if total <= limits.body {
        return None;
    }
    let goal = (total - limits.body).div_ceil(STEP) * STEP;
    let mut freed = 0;
    let mut count = 0;
    for block in turns.iter_mut().flat_map(|turn| &mut turn.blocks) {
        if freed >= goal {
            break;
        }
        if !matches!(block.head(), FragmentHead::Image | FragmentHead::Document | FragmentHead::ToolResult { .. }) {
            continue;
        }
        let stripped = replace(block, &|_| Some(STRIPPED));
        if !stripped.is_same(block) {
            freed += block.len().saturating_sub(stripped.len());
            count += 1;
            *block = stripped;
        }
    }
    if count > 0 {
        notes.push(format!("left out the media of {count} blocks: the body was too large"));
    }
    (total - freed > limits.body).then_some(total - freed)
}

/// `block` with its media replaced by the texts that `by` returns: the block itself, or media inside a tool result.
fn replace(block: &Fragment, by: &dyn Fn(&Fragment) -> Option<&'static str>) -> Fragment {
    match block.head() {
        FragmentHead::Image | FragmentHead::Document => by(block).map_or_else(|| block.clone(), Fragment::text),
        FragmentHead::ToolResult { .. } => inside(block, by).unwrap_or_else(|| block.clone()),
        _ => block.clone(),
    }
}

fn inside(block: &Fragment, by: &dyn Fn(&Fragment) -> Option<&'static str>) -> Option<Fragment> {
    let mut object: RawObject = block.object()?;
    let content = object.get("content").filter(|c| c.get().starts_with('['))?;
    let parts: Vec<Box<RawValue>> = serde_json::from_str(content.get()).ok()?;
    let mut changed = false;
    let mut texts = Vec::with_capacity(parts.len());
    for part in parts.into_iter().map(Fragment::new) {
        let is_media = matches!(part.head(), FragmentHead::Image | FragmentHead::Document);
        match by(&part).filter(|_| is_media) {
            Some(text) => {
                changed = true;
                texts.push(Fragment::text(text));
            }
            None => texts.push(part),
        }
    }
    if !changed {
        return None;
    }
    let list = texts.iter().map(Fragment::get).collect::<Vec<_>>().join(",");
    object.set("content", raw(format!("[{list}]")));
    Some(Fragment::new(object.to_raw()))
}
