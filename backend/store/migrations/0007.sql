-- How many bytes a checkpoint has that is not shrunk; 0 where that is not known.
ALTER TABLE checkpoints ADD COLUMN whole INTEGER NOT NULL DEFAULT 0;
UPDATE checkpoints SET whole = size WHERE shrunk = 0;
