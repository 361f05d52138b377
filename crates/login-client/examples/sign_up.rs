//! Makes an account, logs in to it and says who is there: `sign_up URL NAME PASSWORD TOKEN`.

use candor_login_client::{Client, Options};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, name, password, token] = words.as_slice() else { return Err("expected URL NAME PASSWORD TOKEN".into()) };
    let client = Client::new(url)?;
    let made =
        client.register(name, password, Some(token), &Options { recovery_codes: 4, ..Options::default() }).await?;
    for code in &made.recovery_codes {
        println!("recovery code {code}");
    }
    let login = client.log_in(name, password, &Options::default()).await?;
    println!("logged in as {}", login.session.show().await?.name);
    Ok(())
}
