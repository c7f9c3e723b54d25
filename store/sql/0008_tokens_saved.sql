-- What a plan left out of the files it shows: tokens of their whole texts beyond those of what is shown.

ALTER TABLE metrics ADD COLUMN tokens_saved BIGINT;
