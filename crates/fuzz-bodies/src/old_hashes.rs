//! Password hashes that other systems have stored, and what servers tell clients about them.

use candor_old_hashes::{OldHash, OldScheme, Template, limits};

/// A text from anywhere: errors, or a hash, a scheme and a template within the limits that print as themselves.
pub fn text(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(hash) = text.parse::<OldHash>() {
        assert!(limits::DIGEST.contains(&hash.digest().len()) && hash.scheme().salt().len() <= limits::SALT);
        assert_eq!(hash.digest().len(), hash.scheme().algorithm().digest_length());
        assert_eq!(hash.scheme().to_string().parse().as_ref(), Ok(hash.scheme()));
        let template = Template::of(hash.scheme());
        assert_eq!(template.to_string().parse(), Ok(template));
    }
    if let Ok(scheme) = text.parse::<OldScheme>() {
        assert_eq!(scheme.to_string(), text);
    }
    if let Ok(template) = text.parse::<Template>() {
        let made_up = template.scheme(|| 0x41).expect("a template that was read has schemes");
        assert_eq!(made_up.to_string().parse(), Ok(made_up));
    }
}
