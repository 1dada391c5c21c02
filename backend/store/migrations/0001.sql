-- The first schema. Frozen: changes come as further numbered files.
CREATE TABLE machines (
  id             TEXT PRIMARY KEY,
  name           TEXT NOT NULL,
  title          TEXT NOT NULL,
  tags           TEXT NOT NULL, -- JSON object
  engine         TEXT NOT NULL,
  image          TEXT NOT NULL,
  memory_mb      INTEGER NOT NULL,
  notice         TEXT NOT NULL,
  created_at     INTEGER NOT NULL, -- this and every time: Unix nanoseconds
  last_active_at INTEGER NOT NULL,
  expires_at     INTEGER,
  deleted_at     INTEGER,
  parent         TEXT, -- JSON object
  live           INTEGER NOT NULL,
  touched        INTEGER NOT NULL,
  base           TEXT NOT NULL,
  fallback       TEXT NOT NULL,
  next_notice    TEXT NOT NULL
);

-- Present and old names; a name belongs to one machine.
CREATE TABLE names (
  name    TEXT PRIMARY KEY,
  machine TEXT NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
  old     INTEGER NOT NULL -- 0 for the present name, else counting up in order of age
) WITHOUT ROWID;
CREATE INDEX names_machine ON names (machine);

CREATE TABLE instructions (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  machine        TEXT NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
  seq            INTEGER NOT NULL,
  code           TEXT NOT NULL,
  client_name    TEXT NOT NULL,
  client_version TEXT NOT NULL,
  timeout        INTEGER NOT NULL, -- nanoseconds
  formats        TEXT NOT NULL,    -- separated by commas
  status         TEXT NOT NULL,
  queued_at      INTEGER NOT NULL,
  started_at     INTEGER,
  ended_at       INTEGER,
  resumed_at     INTEGER,
  runtime        INTEGER NOT NULL, -- nanoseconds
  ran            INTEGER NOT NULL, -- nanoseconds
  error_name     TEXT NOT NULL,
  value          TEXT,
  error          TEXT NOT NULL,
  error_ansi     TEXT NOT NULL,
  forms          TEXT NOT NULL, -- JSON array of [MIME, length], of what data holds one after another
  data           BLOB,
  rolled_back    INTEGER NOT NULL,
  notice         TEXT NOT NULL,
  items          INTEGER NOT NULL,
  output_bytes   INTEGER NOT NULL,
  output_dropped INTEGER NOT NULL,
  last_frame     INTEGER NOT NULL,
  head_end       INTEGER NOT NULL,
  overflow       INTEGER NOT NULL,
  carry_out      BLOB,
  carry_err      BLOB,
  UNIQUE (machine, seq)
);
CREATE INDEX instructions_unfinished ON instructions (machine, seq) WHERE status IN ('queued', 'running');
CREATE INDEX instructions_overflow ON instructions (machine, seq, overflow) WHERE overflow > 0;
CREATE INDEX instructions_rolled_back ON instructions (machine, seq) WHERE rolled_back <> 0;

CREATE TABLE items (
  instruction INTEGER NOT NULL REFERENCES instructions (id) ON DELETE CASCADE,
  idx         INTEGER NOT NULL,
  frame       INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  at          INTEGER NOT NULL,
  stream      TEXT NOT NULL,
  flags       INTEGER NOT NULL, -- 1 background, 2 update, 4 wait
  display_id  TEXT NOT NULL,
  forms       TEXT NOT NULL, -- JSON array of [MIME, length]; empty for output, whose text data is
  data        BLOB NOT NULL,
  UNIQUE (instruction, idx)
);

CREATE TABLE checkpoints (
  id          TEXT PRIMARY KEY,
  machine     TEXT NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
  kind        TEXT NOT NULL,
  label       TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  last_seq    INTEGER NOT NULL,
  running_seq INTEGER,
  size        INTEGER NOT NULL,
  image       TEXT NOT NULL,
  runtime     TEXT NOT NULL,
  clone       INTEGER NOT NULL,
  mark        TEXT, -- JSON object
  lost        TEXT NOT NULL -- JSON array
);
CREATE INDEX checkpoints_machine ON checkpoints (machine, created_at);

-- What engines have still to delete.
CREATE TABLE garbage (
  engine     TEXT NOT NULL,
  machine    TEXT NOT NULL,
  checkpoint TEXT NOT NULL,
  PRIMARY KEY (engine, machine, checkpoint)
) WITHOUT ROWID;

-- Rows have the number of their instruction.
CREATE VIRTUAL TABLE search USING fts5 (code, output, result, tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
