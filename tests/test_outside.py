"""Classes of the user's own: found by name, given their parameters, refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicrawl import outside
from topicrawl.errors import SettingError

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
    kind, text = outside.loaded("made_outside:Plain:share=0.25,deep=yes,name=a=b", "judge", SettingError)
    known = outside.parameters(kind)
    assert known == {"share": (float, 0.5), "deep": (bool, False), "name": (str, "x")}
    made = kind(None, **outside.values(text, known, "it", SettingError))
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
        outside.loaded(spec, "judge", SettingError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shore=1", "did you mean 'share'"),
        ("x=1", "it takes share, deep"),
        ("share", "write share=value"),
        ("share=much", "share must be float, not 'much'"),
        ("share=nan", "must be a finite number"),
        ("deep=perhaps", "deep is yes or no"),
    ],
)
def test_a_parameter_that_cannot_be_had_is_named(text: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        outside.values(text, {"share": (float, 0.5), "deep": (bool, False)}, "it", SettingError)


def test_a_class_without_a_signature_takes_no_parameters() -> None:
    assert outside.parameters(dict) == {}
