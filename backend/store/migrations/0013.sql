-- A person put the machine to sleep while code ran in it.
ALTER TABLE machines ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
