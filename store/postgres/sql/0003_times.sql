-- What a member says of a line is what the line says, and no line is of the future: its id and its time are at most
-- ten minutes after the server's. Old lines come as they are, of whoever was offline for weeks.
-- A restrictive policy holds besides the others, whatever statement a member writes.
--
-- The line is read as JSON after its bytes beyond ASCII and its escapes are masked, so that no encoding of the
-- database and no lone surrogate stops an honest one; a key that is escaped, missing or there twice is refused.
CREATE POLICY members_are_on_time ON workbench.entries AS RESTRICTIVE FOR INSERT TO workbench_member
    WITH CHECK (
        id COLLATE "C" ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'
        AND at COLLATE "C" ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?(Z|[+]00:00)$'
        AND left(id, 10) COLLATE "C" <= (
            SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (latest >> (45 - 5 * digit) & 31)::integer + 1, 1),
                '' ORDER BY digit)
            FROM generate_series(0, 9) AS digit,
                (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 600000 AS latest) AS clock
        )
        AND left(at, 19) COLLATE "C" <= (
            SELECT to_char((clock_timestamp() + interval '10 minutes') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
        )
        AND EXISTS (
            SELECT FROM (
                SELECT regexp_replace(encode(line, 'escape'), '\\\\(\\\\|.)|\\[0-7]{3}', '_', 'g')::json AS said
            ) AS masked
            WHERE said ->> 'id' = id AND said ->> 'at' = at AND said ->> 'kind' = kind
                AND (SELECT array_agg(key ORDER BY key COLLATE "C") FROM json_object_keys(said) AS key)
                    = ARRAY['at', 'body', 'by', 'id', 'kind', 'v']
        )
    );
