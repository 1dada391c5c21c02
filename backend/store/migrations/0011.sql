-- The checkpoint that a checkpoint's state came from; empty for the template, and where that was not kept.
ALTER TABLE checkpoints ADD COLUMN parent TEXT NOT NULL DEFAULT '';

-- A line of work that a rewind left ends in a checkpoint that has its name; named says whether somebody chose that.
ALTER TABLE checkpoints ADD COLUMN branch TEXT NOT NULL DEFAULT '';
ALTER TABLE checkpoints ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN left_at INTEGER;

-- What the line is called that a machine is on, and the checkpoint that its last rewind left.
ALTER TABLE machines ADD COLUMN branch TEXT NOT NULL DEFAULT '';
ALTER TABLE machines ADD COLUMN undo TEXT NOT NULL DEFAULT '';

-- What was saved before a rewind is the end of such a line.
UPDATE checkpoints SET branch = CASE n WHEN 1 THEN 'before rewind' ELSE 'before rewind ' || n END, left_at = created_at
  FROM (SELECT id AS tip, row_number() OVER (PARTITION BY machine ORDER BY created_at, id) AS n
    FROM checkpoints WHERE kind = 'auto' AND label <> '' AND id NOT IN (SELECT base FROM machines))
  WHERE id = tip;
UPDATE checkpoints SET label = '' WHERE kind = 'auto';
