-- What a machine may reach: a JSON object; empty where the settings say.
ALTER TABLE machines ADD COLUMN network TEXT NOT NULL DEFAULT '';

-- Connections of machines to the outside that are over.
CREATE TABLE connections (
  id         INTEGER PRIMARY KEY,
  machine    TEXT NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
  host       TEXT NOT NULL,
  port       INTEGER NOT NULL,
  address    TEXT NOT NULL,
  seq        INTEGER, -- the instruction that ran
  state      TEXT NOT NULL,
  reason     TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER,
  sent       INTEGER NOT NULL,
  received   INTEGER NOT NULL
);
CREATE INDEX connections_machine ON connections (machine, id);
