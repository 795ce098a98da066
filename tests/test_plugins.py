"""User-defined classes: loading, parameters and one-line errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicrawl import plugins
from topicrawl.errors import PluginError, SettingError

MODULE = """
from __future__ import annotations

class Plain:
    def __init__(self, topic: object, share: float = 0.5, *, deep: bool = False, name="x") -> None:
        self.share, self.deep, self.name = share, deep, name

value = 7
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_outside.py").write_text(MODULE, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("here")
def test_a_class_of_the_current_directory_takes_what_stands_behind_the_second_colon() -> None:
    kind, text = plugins.load_class("made_outside:Plain:share=0.25,deep=yes,name=a=b", "judge", SettingError)
    known = plugins.inspect_parameters(kind)
    assert known == {"share": (float, 0.5), "deep": (bool, False), "name": (str, "x")}
    made = kind(None, **plugins.parse_parameters(text, known, "it", SettingError))
    assert (made.share, made.deep, made.name) == (0.25, True, "a=b")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("made_nowhere:Plain", "cannot load the judge made_nowhere:Plain: No module"),
        ("made_outside:Plane", "cannot load the judge made_outside:Plane"),
        ("made_outside:value", "made_outside:value is not a class"),
        (":Plain", "cannot load the judge"),
        ("..:Plain", "cannot load the judge"),
    ],
)
def test_what_cannot_be_loaded_is_refused_in_one_line(spec: str, said: str) -> None:
    with pytest.raises(SettingError, match=said) as caught:
        plugins.load_class(spec, "judge", SettingError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shore=1", "did you mean 'share'"),
        ("x=1", "it takes share, deep"),
        ("share", "write share=value"),
        ("share=much", "share must be float, not 'much'"),
        ("share=nan", "must be a finite number"),
        ("deep=perhaps", "deep must be yes or no"),
    ],
)
def test_a_parameter_that_cannot_be_had_is_named(text: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        plugins.parse_parameters(text, {"share": (float, 0.5), "deep": (bool, False)}, "it", SettingError)


def test_a_class_without_a_signature_takes_no_parameters() -> None:
    assert plugins.inspect_parameters(dict) == {}


def test_guarded_class_overrides_the_same_methods_as_the_plugin() -> None:
    class Base:
        def one(self) -> int:
            return 1

        def two(self) -> int:
            return 2

    class Plugin(Base):
        name = "mine"

        def one(self) -> int:
            raise FileNotFoundError(2, "No such file or directory", "hosts.txt")

    guarded = plugins.guard_methods(Plugin, Base, "mine:Plugin")
    assert (guarded.__name__, guarded.__module__, guarded.name) == ("Plugin", __name__, "mine")
    assert guarded.two is Base.two
    assert isinstance(guarded(), Plugin)
    with pytest.raises(PluginError, match=r"^mine:Plugin failed: .*hosts\.txt'$"):
        guarded().one()


def test_other_errors_of_a_plugin_are_named_with_their_line() -> None:
    with (
        pytest.raises(PluginError, match=r"^mine:Plugin failed: KeyError: 'x' \(test_plugins\.py, line \d+\)$"),
        plugins.report_errors("mine:Plugin"),
    ):
        raise KeyError("x")


def test_errors_of_the_crawler_pass_through_a_plugin() -> None:
    with pytest.raises(SettingError, match=r"^no$"), plugins.report_errors("mine:Plugin"):
        raise SettingError("no")
