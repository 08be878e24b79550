//! A server behind a WebSocket: one JSON message per WebSocket message. Credentials are sent in the headers of the
//! handshake.

use super::remote::{RemoteEndpoint, RemoteRequest, RequestManner};
use super::{MAX_MESSAGE, SendError};
use http::HttpMethod;
use http::ws::{self, ReceiveError, WebSocketKey, WebSocketMessage};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Most messages waiting in each direction.
const QUEUE: usize = 64;
/// How long to wait for the server to read the close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct WebSocketTransport {
    incoming: mpsc::Receiver<Vec<u8>>,
    outgoing: mpsc::Sender<OutgoingFrame>,
    _ends: JoinSet<()>,
}

enum OutgoingFrame {
    Text(Vec<u8>),
    Pong(Vec<u8>),
    /// The last frame, with its close code.
    Close(Option<u16>),
}

/// Performs the handshake.
pub(crate) async fn open(remote: RemoteEndpoint) -> Result<WebSocketTransport, SendError> {
    let key = WebSocketKey::random();
    let url = address(&remote.address.url)?;
    let ask = RemoteRequest {
        method: HttpMethod::Get,
        url,
        headers: key.headers("mcp"),
        body: None,
        manner: RequestManner::Upgrade,
    };
    let response = remote.send(&ask).await.map_err(|error| SendError::Refused(error.to_string()))?;
    if response.status() != 101 {
        return Err(SendError::by_status(response.status(), " instead of a WebSocket"));
    }
    let ends = ws::accept(response, &key, MAX_MESSAGE).await;
    let (sender, receiver) = ends.map_err(|error| SendError::Rejected(error.to_string()))?;
    let (heard, incoming) = mpsc::channel(QUEUE);
    let (outgoing, said) = mpsc::channel(QUEUE);
    let mut tasks = JoinSet::new();
    tasks.spawn(write(sender, said));
    tasks.spawn(listen(receiver, heard, outgoing.clone()));
    Ok(WebSocketTransport { incoming, outgoing, _ends: tasks })
}

/// The HTTP address of the upgrade request.
fn address(url: &str) -> Result<String, SendError> {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    match scheme.to_ascii_lowercase().as_str() {
        "ws" | "http" => Ok(format!("http://{rest}")),
        "wss" | "https" => Ok(format!("https://{rest}")),
        _ => Err(SendError::Rejected("the address of a WebSocket server begins with ws:// or wss://".into())),
    }
}

async fn write(mut sender: ws::WebSocketSender, mut said: mpsc::Receiver<OutgoingFrame>) {
    while let Some(message) = said.recv().await {
        let sent = match &message {
            OutgoingFrame::Text(text) => sender.text(text).await,
            OutgoingFrame::Pong(payload) => sender.pong(payload).await,
            OutgoingFrame::Close(code) => {
                sender.close(*code).await.ok();
                return;
            }
        };
        if let Err(error) = sent {
            return tracing::debug!(%error, "a WebSocket server does not read any more");
        }
    }
}

async fn listen(
    mut receiver: ws::WebSocketReceiver,
    heard: mpsc::Sender<Vec<u8>>,
    outgoing: mpsc::Sender<OutgoingFrame>,
) {
    loop {
        match receiver.next().await {
            Ok(Some(WebSocketMessage::Text(text))) => {
                if heard.send(text.into_bytes()).await.is_err() {
                    return;
                }
            }
            Ok(Some(WebSocketMessage::Binary(bytes))) => {
                if heard.send(bytes).await.is_err() {
                    return;
                }
            }
            // A server that does not read its pongs must not delay its messages.
            Ok(Some(WebSocketMessage::Ping(payload))) => drop(outgoing.try_send(OutgoingFrame::Pong(payload))),
            Ok(Some(WebSocketMessage::Close(code))) => return close(&outgoing, code).await,
            Ok(None) => return,
            Err(ReceiveError::Violation(violation)) => {
                tracing::debug!(why = violation.why, code = violation.code, "a WebSocket server broke the rules");
                return close(&outgoing, Some(violation.code)).await;
            }
            Err(ReceiveError::Io(error)) => return tracing::debug!(%error, "the WebSocket connection ended"),
        }
    }
}

/// Sends a close frame and waits until it is written, at most `CLOSE_TIMEOUT`.
async fn close(outgoing: &mpsc::Sender<OutgoingFrame>, code: Option<u16>) {
    let written = async {
        outgoing.send(OutgoingFrame::Close(code)).await.ok();
        outgoing.closed().await;
    };
    tokio::time::timeout(CLOSE_TIMEOUT, written).await.ok();
}

impl Transport<RoleClient> for WebSocketTransport {
    type Error = SendError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        let text = serde_json::to_vec(&item);
        let outgoing = self.outgoing.clone();
        async move { outgoing.send(OutgoingFrame::Text(text?)).await.map_err(|_| SendError::Closed) }
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

    async fn close(&mut self) -> Result<(), SendError> {
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
