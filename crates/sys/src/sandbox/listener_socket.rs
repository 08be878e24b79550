//! Gives us access to the network namespace of a sandbox: a listening socket created inside belongs to that namespace,
//! whichever process holds it. The first program in the sandbox creates one, sends it out through a socket pair, and
//! executes the command. No relay process is needed, and the command itself holds no descriptor.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

#[repr(C, align(8))]
struct ControlBuffer([u8; 64]);

/// Sends `listener` through `door`.
pub(crate) fn send_listener(door: BorrowedFd<'_>, listener: &TcpListener) -> io::Result<()> {
    let mut byte = [0_u8; 1];
    let mut control = ControlBuffer([0; 64]);
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: all-zero is a valid msghdr. The buffers outlive the call; the control buffer is aligned for its header
    // and large enough for one descriptor, which CMSG_SPACE and CMSG_LEN measure.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(listener.as_raw_fd());
        libc::sendmsg(door.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Receives what `send_listener` sent. `WouldBlock` when nothing was sent yet, `UnexpectedEof` when nothing will be.
pub(crate) fn receive_listener(door: BorrowedFd<'_>) -> io::Result<TcpListener> {
    let mut byte = [0_u8; 1];
    let mut control = ControlBuffer([0; 64]);
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: as above; the kernel writes at most `msg_controllen` bytes of control data, and a descriptor it passed is
    // ours alone.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<ControlBuffer>() as _;
        let read = libc::recvmsg(door.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT);
        if read < 0 {
            return Err(io::Error::last_os_error());
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if read == 0 || header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let fd = libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned();
        Ok(TcpListener::from(OwnedFd::from_raw_fd(fd)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_listener_passes_through() {
        let (inside, outside) = UnixStream::pair().unwrap();
        assert_eq!(receive_listener(outside.as_fd()).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        send_listener(inside.as_fd(), &listener).unwrap();
        drop((listener, inside));
        assert_eq!(receive_listener(outside.as_fd()).unwrap().local_addr().unwrap(), address);
        assert_eq!(receive_listener(outside.as_fd()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
