-- What of a journal could not be projected: counts a stream, and each entry whose body has another form than
-- its kind says. position is the byte offset of its line.

CREATE TABLE stream_counts (
    origin VARCHAR NOT NULL,
    stream VARCHAR NOT NULL,
    entries BIGINT NOT NULL,
    unknown BIGINT NOT NULL,
    rejected BIGINT NOT NULL,
    quarantined BIGINT NOT NULL,
    PRIMARY KEY (origin, stream)
);

CREATE TABLE rejected (
    origin VARCHAR NOT NULL,
    stream VARCHAR NOT NULL,
    position BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    reason VARCHAR NOT NULL
);
