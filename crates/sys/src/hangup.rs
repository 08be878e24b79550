//! Detects that the other end of a pipe or socket was closed, without reading or writing.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The time between two checks where no event wakes us.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_secs(1);

/// Resolves when all holders of the other end of `end` have closed it; never for a file without another end. Must be
/// called inside the runtime.
pub async fn wait_for_hangup(end: OwnedFd) {
    let interest = Interest::READABLE | Interest::ERROR;
    // SAFETY: the descriptor is owned by the value that holds it until both are dropped, and is always the same.
    let watched = unsafe { AsyncFd::register_with_interest(end, interest) };
    // Regular files cannot be watched; they have no other end.
    let Ok(watched) = watched else { return std::future::pending::<()>().await };
    while let Ok(mut guard) = watched.ready(interest).await {
        if is_hung_up(watched.get_ref().as_fd()) {
            return;
        }
        // One half of a socket is closed. The kernel reports that again and again, so poll at intervals instead.
        if guard.ready().is_read_closed() {
            return look(watched.get_ref().as_fd()).await;
        }
        // Data may be readable too; it is ignored.
        guard.clear_ready();
    }
    std::future::pending::<()>().await;
}

async fn look(fd: BorrowedFd<'_>) {
    while !is_hung_up(fd) {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn is_hung_up(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let ready = poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0);
    ready && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    async fn is_gone(end: OwnedFd) -> bool {
        let limit = std::time::Duration::from_millis(50);
        tokio::time::timeout(limit, wait_for_hangup(end)).await.is_ok()
    }

    #[tokio::test]
    async fn the_end_of_a_reader_is_noticed_and_nothing_else() {
        let (reader, writer) = std::io::pipe().unwrap();
        let twin = writer.try_clone().unwrap();
        assert!(!is_gone(twin.into()).await);
        drop(reader);
        assert!(is_gone(writer.into()).await);
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let twin = ours.try_clone().unwrap();
        theirs.write_all(b"x").unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(!is_gone(twin.into()).await);
        drop(theirs);
        assert!(is_gone(ours.into()).await);
        let file = tempfile::tempfile().unwrap();
        assert!(!is_gone(file.into()).await);
    }
}
