-- Conflicts that a search found no longer stay for a day: who has one before them sees what became of it.
ALTER TABLE conflicts ADD COLUMN gone_at DOUBLE;
