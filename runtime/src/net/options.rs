//! Socket options: a pair of methods for each, with an example that is run.

/// Writes a getter and a setter for each option of `$type`:
///
/// ```text
/// /// What it is.
/// getter, setter: type = a value for the example => socket2's getter, socket2's setter;
/// ```
///
/// `$made` is the line of the examples that makes `socket`.
macro_rules! options {
    (
        $type:ident, $made:literal:
        $(
            $(#[doc = $doc:literal])*
            $get:ident, $set:ident: $value:ty = $example:expr => $native_get:ident, $native_set:ident;
        )*
    ) => {
        /// Options.
        impl $type {
            $(
                $(#[doc = $doc])*
                ///
                /// # Errors
                ///
                /// Fails if the option cannot be read.
                pub fn $get(&self) -> std::io::Result<$value> {
                    socket2::SockRef::from(self).$native_get()
                }

                #[doc = concat!("Sets what [`", stringify!($get), "`](Self::", stringify!($get), ") tells.")]
                ///
                /// # Errors
                ///
                /// Fails if the option cannot be set.
                ///
                #[doc = concat!(
                    "# Examples\n\n",
                    "```\n",
                    "# #[allow(unused_imports)]\n",
                    "# use rt::net::*;\n",
                    "# #[rt::main(flavor = \"current_thread\")]\n",
                    "# async fn main() -> std::io::Result<()> {\n",
                    $made, "\n",
                    "socket.", stringify!($set), "(", stringify!($example), ")?;\n",
                    "assert_eq!(socket.", stringify!($get), "()?, ", stringify!($example), ");\n",
                    "# Ok(())\n",
                    "# }\n",
                    "```",
                )]
                pub fn $set(&self, value: $value) -> std::io::Result<()> {
                    socket2::SockRef::from(self).$native_set(value)
                }
            )*
        }
    };
}

/// Options that a program may need rights for, or an interface, so that their examples are not run.
macro_rules! device_options {
    ($type:ident) => {
        /// The network interface.
        impl $type {
            /// The name of the interface that the socket is bound to (`SO_BINDTODEVICE`), if any.
            ///
            /// # Errors
            ///
            /// Fails if the option cannot be read.
            pub fn device(&self) -> std::io::Result<Option<Vec<u8>>> {
                socket2::SockRef::from(self).device()
            }

            /// Binds the socket to an interface, by its name, or to none.
            ///
            /// # Errors
            ///
            /// Fails if there is none of that name, or if the process may not do so.
            pub fn bind_device(&self, interface: Option<&[u8]>) -> std::io::Result<()> {
                socket2::SockRef::from(self).bind_device(interface)
            }

            /// The mark on the socket's packets (`SO_MARK`).
            ///
            /// # Errors
            ///
            /// Fails if the option cannot be read.
            pub fn mark(&self) -> std::io::Result<u32> {
                socket2::SockRef::from(self).mark()
            }

            /// Sets the mark on the socket's packets.
            ///
            /// # Errors
            ///
            /// Fails if the process may not do so.
            pub fn set_mark(&self, mark: u32) -> std::io::Result<()> {
                socket2::SockRef::from(self).set_mark(mark)
            }
        }
    };
}

/// The sizes of the kernel's buffers, which it doubles for its own needs.
macro_rules! buffer_options {
    ($type:ident) => {
        /// The kernel's buffers.
        impl $type {
            /// How many bytes the kernel keeps that are not sent yet (`SO_SNDBUF`), in its own
            /// accounting.
            ///
            /// # Errors
            ///
            /// Fails if the option cannot be read.
            pub fn send_buffer_size(&self) -> std::io::Result<u32> {
                Ok(socket2::SockRef::from(self).send_buffer_size()? as u32)
            }

            /// Asks for a size of the send buffer. The kernel doubles it for its own needs, within
            /// the system's limits.
            ///
            /// # Errors
            ///
            /// Fails if the option cannot be set.
            pub fn set_send_buffer_size(&self, size: u32) -> std::io::Result<()> {
                socket2::SockRef::from(self).set_send_buffer_size(size as usize)
            }

            /// How many bytes the kernel keeps that are not received yet (`SO_RCVBUF`), in its own
            /// accounting.
            ///
            /// # Errors
            ///
            /// Fails if the option cannot be read.
            pub fn recv_buffer_size(&self) -> std::io::Result<u32> {
                Ok(socket2::SockRef::from(self).recv_buffer_size()? as u32)
            }

            /// Asks for a size of the receive buffer. The kernel doubles it for its own needs,
            /// within the system's limits.
            ///
            /// # Errors
            ///
            /// Fails if the option cannot be set.
            pub fn set_recv_buffer_size(&self, size: u32) -> std::io::Result<()> {
                socket2::SockRef::from(self).set_recv_buffer_size(size as usize)
            }
        }
    };
}

pub(crate) use {buffer_options, device_options, options};
