//! Sending and receiving messages, once for every kind of socket that keeps them apart, and what
//! else all kinds of sockets have.
//!
//! A short message is not the last one, so that only a call which would block clears the readiness.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::task::{Context, Poll};

use rt_reactor::Direction::{Read as Reading, Write as Writing};
use rt_reactor::socket;
use socket2::{SockAddr, SockRef};

use super::Registration;

impl<T: AsFd> Registration<T> {
    pub(crate) async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.io(Writing, |fd| send(fd, buf)).await
    }

    pub(crate) fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.try_op(Writing, |fd| send(fd, buf))
    }

    pub(crate) fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Writing, |fd| send(fd, buf))
    }

    pub(crate) async fn send_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.io(Writing, |fd| {
            SockRef::from(fd).send_vectored_with_flags(bufs, libc::MSG_NOSIGNAL)
        })
        .await
    }

    pub(crate) async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io(Reading, |fd| recv(fd, buf)).await
    }

    pub(crate) fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.try_op(Reading, |fd| recv(fd, buf))
    }

    pub(crate) fn poll_recv_uninit(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Reading, |fd| socket::recv_uninit(fd.as_fd(), buf))
    }

    pub(crate) fn poll_recv_from_uninit(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<(usize, SockAddr)>> {
        self.poll_io(cx, Reading, |fd| SockRef::from(fd).recv_from(buf))
    }

    pub(crate) async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        // Peeking takes nothing out, so that a short peek does not mean that nothing is left.
        self.io(Reading, |fd| socket::peek(fd.as_fd(), buf)).await
    }

    pub(crate) fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.try_op(Reading, |fd| socket::peek(fd.as_fd(), buf))
    }

    pub(crate) async fn recv_msg(&self, buf: &mut [u8]) -> io::Result<socket::Message> {
        self.io(Reading, |fd| socket::recv_msg(fd.as_fd(), buf))
            .await
    }

    pub(crate) fn try_recv_msg(&self, buf: &mut [u8]) -> io::Result<socket::Message> {
        self.try_op(Reading, |fd| socket::recv_msg(fd.as_fd(), buf))
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        SockRef::from(self.inner()).shutdown(how)
    }
}

fn send(fd: &impl AsFd, buf: &[u8]) -> io::Result<usize> {
    socket::send(fd.as_fd(), buf)
}

fn recv(fd: &impl AsFd, buf: &mut [u8]) -> io::Result<usize> {
    socket::recv(fd.as_fd(), buf)
}
