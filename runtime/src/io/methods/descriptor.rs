//! Into the runtime and out of it.

/// Into the runtime and out of it: conversions, descriptors and `Debug`, for a type with a field
/// `io` that is a [`Registration`](crate::io::Registration).
///
/// `$made` is an expression that makes a socket of the standard library, for the example.
macro_rules! descriptor_impls {
    ($type:ident, $inner:ty, $made:literal) => {
        impl $type {
            /// Registers what does not block already.
            #[track_caller]
            pub(crate) fn from_nonblocking(inner: $inner) -> std::io::Result<Self> {
                Ok(Self {
                    io: crate::io::Registration::new(inner)?,
                })
            }

            /// Takes over a socket of the standard library, and makes it non-blocking.
            ///
            /// # Errors
            ///
            /// Fails if it cannot be made non-blocking or be registered with epoll.
            ///
            /// # Panics
            ///
            /// Panics outside a runtime.
            ///
            #[doc = concat!(
                "# Examples\n\n",
                "```\n",
                "# #[rt::main(flavor = \"current_thread\")]\n",
                "# async fn main() -> std::io::Result<()> {\n",
                "let socket = ", $made, ";\n",
                "let address = socket.local_addr()?;\n",
                "let socket = rt::net::", stringify!($type), "::from_std(socket)?;\n",
                "assert_eq!(format!(\"{:?}\", socket.local_addr()?), format!(\"{address:?}\"));\n",
                "\n",
                "let socket = socket.into_std()?;\n",
                "socket.set_nonblocking(false)?;\n",
                "# Ok(())\n",
                "# }\n",
                "```",
            )]
            #[track_caller]
            pub fn from_std(socket: $inner) -> std::io::Result<Self> {
                socket.set_nonblocking(true)?;
                Self::from_nonblocking(socket)
            }

            /// Leaves the runtime and gives back a socket of the standard library.
            ///
            /// It is still non-blocking: call its `set_nonblocking(false)` to block on it.
            ///
            /// # Errors
            ///
            /// Fails, closing the socket, if it cannot be taken out of epoll.
            pub fn into_std(self) -> std::io::Result<$inner> {
                self.io.into_inner()
            }

            /// The error that the socket keeps (`SO_ERROR`), which is cleared.
            ///
            /// # Errors
            ///
            /// Fails if the option cannot be read.
            pub fn take_error(&self) -> std::io::Result<Option<std::io::Error>> {
                self.io.inner().take_error()
            }
        }

        impl TryFrom<$inner> for $type {
            type Error = std::io::Error;

            /// As `from_std`, but fails outside a runtime.
            fn try_from(socket: $inner) -> std::io::Result<Self> {
                socket.set_nonblocking(true)?;
                Ok(Self {
                    io: crate::io::Registration::try_new(socket)?,
                })
            }
        }

        impl TryFrom<std::os::fd::OwnedFd> for $type {
            type Error = std::io::Error;

            /// Takes over a socket of this kind, and makes it non-blocking. Fails outside a runtime.
            fn try_from(fd: std::os::fd::OwnedFd) -> std::io::Result<Self> {
                <$inner>::from(fd).try_into()
            }
        }

        impl From<$type> for std::os::fd::OwnedFd {
            /// Leaves the runtime. The socket is still non-blocking.
            fn from(socket: $type) -> std::os::fd::OwnedFd {
                socket.io.into_inner_always().into()
            }
        }

        crate::io::methods::borrow_impls!($type);
    };
}

/// The descriptor of a type with a field `io`, borrowed, and `Debug`.
macro_rules! borrow_impls {
    ($type:ident) => {
        impl std::os::fd::AsFd for $type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.io.as_fd()
            }
        }

        impl std::os::fd::AsRawFd for $type {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                std::os::fd::AsFd::as_fd(&self.io).as_raw_fd()
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.io.fmt(f)
            }
        }
    };
}

pub(crate) use {borrow_impls, descriptor_impls};
