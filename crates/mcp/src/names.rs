//! Names the model sees: `mcp__<server>__<tool>`. Characters the API does not accept become `_`; a name that is too
//! long or taken is shortened and gets a hash of the full name. The names are the same in every process.

use sha2::{Digest, Sha256};

/// Separates server and tool.
pub const SEPARATOR: &str = "__";
const PREFIX: &str = "mcp__";
/// Longest name that the Messages API accepts.
const LONGEST: usize = 128;
/// Length of the suffix: `_` and eight hex digits.
const SUFFIX: usize = 9;

/// `mcp__<server>`: the name of a whole server in permission rules and agents.
pub fn exposed_server(server: &str) -> String {
    format!("{PREFIX}{}", sanitise(server))
}

/// The name of one tool. `is_taken` returns whether another tool already has a name.
pub fn exposed_tool(server: &str, tool: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let name = format!("{PREFIX}{}{SEPARATOR}{}", sanitise(server), sanitise(tool));
    if name.len() <= LONGEST && !is_taken(&name) {
        return name;
    }
    let digest = Sha256::digest(format!("{server}\n{tool}").as_bytes());
    let hash = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    let kept = name.len().min(LONGEST - SUFFIX);
    format!("{}_{hash:08x}", &name[..kept])
}

fn sanitise(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // [TST-209]
    #[test]
    fn names_are_clean_bounded_and_unique() {
        let free = |_: &str| false;
        assert_eq!(exposed_tool("my-server", "read.file/x", free), "mcp__my-server__read_file_x");
        assert_eq!(exposed_tool("plugin:demo:srv", "t", free), "mcp__plugin_demo_srv__t");
        assert_eq!(exposed_server("plugin:demo:srv"), "mcp__plugin_demo_srv");
        let long = exposed_tool("s", &"x".repeat(300), free);
        assert_eq!(long.len(), LONGEST);
        assert_ne!(long, exposed_tool("s", &"x".repeat(301), free));
        assert_eq!(long, exposed_tool("s", &"x".repeat(300), free));
        let second = exposed_tool("s", "a b", |name| name == "mcp__s__a_b");
        assert!(second.starts_with("mcp__s__a_b_") && second != "mcp__s__a_b", "{second}");
    }
}
