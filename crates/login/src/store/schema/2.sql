-- Version 2.

-- The order in which a session's refresh tokens were exchanged: of too many, the first goes.
ALTER TABLE spent_refresh ADD COLUMN place INTEGER NOT NULL DEFAULT 0;

-- `moved` counts in a thousand million from now on.
UPDATE ring SET moved = moved * 1000000;

-- `imported` as it was when the shares were updated last. Names without an account are given schemes by this.
ALTER TABLE old_scheme ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;
UPDATE old_scheme SET counted = imported;

-- How many accounts had been imported when the share was set. It rises only after further imports.
ALTER TABLE old_share ADD COLUMN imported INTEGER NOT NULL DEFAULT 0;
