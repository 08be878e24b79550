//! `@server:scheme://path` in a prompt attaches that MCP resource. The prompt is sent unchanged; the resource, or why
//! it could not be read, is added beside it.

use super::resources::{self, host_of};
use super::{SessionServers, outcome};
use crate::prompts;
use crate::session::Session;
use crate::messages::Attachment;
use store::StoreError;
use tokio_util::sync::CancellationToken;

/// Maximum number of resources read for one prompt.
const MAX_MENTIONS: usize = 20;

impl Session {
    /// Attaches the resources that `prompt` names, each once.
    pub(crate) async fn attach_resources(&mut self, prompt: &str, token: &CancellationToken) -> Result<(), StoreError> {
        if !prompt.contains('@') {
            return Ok(());
        }
        for (server, uri) in mentions(prompt, &self.io.mcp.servers().names()) {
            let text = tokio::select! {
                text = self.read_mentioned(&server, &uri) => text,
                () = token.cancelled() => return Ok(()),
            };
            let Some(text) = text else { return Ok(()) };
            let text = self.io.state.masking.mask().text(&text).into_owned();
            if let Some(note) = Attachment::note("x_mcp_resource", prompts::reminder(&text)) {
                self.attach(note)?;
            }
        }
        Ok(())
    }

    /// `None` when the turn is interrupted or the process is being stopped.
    async fn read_mentioned(&mut self, server: &str, uri: &str) -> Option<String> {
        let common = std::sync::Arc::clone(&self.io.mcp.shared);
        if !common.may_read(server) {
            return Some(format!("The MCP resource {uri} is not attached: a rule denies the server {server}."));
        }
        common.servers.begin_rest();
        let host = host_of(&common, server).cloned()?;
        let limit = host.connect_limit();
        let read = async {
            host.wait_until_connected(limit, |view| view.name == server).await;
            tokio::time::timeout(limit, host.read_resource(server, uri)).await
        };
        let session_dir = self.io.state.facts.session_dir.clone();
        Some(match self.control.until_interrupted(Box::pin(read)).await? {
            Ok(Ok(parts)) => {
                let body = resources::readable(parts, &session_dir);
                let body = outcome::shortened(&body, tools::spill::GENERIC_LIMIT, &session_dir);
                format!("The MCP resource {uri} of the server {server}, which the user names:\n\n{body}")
            }
            Ok(Err(error)) => format!("The MCP resource {uri} of the server {server} could not be read: {error}"),
            Err(_) => format!("The MCP resource {uri} of the server {server} could not be read in time."),
        })
    }
}

impl SessionServers {
    /// The names of all servers, including those not started yet.
    fn names(&self) -> Vec<String> {
        let waiting: Vec<String> = self.unstarted().iter().map(|(declared, _)| declared.name.clone()).collect();
        self.views().into_iter().map(|view| view.name).chain(waiting).collect()
    }
}

/// Server and URI of each mention, once, in order.
fn mentions(prompt: &str, servers: &[String]) -> Vec<(String, String)> {
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
