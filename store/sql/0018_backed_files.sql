-- Which of the files that a session was given past tasks spoke for; NULL of what was recorded before.
ALTER TABLE handovers ADD COLUMN backed VARCHAR[];
