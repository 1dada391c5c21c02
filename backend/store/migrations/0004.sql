-- Programs that have said hello, such as AI apps over MCP, by the names that they give themselves.
CREATE TABLE clients (
  name    TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  seen_at INTEGER NOT NULL
) WITHOUT ROWID;
