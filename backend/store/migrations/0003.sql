-- The name of the stay in memory that a live machine is in, and whether an instruction was handed over a second time.
ALTER TABLE machines ADD COLUMN life TEXT NOT NULL DEFAULT '';
ALTER TABLE instructions ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
