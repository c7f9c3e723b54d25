"""What a task writes by its name leads: the one or two places of a project that it can only mean."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.conftest import Work, make_repository
from workbench.config import Config
from workbench.entry.project import OpenedProject, open_project
from workbench.plan.pipeline import plan
from workbench.plan.written import MOST_TASK, forms_of
from workbench.records.plan import PlanRequest

SOURCES = {
    "app/templates.py": "class Template:\n    def render(self):\n        return self.text\n",
    "app/options.py": (
        "import argparse\n\n\ndef options():\n    parser = argparse.ArgumentParser()\n"
        '    parser.add_argument("verbosity", help="how much is said")\n    return parser\n'
    ),
    "app/store.go": 'package app\n\nfunc Flags() {\n\tflags.Bool(&debug, "debug", "say more")\n}\n',
    "app/errors.py": (
        'def refuse(name):\n    """Say no."""\n    raise ValueError(f"the model {name} is not served here")\n'
    ),
    "settings/app.toml": "[cache]\nretention_days = 3\n",
    "tests/test_errors.py": "def test_refuses_strangers():\n    assert refuse\n",
}


@cache
def made(root: Path) -> Work:
    """Make a repository in which one module has every word of a task, and others define what it names."""
    work = make_repository(root)
    for path, text in SOURCES.items():
        work.write(path, text)
    work.commit("Begin")
    for turn in range(6):
        lines = "".join(f"    template_{line} = Template({line}, {turn})\n" for line in range(12))
        work.write(
            "app/cli.py",
            f"from app.templates import Template\n\n\ndef rename_templates(debug, verbose, model):\n{lines}"
            "    # the debug flag, the model and the error of a template are named by the prompt\n",
        )
        work.time += 86_400
        work.commit(f"rename the template of a model to a prompt, debug flag and error {turn}")
    return work


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> OpenedProject:
    """Return that repository, opened."""
    return open_project(made(tmp_path_factory.mktemp("written") / "project").root, config=Config())


@pytest.mark.parametrize(
    ("task", "path", "text"),
    [
        ("rename Template to PromptTemplate", "app/templates.py", "class Template:"),
        ("replace the `Template` of a model by a prompt", "app/templates.py", "class Template:"),
        ("the debug flag of a template prints no error", "app/store.go", '"debug"'),
        ("rename_templates ignores `verbosity`", "app/options.py", '"verbosity"'),
        ('the error "the model gpt is not served here" names no template', "app/errors.py", "not served"),
        ("`retention_days` of a template is ignored", "settings/app.toml", "retention_days"),
        ("test_refuses_strangers names no model", "tests/test_errors.py", "test_refuses_strangers"),
    ],
)
def test_a_named_place_leads_and_is_shown(project: OpenedProject, task: str, path: str, text: str) -> None:
    """The file that defines the name, or holds the text, is first, with the place that the task names."""
    made = plan(project.workspace, project.planner, PlanRequest(str(project.root), task, token_budget=2000))
    views = [offer.view for _, offer in made.pack.files if offer.view.spans]
    first = next(view for view in views if view.path == path) if "rename_templates" in task else views[0]
    assert first.path == path
    assert any(text in line for line in first.lines)
    assert not made.response.low_confidence
    assert text in made.response.context.text


def test_a_pasted_line_is_looked_at_from_its_begin(project: OpenedProject) -> None:
    """A command with thousands of flags costs no more than its first ones."""
    task = f"the debug flag of a template {'--verbosity fails ' * (MOST_TASK // 18)} `retention_days`"
    answer = plan(project.workspace, project.planner, PlanRequest(str(project.root), task))
    assert {one.text for one in answer.ranking.written} == {"debug", "--verbosity"}


def test_an_ordinary_word_leads_nowhere(project: OpenedProject) -> None:
    """A word of everyday text and a name that many places hold move nothing."""
    for task in ("the template of a model prints no error", "say `def` in the error of a template"):
        made = plan(project.workspace, project.planner, PlanRequest(str(project.root), task))
        assert made.ranking.written == ()
        assert made.ranked[0].path == "app/cli.py"


@pytest.mark.parametrize(
    ("task", "forms"),
    [
        ("`Foo.bar()` fails with --no-color", {"Foo.bar"}),
        (
            "remove --no-color, as --color is not enough and `ls --all` needs neither",
            {"--no-color", "--color"},
        ),
        ("an `ImportError` or JSONDecodeError with the strict option", {"ImportError", "JSONDecodeError"}),
        ("parseConfig and parse_config of Foo::Bar, run() and plain words", None),
        ("the dry-run option and the new flag", {"dry-run"}),
        ("\"can't open the file 'x.txt' for reading\" at 'UTF-8'", {"can't open the file"}),
        ("see docs/foo_bar.md, a.b@c_d.org and e.g. http://x_y.z", set()),
    ],
)
def test_what_counts_as_written(task: str, forms: set[str] | None) -> None:
    """Code, qualified and compound names, flags, quoted texts without what they fill in; no path, no word."""
    wanted = {"parseConfig", "parse_config", "Foo::Bar", "run"} if forms is None else forms
    assert {form.text for form in forms_of(task)} == wanted
