//! Reads all pages of the endpoint's list of models.

use super::{ErrorKind, ListedModel, ModelClient, ModelError, OutgoingRequest, SMALL_ANSWER};
use crate::cassette::CallKind;
use http::HttpMethod;
use serde::Deserialize;
use std::time::Duration;

/// Time limit for one page.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of pages; the rest of a longer list is ignored.
const MAX_PAGES: usize = 20;

#[derive(Deserialize)]
struct ModelsPage {
    data: Vec<ListedModel>,
    #[serde(default)]
    has_more: bool,
    #[serde(default)]
    last_id: Option<String>,
}

impl ModelClient {
    /// The models that the endpoint offers. Each page may take at most 3 seconds; a redirect is an error; one
    /// credential header.
    pub async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        let mut all: Vec<ListedModel> = Vec::new();
        let mut after = None;
        for _ in 0..MAX_PAGES {
            let page = self.page(&path(self.endpoint.is_first_party(), after.as_deref())).await?;
            all.extend(page.data);
            match page.last_id.filter(|last| page.has_more && after.as_ref() != Some(last)) {
                Some(last) => after = Some(last),
                None => break,
            }
        }
        Ok(all)
    }

    async fn page(&self, path: &str) -> Result<ModelsPage, ModelError> {
        let outgoing = OutgoingRequest {
            call: CallKind::Models,
            method: HttpMethod::Get,
            path,
            headers: vec![("anthropic-version".to_owned(), "2023-06-01".to_owned())],
            body: Vec::new(),
            messages: &[],
            timeout: TIMEOUT,
        };
        let read = async {
            let mut reply = self.send(outgoing, &self.endpoint.single_auth()).await?;
            reply.body(SMALL_ANSWER).await.map_err(|e| self.endpoint.mask_secrets(e))
        };
        let late = |_| ModelError::new(ErrorKind::Stalled(TIMEOUT), "the model list did not come in time");
        let body = tokio::time::timeout(TIMEOUT, read).await.map_err(late)??;
        serde_json::from_slice(&body)
            .map_err(|e| ModelError::new(ErrorKind::Malformed, format!("the model list is not valid: {e}")))
    }
}

fn path(first_party: bool, after: Option<&str>) -> String {
    let start = if first_party { "/v1/models?beta=true&limit=1000" } else { "/v1/models?limit=1000" };
    let Some(after) = after else { return start.to_owned() };
    let id: String = after.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.:@".contains(*c)).collect();
    format!("{start}&after_id={id}")
}

#[cfg(test)]
mod tests {
    use super::path;

    // [F-B13]
    #[test]
    fn pages_are_asked_for_one_after_another() {
        assert_eq!(path(true, None), "/v1/models?beta=true&limit=1000");
        assert_eq!(path(false, Some("claude-x&y=1")), "/v1/models?limit=1000&after_id=claude-xy1");
    }
}
