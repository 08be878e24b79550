//! Connects a server and keeps the connection: a few servers at a time, with retries after transient failures;
//! reads lists again when the server reports a change. A failure becomes the server's status.

use crate::catalogue::{self, McpCatalogue, ServerInfo};
use crate::client::{self, ClientFace, ListChanged, ProtocolEra};
use crate::connect_failure::{ConnectFailure, classify};
use crate::host_shared::HostShared;
use crate::last_words::LastWords;
use crate::link::ServerLink;
use crate::server::ServerEntry;
use crate::server_spec::McpStatus;
use crate::settings::RetryPauses;
use crate::subscription;
use crate::transport;
use crate::transport::boxed::BoxedTransport;
use crate::transport::remote::{RemoteEndpoint, RemoteError};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::value::RawValue;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use sys::sync::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use wire::mcp::McpTransport;

/// Attempts for the first connection of a remote server, and for a connection that was lost.
const FIRST_TRIES: u32 = 1 + 3;
const LATER_TRIES: u32 = 5;
/// Most list changes waiting to be handled.
const CHANGE_QUEUE: usize = 16;
/// A server that does not answer `server/discover` within this time gets a handshake instead.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);
/// After a connection that lasted this long, the retries are counted from zero again.
const STEADY_AFTER: Duration = Duration::from_mins(1);

struct LiveConnection {
    running: RunningService<RoleClient, ClientFace>,
    link: Arc<ServerLink>,
    changes: mpsc::Receiver<ListChanged>,
    /// The sender for subscribed changes; `None` when the server sends changes without a subscription.
    news: Option<mpsc::Sender<ListChanged>>,
    inbound: Option<mpsc::Sender<Box<RawValue>>>,
    catalogue: McpCatalogue,
}

enum ConnectionEnd {
    Stopped,
    Closed,
}

/// Why a connection is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectCause {
    /// It was requested.
    Asked,
    /// The previous connection failed.
    Lost,
}

/// The remaining attempts and the pause before the next. The first attempt is made at once.
struct ConnectTries {
    left: u32,
    pause: Duration,
    is_first: bool,
}

impl ConnectTries {
    fn new(server: &ServerEntry, pauses: RetryPauses, cause: ConnectCause) -> Self {
        // A local program that does not start will not start a moment later.
        let (left, pause) = match (server.config.remote().is_some(), cause) {
            (false, _) => (1, pauses.first),
            (true, ConnectCause::Asked) => (FIRST_TRIES, pauses.first),
            (true, ConnectCause::Lost) => (LATER_TRIES, pauses.lost),
        };
        Self { left, pause, is_first: true }
    }

    /// Waits for the next attempt; false when there is none left.
    async fn next(&mut self) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        if !std::mem::take(&mut self.is_first) {
            tokio::time::sleep(self.pause).await;
            self.pause *= 2;
        }
        true
    }
}

/// Connects `server` and stays until `stop`, or until it cannot be connected any more.
pub(crate) async fn keep_connected(
    server: Arc<ServerEntry>,
    shared: Arc<HostShared>,
    (stop, generation): (CancellationToken, u64),
    cause: ConnectCause,
) {
    let mut tries = ConnectTries::new(&server, shared.settings.pauses, cause);
    let mut is_lost = cause == ConnectCause::Lost;
    loop {
        let attempt = connect_with_retries(&server, &shared, &mut tries);
        let connected = tokio::select! {
            connected = attempt => connected,
            () = stop.cancelled() => return,
        };
        let connected = match connected {
            Ok(connected) => connected,
            Err(failure) => return shared.set(&server, generation, |slot| slot.status = failure.status()),
        };
        let (link, since) = (Arc::clone(&connected.link), tokio::time::Instant::now());
        let ended = attend(connected, &server, &shared, &stop, generation).await;
        shared.set(&server, generation, |slot| (slot.link, slot.inbound) = (None, None));
        if matches!(ended, ConnectionEnd::Stopped) {
            return;
        }
        let may_return = server.config.remote().is_some();
        tracing::debug!(server = server.name, may_return, "the connection ended");
        if !may_return {
            let why = link.closed().to_string();
            return shared.set(&server, generation, |slot| {
                slot.status = McpStatus::Failed(why);
                slot.catalogue = McpCatalogue::default();
            });
        }
        // A connection that is lost again soon after it was made does not get new attempts.
        if since.elapsed() > STEADY_AFTER || !std::mem::replace(&mut is_lost, true) {
            tries = ConnectTries::new(&server, shared.settings.pauses, ConnectCause::Lost);
        }
        shared.set(&server, generation, |slot| slot.status = McpStatus::Pending);
    }
}

impl ConnectFailure {
    fn status(self) -> McpStatus {
        match self {
            Self::NeedsAuth => McpStatus::NeedsAuth,
            Self::Transient(why) | Self::Permanent(why) => McpStatus::Failed(why),
        }
    }
}

async fn connect_with_retries(
    server: &ServerEntry,
    shared: &HostShared,
    tries: &mut ConnectTries,
) -> Result<LiveConnection, ConnectFailure> {
    let slots = if server.config.remote().is_some() { &shared.remote_slots } else { &shared.local_slots };
    let mut failure = ConnectFailure::Permanent("it closes every connection soon after it was made".into());
    while tries.next().await {
        let _place = slots.acquire().await;
        let connected = Box::pin(connect(server, shared)).await;
        failure = match connected.map_err(|failure| failure.hidden(&*shared.owner)) {
            Err(ConnectFailure::Transient(why)) => {
                tracing::debug!(server = server.name, why, left = tries.left, "not connected");
                ConnectFailure::Transient(why)
            }
            done => return done,
        };
    }
    Err(failure)
}

async fn connect(server: &ServerEntry, shared: &HostShared) -> Result<LiveConnection, ConnectFailure> {
    let limit = shared.settings.connect;
    let words = LastWordsSlot::default();
    if let Ok(done) = tokio::time::timeout(limit, open(server, shared, &words)).await {
        return done;
    }
    let said = words.lock().take();
    let said = said.map(|words| words.describe()).unwrap_or_default();
    Err(ConnectFailure::Permanent(format!("connection timed out after {} ms{said}", limit.as_millis())))
}

type LastWordsSlot = Mutex<Option<Arc<LastWords>>>;

async fn open(
    server: &ServerEntry,
    shared: &HostShared,
    words: &LastWordsSlot,
) -> Result<LiveConnection, ConnectFailure> {
    let remote = |address| {
        let limits = shared.settings.calls.for_server(server.config.timeout_ms);
        let (http, owner) = (shared.http.clone(), Arc::clone(&shared.owner));
        RemoteEndpoint::new(&server.name, address, http, owner, limits.first_byte)
    };
    match &server.config.transport {
        McpTransport::Stdio(command) => {
            let (stdio, last_words) =
                transport::stdio::open(command, &shared.settings, &shared.owner).map_err(ConnectFailure::Permanent)?;
            *words.lock() = Some(Arc::clone(&last_words));
            let opened = greet(
                BoxedTransport::new(stdio),
                (server, ProtocolEra::Handshake),
                shared,
                Some(Arc::clone(&last_words)),
            )
            .await;
            let opened = match opened {
                Err(GreetingFailure::Other(refused)) if shared.settings.negotiates => {
                    tracing::debug!(server = server.name, ?refused, "the server may know no handshake");
                    let (stdio, last_words) = transport::stdio::open(command, &shared.settings, &shared.owner)
                        .map_err(ConnectFailure::Permanent)?;
                    let greeted =
                        greet(BoxedTransport::new(stdio), (server, ProtocolEra::Stateless), shared, Some(last_words))
                            .await;
                    greeted.map_err(|_| GreetingFailure::Known(refused))
                }
                opened => opened,
            };
            opened.map_err(|unmet| match unmet.failure() {
                ConnectFailure::Transient(why) | ConnectFailure::Permanent(why) => {
                    ConnectFailure::Permanent(format!("{why}{}", last_words.describe()))
                }
                ConnectFailure::NeedsAuth => ConnectFailure::NeedsAuth,
            })
        }
        McpTransport::Http(address) => open_http(server, shared, &remote(address)).await,
        McpTransport::Sse(address) => {
            let sse = transport::sse::open(remote(address)).await.map_err(|error| classify(&error))?;
            greet(BoxedTransport::new(sse), (server, ProtocolEra::Handshake), shared, None)
                .await
                .map_err(GreetingFailure::failure)
        }
        McpTransport::Ws(address) => {
            let socket = transport::ws::open(remote(address)).await.map_err(|error| classify(&error))?;
            greet(BoxedTransport::new(socket), (server, ProtocolEra::Handshake), shared, None)
                .await
                .map_err(GreetingFailure::failure)
        }
        McpTransport::Sdk { .. } => {
            let manifest = shared.take_manifest(&server.name);
            let (bridge, inbound) = transport::bridge::open(&server.name, Arc::clone(&shared.owner), manifest);
            let greeted = greet(BoxedTransport::new(bridge), (server, ProtocolEra::Handshake), shared, None).await;
            let mut connected = greeted.map_err(GreetingFailure::failure)?;
            connected.inbound = Some(inbound);
            Ok(connected)
        }
    }
}

/// Tries `server/discover` first. A server that does not know it gets a handshake, on a new connection; it is not
/// tried with `server/discover` again.
async fn open_http(
    server: &ServerEntry,
    shared: &HostShared,
    remote: &RemoteEndpoint,
) -> Result<LiveConnection, ConnectFailure> {
    let open = || transport::streamable::open(remote.clone());
    let known = *server.era.lock();
    if shared.settings.negotiates && known != Some(ProtocolEra::Handshake) {
        match greet(BoxedTransport::new(open()), (server, ProtocolEra::Stateless), shared, None).await {
            Ok(connected) => return Ok(connected),
            Err(GreetingFailure::Known(failure)) => return Err(failure),
            Err(GreetingFailure::Other(failure)) => {
                tracing::debug!(server = server.name, ?failure, "the server is greeted with a handshake");
            }
        }
    }
    greet(BoxedTransport::new(open()), (server, ProtocolEra::Handshake), shared, None)
        .await
        .map_err(GreetingFailure::failure)
}

/// Why a connection could not begin.
enum GreetingFailure {
    /// Beginning in the other way would not help.
    Known(ConnectFailure),
    /// The server may use the other revision.
    Other(ConnectFailure),
}

impl GreetingFailure {
    fn of(error: &ClientInitializeError, era: ProtocolEra) -> Self {
        let failure = explain(error);
        let other = match error {
            ClientInitializeError::JsonRpcError(_)
            | ClientInitializeError::UncorrelatedErrorResponse { .. }
            | ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::ExpectedInitResponse(_)
            | ClientInitializeError::ConflictInitResponseId(..)
            | ClientInitializeError::NoCompatibleProtocolVersion { .. } => true,
            ClientInitializeError::TransportError { error, .. } => {
                era == ProtocolEra::Stateless && !is_unreached(&*error.error)
            }
            // An empty answer makes the library close the connection.
            ClientInitializeError::ConnectionClosed(_) => era == ProtocolEra::Stateless,
            _ => false,
        };
        if other && failure != ConnectFailure::NeedsAuth { Self::Other(failure) } else { Self::Known(failure) }
    }

    fn failure(self) -> ConnectFailure {
        match self {
            Self::Known(failure) | Self::Other(failure) => failure,
        }
    }
}

/// True when the server did not answer at all.
fn is_unreached(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if let Some(failed) = current.downcast_ref::<StreamableHttpError<RemoteError>>() {
            return matches!(failed, StreamableHttpError::Client(_));
        }
        cause = current.source();
    }
    false
}

/// Begins the connection and reads the first lists.
async fn greet(
    transport: BoxedTransport,
    (server, era): (&ServerEntry, ProtocolEra),
    shared: &HostShared,
    last_words: Option<Arc<LastWords>>,
) -> Result<LiveConnection, GreetingFailure> {
    let (sender, changes) = mpsc::channel(CHANGE_QUEUE);
    let face = ClientFace {
        server: server.name.clone(),
        owner: Arc::clone(&shared.owner),
        changes: sender.clone(),
        version: shared.settings.version.clone(),
        era,
    };
    let lifecycle = match era {
        ProtocolEra::Handshake => ClientLifecycleMode::Initialize,
        ProtocolEra::Stateless => ClientLifecycleMode::Discover { preferred_versions: vec![client::STATELESS] },
    };
    let begun = face.serve_with_lifecycle(transport, lifecycle);
    let begun = match era {
        ProtocolEra::Handshake => begun.await,
        ProtocolEra::Stateless => match tokio::time::timeout(DISCOVERY_TIMEOUT, begun).await {
            Ok(begun) => begun,
            Err(_) => {
                return Err(GreetingFailure::Other(ConnectFailure::Permanent(
                    "server/discover is not answered".into(),
                )));
            }
        },
    };
    let running = begun.map_err(|error| GreetingFailure::of(&error, era))?;
    *server.era.lock() = Some(era);
    let link = Arc::new(ServerLink {
        server: server.name.clone(),
        peer: running.peer().clone(),
        owner: Arc::clone(&shared.owner),
        era,
        is_local: server.config.remote().is_none(),
        list_limit: shared.settings.connect,
        limits: shared.settings.calls.for_server(server.config.timeout_ms),
        last_words,
    });
    let catalogue = read_catalogue(&link).await;
    let news = (era == ProtocolEra::Stateless).then_some(sender);
    Ok(LiveConnection { running, link, changes, news, inbound: None, catalogue })
}

/// Reads the lists of the server. A list that cannot be read leaves the server connected.
async fn read_catalogue(link: &ServerLink) -> McpCatalogue {
    let Some(peer) = link.peer.peer_info() else { return McpCatalogue::default() };
    let capabilities = &peer.capabilities;
    let mut catalogue = McpCatalogue {
        instructions: peer.instructions.as_deref().map(catalogue::truncate).filter(|text| !text.trim().is_empty()),
        info: peer
            .server_info
            .as_ref()
            .map(|info| ServerInfo { name: info.name.clone(), version: info.version.clone() }),
        has_resources: capabilities.resources.is_some(),
        ..McpCatalogue::default()
    };
    if capabilities.tools.is_some() {
        match catalogue::tools(link).await {
            Ok(tools) => catalogue.tools = tools,
            Err(error) => catalogue.problem = Some(format!("tools could not be listed: {error}")),
        }
    }
    if capabilities.prompts.is_some() {
        match catalogue::prompts(link).await {
            Ok(prompts) => catalogue.prompts = prompts,
            Err(error) => tracing::warn!(server = link.server, %error, "prompts could not be listed"),
        }
    }
    catalogue
}

async fn attend(
    connected: LiveConnection,
    server: &Arc<ServerEntry>,
    shared: &HostShared,
    stop: &CancellationToken,
    generation: u64,
) -> ConnectionEnd {
    let LiveConnection { running, link, mut changes, news, inbound, catalogue } = connected;
    shared.set(server, generation, |slot| {
        slot.status = McpStatus::Connected;
        slot.catalogue = catalogue;
        slot.link = Some(Arc::clone(&link));
        slot.inbound = inbound;
    });
    let mut subscribed = Box::pin(subscription::follow(&link, news));
    let mut is_subscribed = true;
    let end = running.cancellation_token();
    let mut running = std::pin::pin!(running.waiting());
    loop {
        tokio::select! {
            () = stop.cancelled() => {
                end.cancel();
                running.await.ok();
                return ConnectionEnd::Stopped;
            }
            // The sender exists as long as the service, so `recv` does not end before it.
            Some(change) = changes.recv() => refresh(change, &link, server, shared, generation).await,
            () = &mut subscribed, if is_subscribed => is_subscribed = false,
            _ = &mut running => return ConnectionEnd::Closed,
        }
    }
}

/// Reads a changed list again. When that fails, the old list stays.
async fn refresh(
    change: ListChanged,
    link: &ServerLink,
    server: &Arc<ServerEntry>,
    shared: &HostShared,
    generation: u64,
) {
    match change {
        ListChanged::Tools => match catalogue::tools(link).await {
            Ok(tools) => shared.set(server, generation, |slot| {
                slot.catalogue.tools = tools;
                slot.catalogue.problem = None;
            }),
            Err(error) => tracing::warn!(server = server.name, %error, "changed tools could not be listed"),
        },
        ListChanged::Prompts => match catalogue::prompts(link).await {
            Ok(prompts) => shared.set(server, generation, |slot| slot.catalogue.prompts = prompts),
            Err(error) => tracing::warn!(server = server.name, %error, "changed prompts could not be listed"),
        },
        // Resources are listed on request.
        ListChanged::Resources => {}
    }
}

fn explain(error: &ClientInitializeError) -> ConnectFailure {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return ConnectFailure::NeedsAuth;
    }
    match error {
        ClientInitializeError::TransportError { error, .. } => classify(&*error.error),
        ClientInitializeError::ConnectionClosed(_) => {
            ConnectFailure::Permanent("the server closed the connection during the handshake".into())
        }
        ClientInitializeError::JsonRpcError(error) => {
            ConnectFailure::Permanent(format!("the server refused the handshake: {}", error.message))
        }
        other => ConnectFailure::Permanent(other.to_string()),
    }
}
