//! Makes a connection and attends to it: a few at a time, again after transient failures, lists read anew when the server
//! says that they changed. A failure is the server's status.

use crate::catalogue::{self, Catalogue};
use crate::client::{self, Change, Era, Face};
use crate::host::Shared;
use crate::server::{Link, Server, ServerInfo, Status};
use crate::settings::Pauses;
use crate::subscription;
use crate::transport::remote::{Remote, Unreached};
use crate::transport::stdio::LastWords;
use crate::transport::{self, Undelivered};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::Transport as RmcpTransport;
use rmcp::transport::streamable_http_client::{HttpStatusError, StreamableHttpError};
use serde_json::value::RawValue;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use wire::mcp::Transport;

/// Tries of a remote server's first connection, and of one that was lost.
const FIRST_TRIES: u32 = 1 + 3;
const LATER_TRIES: u32 = 5;
/// Changes waiting to be looked at.
const CHANGES: usize = 16;
/// A server that does not answer `server/discover` within this time is greeted with a handshake.
const DISCOVERY: Duration = Duration::from_secs(5);
/// A connection that lasted this long starts with a fresh count of retries.
const STEADY: Duration = Duration::from_mins(1);

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    NeedsAuth,
    /// Worth another try.
    Transient(String),
    Permanent(String),
}

impl Failure {
    /// Without the credentials that the server, or its address, put into the text.
    fn hidden(self, shared: &Shared) -> Self {
        match self {
            Self::Transient(why) => Self::Transient(shared.owner.hide(&why)),
            Self::Permanent(why) => Self::Permanent(shared.owner.hide(&why)),
            Self::NeedsAuth => Self::NeedsAuth,
        }
    }
}

struct Connected {
    running: RunningService<RoleClient, Face>,
    link: Arc<Link>,
    changes: mpsc::Receiver<Change>,
    /// Where changes go that have to be subscribed to.
    news: Option<mpsc::Sender<Change>>,
    inbound: Option<mpsc::Sender<Box<RawValue>>>,
    catalogue: Catalogue,
}

enum Ended {
    Stopped,
    Closed,
}

/// Why a connection is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Somebody wants it.
    Asked,
    /// The last one does not work any more.
    Lost,
}

/// How often a server is still tried, and how long is waited in between. The first try is made at once.
struct Tries {
    left: u32,
    pause: Duration,
    is_first: bool,
}

impl Tries {
    fn new(server: &Server, pauses: Pauses, cause: Cause) -> Self {
        // A program that does not start will not start a moment later.
        let (left, pause) = match (server.config.remote().is_some(), cause) {
            (false, _) => (1, pauses.first),
            (true, Cause::Asked) => (FIRST_TRIES, pauses.first),
            (true, Cause::Lost) => (LATER_TRIES, pauses.lost),
        };
        Self { left, pause, is_first: true }
    }

    /// Waits for the next try; `false` when there is none.
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

/// Connects `server` and stays until `stop`, or until it is gone for good.
pub(crate) async fn keep(
    server: Arc<Server>,
    shared: Arc<Shared>,
    (stop, generation): (CancellationToken, u64),
    cause: Cause,
) {
    let mut tries = Tries::new(&server, shared.settings.pauses, cause);
    let mut is_lost = cause == Cause::Lost;
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
        if matches!(ended, Ended::Stopped) {
            return;
        }
        let may_return = server.config.remote().is_some();
        tracing::debug!(server = server.name, may_return, "the connection ended");
        if !may_return {
            let why = link.closed().to_string();
            return shared.set(&server, generation, |slot| {
                slot.status = Status::Failed(why);
                slot.catalogue = Catalogue::default();
            });
        }
        // One that is lost again and again does not get more tries for each.
        if since.elapsed() > STEADY || !std::mem::replace(&mut is_lost, true) {
            tries = Tries::new(&server, shared.settings.pauses, Cause::Lost);
        }
        shared.set(&server, generation, |slot| slot.status = Status::Pending);
    }
}

impl Failure {
    fn status(self) -> Status {
        match self {
            Self::NeedsAuth => Status::NeedsAuth,
            Self::Transient(why) | Self::Permanent(why) => Status::Failed(why),
        }
    }
}

async fn connect_with_retries(server: &Server, shared: &Shared, tries: &mut Tries) -> Result<Connected, Failure> {
    let slots = if server.config.remote().is_some() { &shared.remote_slots } else { &shared.local_slots };
    let mut failure = Failure::Permanent("it closes every connection soon after it was made".into());
    while tries.next().await {
        let _place = slots.acquire().await;
        let connected = Box::pin(connect(server, shared)).await;
        failure = match connected.map_err(|failure| failure.hidden(shared)) {
            Err(Failure::Transient(why)) => {
                tracing::debug!(server = server.name, why, left = tries.left, "not connected");
                Failure::Transient(why)
            }
            done => return done,
        };
    }
    Err(failure)
}

async fn connect(server: &Server, shared: &Shared) -> Result<Connected, Failure> {
    let limit = shared.settings.connect;
    let words = Words::default();
    if let Ok(done) = tokio::time::timeout(limit, open(server, shared, &words)).await {
        return done;
    }
    let said = words.lock().unwrap_or_else(PoisonError::into_inner).take();
    let said = said.map(|words| words.describe()).unwrap_or_default();
    Err(Failure::Permanent(format!("connection timed out after {} ms{said}", limit.as_millis())))
}

type Words = Mutex<Option<Arc<LastWords>>>;

async fn open(server: &Server, shared: &Shared, words: &Words) -> Result<Connected, Failure> {
    let remote = |address| {
        let limits = shared.settings.calls.for_server(server.config.timeout_ms);
        let (http, owner) = (shared.http.clone(), Arc::clone(&shared.owner));
        Remote::new(&server.name, address, http, owner, limits.first_byte)
    };
    match &server.config.transport {
        Transport::Stdio(command) => {
            let (stdio, last_words) =
                transport::stdio::open(command, &shared.settings, &shared.owner).map_err(Failure::Permanent)?;
            *words.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&last_words));
            let opened = greet(stdio, (server, Era::Handshake), shared, Some(Arc::clone(&last_words))).await;
            let opened = match opened {
                Err(Unmet::Other(refused)) if shared.settings.negotiates => {
                    tracing::debug!(server = server.name, ?refused, "the server may know no handshake");
                    let (stdio, last_words) =
                        transport::stdio::open(command, &shared.settings, &shared.owner).map_err(Failure::Permanent)?;
                    let greeted = greet(stdio, (server, Era::Stateless), shared, Some(last_words)).await;
                    greeted.map_err(|_| Unmet::Known(refused))
                }
                opened => opened,
            };
            opened.map_err(|unmet| match unmet.failure() {
                Failure::Transient(why) | Failure::Permanent(why) => {
                    Failure::Permanent(format!("{why}{}", last_words.describe()))
                }
                Failure::NeedsAuth => Failure::NeedsAuth,
            })
        }
        Transport::Http(address) => open_http(server, shared, &remote(address)).await,
        Transport::Sse(address) => {
            let sse = transport::sse::open(remote(address)).await.map_err(|error| classify(&error))?;
            greet(sse, (server, Era::Handshake), shared, None).await.map_err(Unmet::failure)
        }
        Transport::Ws(address) => {
            let socket = transport::ws::open(remote(address)).await.map_err(|error| classify(&error))?;
            greet(socket, (server, Era::Handshake), shared, None).await.map_err(Unmet::failure)
        }
        Transport::Sdk { .. } => {
            let manifest = shared.take_manifest(&server.name);
            let (bridge, inbound) = transport::bridge::open(&server.name, Arc::clone(&shared.owner), manifest);
            let greeted = greet(bridge, (server, Era::Handshake), shared, None).await;
            let mut connected = greeted.map_err(Unmet::failure)?;
            connected.inbound = Some(inbound);
            Ok(connected)
        }
    }
}

/// Asks a server of the newest revision what it is. One that does not know the question is greeted as before, on a connection
/// of its own; it is not asked again.
async fn open_http(server: &Server, shared: &Shared, remote: &Remote) -> Result<Connected, Failure> {
    let open = || transport::streamable::open(remote.clone());
    let known = *server.era.lock().unwrap_or_else(PoisonError::into_inner);
    if shared.settings.negotiates && known != Some(Era::Handshake) {
        match greet(open(), (server, Era::Stateless), shared, None).await {
            Ok(connected) => return Ok(connected),
            Err(Unmet::Known(failure)) => return Err(failure),
            Err(Unmet::Other(failure)) => {
                tracing::debug!(server = server.name, ?failure, "the server is greeted with a handshake");
            }
        }
    }
    greet(open(), (server, Era::Handshake), shared, None).await.map_err(Unmet::failure)
}

/// Why a connection could not begin.
enum Unmet {
    /// Another way to begin would not help.
    Known(Failure),
    /// The server may speak the other revision.
    Other(Failure),
}

impl Unmet {
    fn of(error: &ClientInitializeError, era: Era) -> Self {
        let failure = explain(error);
        let other = match error {
            ClientInitializeError::JsonRpcError(_)
            | ClientInitializeError::UncorrelatedErrorResponse { .. }
            | ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::ExpectedInitResponse(_)
            | ClientInitializeError::ConflictInitResponseId(..)
            | ClientInitializeError::NoCompatibleProtocolVersion { .. } => true,
            ClientInitializeError::TransportError { error, .. } => {
                era == Era::Stateless && !is_unreached(&*error.error)
            }
            // An answer without a message ends the library's connection.
            ClientInitializeError::ConnectionClosed(_) => era == Era::Stateless,
            _ => false,
        };
        if other && failure != Failure::NeedsAuth { Self::Other(failure) } else { Self::Known(failure) }
    }

    fn failure(self) -> Failure {
        match self {
            Self::Known(failure) | Self::Other(failure) => failure,
        }
    }
}

/// Nobody answered at all.
fn is_unreached(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if let Some(failed) = current.downcast_ref::<StreamableHttpError<Unreached>>() {
            return matches!(failed, StreamableHttpError::Client(_));
        }
        cause = current.source();
    }
    false
}

/// How the connection begins, then the first lists.
async fn greet(
    transport: impl RmcpTransport<RoleClient> + 'static,
    (server, era): (&Server, Era),
    shared: &Shared,
    last_words: Option<Arc<LastWords>>,
) -> Result<Connected, Unmet> {
    let (sender, changes) = mpsc::channel(CHANGES);
    let face = Face {
        server: server.name.clone(),
        owner: Arc::clone(&shared.owner),
        changes: sender.clone(),
        version: shared.settings.version.clone(),
        era,
    };
    let lifecycle = match era {
        Era::Handshake => ClientLifecycleMode::Initialize,
        Era::Stateless => ClientLifecycleMode::Discover { preferred_versions: vec![client::STATELESS] },
    };
    let begun = face.serve_with_lifecycle(transport, lifecycle);
    let begun = match era {
        Era::Handshake => begun.await,
        Era::Stateless => match tokio::time::timeout(DISCOVERY, begun).await {
            Ok(begun) => begun,
            Err(_) => return Err(Unmet::Other(Failure::Permanent("server/discover is not answered".into()))),
        },
    };
    let running = begun.map_err(|error| Unmet::of(&error, era))?;
    *server.era.lock().unwrap_or_else(PoisonError::into_inner) = Some(era);
    let link = Arc::new(Link {
        server: server.name.clone(),
        peer: running.peer().clone(),
        owner: Arc::clone(&shared.owner),
        era,
        is_local: server.config.remote().is_none(),
        list_limit: shared.settings.connect,
        limits: shared.settings.calls.for_server(server.config.timeout_ms),
        last_words,
    });
    let catalogue = survey(&link).await;
    let news = (era == Era::Stateless).then_some(sender);
    Ok(Connected { running, link, changes, news, inbound: None, catalogue })
}

/// What the server has. A list that cannot be read leaves the server connected.
async fn survey(link: &Link) -> Catalogue {
    let Some(peer) = link.peer.peer_info() else { return Catalogue::default() };
    let capabilities = &peer.capabilities;
    let mut catalogue = Catalogue {
        instructions: peer.instructions.as_deref().map(catalogue::cut).filter(|text| !text.trim().is_empty()),
        info: peer
            .server_info
            .as_ref()
            .map(|info| ServerInfo { name: info.name.clone(), version: info.version.clone() }),
        has_resources: capabilities.resources.is_some(),
        ..Catalogue::default()
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
    connected: Connected,
    server: &Arc<Server>,
    shared: &Shared,
    stop: &CancellationToken,
    generation: u64,
) -> Ended {
    let Connected { running, link, mut changes, news, inbound, catalogue } = connected;
    shared.set(server, generation, |slot| {
        slot.status = Status::Connected;
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
                return Ended::Stopped;
            }
            // The handler lives as long as the service does.
            Some(change) = changes.recv() => refresh(change, &link, server, shared, generation).await,
            () = &mut subscribed, if is_subscribed => is_subscribed = false,
            _ = &mut running => return Ended::Closed,
        }
    }
}

/// A list that cannot be read again stays as it was.
async fn refresh(change: Change, link: &Link, server: &Arc<Server>, shared: &Shared, generation: u64) {
    match change {
        Change::Tools => match catalogue::tools(link).await {
            Ok(tools) => shared.set(server, generation, |slot| {
                slot.catalogue.tools = tools;
                slot.catalogue.problem = None;
            }),
            Err(error) => tracing::warn!(server = server.name, %error, "changed tools could not be listed"),
        },
        Change::Prompts => match catalogue::prompts(link).await {
            Ok(prompts) => shared.set(server, generation, |slot| slot.catalogue.prompts = prompts),
            Err(error) => tracing::warn!(server = server.name, %error, "changed prompts could not be listed"),
        },
        // They are listed when somebody asks.
        Change::Resources => {}
    }
}

fn explain(error: &ClientInitializeError) -> Failure {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return Failure::NeedsAuth;
    }
    match error {
        ClientInitializeError::TransportError { error, .. } => classify(&*error.error),
        ClientInitializeError::ConnectionClosed(_) => {
            Failure::Permanent("the server closed the connection during the handshake".into())
        }
        ClientInitializeError::JsonRpcError(error) => {
            Failure::Permanent(format!("the server refused the handshake: {}", error.message))
        }
        other => Failure::Permanent(other.to_string()),
    }
}

/// What an error of a transport comes to.
pub(crate) fn classify(error: &(dyn Error + 'static)) -> Failure {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if let Some(failed) = current.downcast_ref::<StreamableHttpError<Unreached>>() {
            match failed {
                StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
                    return Failure::NeedsAuth;
                }
                StreamableHttpError::HttpStatus(status) => return by_status(status),
                StreamableHttpError::Client(unreached) => return Failure::Transient(unreached.to_string()),
                _ => {}
            }
        }
        if let Some(status) = current.downcast_ref::<HttpStatusError>() {
            return by_status(status);
        }
        match current.downcast_ref::<Undelivered>() {
            Some(Undelivered::Unauthorized) => return Failure::NeedsAuth,
            Some(Undelivered::Refused(why)) => return Failure::Transient(why.clone()),
            Some(Undelivered::Rejected(why)) => return Failure::Permanent(why.clone()),
            Some(Undelivered::Closed | Undelivered::Unwritable(_)) | None => {}
        }
        cause = current.source();
    }
    Failure::Permanent(error.to_string())
}

fn by_status(status: &HttpStatusError) -> Failure {
    Failure::Transient(format!("HTTP {}", status.status))
}
