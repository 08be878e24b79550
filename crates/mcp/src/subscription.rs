//! List changes from servers of the revision without a handshake: they are sent only to subscribed clients.

use crate::client::ListChanged;
use crate::link::ServerLink;
use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::ServiceError;
use std::time::Duration;
use tokio::sync::mpsc;

/// The first pause before subscribing again; it doubles each time.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Subscribes and forwards list changes until the server refuses subscriptions. Returns at once without `news`.
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
                        // When the queue is full, a refresh is already pending.
                        news.try_send(change).ok();
                    }
                }
            }
            // The server does not support subscriptions.
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

/// The changes the server can report; `None` when there are none.
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
