-- Whether a checkpoint is kept in the form that takes least room; its size is then what it added to that.
ALTER TABLE checkpoints ADD COLUMN shrunk INTEGER NOT NULL DEFAULT 0;
