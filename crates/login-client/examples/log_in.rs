//! Logs in, says whose session it is, and logs out: `log_in URL NAME PASSWORD`.

use candor_login_client::{Client, Options};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, name, password] = words.as_slice() else { return Err("expected URL NAME PASSWORD".into()) };
    let login = Client::new(url)?.log_in(name, password, &Options::default()).await?;
    let session = login.session.show().await?;
    println!("logged in as {}; the session ends at {}", session.name, session.ends);
    login.session.end().await?;
    Ok(())
}
