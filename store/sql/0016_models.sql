-- What models were trained on and tried on, beside the registry of [img 6], which stays as specified. canary is the
-- share of plans that a model is tried on, 0 for all but one.
CREATE TABLE model_provenance (
    model_id VARCHAR PRIMARY KEY,
    base VARCHAR NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT NOT NULL,
    samples BIGINT NOT NULL,
    sessions BIGINT NOT NULL,
    metrics JSON NOT NULL,
    code_version VARCHAR NOT NULL,
    seed BIGINT NOT NULL,
    canary DOUBLE NOT NULL
);
