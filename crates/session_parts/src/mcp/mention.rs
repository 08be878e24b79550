//! `@server:scheme://path` in a prompt attaches that MCP resource. The prompt is sent unchanged; the resource, or why
//! it could not be read, is added beside it.

use super::SessionServers;

/// Maximum number of resources read for one prompt.
const MAX_MENTIONS: usize = 20;

impl SessionServers {
    /// The names of all servers, including those not started yet.
    pub fn names(&self) -> Vec<String> {
        let waiting: Vec<String> = self.unstarted().iter().map(|(declared, _)| declared.name.clone()).collect();
        self.views().into_iter().map(|view| view.name).chain(waiting).collect()
    }
}

/// Server and URI of each mention, once, in order.
pub fn mentions(prompt: &str, servers: &[String]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in prompt.match_indices('@') {
        let before = prompt[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/')) {
            continue;
        }
        let Some(mention) = parse_mention(&prompt[at + 1..], servers) else { continue };
        if !found.contains(&mention) && found.len() < MAX_MENTIONS {
            found.push(mention);
        }
    }
    found
}

fn parse_mention(rest: &str, servers: &[String]) -> Option<(String, String)> {
    let (rest, is_quoted) = rest.strip_prefix('"').map_or((rest, false), |quoted| (quoted, true));
    // A server name may contain colons: the longest match is taken.
    let fits = |server: &&String| rest.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with(':'));
    let server = servers.iter().filter(fits).max_by_key(|server| server.len())?;
    let rest = &rest[server.len() + 1..];
    let uri = if is_quoted {
        rest.split('"').next()?
    } else {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '\'', '"'])
    };
    uri.contains(':').then(|| (server.clone(), uri.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // [TST-220]
    #[test]
    fn resources_are_found_and_addresses_are_not() {
        let servers = ["docs", "plugin:a:docs"].map(str::to_owned);
        let prompt = "see @docs:note://one, (@docs:note://one) and @plugin:a:docs:x://y/z. Not me@docs:note://two, \
                      @other:note://three, @docs:plain or @docs; but @\"docs:file://a b\" too";
        let found = mentions(prompt, &servers);
        let shown: Vec<(&str, &str)> = found.iter().map(|(s, u)| (s.as_str(), u.as_str())).collect();
        assert_eq!(shown, [("docs", "note://one"), ("plugin:a:docs", "x://y/z"), ("docs", "file://a b")]);
    }
}
