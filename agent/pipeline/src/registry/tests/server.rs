//! Servers made by hand, for answers that no registry gives on demand.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as far as the tests look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Path and parameters.
    pub(crate) target: String,
    /// The head, in lower case.
    pub(crate) head: String,
    /// What was posted.
    pub(crate) body: String,
}

/// What the server does with a request.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Answers with a status, further header lines and a body.
    Answer(u16, String, String),
    /// Closes the connection.
    Close,
    /// Says nothing.
    Silence,
}

impl Reply {
    pub(crate) fn json(body: &str) -> Self {
        Self::Answer(200, String::new(), body.to_owned())
    }

    pub(crate) fn missing(code: u32) -> Self {
        Self::Answer(404, String::new(), format!("{{\"error_code\":{code},\"message\":\"not found\"}}"))
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::Answer(status, String::new(), String::new())
    }
}

/// A server, until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Starts one that answers by a function of the request and of how many came before it.
    pub(crate) async fn start(reply: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (reply, noted) = (Arc::new(reply), asked.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (reply, noted) = (reply.clone(), noted.clone());
                tokio::spawn(async move { serve(stream, &*reply, &noted).await });
            }
        });
        Self { address, asked, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no panic").clone()
    }

    /// Paths and parameters of the requests so far.
    pub(crate) fn targets(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.target).collect()
    }
}

async fn serve(mut stream: TcpStream, reply: &(dyn Fn(&Asked, usize) -> Reply + Send + Sync), noted: &Mutex<Vec<Asked>>) {
    let Some(asked) = read(&mut stream).await else { return };
    let before = {
        let mut noted = noted.lock().expect("no panic");
        noted.push(asked.clone());
        noted.len() - 1
    };
    match reply(&asked, before) {
        Reply::Answer(status, headers, body) => {
            let head = format!(
                "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
                body.len()
            );
            // The client may have gone.
            drop(stream.write_all(format!("{head}{body}").as_bytes()).await);
            drop(stream.shutdown().await);
        }
        Reply::Close => {}
        Reply::Silence => std::future::pending().await,
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let lower = head.to_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
        if length.map_or(0, |length| length.trim().parse().expect("a length")) <= body.len() {
            return Some(Asked {
                target: head.split(' ').nth(1)?.to_owned(),
                head: lower.clone(),
                body: body.to_owned(),
            });
        }
    }
}
