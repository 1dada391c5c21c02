-- What an instruction's sender said that it does.
ALTER TABLE instructions ADD COLUMN summary TEXT NOT NULL DEFAULT '';
