"""Settings: layers, types, origins and messages."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config import Config
from workbench.config_file import key_line, set_key, to_toml, unset_key
from workbench.config_layers import (
    ADDING,
    USER_ONLY,
    Given,
    Layer,
    SettingOrigin,
    check,
    describe,
    load,
    merge,
    parse,
    project_file,
    read_environment,
    schema,
    user_file,
    values,
)
from workbench.errors import ConfigError
from workbench.places import user_cache

LAYERS = get_args(Layer)[1:]
PRECEDENCE = ("plan.budget", "index.max_files", "rules.max", "rules.over_fetch")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@given(st.lists(st.tuples(st.sampled_from(PRECEDENCE), st.sampled_from(LAYERS), st.integers(1, 10**6))))
def test_the_strongest_layer_decides(choices: list[tuple[str, Layer, int]]) -> None:
    """For every key the last layer that gives it decides the value and is its origin, or else the default."""
    ordered = sorted(choices, key=lambda choice: LAYERS.index(choice[1]))
    settings = merge([Given(key, value, SettingOrigin(layer)) for key, layer, value in ordered])
    defaults = values(Config())
    for key, actual in values(settings.config).items():
        expected = [(value, layer) for name, layer, value in ordered if name == key]
        value, layer = expected[-1] if expected else (defaults[key], "default")
        assert (actual, settings.origins[key].layer) == (value, layer)


def test_all_five_layers_together(tmp_path: Path) -> None:
    """Each layer overrides the ones before it, and origins name file and line, variable and flag."""
    user = write(
        tmp_path / "user.toml",
        "[plan]\nbudget = 1\nformat = 'xml'\ntokenizer='utf8-bound'\n[rules]\nmax = 1\n",
    )
    project = tmp_path / "project"
    write(
        project_file(project),
        "# shared\n[rules]\nmax = 2\n[plan]\nformat = 'json'\ntokenizer = 'o200k_base'\n",
    )
    settings = load(
        project=project,
        user=user,
        env={
            "WORKBENCH_PLAN_FORMAT": "markdown",
            "WORKBENCH_PLAN_TOKENIZER": "o200k_base",
            "WORKBENCH_HOME": "/x",
        },
        flags={"plan.tokenizer": "cl100k_base", "plan.strict": None},
    )
    plan = settings.config.plan
    assert (plan.budget, plan.format, plan.tokenizer) == (1, "markdown", "cl100k_base")
    assert settings.config.rules.max == 2
    assert settings.origins["plan.budget"] == SettingOrigin("user", f"{user}:2")
    assert settings.origins["rules.max"] == SettingOrigin("project", f"{project_file(project)}:3")
    assert settings.origins["plan.format"] == SettingOrigin("environment", "WORKBENCH_PLAN_FORMAT")
    assert settings.origins["plan.tokenizer"] == SettingOrigin("flag", "--tokenizer")
    assert settings.origins["plan.strict"] == SettingOrigin("default")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[plan]\n\nbudgte = 3\n", ":3: unknown setting 'plan.budgte'", "Did you mean plan.budget?"),
        ("budget = 3\n", ":1: unknown setting 'budget'", "plan.budget"),
        (
            "[plan]\nbudget = '3'\n",
            ":2: plan.budget = '3': expected int, got str",
            "whole number of at least 1",
        ),
        ("[plan]\nbudget = true\n", ":2: plan.budget = True: expected int, got bool", "whole number"),
        ("[plan]\nbudget = 0\n", ":2: plan.budget = 0: expected int >= 1", "at least 1"),
        ("[rules]\nthreshold = nan\n", ":2: rules.threshold = nan", "from 0 to 1"),
        (
            "[rules]\nvector_weight = inf\n",
            ":2: rules.vector_weight = inf: expected a finite number",
            "a number",
        ),
        ("[plan]\nformat = 'yaml'\n", ":2: plan.format = 'yaml'", "one of text, markdown, xml, json"),
        (
            "[vectors]\nstore = 'postgresql://a:pw@h/t'\n",
            ":2: vectors.store = 'postgresql://…@h/t'",
            "local",
        ),
        ("[index]\nexclude = [1]\n", ":2: index.exclude = [1]", "a list of texts"),
        ("[[plan]]\nbudget = 1\n", "unknown setting 'plan'", "config show"),
        ("[plan", "not valid TOML", "Correct or move"),
    ],
)
def test_wrong_settings_say_where_and_what_would_be_right(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    """A wrong name or value names file, line, key and what is expected."""
    path = write(tmp_path / "c.toml", text)
    with pytest.raises(ConfigError) as caught:
        load(user=path, env={})
    assert caught.value.message.startswith(str(path))
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_unreadable_files_are_refused_clearly(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 and directories give a ConfigError; a missing file gives nothing."""
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b"[plan]\n# \xff\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(user=bad, env={})
    with pytest.raises(ConfigError, match="not a text file"):
        load(user=tmp_path, env={})
    assert load(user=tmp_path / "none.toml", env={}).config == Config()


def test_a_project_cannot_reach_outside_itself(tmp_path: Path) -> None:
    """A shared file sets none of the user's own settings; what it tries is told."""
    lines = {"models.download": "true", "clipboard.mode": "'native'", "cache.redis_url": "'redis://h'"}
    assert set(lines) <= USER_ONLY
    for key, value in lines.items():
        section, _, name = key.partition(".")
        write(project_file(tmp_path), f"[{section}]\n{name} = {value}\n")
        settings = load(project=tmp_path, env={})
        assert settings.config == Config()
        assert [key in warning for warning in settings.warnings] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "[plan]\nbudgets = 3\n[rules]\nmax = 3\n",
        "[nonsense]\nx = 1\n[rules]\nmax = 3\n",
        "[plan]\nbudget = 'all of it'\n[rules]\nmax = 3\n",
        "plan = 1\n[rules]\nmax = 3\n",
    ],
)
def test_what_is_wrong_in_a_projects_file_is_ignored_with_a_warning(tmp_path: Path, text: str) -> None:
    """A stranger's typing error stops nobody's work: the line is named and the rest of the file holds."""
    write(project_file(tmp_path), text)
    settings = load(project=tmp_path, env={})
    assert settings.config == replace(Config(), rules=replace(Config().rules, max=3))
    (warning,) = settings.warnings
    assert warning.startswith(str(project_file(tmp_path)))
    assert warning.endswith("the project's setting is ignored")


@pytest.mark.parametrize("content", [b"[plan", b"\xff", b"x" * 1_000_001, None])
def test_a_projects_file_that_cannot_be_read_is_ignored_with_a_warning(
    tmp_path: Path, content: bytes | None
) -> None:
    """Neither malformed nor oversized ones, nor directories in their place, stop anything."""
    path = project_file(tmp_path)
    path.parent.mkdir()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    settings = load(project=tmp_path, env={})
    assert settings.config == Config()
    assert len(settings.warnings) == 1
    assert str(path) in settings.warnings[0]


def test_a_projects_file_starts_nothing(tmp_path: Path) -> None:
    """No setting of a project starts a process, chooses a model, or says where one is."""
    write(
        project_file(tmp_path),
        '[models]\nbackground = true\nembedding = "/tmp/evil"\nranking = "../../../tmp/evil"\n',
    )
    settings = load(project=tmp_path, env={})
    assert settings.config == Config()
    assert len(settings.warnings) == 3
    reaching = ("models.", "rerank.", "grepai.", "plan.ml_mode")
    assert {key for key in schema() if key.startswith(reaching)} <= USER_ONLY


def test_a_project_chooses_no_text_that_could_be_a_command_or_an_address() -> None:
    """Of the texts it may set none is run or asked; a new one joins here, or is the user's alone."""
    texts = {key for key, kind in schema().items() if kind is str} - USER_ONLY
    assert texts == {"rules.tool", "gates.system", "gates.reference"}  # names, and a file with a replay


def test_privacy_only_grows(tmp_path: Path) -> None:
    """A project adds paths to what privacy excludes and cannot take any back with `!` or an empty list."""
    write(project_file(tmp_path), "[privacy]\nexclude = ['!.env', 'clients/']\n")
    settings = load(project=tmp_path, env={})
    assert settings.config.privacy.exclude == (*Config().privacy.exclude, "clients/")
    assert len(settings.warnings) == 1
    assert frozenset({"privacy.exclude", "rules.tags"}) == ADDING


def test_a_project_neither_turns_a_language_model_on_nor_points_elsewhere(tmp_path: Path) -> None:
    """Whether, whom and how long a language model is asked is the user's to say; a project only adds tags."""
    write(
        project_file(tmp_path),
        '[models]\nllm = "big"\nllm_url = "http://example.org"\n'
        '[rules]\nrecheck = true\nrecheck_top = 30\nrecheck_timeout = 600\ntags = ["team:payments"]\n',
    )
    settings = load(project=tmp_path, env={"WORKBENCH_RULES_TAGS": "tool:bazel"})
    assert settings.config.models == Config().models
    assert settings.config.rules == replace(Config().rules, tags=("team:payments", "tool:bazel"))
    assert len(settings.warnings) == 5


def test_variables_of_others_are_left_alone() -> None:
    """Variables that name no section are no settings; a wrong key in a section is refused."""
    assert list(read_environment({"WORKBENCH_HOME": "/h", "WORKBENCH_X_Y": "1", "PATH": "/bin"})) == []
    with pytest.raises(ConfigError, match="WORKBENCH_PLAN_BUDGTE: unknown setting"):
        load(env={"WORKBENCH_PLAN_BUDGTE": "1"})


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("plan.budget", "6_000", 6000),
        ("rules.threshold", "0.25", 0.25),
        ("plan.strict", "Yes", True),
        ("plan.strict", "off", False),
        ("index.exclude", "vendor/, *.min.js,", ("vendor/", "*.min.js")),
        ("models.ranking", "a,b", "a,b"),
    ],
)
def test_text_becomes_the_type_of_the_key(key: str, text: str, expected: object) -> None:
    """Environment and `config set` texts turn into numbers, booleans and lists."""
    assert check(Given(key, parse(key, text), SettingOrigin("environment"))) == expected


def test_every_setting_is_described_and_valid_by_default() -> None:
    """Each default passes its own check, and each type has words."""
    for key, value in values(Config()).items():
        assert check(Given(key, value, SettingOrigin("flag"))) == value
        assert describe(key)


def test_variables_move_the_users_directories(tmp_path: Path) -> None:
    """WORKBENCH_HOME decides the file and WORKBENCH_CACHE the cache; else the platform does."""
    env = {"WORKBENCH_HOME": str(tmp_path), "WORKBENCH_CACHE": str(tmp_path / "cache")}
    assert (user_cache(env), user_file(env)) == (tmp_path / "cache", tmp_path / "config.toml")
    assert all("context-workbench" in str(place({})) for place in (user_cache, user_file))


def strategy(key: str) -> st.SearchStrategy[Any]:
    expected = type(values(Config())[key])
    if expected is tuple:
        return st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=3).map(tuple)
    return {bool: st.booleans(), int: st.integers(1, 10**9), float: st.floats(0, 1)}.get(
        expected, st.text(st.characters(exclude_categories=["Cs"]))
    )


FREE = [key for key in schema() if "Literal" not in str(get_origin(schema()[key]) or schema()[key])]
FILE = """# top comment
plan.budget = 5 # dotted

[index] # files
exclude = [
  "a/", # why
  "b/",
]

[models]
embedding = "x"
"""


@given(st.data())
def test_setting_a_key_changes_only_that_key(data: st.DataObject) -> None:
    """After set_key the file reads back with the new value, all other values and comments as before."""
    key = data.draw(st.sampled_from(sorted(set(FREE) - {k for k in FREE if k.startswith("plan.")})))
    value = data.draw(strategy(key))
    section, _, name = key.partition(".")
    after = set_key(FILE, section, name, value)
    expected = tomllib.loads(FILE)
    expected.setdefault(section, {})[name] = list(value) if isinstance(value, tuple) else value
    assert tomllib.loads(after) == expected
    assert "# top comment" in after
    assert "budget = 5 # dotted" in after
    assert name in after.splitlines()[key_line(after, section, name) - 1]
    assert tomllib.loads(unset_key(after, section, name)).get(section, {}).get(name) is None


def test_setting_keeps_the_way_the_file_is_written() -> None:
    """Dotted keys, comments and inline tables stay, a list goes whole, an empty file gets a section."""
    assert "plan.budget = 7 # dotted\n" in set_key(FILE, "plan", "budget", 7)
    odd = set_key(FILE, "models", "llm", "a\x85\u2028b")
    assert set_key(odd, "plan", "budget", 7).count("a\x85\u2028b") == 1
    assert set_key(FILE, "index", "exclude", ("c/",)).count("a/") == 0
    assert set_key("", "plan", "budget", 7) == "[plan]\nbudget = 7\n"
    assert set_key("plan = {budget = 3}\r\n", "plan", "budget", 7) == "plan = {budget = 7}\r\n"
    with pytest.raises(ConfigError, match="plan is a value"):
        set_key("plan = 3\n", "plan", "budget", 7)


def test_toml_text_round_trips() -> None:
    """Quotes, control characters and lists written by to_toml read back as they were."""
    for value in ['a"b\\c', "\x7f\x01\n", True, 1.5, ["é", "x"]]:
        assert tomllib.loads(f"v = {to_toml(value)}")["v"] == value
