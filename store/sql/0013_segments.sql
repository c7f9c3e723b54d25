-- Segments of the stash, one row for each that ever was [rag]: removed ones keep their text, which no later
-- entry of the journal has. cased is made of the other columns when it is looked at. metadata is a JSON object;
-- shown and merged count the rows of segment_uses.
CREATE TABLE segments (
    segment_id VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    "timestamp" VARCHAR NOT NULL,
    stashed_at VARCHAR NOT NULL,
    tokens BIGINT NOT NULL,
    topic VARCHAR,
    source VARCHAR NOT NULL,
    "references" VARCHAR[] NOT NULL,
    embedding_model VARCHAR NOT NULL,
    expires_at VARCHAR,
    protected BOOLEAN NOT NULL,
    project_id VARCHAR,
    metadata JSON NOT NULL,
    digest VARCHAR NOT NULL,
    removed BOOLEAN NOT NULL,
    shown BIGINT NOT NULL,
    merged BIGINT NOT NULL,
    number BIGINT NOT NULL,
    haystack VARCHAR NOT NULL,
    id VARCHAR GENERATED ALWAYS AS (segment_id),
    cased VARCHAR GENERATED ALWAYS AS (concat_ws(chr(30),
        translate(left(text, 4000), chr(30) || chr(31), '  '),
        translate(coalesce(topic, ''), chr(30) || chr(31), '  '),
        translate(source, chr(30) || chr(31), '  '),
        concat_ws(chr(31), segment_id, regexp_replace(segment_id, '^seg-', ''))
    ))
);

-- Which segments a segment refers to, in its order; referenced_id need not be there.
CREATE TABLE segment_references (
    segment_id VARCHAR NOT NULL,
    referenced_id VARCHAR NOT NULL,
    position BIGINT NOT NULL
);

-- When segments were found by a query (shown) or taken back into a context (merged), one row a segment. position is
-- the byte offset of the journal's line.
CREATE TABLE segment_uses (
    position BIGINT NOT NULL,
    segment_id VARCHAR NOT NULL,
    event VARCHAR NOT NULL,
    "at" VARCHAR NOT NULL,
    "by" VARCHAR NOT NULL,
    query VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL
);
