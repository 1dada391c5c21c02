-- The names of the secrets that a connection carried, with spaces between them.
ALTER TABLE connections ADD COLUMN secrets TEXT NOT NULL DEFAULT '';
