-- The ID of the person of a team who made the machine; empty for the daemon's own user.
ALTER TABLE machines ADD COLUMN owner TEXT NOT NULL DEFAULT '';
