"""Where a file of settings is found, and how it is read."""

import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.exceptions import SettingsError
from antiloop.loop_detection._project import find_settings
from antiloop.loop_detection._project.settings import ProjectSettings, SettingsFile, read_settings


def written(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


def test_the_nearest_file_upwards_counts(tmp_path):
    above = written(tmp_path, "antiloop.toml", "")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_settings(str(below)) == above
    near = written(tmp_path / "a", "antiloop.toml", "")
    assert find_settings(str(below)) == near


def test_in_the_working_folder_it_is_named_without_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "antiloop.toml", "")
    assert find_settings() == "antiloop.toml"


def test_a_project_counts_only_with_a_table_of_ours(tmp_path):
    written(tmp_path / "a", "pyproject.toml", "[project]\nname = 'antiloop'\n")
    outer = written(tmp_path, "pyproject.toml", "[tool.antiloop]\nshadow = true\n")
    assert find_settings(str(tmp_path / "a")) == outer
    assert read_settings(outer).values == {"shadow": True}


@pytest.mark.parametrize(
    "text",
    [
        "[tool.antiloop]",
        "\ufeff[tool.antiloop]",
        "[project]\r\n\r\n  [ tool . antiloop ] # ours\r\n",
        '[tool."antiloop".thresholds]',
        "[tool]\nantiloop = {shadow = true}",
        "[project]\nname = 'a'\n[ 'tool' ] # others too\nother = 1\nantiloop.shadow = true",
        "tool.antiloop = {shadow = true}",
        "tool.antiloop.shadow = true",
    ],
)
def test_a_table_of_ours_may_be_written_as_toml_allows(tmp_path, text):
    written(tmp_path, "pyproject.toml", text)
    assert find_settings(str(tmp_path)) == "pyproject.toml"


@pytest.mark.parametrize(
    "text",
    [
        *("# [tool.antiloop]", "[tool.antiloop-extra]", 'a = "[tool.antiloop]"'),
        *("[tool.antiloops.a]", "[tool]\nantiloops = {}", "[tools]\nantiloop = {}"),
        *("[project.scripts]\nantiloop = 'antiloop.cli:main'", "[tool]\n[a]\nantiloop = {}"),
    ],
)
def test_what_only_looks_like_a_table_of_ours_hides_no_settings(tmp_path, text):
    outer = written(tmp_path, "antiloop.toml", "")
    written(tmp_path / "a", "pyproject.toml", f"{text}\n")
    assert find_settings(str(tmp_path / "a")) == outer


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_settings_in_another_encoding_are_named(tmp_path, monkeypatch, encoding):
    monkeypatch.chdir(tmp_path)
    for name in ("pyproject.toml", "antiloop.toml"):
        (tmp_path / name).write_bytes("\ufeff[project]\r\n[tool.antiloop]\r\n".encode(encoding))
        with pytest.raises(SettingsError, match=f"^{name}: not a text in UTF-8"):
            ProjectSettings.read()


def test_a_link_to_nothing_is_named(tmp_path, monkeypatch):
    written(tmp_path, "antiloop.toml", "")
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    (tmp_path / "a" / "antiloop.toml").symlink_to("nowhere")
    with pytest.raises(SettingsError, match=r"^antiloop\.toml: a link to nothing"):
        ProjectSettings.read()


def test_beside_a_project_a_file_of_ours_counts(tmp_path):
    written(tmp_path, "pyproject.toml", "[tool.antiloop]\n")
    own = written(tmp_path, "antiloop.toml", "")
    assert find_settings(str(tmp_path)) == "antiloop.toml"
    assert read_settings(own).values == {}


def test_a_folder_of_that_name_is_no_file(tmp_path):
    (tmp_path / "antiloop.toml").mkdir()
    (tmp_path / "pyproject.toml").mkdir()
    found = find_settings(str(tmp_path))
    assert found not in ("antiloop.toml", "pyproject.toml")


@given(st.lists(st.sampled_from("abc"), max_size=3))
def test_a_search_for_settings_does_not_wait_on_a_pipe(links):
    with tempfile.TemporaryDirectory() as folder:
        above = os.path.join(os.path.realpath(folder), "antiloop.toml")
        Path(above).touch()
        below = os.path.join(folder, "a")
        os.mkdir(below)
        path = os.path.join(below, "".join(["pyproject.toml", *links]))
        os.mkfifo(path)
        if links:
            os.symlink(path, os.path.join(below, "pyproject.toml"))
        # What cannot be read counts as a project without a table of ours.
        assert os.path.realpath(str(find_settings(below))) == above
        os.mkfifo(os.path.join(below, "antiloop.toml"))
        with pytest.raises(SettingsError, match=r"antiloop\.toml: a named pipe"):
            ProjectSettings.read(os.path.join(below, str(find_settings(below))))


def test_a_path_in_it_is_relative_to_the_file():
    file = SettingsFile(os.path.join("a", "antiloop.toml"))
    assert file.beside("known.jsonl") == os.path.join("a", "known.jsonl")
    assert SettingsFile("antiloop.toml").beside("known.jsonl") == "known.jsonl"


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("antiloop.toml", b"preset = ", "not TOML: "),
        ("antiloop.toml", b"\xff\xfe", "not a text in UTF-8"),
        ("antiloop.toml", b"a = " + b"[" * 5000, "not TOML: "),
        ("pyproject.toml", b"[tool]\nantiloop = 3", "tool.antiloop must be a table, got 3"),
    ],
)
def test_what_cannot_be_read_is_told_with_the_file(tmp_path, name, data, words):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(SettingsError) as caught:
        read_settings(str(path))
    assert str(caught.value).startswith(f"{path}: {words}")


def test_for_a_configuration_in_json_the_error_says_how_it_is_used(tmp_path):
    path = tmp_path / "fitted.json"
    path.write_text('{"version": 1}')
    with pytest.raises(SettingsError, match=r'name it in antiloop\.toml: config = "FILE\.json"'):
        read_settings(str(path))
    path = tmp_path / "antiloop.toml"
    path.write_text("preset =")
    with pytest.raises(SettingsError) as caught:
        read_settings(str(path))
    assert "JSON" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r"gone\.toml: No such file"):
        read_settings(str(tmp_path / "gone.toml"))


def test_where_no_toml_can_be_read_the_remedy_is_named(tmp_path, monkeypatch):
    path = written(tmp_path, "antiloop.toml", "")
    reader = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    monkeypatch.setitem(sys.modules, reader, None)
    with pytest.raises(SettingsError, match=r'pip install "antiloop\[toml\]"'):
        read_settings(path)
