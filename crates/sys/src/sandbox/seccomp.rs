//! The system call filter, as a classic BPF program. It allows every call that it does not name: namespaces and
//! read-only mounts confine the command, and the filter closes what they leave open. Calls of other architectures of
//! the same kernel are all refused, since their call numbers have other meanings.

use super::UnixSockets;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InternetAccess {
    /// Sockets may be created: in the network namespace only we can be reached.
    Namespaced,
    Blocked,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SeccompSpec {
    pub(crate) internet: InternetAccess,
    pub(crate) unix_sockets: UnixSockets,
}

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xC000_00B7;

const NR: u32 = 0;
const ARCH_AT: u32 = 4;
/// The offset of the low half of argument `n`; both architectures are little-endian.
const fn argument(n: u32) -> u32 {
    16 + 8 * n
}

const RET_ALLOW: u32 = 0x7fff_0000;
const RET_ERRNO: u32 = 0x0005_0000;
const NEW_NAMESPACES: u32 = 0x7e02_0000;
const NEW_TIME: u32 = 0x80;

const EPERM: u32 = RET_ERRNO | libc::EPERM as u32;
const ENOSYS: u32 = RET_ERRNO | libc::ENOSYS as u32;
const EAFNOSUPPORT: u32 = RET_ERRNO | libc::EAFNOSUPPORT as u32;

/// Calls that fail with `EPERM`.
#[rustfmt::skip]
const REFUSED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_kcmp, libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    // Mounts and namespaces.
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_setns, libc::SYS_move_mount,
    libc::SYS_open_tree, libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    // Namespaces do not separate keys.
    libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl,
    // The kernel and the machine.
    libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_kexec_load, libc::SYS_init_module,
    libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_syslog,
    libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_acct, libc::SYS_quotactl, libc::SYS_fanotify_init,
];

/// Calls that fail as if the kernel did not have them: programs fall back to calls that the filter can check.
#[rustfmt::skip]
const UNKNOWN: &[libc::c_long] = &[
    libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register,
];

/// A program under construction.
#[derive(Default)]
struct BpfProgram(Vec<libc::sock_filter>);

impl BpfProgram {
    fn push(&mut self, code: u32, k: u32, jt: u8, jf: u8) {
        self.0.push(libc::sock_filter { code: code as u16, jt, jf, k });
    }

    fn load(&mut self, offset: u32) {
        self.push(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0);
    }

    fn ret(&mut self, action: u32) {
        self.push(libc::BPF_RET | libc::BPF_K, action, 0, 0);
    }

    /// Returns `action` when the loaded value is `value`.
    fn ret_if(&mut self, value: u32, action: u32) {
        self.push(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, 0, 1);
        self.ret(action);
    }

    fn ret_if_any_bit(&mut self, bits: u32, action: u32) {
        self.push(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, bits, 0, 1);
        self.ret(action);
    }

    /// Adds `body` for call `nr` only; it must return. The call number stays loaded for other calls.
    fn call(&mut self, nr: libc::c_long, body: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        body(&mut inner);
        let length = u8::try_from(inner.0.len()).unwrap_or(u8::MAX);
        self.push(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, nr as u32, 0, length);
        self.0.append(&mut inner.0);
    }
}

pub(crate) fn program(shape: SeccompSpec) -> Vec<libc::sock_filter> {
    let mut p = BpfProgram::default();
    p.load(ARCH_AT);
    p.push(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, ARCH, 1, 0);
    p.ret(ENOSYS);
    p.load(NR);
    // The x32 calls of x86-64 have separate numbers.
    p.push(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0x4000_0000, 0, 1);
    p.ret(ENOSYS);
    for nr in REFUSED {
        p.ret_if(*nr as u32, EPERM);
    }
    for nr in UNKNOWN {
        p.ret_if(*nr as u32, ENOSYS);
    }
    p.call(libc::SYS_clone, |p| {
        p.load(argument(0));
        p.ret_if_any_bit(NEW_NAMESPACES, EPERM);
        p.ret(RET_ALLOW);
    });
    p.call(libc::SYS_unshare, |p| {
        p.load(argument(0));
        p.ret_if_any_bit(NEW_NAMESPACES | NEW_TIME, EPERM);
        p.ret(RET_ALLOW);
    });
    p.call(libc::SYS_ioctl, |p| {
        p.load(argument(1));
        // These insert input into the terminal that started us.
        p.ret_if(libc::TIOCSTI as u32, EPERM);
        p.ret_if(libc::TIOCLINUX as u32, EPERM);
        p.ret(RET_ALLOW);
    });
    p.call(libc::SYS_socket, |p| sockets(p, shape));
    p.call(libc::SYS_socketpair, |p| pairs(p, shape));
    p.ret(RET_ALLOW);
    p.0
}

/// Allows only families that are confined in other ways: no vsock, packet, bluetooth, kernel crypto, ….
fn sockets(p: &mut BpfProgram, shape: SeccompSpec) {
    p.load(argument(0));
    if shape.internet == InternetAccess::Namespaced {
        p.ret_if(libc::AF_INET as u32, RET_ALLOW);
        p.ret_if(libc::AF_INET6 as u32, RET_ALLOW);
    } else {
        p.ret_if(libc::AF_INET as u32, EPERM);
        p.ret_if(libc::AF_INET6 as u32, EPERM);
    }
    match shape.unix_sockets {
        UnixSockets::Allowed => p.ret_if(libc::AF_UNIX as u32, RET_ALLOW),
        UnixSockets::Blocked => p.ret_if(libc::AF_UNIX as u32, EPERM),
    }
    // The C library queries interfaces through the routing protocol, number 0, before it resolves a name.
    p.push(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::AF_NETLINK as u32, 1, 0);
    p.ret(EAFNOSUPPORT);
    p.load(argument(2));
    p.ret_if(libc::NETLINK_ROUTE as u32, RET_ALLOW);
    p.ret(EAFNOSUPPORT);
}

/// Refuses datagram pairs when unix sockets are blocked: one could be connected to any datagram socket of the machine.
fn pairs(p: &mut BpfProgram, shape: SeccompSpec) {
    if shape.unix_sockets == UnixSockets::Blocked {
        p.load(argument(1));
        p.push(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0xf, 0, 0);
        p.ret_if(libc::SOCK_DGRAM as u32, EPERM);
    }
    p.ret(RET_ALLOW);
}

/// The program as bytes for `bwrap --seccomp`.
pub(crate) fn bytes(program: &[libc::sock_filter]) -> Vec<u8> {
    let mut out = Vec::with_capacity(program.len() * 8);
    for step in program {
        out.extend_from_slice(&step.code.to_ne_bytes());
        out.extend_from_slice(&[step.jt, step.jf]);
        out.extend_from_slice(&step.k.to_ne_bytes());
    }
    out
}

/// Applies `program` to this thread and everything it starts. Allocates nothing: it runs between fork and exec.
pub(crate) fn apply(program: &[libc::sock_filter]) -> io::Result<()> {
    let unused: libc::c_ulong = 0;
    let on: libc::c_ulong = 1;
    let description = libc::sock_fprog { len: program.len() as libc::c_ushort, filter: program.as_ptr().cast_mut() };
    // SAFETY: the first call only sets a flag; the second reads `description` and the program it points to, both of
    // which outlive the call.
    let applied = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, unused, unused, unused) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::c_ulong::from(libc::SECCOMP_MODE_FILTER),
                &raw const description,
                unused,
                unused,
            ) == 0
    };
    if applied { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_jump_lands_inside_the_program() {
        for internet in [InternetAccess::Namespaced, InternetAccess::Blocked] {
            for unix_sockets in [UnixSockets::Allowed, UnixSockets::Blocked] {
                let program = program(SeccompSpec { internet, unix_sockets });
                assert!(program.len() < 4096);
                for (at, step) in program.iter().enumerate() {
                    if u32::from(step.code) & 0x07 == libc::BPF_JMP {
                        assert!(at + 1 + usize::from(step.jt.max(step.jf)) < program.len(), "instruction {at}");
                    }
                }
                assert_eq!(bytes(&program).len(), program.len() * 8);
            }
        }
    }
}
