-- What lists of rules are filtered and sorted by, besides the columns of [rules]. number is the row's for good: a digest
-- of the id. cased has the searched texts, separated by U+001E, their values by U+001F; haystack the same in lower
-- case. line and end_line are where the rule's file has it now, files the file and its other names.

ALTER TABLE rules ADD COLUMN number BIGINT;
ALTER TABLE rules ADD COLUMN haystack VARCHAR;
ALTER TABLE rules ADD COLUMN cased VARCHAR;
ALTER TABLE rules ADD COLUMN files VARCHAR[];
ALTER TABLE rules ADD COLUMN home_file BOOLEAN;
ALTER TABLE rules ADD COLUMN line BIGINT;
ALTER TABLE rules ADD COLUMN end_line BIGINT;
ALTER TABLE rules ADD COLUMN format VARCHAR;
ALTER TABLE rules ADD COLUMN section VARCHAR[];
ALTER TABLE rules ADD COLUMN activation VARCHAR;
ALTER TABLE rules ADD COLUMN "when" VARCHAR[];
ALTER TABLE rules ADD COLUMN meta VARCHAR[];
