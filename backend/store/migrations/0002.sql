-- What its sender calls an instruction: sent again, say after a broken connection, it does not run again.
ALTER TABLE instructions ADD COLUMN key TEXT;
CREATE UNIQUE INDEX instructions_key ON instructions (machine, key) WHERE key IS NOT NULL;

-- How long the machine stood still, in nanoseconds; 0 where that was not kept.
ALTER TABLE checkpoints ADD COLUMN pause INTEGER NOT NULL DEFAULT 0;
