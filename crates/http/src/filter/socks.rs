//! SOCKS5 without authentication, `CONNECT` only. UDP and listening are not offered.

use super::head::ProxyTarget;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub(super) const VERSION: u8 = 5;
pub(super) const GRANTED: u8 = 0;
pub(super) const NOT_ALLOWED: u8 = 2;
pub(super) const UNREACHABLE: u8 = 4;
const NO_SUCH_COMMAND: u8 = 7;
const NO_SUCH_ADDRESS: u8 = 8;

/// Reads the greeting and the request; returns the target.
pub(super) async fn greet(client: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<ProxyTarget> {
    let [_, count] = read::<2>(client).await?;
    let mut methods = vec![0; usize::from(count)];
    client.read_exact(&mut methods).await?;
    if !methods.contains(&0) {
        client.write_all(&[VERSION, 0xff]).await?;
        return Err(io::Error::other("the client insists on authentication"));
    }
    client.write_all(&[VERSION, 0]).await?;
    let [_, command, _, kind] = read::<4>(client).await?;
    let host = match kind {
        1 => Ipv4Addr::from(read::<4>(client).await?).to_string(),
        4 => Ipv6Addr::from(read::<16>(client).await?).to_string(),
        3 => {
            let [length] = read::<1>(client).await?;
            let mut name = vec![0; usize::from(length)];
            client.read_exact(&mut name).await?;
            String::from_utf8(name).map_err(|_| io::Error::other("the name is not text"))?
        }
        _ => {
            answer(client, NO_SUCH_ADDRESS).await?;
            return Err(io::Error::other("an unknown kind of address"));
        }
    };
    let port = u16::from_be_bytes(read::<2>(client).await?);
    if command != 1 {
        answer(client, NO_SUCH_COMMAND).await?;
        return Err(io::Error::other("only CONNECT is offered"));
    }
    match ProxyTarget::new(&host, port) {
        Ok(target) => Ok(target),
        Err(why) => {
            answer(client, NO_SUCH_ADDRESS).await?;
            Err(io::Error::other(why))
        }
    }
}

async fn read<const N: usize>(client: &mut (impl AsyncRead + Unpin)) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

pub(super) async fn answer(client: &mut (impl AsyncWrite + Unpin), code: u8) -> io::Result<()> {
    client.write_all(&[VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]).await
}
