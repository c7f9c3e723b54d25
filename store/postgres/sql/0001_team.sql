-- What a team's machines have sent, and who may see it. `workbench_member` is the role that every member has.
-- Each key begins with the project, so that the tables can be distributed by it; no sequences, no triggers.

CREATE TABLE workbench.schema_version (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now(),
    program text NOT NULL,
    member_role text NOT NULL
);

CREATE TABLE workbench.projects (
    project text PRIMARY KEY CHECK (octet_length(project) BETWEEN 1 AND 200),
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- A member is a role of the server.
CREATE TABLE workbench.members (
    project text NOT NULL REFERENCES workbench.projects,
    member text NOT NULL,
    added_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project, member)
);

CREATE TABLE workbench.machines (
    project text NOT NULL REFERENCES workbench.projects,
    machine text NOT NULL CHECK (machine ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'),
    member text NOT NULL,
    name text NOT NULL CHECK (octet_length(name) <= 400),
    seen_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project, machine)
);

-- How far each stream is. `last` is the id of its last entry, `crc` the CRC-32 of all its bytes.
CREATE TABLE workbench.streams (
    project text NOT NULL,
    machine text NOT NULL,
    stream text NOT NULL CHECK (stream ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}(/[A-Za-z0-9][A-Za-z0-9._-]{0,99})?$'),
    generation integer NOT NULL CHECK (generation >= 0),
    entries bigint NOT NULL,
    bytes bigint NOT NULL CHECK (bytes >= 0),
    crc bigint NOT NULL CHECK (crc BETWEEN 0 AND 4294967295),
    last text NOT NULL,
    PRIMARY KEY (project, machine, stream),
    FOREIGN KEY (project, machine) REFERENCES workbench.machines
);

-- `line` is the truth; what else is in a row was read from it, for those who look with SQL. `crc` is the CRC-32 of
-- the stream up to the line's end.
CREATE TABLE workbench.entries (
    project text NOT NULL,
    machine text NOT NULL,
    stream text NOT NULL,
    generation integer NOT NULL,
    begins bigint NOT NULL CHECK (begins >= 0),
    crc bigint NOT NULL,
    id text NOT NULL,
    at text NOT NULL,
    kind text NOT NULL,
    by text NOT NULL,
    line bytea NOT NULL,
    PRIMARY KEY (project, machine, stream, generation, begins),
    UNIQUE (project, machine, stream, generation, id)
);

GRANT USAGE ON SCHEMA workbench TO workbench_member;
GRANT SELECT ON workbench.schema_version, workbench.projects, workbench.members TO workbench_member;
GRANT SELECT, INSERT ON workbench.machines, workbench.streams, workbench.entries TO workbench_member;
GRANT UPDATE (name, seen_at) ON workbench.machines TO workbench_member;
GRANT UPDATE (generation, entries, bytes, crc, last) ON workbench.streams TO workbench_member;
GRANT DELETE ON workbench.entries TO workbench_member;

ALTER TABLE workbench.projects ENABLE ROW LEVEL SECURITY;
ALTER TABLE workbench.members ENABLE ROW LEVEL SECURITY;
ALTER TABLE workbench.machines ENABLE ROW LEVEL SECURITY;
ALTER TABLE workbench.streams ENABLE ROW LEVEL SECURITY;
ALTER TABLE workbench.entries ENABLE ROW LEVEL SECURITY;

-- A member sees the projects it is a member of. Policies read tables under the policies of those.
CREATE POLICY own ON workbench.members FOR SELECT TO workbench_member
    USING (member = current_user::text);
CREATE POLICY members_read ON workbench.projects FOR SELECT TO workbench_member
    USING (project IN (SELECT project FROM workbench.members));
CREATE POLICY members_read ON workbench.machines FOR SELECT TO workbench_member
    USING (project IN (SELECT project FROM workbench.members));
CREATE POLICY members_read ON workbench.streams FOR SELECT TO workbench_member
    USING (project IN (SELECT project FROM workbench.members));
CREATE POLICY members_read ON workbench.entries FOR SELECT TO workbench_member
    USING (project IN (SELECT project FROM workbench.members));

-- A member writes what is of its own machines.
CREATE POLICY owner_adds ON workbench.machines FOR INSERT TO workbench_member
    WITH CHECK (member = current_user::text AND project IN (SELECT project FROM workbench.members));
CREATE POLICY owner_changes ON workbench.machines FOR UPDATE TO workbench_member
    USING (member = current_user::text AND project IN (SELECT project FROM workbench.members));
CREATE POLICY owner_adds ON workbench.streams FOR INSERT TO workbench_member
    WITH CHECK ((project, machine) IN (
        SELECT project, machine FROM workbench.machines WHERE member = current_user::text));
CREATE POLICY owner_changes ON workbench.streams FOR UPDATE TO workbench_member
    USING ((project, machine) IN (
        SELECT project, machine FROM workbench.machines WHERE member = current_user::text));
CREATE POLICY owner_adds ON workbench.entries FOR INSERT TO workbench_member
    WITH CHECK ((project, machine) IN (
        SELECT project, machine FROM workbench.machines WHERE member = current_user::text));

-- What a machine replaced as a whole goes; nothing else is ever removed.
CREATE POLICY owner_forgets ON workbench.entries FOR DELETE TO workbench_member
    USING (EXISTS (
        SELECT 1 FROM workbench.streams JOIN workbench.machines USING (project, machine)
        WHERE streams.project = entries.project AND streams.machine = entries.machine
            AND streams.stream = entries.stream AND entries.generation < streams.generation
            AND machines.member = current_user::text));
