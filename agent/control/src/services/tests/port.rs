//! The port itself: health over plain HTTP, and who stays out.

use super::*;

/// The status line of one request as any HTTP/1.1 client would send it.
async fn http(address: std::net::SocketAddr, path: &str, headers: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
    connection
        .write_all(format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn health_is_plain_http_on_the_same_port_and_web_pages_stay_out() {
    let agent = Agent::start_behind(Door::Closed).await;
    let host = format!("Host: {}\r\n", agent.address);
    assert_eq!(http(agent.address, "/", &host).await, "HTTP/1.1 401 Unauthorized");
    for path in ["/healthz", "/readyz"] {
        assert_eq!(http(agent.address, path, &host).await, "HTTP/1.1 200 OK");
        assert_eq!(http(agent.address, path, "Host: evil.example\r\n").await, "HTTP/1.1 403 Forbidden");
        assert_eq!(
            http(agent.address, path, &format!("{host}Origin: http://evil.example\r\n")).await,
            "HTTP/1.1 403 Forbidden"
        );
    }
}
