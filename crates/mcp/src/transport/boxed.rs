//! One type for every transport: the library's machinery of a connection, which is large, is compiled once instead of
//! for each of them.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport as RmcpTransport;
use std::error::Error;

/// An error of any transport, which is its source.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TransportError(#[source] Box<dyn Error + Send + Sync>);

impl TransportError {
    fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// The library's trait without a type for each future.
trait AnyTransport: Send {
    fn send_any(&mut self, item: TxJsonRpcMessage<RoleClient>) -> BoxFuture<'static, Result<(), TransportError>>;
    fn receive_any(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>>;
    fn close_any(&mut self) -> BoxFuture<'_, Result<(), TransportError>>;
}

impl<T: RmcpTransport<RoleClient>> AnyTransport for T {
    fn send_any(&mut self, item: TxJsonRpcMessage<RoleClient>) -> BoxFuture<'static, Result<(), TransportError>> {
        let sent = self.send(item);
        async move { sent.await.map_err(TransportError::of) }.boxed()
    }

    fn receive_any(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>> {
        self.receive().boxed()
    }

    fn close_any(&mut self) -> BoxFuture<'_, Result<(), TransportError>> {
        let closed = self.close();
        async move { closed.await.map_err(TransportError::of) }.boxed()
    }
}

pub(crate) struct BoxedTransport(Box<dyn AnyTransport>);

impl BoxedTransport {
    pub(crate) fn new(transport: impl RmcpTransport<RoleClient> + 'static) -> Self {
        Self(Box::new(transport))
    }
}

impl RmcpTransport<RoleClient> for BoxedTransport {
    type Error = TransportError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), TransportError>> + Send + 'static {
        self.0.send_any(item)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.0.receive_any()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), TransportError>> + Send {
        self.0.close_any()
    }
}
