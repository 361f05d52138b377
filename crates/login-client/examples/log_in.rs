//! Logs in, says whose session it is, and logs out: `log_in URL NAME PASSWORD`.

use candor_login_client::{Client, Error, Options};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, name, password] = words.as_slice() else { return Err("expected URL NAME PASSWORD".into()) };
    println!("logged in as {}", log_in(url, name, password).await?);
    Ok(())
}

/// Returns the name, as its owner wrote it.
pub(crate) async fn log_in(url: &str, name: &str, password: &str) -> Result<String, Error> {
    let login = Client::new(url)?.log_in(name, password, &Options::default()).await?;
    let session = login.session.show().await?;
    login.session.end().await?;
    Ok(session.name)
}
