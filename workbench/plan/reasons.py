"""Why a file is ranked where it is, in words: the signals of the ranking as a person would say them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

PHRASES: dict[str, str] = {
    "bm25_body": "words of the task in its text",
    "bm25_name": "words of the task in its definitions",
    "bm25_path": "words of the task in its path",
    "coverage_body": "most words of the task in its text",
    "coverage_name": "most words of the task in its definitions",
    "coverage_path": "most words of the task in its path",
    "rarest_body": "a rare word of the task in its text",
    "rarest_name": "a rare word of the task in its definitions",
    "rarest_path": "a rare word of the task in its path",
    "symbol_defined": "defines a name from the task",
    "symbol_used": "uses a name from the task",
    "path_named": "named in the task",
    "stem_named": "its name is in the task",
    "folder_named": "its folder is in the task",
    "scope_named": "the scope the task declares",
    "frame": "in the stack trace",
    "affinity": "changed in similar past tasks",
    "affinity_best": "changed in the most similar past task",
    "affinity_semantic": "changed in past tasks of similar meaning",
    "affinity_semantic_best": "changed in the past task closest in meaning",
    "affinity_folder": "its folder changed in similar past tasks",
    "affinity_role": "files of its kind changed in similar past tasks",
    "association": "changed in past tasks with the same words",
    "causal": "changed for the same issue",
    "recency": "changed recently",
    "last_seen": "changed recently",
    "frequency": "changed often",
    "fix_share": "often changed by fixes",
    "fan_in": "many files import it",
    "fan_out": "imports many files",
    "cochange": "often changes together with likely files",
    "cochange_lift": "often changes together with likely files",
    "imports_seed": "imports a likely file",
    "imported_by_seed": "imported by a likely file",
    "tests_seed": "tests a likely file",
    "tested_by_seed": "tested by a likely file",
    "same_folder": "in the folder of likely files",
    "same_stem": "shares its name with a likely file",
    "seed": "a strong match on its own",
    "layer_match": "in the layers for this kind of task",
    "role_called": "the task asks for files of its kind",
    "changelog": "is a changelog",
    "risk": "critical code",
    "size": "its size",
    "depth": "its depth in the tree",
}


@lru_cache(maxsize=4096)
def phrase(feature: str) -> str:
    """Return a feature in words; one without words of its own keeps its name."""
    signal = feature.split(".", 1)[0]
    base = signal.removesuffix("_head")
    if base.startswith("recency_"):
        base = "recency"
    if base.startswith(("role_", "called_")) and base not in PHRASES:
        return f"the kind of file ({base.split('_', 1)[1]})"
    return PHRASES.get(base, signal)


def top_reasons(contributions: Mapping[str, float], limit: int = 3) -> list[tuple[str, float]]:
    """Return the phrases that moved a file up most, with the sum of what their features contributed."""
    sums: dict[str, float] = {}
    for feature, value in contributions.items():
        words = phrase(feature)
        sums[words] = sums.get(words, 0.0) + value
    order = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(words, round(value, 4)) for words, value in order[:limit] if value > 0]


def likelihood(chance: float) -> str:
    """Return in words how likely a task needs a file: `93% likely to be needed`."""
    return f"{chance:.0%} likely to be needed" if chance >= 0.01 else f"{chance:.1%} likely to be needed"
