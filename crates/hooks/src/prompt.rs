//! The texts that a prompt handler sends to its model.

/// The system prompt.
pub const SYSTEM: &str = "You decide whether a condition holds, for a program that acts on your answer. Answer with one \
JSON object and nothing else: {\"ok\": true} when it holds, {\"ok\": false, \"reason\": \"…\"} when it does not, with the \
reason written for the agent whose work is judged. Add \"impossible\": true when the condition can never be met.";

/// The handler's prompt with the payload in place of `$ARGUMENTS`, or appended to it. `\$` is a dollar sign.
pub fn fill(prompt: &str, payload: &str) -> String {
    let mut out = String::with_capacity(prompt.len() + payload.len() + 2);
    let mut filled = false;
    let mut rest = prompt;
    while let Some(at) = rest.find(['\\', '$']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("\\$") {
            out.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix("$ARGUMENTS") {
            out.push_str(payload);
            filled = true;
            rest = after;
        } else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    if !filled {
        out.push_str("\n\n");
        out.push_str(payload);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::fill;

    // [EXT-42]
    #[test]
    fn the_payload_stands_where_it_is_wanted() {
        assert_eq!(fill("Check $ARGUMENTS now", "{}"), "Check {} now");
        assert_eq!(fill("Check", "{}"), "Check\n\n{}");
        assert_eq!(fill(r"Costs \$5 \$ARGUMENTS", "{}"), "Costs $5 $ARGUMENTS\n\n{}");
    }
}
