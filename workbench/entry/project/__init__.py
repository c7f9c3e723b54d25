"""A project and the adapters that serve it: the only package that knows both the engine and `store`.

What is here is imported when it is named, from where the list below says: the project as it is opened
(`project` over `indexes`, `tables` and `journals`), its `models` and its `repository`, and of `store` what
needs no wiring, as it is.
"""

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from store.app_state import place_file, read_place_file, seems_indexed, update_place_file
    from store.archive import Archive
    from store.archive import Copy as ArchivedCopy
    from store.cache import ProcessCache
    from store.clock import SystemClock
    from store.crossovers import build_measured, crossovers, save_crossovers
    from store.file_history import AskedTask, Companion, FileArtifact, FileHistory, FileSession
    from store.files import private_dir, replace_file, write_atomic
    from store.git_diff import diff_hunks
    from store.git_log import commit_parents, committed_paths, log_commits, shallow_edge
    from store.git_objects import BlobReader, read_tree
    from store.git_process import git_version
    from store.git_repository import Repository, remote_addresses, resolve, share_history, work_trees
    from store.git_status import disk_state
    from store.git_status import stamp as file_stamp
    from store.journal import FileJournal
    from store.journal_copies import JournalDamage
    from store.journal_files import ROTATED, list_streams
    from store.journal_lines import decode_line, encode_line
    from store.lists.sessions import SessionList, session_family
    from store.locks import announce_waits, lock_waits
    from store.metrics import LOCK, LOCKS, Call, Measurements, record_call
    from store.ollama import ModelState
    from store.project_state import (
        IndexState,
        ProjectState,
        give_consent,
        project_id,
        project_root,
        repository_at,
        state_notes,
        work_state,
    )
    from store.projector import CatchUp
    from store.purge import remains, remove_indexes, remove_projections, remove_runs, rewrite_files
    from store.qdrant import QdrantServer
    from store.qdrant_collection import QdrantCollection, own_name
    from store.redis_cache import RedisCache
    from store.rewriting import Again, StreamRewrite, rewrite_journals, stream_lines
    from store.runs import MAX_RUNS_TOTAL, list_runs, open_run, put_run, write_rows
    from store.sandbox import ColumnType, StatementRows
    from store.search_index import SearchIndex, build_search_index, load_search_index
    from store.storage import StoredSize, directory_sizes, journal_sizes
    from store.table_moves import rewrite_streams
    from store.table_notes import table_notes
    from store.team.copying import TeamComparison, compare_teams, copy_team
    from store.team.members import add_team_member, prepare_team_project, remove_team_member, team_members
    from store.team.replicas import USES, own_machine
    from store.team.server import TeamMachine, TeamServer
    from store.team.settings import TeamSettings, mask_url
    from store.team.sync import Exchange
    from store.team.team import ProjectTeam, is_url, open_place
    from store.vector_store import VectorStore
    from store.vectors import BATCH_SHARE, GraphSize
    from workbench.entry.project.models import (
        cached_embedder,
        cross_encoder,
        embedding_options,
        embedding_settings,
        grepai_program,
        language_model,
        language_state,
        prepare_embedder,
        ready_embedder,
        second_stage,
    )
    from workbench.entry.project.project import (
        OpenedProject,
        find_state,
        open_project,
        open_workspace,
        require_consent,
    )
    from workbench.entry.project.repository import delta
    from workbench.entry.project.vector_servers import (
        MEMORY,
        feature_collection,
        postgres_vectors,
        qdrant_server,
        rule_collection,
        segment_collection,
        segments_name,
        server_identity,
    )

_IMPORT = re.compile(r"^    from (\S+) import (?:\(([^()]+)\)|(.+))", re.MULTILINE)


@cache
def _homes() -> dict[str, tuple[str, str]]:
    """Return {name: (its module, what it is called there)} of the imports that type checkers see above."""
    return {
        alias or name: (module, name)
        for module, many, few in _IMPORT.findall(Path(__file__).read_text(encoding="utf-8"))
        for name, alias in re.findall(r"(\w+)(?: as (\w+))?", many or few)
    }


def __getattr__(name: str) -> object:
    if name not in _homes():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = _homes()[name]
    return getattr(import_module(module), original)
