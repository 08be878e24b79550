//! A server behind a WebSocket: one JSON message for each message of the connection. Credentials go into the headers of
//! the handshake.

use super::remote::{Ask, Manner, Remote};
use super::{MAX_MESSAGE, Undelivered};
use http::Method;
use http::ws::{self, Key, Message, ReceiveError};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Messages on their way, in each direction.
const QUEUE: usize = 64;
/// How long a server may take to read that the connection is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct WebSocket {
    incoming: mpsc::Receiver<Vec<u8>>,
    outgoing: mpsc::Sender<Outgoing>,
    _ends: JoinSet<()>,
}

enum Outgoing {
    Text(Vec<u8>),
    Pong(Vec<u8>),
    /// The last one, with its code.
    Close(Option<u16>),
}

/// Shakes hands.
pub(crate) async fn open(remote: Remote) -> Result<WebSocket, Undelivered> {
    let key = Key::random();
    let url = address(&remote.address.url)?;
    let ask = Ask { method: Method::Get, url, headers: key.headers("mcp"), body: None, manner: Manner::Upgrade };
    let response = remote.send(&ask).await.map_err(|error| Undelivered::Refused(error.to_string()))?;
    if response.status() != 101 {
        return Err(Undelivered::by_status(response.status(), " instead of a WebSocket"));
    }
    let ends = ws::accept(response, &key, MAX_MESSAGE).await;
    let (sender, receiver) = ends.map_err(|error| Undelivered::Rejected(error.to_string()))?;
    let (heard, incoming) = mpsc::channel(QUEUE);
    let (outgoing, said) = mpsc::channel(QUEUE);
    let mut tasks = JoinSet::new();
    tasks.spawn(write(sender, said));
    tasks.spawn(listen(receiver, heard, outgoing.clone()));
    Ok(WebSocket { incoming, outgoing, _ends: tasks })
}

/// The address that is asked for the upgrade.
fn address(url: &str) -> Result<String, Undelivered> {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    match scheme.to_ascii_lowercase().as_str() {
        "ws" | "http" => Ok(format!("http://{rest}")),
        "wss" | "https" => Ok(format!("https://{rest}")),
        _ => Err(Undelivered::Rejected("the address of a WebSocket server begins with ws:// or wss://".into())),
    }
}

async fn write(mut sender: ws::Sender, mut said: mpsc::Receiver<Outgoing>) {
    while let Some(message) = said.recv().await {
        let sent = match &message {
            Outgoing::Text(text) => sender.text(text).await,
            Outgoing::Pong(payload) => sender.pong(payload).await,
            Outgoing::Close(code) => {
                sender.close(*code).await.ok();
                return;
            }
        };
        if let Err(error) = sent {
            return tracing::debug!(%error, "a WebSocket server does not read any more");
        }
    }
}

async fn listen(mut receiver: ws::Receiver, heard: mpsc::Sender<Vec<u8>>, outgoing: mpsc::Sender<Outgoing>) {
    loop {
        match receiver.next().await {
            Ok(Some(Message::Text(text))) => {
                if heard.send(text.into_bytes()).await.is_err() {
                    return;
                }
            }
            Ok(Some(Message::Binary(bytes))) => {
                if heard.send(bytes).await.is_err() {
                    return;
                }
            }
            // A server that does not read its pongs must not hold up what it says.
            Ok(Some(Message::Ping(payload))) => drop(outgoing.try_send(Outgoing::Pong(payload))),
            Ok(Some(Message::Close(code))) => return close(&outgoing, code).await,
            Ok(None) => return,
            Err(ReceiveError::Violation(violation)) => {
                tracing::debug!(why = violation.why, code = violation.code, "a WebSocket server broke the rules");
                return close(&outgoing, Some(violation.code)).await;
            }
            Err(ReceiveError::Io(error)) => return tracing::debug!(%error, "the WebSocket connection ended"),
        }
    }
}

/// Sends a close and waits until it is written, or the server does not read it.
async fn close(outgoing: &mpsc::Sender<Outgoing>, code: Option<u16>) {
    let written = async {
        outgoing.send(Outgoing::Close(code)).await.ok();
        outgoing.closed().await;
    };
    tokio::time::timeout(CLOSE_TIMEOUT, written).await.ok();
}

impl Transport<RoleClient> for WebSocket {
    type Error = Undelivered;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Undelivered>> + Send + 'static {
        let text = serde_json::to_vec(&item);
        let outgoing = self.outgoing.clone();
        async move { outgoing.send(Outgoing::Text(text?)).await.map_err(|_| Undelivered::Closed) }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let data = self.incoming.recv().await?;
            match serde_json::from_slice(&data) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "a message of an MCP server is none; it is skipped"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Undelivered> {
        close(&self.outgoing, Some(ws::code::NORMAL)).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // [TST-204]
    #[test]
    fn both_spellings_of_an_address_are_taken() {
        assert_eq!(address("ws://h:1/x").unwrap(), "http://h:1/x");
        assert_eq!(address("WSS://h/x?y").unwrap(), "https://h/x?y");
        assert!(address("ftp://h").is_err() && address("h").is_err());
    }
}
