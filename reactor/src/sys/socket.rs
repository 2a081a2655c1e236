//! Calls on sockets that neither `std` nor `socket2` has in a safe form: messages with what the
//! kernel says about them, many in one call, and who is at the other end.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, IoSliceMut};
use std::mem::{self, MaybeUninit};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::SocketAddr as UnixAddr;
use std::path::Path;
use std::ptr;

use libc::{c_int, c_long, c_void, sockaddr_storage, socklen_t};

use super::{retry, retry_size};

/// How many messages one call moves at most. The headers of so many fit on a stack.
pub const MAX_BATCH: usize = 32;

/// What the kernel says about a message that was received.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// How many bytes of it are in the buffer.
    pub len: usize,
    /// How many bytes it had.
    pub full_len: usize,
    /// Who sent it.
    pub source: Address,
}

/// An address as the kernel writes it.
#[derive(Clone, Copy)]
pub struct Address {
    storage: sockaddr_storage,
    len: socklen_t,
}

const fn empty_storage() -> sockaddr_storage {
    // SAFETY: it is made of integers, for which zero is a value.
    unsafe { mem::zeroed() }
}

impl Address {
    const EMPTY: Address = Address {
        storage: empty_storage(),
        len: 0,
    };

    /// The address of an IP socket, if it is one.
    pub fn as_ip(&self) -> Option<SocketAddr> {
        let has = |size: usize| self.len as usize >= size;
        match c_int::from(self.storage.ss_family) {
            libc::AF_INET if has(size_of::<libc::sockaddr_in>()) => {
                // SAFETY: the storage is large enough and aligned for each kind of address, whose
                // fields take any value.
                let addr = unsafe { &*(&raw const self.storage).cast::<libc::sockaddr_in>() };
                let ip = Ipv4Addr::from(addr.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddrV4::new(ip, u16::from_be(addr.sin_port)).into())
            }
            libc::AF_INET6 if has(size_of::<libc::sockaddr_in6>()) => {
                // SAFETY: as above.
                let addr = unsafe { &*(&raw const self.storage).cast::<libc::sockaddr_in6>() };
                let ip = Ipv6Addr::from(addr.sin6_addr.s6_addr);
                let port = u16::from_be(addr.sin6_port);
                let flow = u32::from_be(addr.sin6_flowinfo);
                Some(SocketAddrV6::new(ip, port, flow, addr.sin6_scope_id).into())
            }
            _ => None,
        }
    }

    /// The address of a Unix socket. A socket without a name may have no address at all.
    ///
    /// # Errors
    ///
    /// If it is one of another kind.
    pub fn to_unix(&self) -> io::Result<UnixAddr> {
        if self.len != 0 && c_int::from(self.storage.ss_family) != libc::AF_UNIX {
            let message = "the address is not one of a Unix socket";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let start = mem::offset_of!(libc::sockaddr_un, sun_path);
        let len = (self.len as usize).min(size_of::<libc::sockaddr_un>());
        let storage = (&raw const self.storage).cast::<u8>();
        let name: &[u8] = match len.checked_sub(start) {
            // SAFETY: the bytes from `start` to `len` are inside the storage, which is initialised.
            Some(len) => unsafe { std::slice::from_raw_parts(storage.add(start), len) },
            None => &[],
        };
        if let [0, name @ ..] = name {
            return UnixAddr::from_abstract_name(name);
        }
        // The kernel ends a path with a zero byte, or with the end of the room for it.
        let end = name.iter().position(|byte| *byte == 0);
        let path = &name[..end.unwrap_or(name.len())];
        UnixAddr::from_pathname(Path::new(OsStr::from_bytes(path)))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_ip() {
            Some(addr) => addr.fmt(f),
            None => self.to_unix().fmt(f),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(addr: SocketAddr) -> Address {
        let mut storage = empty_storage();
        let len = match addr {
            SocketAddr::V4(addr) => {
                let raw = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: addr.port().to_be(),
                    sin_addr: libc::in_addr {
                        s_addr: u32::from_ne_bytes(addr.ip().octets()),
                    },
                    sin_zero: [0; 8],
                };
                // SAFETY: the storage is large enough and aligned for each kind of address.
                unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(raw) };
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(addr) => {
                let raw = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: addr.port().to_be(),
                    sin6_flowinfo: addr.flowinfo().to_be(),
                    sin6_addr: libc::in6_addr {
                        s6_addr: addr.ip().octets(),
                    },
                    sin6_scope_id: addr.scope_id(),
                };
                // SAFETY: as above.
                unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(raw) };
                size_of::<libc::sockaddr_in6>()
            }
        };
        Address {
            storage,
            len: len as socklen_t,
        }
    }
}

impl Message {
    fn new(header: &libc::msghdr, moved: usize, room: usize, storage: sockaddr_storage) -> Message {
        Message {
            len: moved.min(room),
            full_len: moved,
            source: Address {
                storage,
                len: header.msg_namelen,
            },
        }
    }
}

fn header(
    bufs: *mut libc::iovec,
    count: usize,
    name: *mut sockaddr_storage,
    name_len: socklen_t,
) -> libc::msghdr {
    // SAFETY: it is made of integers and pointers, for which zero is a value.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_iov = bufs;
    header.msg_iovlen = count as _;
    header.msg_name = name.cast::<c_void>();
    header.msg_namelen = name_len;
    header
}

/// Receives what is there, as much as there is room for.
///
/// # Errors
///
/// Those of `recv`.
#[inline]
pub fn recv(fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for writes of its length.
    unsafe { recv_raw(fd, buf.as_mut_ptr(), buf.len()) }
}

/// As [`recv`], into memory that need not be initialised; the bytes that it counts are then.
///
/// # Errors
///
/// Those of `recv`.
#[inline]
pub fn recv_uninit(fd: BorrowedFd<'_>, buf: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    // SAFETY: as above.
    unsafe { recv_raw(fd, buf.as_mut_ptr().cast(), buf.len()) }
}

/// Receives without the C library's `recv`. That is a place where the thread may be cancelled, as its `send`
/// is: a process with threads pays two atomic operations a call for it, and nobody cancels a thread
/// that runs Rust. Servers make these two calls for each request, so they go to the kernel directly.
///
/// # Safety
///
/// `start` is valid for writes of `len` bytes.
#[inline]
unsafe fn recv_raw(fd: BorrowedFd<'_>, start: *mut u8, len: usize) -> io::Result<usize> {
    let fd = c_long::from(fd.as_raw_fd());
    let (flags, none) = (0 as c_long, ptr::null_mut::<c_void>());
    retry_size(|| {
        // SAFETY: by the contract; nobody asks for an address.
        unsafe { libc::syscall(libc::SYS_recvfrom, fd, start, len, flags, none, none) as isize }
    })
}

/// Sends as much as there is room for. A peer that is gone is an error, not a signal, also in a process that
/// does not ignore `SIGPIPE`.
///
/// # Errors
///
/// Those of `send`.
#[inline]
pub fn send(fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<usize> {
    let (fd, start, len) = (c_long::from(fd.as_raw_fd()), buf.as_ptr(), buf.len());
    let flags = c_long::from(libc::MSG_NOSIGNAL);
    let (nobody, no_len) = (ptr::null::<c_void>(), 0 as c_long);
    retry_size(|| {
        // SAFETY: the buffer is valid for reads of its length, and no address is given.
        unsafe { libc::syscall(libc::SYS_sendto, fd, start, len, flags, nobody, no_len) as isize }
    })
}

/// Receives one message, and tells how long it was, also when it was longer than the buffer. For
/// sockets that keep messages apart: of a stream it would throw away what it cuts.
///
/// # Errors
///
/// Those of `recvmsg`.
pub fn recv_msg(fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<Message> {
    let mut storage = empty_storage();
    let mut slice = libc::iovec {
        iov_base: buf.as_mut_ptr().cast(),
        iov_len: buf.len(),
    };
    let name_len = size_of::<sockaddr_storage>() as socklen_t;
    let mut header = header(&raw mut slice, 1, &raw mut storage, name_len);
    let moved = retry_size(|| {
        // SAFETY: the header points to one slice, valid for writes, and to room for an address.
        unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut header, libc::MSG_TRUNC) }
    })?;
    Ok(Message::new(&header, moved, buf.len(), storage))
}

/// Receives messages, one into each buffer, until there are no more, and says how many.
///
/// # Errors
///
/// Those of `recvmmsg`, if the first message meets one.
pub fn recv_batch(
    fd: BorrowedFd<'_>,
    bufs: &mut [IoSliceMut<'_>],
    messages: &mut [Option<Message>],
) -> io::Result<usize> {
    let count = bufs.len().min(messages.len()).min(MAX_BATCH);
    let mut storages = [const { empty_storage() }; MAX_BATCH];
    let name_len = size_of::<sockaddr_storage>() as socklen_t;
    let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; MAX_BATCH];
    for (at, buf) in bufs[..count].iter_mut().enumerate() {
        // A slice to read into has the layout of an `iovec`.
        let slice = ptr::from_mut(buf).cast::<libc::iovec>();
        headers[at].write(libc::mmsghdr {
            msg_hdr: header(slice, 1, &raw mut storages[at], name_len),
            msg_len: 0,
        });
    }
    let start = headers.as_mut_ptr().cast::<libc::mmsghdr>();
    let flags = libc::MSG_TRUNC;
    let received = retry(|| {
        // SAFETY: the first `count` headers are initialised, and each points to one slice, valid
        // for writes, and to room for an address.
        unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                start,
                count as u32,
                flags as _,
                ptr::null_mut(),
            )
        }
    })?
    .cast_unsigned() as usize;
    for at in 0..received {
        // SAFETY: the first `count` headers are initialised, and no more are received.
        let header = unsafe { headers[at].assume_init_ref() };
        let moved = header.msg_len as usize;
        let message = Message::new(&header.msg_hdr, moved, bufs[at].len(), storages[at]);
        messages[at] = Some(message);
    }
    Ok(received)
}

/// Sends messages until there is no more room, and says how many. Without an address a message goes
/// to the peer of a connected socket.
///
/// # Errors
///
/// Those of `sendmmsg`, if the first message meets one.
pub fn send_batch(
    fd: BorrowedFd<'_>,
    messages: &[(&[u8], Option<SocketAddr>)],
) -> io::Result<usize> {
    let count = messages.len().min(MAX_BATCH);
    let mut names = [const { Address::EMPTY }; MAX_BATCH];
    let mut slices = [const { MaybeUninit::<libc::iovec>::uninit() }; MAX_BATCH];
    let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; MAX_BATCH];
    for (at, (bytes, target)) in messages[..count].iter().enumerate() {
        let slice = slices[at].write(libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        });
        let mut name = ptr::null_mut();
        if let Some(target) = target {
            names[at] = Address::from(*target);
            name = &raw mut names[at].storage;
        }
        headers[at].write(libc::mmsghdr {
            msg_hdr: header(slice, 1, name, names[at].len),
            msg_len: 0,
        });
    }
    let start = headers.as_mut_ptr().cast::<libc::mmsghdr>();
    let flags = libc::MSG_NOSIGNAL;
    let sent = retry(|| {
        // SAFETY: the first `count` headers are initialised, and each points to one slice and to one
        // address or none. The call only reads them, but for the length.
        unsafe { libc::sendmmsg(fd.as_raw_fd(), start, count as u32, flags as _) }
    })?;
    Ok(sent.cast_unsigned() as usize)
}

/// Reads without taking anything out of the socket.
///
/// # Errors
///
/// Those of `recv`.
pub fn peek(fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<usize> {
    retry_size(|| {
        let start = buf.as_mut_ptr().cast();
        // SAFETY: the buffer is valid for writes of its length.
        unsafe { libc::recv(fd.as_raw_fd(), start, buf.len(), libc::MSG_PEEK) }
    })
}

/// Reads the one byte of urgent data that the socket keeps.
///
/// # Errors
///
/// Those of `recv`: `EINVAL` if there is none.
pub fn recv_urgent(fd: BorrowedFd<'_>) -> io::Result<u8> {
    let mut byte = 0_u8;
    let read = retry_size(|| {
        let start = (&raw mut byte).cast();
        // SAFETY: the buffer is one byte, valid for writes.
        unsafe { libc::recv(fd.as_raw_fd(), start, 1, libc::MSG_OOB) }
    })?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(byte)
}

/// The process at the other end of a Unix socket: its id (0 if it is in no namespace of this one),
/// user and group, as they were when the connection was made.
///
/// # Errors
///
/// Those of `getsockopt`.
pub fn peer_credentials(fd: BorrowedFd<'_>) -> io::Result<(i32, u32, u32)> {
    let mut cred = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut len = size_of::<libc::ucred>() as socklen_t;
    retry(|| {
        // SAFETY: `cred` is valid for writes of `len` bytes.
        unsafe {
            libc::getsockopt(
                fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut cred).cast(),
                &raw mut len,
            )
        }
    })?;
    Ok((cred.pid, cred.uid, cred.gid))
}
