"""The tables of a project with everything that is asked of them."""

from __future__ import annotations

from store.episode_queries import companions, completeness, file_sessions, sessions, touching
from store.metrics import measurements, operation_stats
from store.tables import Tables


class TableQueries(Tables):
    """Tables whose questions are methods: see the functions of the same names."""

    companions = companions
    completeness = completeness
    file_sessions = file_sessions
    measurements = measurements
    operation_stats = operation_stats
    sessions = sessions
    touching = touching
