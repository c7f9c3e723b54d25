"""Everything the workbench asks of git, in one place to import from."""

from __future__ import annotations

from store.git_diff import changes_since, diff_files, diff_hunks, recent_base, touched_files
from store.git_log import (
    commits_ancestor,
    count_commits,
    log_commits,
    lost_commits,
    reachable_commits,
    shallow_edge,
)
from store.git_objects import BlobReader, read_tree
from store.git_patches import log_patches
from store.git_process import program
from store.git_repository import (
    Repository,
    find_repository,
    head_state,
    list_files,
    list_untracked,
    lister,
    listing_inputs,
    resolve,
    tracked_below,
)

__all__ = [
    "BlobReader",
    "Repository",
    "changes_since",
    "commits_ancestor",
    "count_commits",
    "diff_files",
    "diff_hunks",
    "find_repository",
    "head_state",
    "list_files",
    "list_untracked",
    "lister",
    "listing_inputs",
    "log_commits",
    "log_patches",
    "lost_commits",
    "program",
    "reachable_commits",
    "read_tree",
    "recent_base",
    "resolve",
    "shallow_edge",
    "touched_files",
    "tracked_below",
]
