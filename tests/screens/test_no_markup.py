"""No screen reads data as markup: the source is checked, and the check is checked with samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.screens.markup_lint import violations

ROOT = Path(__file__).parents[2]

GOOD = {
    "a literal": 'Static("Nothing here")',
    "shown": "Static(shown(name))",
    "lines": "Label(shown_lines(body, 'bold'))",
    "without markup": "Static(name, markup=False)",
    "a name that is content": "text = shown(name)\nStatic(text)",
    "either of two contents": "Static(shown(a) if a else Content(''))",
    "contents put together": "Static(shown(a) + ' and ' + shown(b))",
    "a method of content": "Static(shown(a).stylize('bold'))",
    "contents joined": "Button(Content(', ').join(parts))",
    "a parameter": "def make(text: Content) -> None:\n    Static(text)",
    "a function": "def made(x: str) -> Content:\n    return shown(x)\nOption(made(name))",
    "an attribute": "class A:\n    text: Content\ndef f(a: A) -> None:\n    a.border_title = a.text",
    "a widget's update": "self.query_one(Static).update(shown(name))",
    "a dictionary's update": "known.update({name: 1})\nknown.update(name=1)",
    "a set's update": "known.update(each for each in names)",
    "a subclass": "class Line(Static):\n    def __init__(self, t):\n        super().__init__(shown(t))",
    "a rendered content": "class A(Widget):\n    def render(self) -> Content:\n        return shown(self.x)",
    "a tooltip": 'Binding("j", "down", "Down", tooltip="Go down")',
    "a name made of itself": "text = shown(name)\ntext = text.stylize('bold')\ntext += ' now'\nStatic(text)",
    "a loop over contents": "text: Content\nfor text in made:\n    Static(text)",
    "an option that is added": "options.add_option(Option(shown(name)))",
    "a function here, a text elsewhere": (
        "class A:\n    label: str\ndef label() -> Content:\n    return shown(x)\nStatic(label())"
    ),
    "a literal constant": "TITLE = 'Rules'\nStatic(TITLE)",
}

BAD = {
    "a name": "Static(name)",
    "an f-string": "Label(f'{count} rules')",
    "a keyword": "Static(content=name)",
    "markup asked for": "Static(name, markup=True)",
    "a literal with brackets": "Static('[b]rules[/b]')",
    "a button": "Button(name)",
    "an option": "Option(str(name))",
    "a list's option": "options.add_option(name)",
    "a cell": "table.add_row(name)",
    "an update": "self.query_one(Static).update(f'{name}')",
    "a title": "self.border_title = name",
    "a subtitle": "pane.border_subtitle = f'{count}'",
    "a tooltip that is set": "widget.tooltip = path",
    "a tooltip that is given": "Button('Open', tooltip=path)",
    "a toast": "self.notify('Saved')",
    "a toast of the app": "self.app.notify(name, markup=False)",
    "markup of content": "Content.from_markup(name)",
    "markup of rich text": "Text.from_markup('[b]x')",
    "markup by reference": "parse = Content.from_markup",
    "text that is read": "Content.from_text(name)",
    "a method of a literal": "Static('{}'.format(name))",
    "a literal that joins": "Static(', '.join(names))",
    "one of two": "Static(shown(a) if a else a)",
    "two strings": "Static('a' + name)",
    "a name set twice": "text = shown(name)\ntext = name\nStatic(text)",
    "a name that is added to": "text = 'all: '\ntext += name\nStatic(text)",
    "a loop's name": "for text in names:\n    Static(text)",
    "a parameter": "def make(text: str) -> None:\n    Static(text)",
    "a parameter that may be text": "def make(text: Content | str) -> None:\n    Static(text)",
    "a function": "def made(x: str) -> str:\n    return x\nOption(made(name))",
    "an attribute that is content only here": (
        "class A:\n    text: Content\nclass B:\n    text: str\ndef f(a: A) -> None:\n    Static(a.text)"
    ),
    "a subclass": "class Line(Static):\n    pass\nLine(name)",
    "a subclass of a subclass": "class A(Label):\n    pass\nclass B(A):\n    pass\nB(name)",
    "a subclass that passes on": "class A(Static):\n    def __init__(self, t):\n        super().__init__(t)",
    "a rendered string": "class A(Widget):\n    def render(self) -> str:\n        return self.x",
    "a rendered result": "class A(Widget):\n    def render(self) -> RenderResult:\n        return str(x)",
    "a hit of the palette": "Hit(1.0, name, run)",
    "a hit that is highlighted": "matcher.highlight(name)",
    "a command": "SystemCommand(name, 'help', run)",
    "markdown": "Markdown(name)",
    "a tree": "Tree(name)\nroot.add_leaf(name)",
    "a qualified name": "textual.widgets.Static(name)",
}


def test_no_screen_reads_data_as_markup() -> None:
    """Whatever a screen shows is a literal, content, or shown without markup."""
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "screens").rglob("*.py"))
    }
    assert len(sources) > 5
    assert violations(sources) == []


@pytest.mark.parametrize("source", GOOD.values(), ids=GOOD)
def test_what_is_literal_is_let_through(source: str) -> None:
    """Literals, content and what is annotated as content are no violation."""
    assert violations({"screens/sample.py": source}) == []


@pytest.mark.parametrize("source", BAD.values(), ids=BAD)
def test_what_may_be_data_is_found(source: str) -> None:
    """Each way to show a string as markup is a violation, at the line it happens in."""
    found = violations({"screens/sample.py": source})
    assert found
    assert all(each.startswith("screens/sample.py:") for each in found)


def test_one_function_may_notify() -> None:
    """Toasts are shown by one helper, which is told by its module and name."""
    source = "def toast(app, text):\n    app.notify(text, markup=False)\ndef other(app):\n    app.notify('x')"
    assert violations({"screens/safe_text.py": source}) == [
        "screens/safe_text.py:4: notify reads markup: call screens.safe_text.toast"
    ]
