-- Vectors of a project's records, by kind and model. All of it can be sent again from the journals.
-- Only where the server has pgvector 0.8 and the owner may install it: a team does without, and
-- `workbench vectors sync` tries again. `halfvec` holds what the cache of embeddings keeps, 16 bits a number.
-- Each usual number of dimensions has a graph of its own; others are compared one by one.
DO $$
BEGIN
    IF to_regclass('workbench.vectors') IS NOT NULL OR NOT EXISTS (
        SELECT FROM pg_catalog.pg_available_extensions
        WHERE name = 'vector'
            AND string_to_array(coalesce(installed_version, default_version), '.')::int[] >= '{0,8}'
    ) THEN
        RETURN;
    END IF;
    CREATE EXTENSION IF NOT EXISTS vector;

    CREATE TABLE workbench.vectors (
        project text NOT NULL REFERENCES workbench.projects,
        kind text NOT NULL CHECK (octet_length(kind) BETWEEN 1 AND 100),
        model text NOT NULL CHECK (octet_length(model) BETWEEN 1 AND 1000),
        key bytea NOT NULL CHECK (octet_length(key) = 16),
        embedding halfvec NOT NULL,
        fields jsonb NOT NULL,
        PRIMARY KEY (project, kind, model, key)
    );
    CREATE INDEX vectors_384 ON workbench.vectors
        USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = 16, ef_construction = 100)
        WHERE vector_dims(embedding) = 384;
    CREATE INDEX vectors_768 ON workbench.vectors
        USING hnsw ((embedding::halfvec(768)) halfvec_cosine_ops) WITH (m = 16, ef_construction = 100)
        WHERE vector_dims(embedding) = 768;
    CREATE INDEX vectors_1024 ON workbench.vectors
        USING hnsw ((embedding::halfvec(1024)) halfvec_cosine_ops) WITH (m = 16, ef_construction = 100)
        WHERE vector_dims(embedding) = 1024;

    -- They are of the project, not of a machine: whoever has the segment has the same vector.
    GRANT SELECT, INSERT, UPDATE, DELETE ON workbench.vectors TO workbench_member;
    ALTER TABLE workbench.vectors ENABLE ROW LEVEL SECURITY;
    CREATE POLICY members_keep ON workbench.vectors TO workbench_member
        USING (project IN (SELECT project FROM workbench.members))
        WITH CHECK (project IN (SELECT project FROM workbench.members));
EXCEPTION
    WHEN insufficient_privilege OR feature_not_supported OR undefined_file OR undefined_object THEN
        RAISE NOTICE 'vectors stay on the machines: %', SQLERRM;
END
$$;
