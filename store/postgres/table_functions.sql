-- What statements of the tables call that PostgreSQL has otherwise, or under another name: DuckDB's names and results.
-- They are in the schema of the tables, which is before pg_catalog in the search path. Texts are compared by their bytes;
-- "{letters}" is the collation that knows the cases of all letters.

CREATE FUNCTION lower(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT pg_catalog.lower($1 COLLATE pg_catalog."{letters}") COLLATE "C" $$;
CREATE FUNCTION concat_ws(text, VARIADIC text[]) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT array_to_string($2, $1) $$;
CREATE FUNCTION strlen(text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT octet_length($1) $$;
CREATE FUNCTION contains(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT strpos($1, $2) > 0 $$;
CREATE FUNCTION "if"(boolean, anycompatible, anycompatible) RETURNS anycompatible LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT CASE WHEN $1 THEN $2 ELSE $3 END $$;

CREATE FUNCTION regexp_matches(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT $1 COLLATE "C" ~ $2 $$;
CREATE FUNCTION regexp_extract(text, text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT coalesce(regexp_substr($1 COLLATE "C", $2), '') $$;
CREATE FUNCTION regexp_extract_all(text, text, integer) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT ARRAY(SELECT found[$3] FROM pg_catalog.regexp_matches($1 COLLATE "C", $2, 'g') AS found) $$;

CREATE FUNCTION len(anyarray) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT cardinality($1) $$;
CREATE FUNCTION list_extract(anyarray, integer) RETURNS anyelement LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT $1[$2] $$;
CREATE FUNCTION list_position(text[], text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT array_position($1, $2) $$;
CREATE FUNCTION list_contains(text[], text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT $2 = ANY ($1) $$;
CREATE FUNCTION list_has_any(text[], text[]) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT $1 && $2 $$;
CREATE FUNCTION list_distinct(text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT ARRAY(SELECT DISTINCT one FROM unnest($1) AS one) $$;
CREATE FUNCTION list_max(anyarray) RETURNS anyelement LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT max(one) FROM unnest($1) AS one $$;
CREATE FUNCTION map_keys(json) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT ARRAY(SELECT json_object_keys($1)) $$;

CREATE FUNCTION first_of(anyelement, anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT $1 $$;
CREATE AGGREGATE first (anyelement) (sfunc = first_of, stype = anyelement);

-- A text holds no U+0000: it is U+0001 and U+0002 here, U+0001 itself U+0001 and U+0003. JSON writes them as escapes.
CREATE FUNCTION as_json(text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN strpos($1, '\u000') = 0 THEN $1 ELSE regexp_replace(regexp_replace($1,
        '(?<!\\)((?:\\\\)*)\\u0001', '\1\\u0001\\u0003', 'g'),
        '(?<!\\)((?:\\\\)*)\\u0000', '\1\\u0001\\u0002', 'g') END::json
$$;
CREATE FUNCTION as_json(json) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT $1 $$;
CREATE FUNCTION elements(json) RETURNS json[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT ARRAY(SELECT json_array_elements($1)) $$;
CREATE FUNCTION texts(text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT CASE WHEN $1 IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(as_json($1))) END $$;
CREATE FUNCTION json_extract_string(text, text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT as_json($1) ->> substr($2, 3) $$;

CREATE FUNCTION moment_of(text) RETURNS timestamp LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT CASE WHEN $1 ~ '^\d{4}-' AND pg_input_is_valid($1, 'timestamp') THEN $1::timestamp END $$;
CREATE FUNCTION epoch(timestamp) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT extract(epoch FROM $1)::float8 $$;
CREATE FUNCTION iso_moment(bigint) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN $1 BETWEEN -62135596800 AND 253402300799
        THEN to_char(to_timestamp($1) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') END
$$;
