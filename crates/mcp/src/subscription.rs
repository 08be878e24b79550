//! Changes of lists, from servers that speak the revision without a handshake: they tell them only to whoever subscribed.

use crate::client::ListChanged;
use crate::server::ServerLink;
use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::ServiceError;
use std::time::Duration;
use tokio::sync::mpsc;

/// Between two subscriptions, the first time; twice as long each time after.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Hands on what the server says has changed, for as long as it lets itself be subscribed to. Ends at once without `news`.
pub(crate) async fn follow(link: &ServerLink, news: Option<mpsc::Sender<ListChanged>>) {
    let Some(news) = news else { return };
    let Some(filter) = wanted(link) else { return };
    let mut pause = PAUSE;
    loop {
        match link.peer.listen(filter.clone()).await {
            Ok(mut subscription) => {
                pause = PAUSE;
                while let Ok(Some(said)) = subscription.next().await {
                    if let Some(change) = change(&said) {
                        // A full queue already holds a reason to look again.
                        news.try_send(change).ok();
                    }
                }
            }
            // It does not know subscriptions.
            Err(ServiceError::McpError(error)) => {
                tracing::debug!(server = link.server, %error, "changes cannot be subscribed to");
                return;
            }
            Err(error) => tracing::debug!(server = link.server, %error, "changes are not told for now"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// What the server says it can tell; `None` when that is nothing.
fn wanted(link: &ServerLink) -> Option<SubscriptionFilter> {
    let peer = link.peer.peer_info()?;
    let capabilities = &peer.capabilities;
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = capabilities.tools.as_ref().and_then(|tools| tools.list_changed).filter(|told| *told);
    filter.prompts_list_changed =
        capabilities.prompts.as_ref().and_then(|prompts| prompts.list_changed).filter(|told| *told);
    (filter.tools_list_changed.is_some() || filter.prompts_list_changed.is_some()).then_some(filter)
}

fn change(said: &ServerNotification) -> Option<ListChanged> {
    match said {
        ServerNotification::ToolListChangedNotification(_) => Some(ListChanged::Tools),
        ServerNotification::PromptListChangedNotification(_) => Some(ListChanged::Prompts),
        ServerNotification::ResourceListChangedNotification(_) => Some(ListChanged::Resources),
        _ => None,
    }
}
