-- Version 3.

-- Refresh tokens say which session they are of, and are authenticated. Those from before are not: their sessions end.
DROP TABLE spent_refresh;
DELETE FROM session;

-- What readiness checks write: one row of as many bytes as a login takes on the disk.
CREATE TABLE room (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    bytes BLOB NOT NULL
) STRICT;

-- How many accounts have each key, and `moved`, which was a column of `ring`. A table of its own: rows of `ring` are locked while accounts are made, and these change then.
CREATE TABLE population (
    ring BLOB PRIMARY KEY REFERENCES ring (id),
    accounts INTEGER NOT NULL,
    -- Of the accounts with this key or an older one, how many in a thousand million have this one; it only grows.
    moved INTEGER NOT NULL
) STRICT;
INSERT INTO population (ring, accounts, moved)
    SELECT id, (SELECT COUNT(*) FROM account WHERE account.ring = ring.id), moved FROM ring;
ALTER TABLE ring DROP COLUMN moved;

-- One row. Whoever changes what names without an account are answered with takes its lock first, and counts `generation` up.
CREATE TABLE shares (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    generation INTEGER NOT NULL,
    -- Imports that have ended. Accounts of later ones don't answer yet.
    imports INTEGER NOT NULL
) STRICT;
INSERT INTO shares (only_row, generation, imports) VALUES (1, 0, 0);
ALTER TABLE account ADD COLUMN import INTEGER NOT NULL DEFAULT 0;

-- `imported` counts accounts of imports that have not ended as well, `counted` those of imports that have. Of these `remaining` still have their old hash. `share` says how
-- many names in a thousand million that are given the scheme still have it.
ALTER TABLE old_scheme ADD COLUMN remaining INTEGER NOT NULL DEFAULT 0;
ALTER TABLE old_scheme ADD COLUMN share INTEGER NOT NULL DEFAULT 0;
UPDATE old_scheme SET counted = imported, share = COALESCE((SELECT share FROM old_share), 0),
    -- A scheme of an account begins as its template does, up to the salt.
    remaining = (SELECT COUNT(*) FROM account WHERE account.ring = old_scheme.ring
        AND rtrim(old_scheme.scheme, 'abcdefghijklmnopqrstuvwxyz,0123456789')
            = substr(account.old_hash, 1, length(rtrim(old_scheme.scheme, 'abcdefghijklmnopqrstuvwxyz,0123456789'))));
DROP TABLE old_share;
