//! Where we listen: a socket file that only this user can reach, or, where there are none, a port of the loopback address.
//!
//! Invariant: the socket's folder is made by us, for this process, with no access for others, and goes when we go.

use std::io;
use std::path::PathBuf;

use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;

use crate::limits::SOCKET_FOLDER_ATTEMPTS_MAX;

use super::connection::Connection;

/// Where Terraform finds us, in go-plugin's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// `unix` or `tcp`.
    pub(crate) network: &'static str,
    /// The socket's path, or address and port.
    pub(crate) address: String,
}

/// An open listener.
pub(crate) enum Listener {
    #[cfg(unix)]
    Unix {
        listener: UnixListener,
        folder: PathBuf,
    },
    Tcp(TcpListener),
}

impl Listener {
    /// Opens a socket file, or a port if that cannot be.
    pub(crate) async fn open(environment: impl Fn(&str) -> Option<String>) -> io::Result<Self> {
        #[cfg(unix)]
        match open_unix(&environment) {
            Ok(listener) => return Ok(listener),
            Err(error) => tracing::debug!(%error, "no socket file to be had, listening on a port"),
        }
        let port = |name| environment(name).and_then(|port| port.parse::<u16>().ok());
        let (Some(min), Some(max)) = (port("PLUGIN_MIN_PORT"), port("PLUGIN_MAX_PORT")) else {
            return Ok(Self::Tcp(TcpListener::bind("127.0.0.1:0").await?));
        };
        let mut refused = io::Error::new(io::ErrorKind::AddrInUse, format!("no free port from {min} to {max}"));
        for port in min..=max {
            match TcpListener::bind(("127.0.0.1", port)).await {
                Ok(listener) => return Ok(Self::Tcp(listener)),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> io::Result<Address> {
        match self {
            #[cfg(unix)]
            Self::Unix { folder, .. } => Ok(Address {
                network: "unix",
                address: socket_path(folder).display().to_string(),
            }),
            Self::Tcp(listener) => Ok(Address {
                network: "tcp",
                address: listener.local_addr()?.to_string(),
            }),
        }
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> io::Result<Connection> {
        match self {
            #[cfg(unix)]
            Self::Unix { listener, .. } => Ok(Connection::new(listener.accept().await?.0)),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Connection::new(stream))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Self::Unix { folder, .. } = self
            && let Err(error) = std::fs::remove_dir_all(&*folder)
        {
            tracing::debug!(%error, folder = %folder.display(), "the socket's folder stays behind");
        }
    }
}

#[cfg(unix)]
fn open_unix(environment: &impl Fn(&str) -> Option<String>) -> io::Result<Listener> {
    use std::os::unix::fs::DirBuilderExt;

    let parent = environment("PLUGIN_UNIX_SOCKET_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let mut attempt = 0;
    let folder = loop {
        let folder = parent.join(format!("tfplugin-{}-{attempt}", std::process::id()));
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => break folder,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < SOCKET_FOLDER_ATTEMPTS_MAX => attempt += 1,
            Err(error) => return Err(error),
        }
    };
    match UnixListener::bind(socket_path(&folder)) {
        Ok(listener) => Ok(Listener::Unix { listener, folder }),
        Err(error) => {
            std::fs::remove_dir(&folder)?;
            Err(error)
        }
    }
}

#[cfg(unix)]
fn socket_path(folder: &std::path::Path) -> PathBuf {
    folder.join("s")
}
