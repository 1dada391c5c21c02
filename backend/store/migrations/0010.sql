-- What a machine's first code says that it is for. Machines of before get it from the next code that they run.
ALTER TABLE machines ADD COLUMN derived_title TEXT NOT NULL DEFAULT '';
