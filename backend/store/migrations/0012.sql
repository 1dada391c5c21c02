-- The folder of this computer that a machine sees, as JSON; empty for none.
ALTER TABLE machines ADD COLUMN shared TEXT NOT NULL DEFAULT '';
