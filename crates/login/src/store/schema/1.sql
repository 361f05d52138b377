-- Version 1. Times are seconds since 1970; identifiers have 16 bytes, hashes 32.

-- The key ring: OPAQUE's keys. `sealed` is encrypted under the deployment's master key, which is not in the database; empty once retired.
CREATE TABLE ring (
    id BLOB PRIMARY KEY,
    state INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    created INTEGER NOT NULL,
    -- Of the accounts with this key or an older one, how many per mille have this one; it only grows.
    moved INTEGER NOT NULL
) STRICT;

CREATE TABLE account (
    id BLOB PRIMARY KEY,
    -- What the name is compared by, and the name as its owner wrote it.
    name_key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    record BLOB NOT NULL,
    -- The hash of the record's credential: a change names the one that it replaces.
    credential BLOB NOT NULL,
    ring BLOB NOT NULL REFERENCES ring (id),
    -- How the old password hash is computed that the record was made with; null once the account has registered afresh.
    old_hash TEXT,
    created INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    disabled INTEGER NOT NULL
) STRICT;
CREATE INDEX account_ring ON account (ring);
CREATE INDEX account_old_hash ON account (old_hash) WHERE old_hash IS NOT NULL;

CREATE TABLE session (
    id BLOB PRIMARY KEY,
    account BLOB NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    access BLOB NOT NULL UNIQUE,
    refresh BLOB NOT NULL UNIQUE,
    scope INTEGER NOT NULL,
    label TEXT NOT NULL,
    created INTEGER NOT NULL,
    used INTEGER NOT NULL,
    access_until INTEGER NOT NULL,
    ends INTEGER NOT NULL
) STRICT;
CREATE INDEX session_account ON session (account);
CREATE INDEX session_ends ON session (ends);

-- Refresh tokens that were exchanged for newer ones: whoever shows one again ends the session.
CREATE TABLE spent_refresh (
    refresh BLOB PRIMARY KEY,
    session BLOB NOT NULL REFERENCES session (id) ON DELETE CASCADE
) STRICT;
CREATE INDEX spent_refresh_session ON spent_refresh (session);

CREATE TABLE registration_token (
    token BLOB PRIMARY KEY,
    label TEXT NOT NULL,
    created INTEGER NOT NULL,
    ends INTEGER NOT NULL
) STRICT;

CREATE TABLE recovery_code (
    account BLOB NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    code BLOB NOT NULL,
    PRIMARY KEY (account, code)
) STRICT;

CREATE TABLE device (
    id BLOB PRIMARY KEY,
    account BLOB NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    proof BLOB NOT NULL,
    label TEXT NOT NULL,
    created INTEGER NOT NULL,
    used INTEGER NOT NULL
) STRICT;
CREATE INDEX device_account ON device (account);

-- Logins that somebody has tried to finish. A sealed state that is sent again is found here.
CREATE TABLE spent_login (
    id BLOB PRIMARY KEY,
    ends INTEGER NOT NULL
) STRICT;
CREATE INDEX spent_login_ends ON spent_login (ends);

-- How the old hashes of an import were made, without their salts: from these a name without an account gets one.
CREATE TABLE old_scheme (
    scheme TEXT NOT NULL,
    ring BLOB NOT NULL REFERENCES ring (id),
    imported INTEGER NOT NULL,
    PRIMARY KEY (scheme, ring)
) STRICT;

-- How many accounts in a thousand million still have an old hash: one row.
CREATE TABLE old_share (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    share INTEGER NOT NULL
) STRICT;

CREATE TABLE audit (
    sequence INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    event TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL,
    hash BLOB NOT NULL
) STRICT;

-- The end of the chain: one row. Whoever appends takes its lock first.
CREATE TABLE audit_head (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    sequence INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;
