"""Writing a file in one step: what is there stays, whatever is planted and whatever goes wrong."""

import os
import signal
import stat
import threading

import pytest

from antiloop._replaced_file import named_folders, replaced_file


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture
def precious(tmp_path):
    path = tmp_path / "precious"
    path.write_text("precious")
    return path


def write(path, text="new", within=None):
    with replaced_file(str(path), within) as file:
        file.write(text)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("ending", [".part", ".tmp", "~", ".new", ".lock", ".swp"])
def test_a_link_at_a_name_that_could_be_foreseen_is_not_written_through(folder, precious, ending):
    path = folder / "page.html"
    for name in (f"page.html{ending}", f".page.html{ending}", f".antiloop{ending}"):
        (folder / name).symlink_to(precious)
    before = names(folder)
    write(path)
    assert (path.read_text(), path.is_symlink(), precious.read_text()) == ("new", False, "precious")
    assert names(folder) == sorted([*before, "page.html"])


@pytest.mark.parametrize("is_link", [True, False])
def test_a_name_that_is_taken_is_not_written_to(folder, precious, monkeypatch, is_link):
    monkeypatch.setattr(os, "urandom", bytes)
    taken = folder / f".antiloop-{bytes(16).hex()}"
    if is_link:
        taken.symlink_to(precious)
    else:
        taken.write_text("precious")
    with pytest.raises(FileExistsError):
        write(folder / "page.html")
    assert (precious.read_text(), taken.read_text()) == ("precious", "precious")
    assert names(folder) == [taken.name]


def test_no_two_names_are_the_same_while_a_file_is_written(folder):
    with replaced_file(str(folder / "page")) as one, replaced_file(str(folder / "page")) as other:
        assert one.name != other.name
        assert os.path.dirname(one.name) == str(folder)
        one.write("one")
        other.write("other")
    assert ((folder / "page").read_text(), names(folder)) == ("one", ["page"])


def test_an_older_file_stays_until_the_new_one_is_complete(folder):
    path = folder / "page"
    path.write_text("old")
    with replaced_file(str(path)) as file:
        file.write("new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_that_ends_the_process_leaves_nothing_behind(folder, name):
    number = getattr(signal, name)
    heard = []
    before = signal.signal(number, lambda *_: heard.append(number))
    try:
        with pytest.raises(SystemExit) as ended, replaced_file(str(folder / "page")):
            signal.raise_signal(number)
        assert (ended.value.code, names(folder), heard) == (128 + number, [], [])
        signal.raise_signal(number)
        assert heard == [number]
    finally:
        signal.signal(number, before)


def fail_while_writing(path, error):
    with replaced_file(str(path)) as file:
        file.write("half")
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError])
def test_an_error_leaves_the_older_file_and_nothing_else(folder, error):
    path = folder / "page"
    path.write_text("old")
    with pytest.raises(error):
        fail_while_writing(path, error)
    assert (path.read_text(), names(folder)) == ("old", ["page"])


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755, 0o666])
def test_the_mode_of_an_older_file_is_kept_and_never_wider_in_between(folder, mode):
    path = folder / "page"
    path.write_text("old")
    path.chmod(mode)
    with replaced_file(str(path)) as file:
        assert stat.S_IMODE(os.stat(file.name).st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_gets_the_mode_of_any_new_file(folder):
    write(folder / "page")
    (folder / "other").write_text("")
    assert (folder / "page").stat().st_mode == (folder / "other").stat().st_mode


def test_what_a_link_leads_to_is_replaced_and_the_link_stays(folder, tmp_path):
    (folder / "page").symlink_to("real")
    for text in ("first", "second"):
        write(folder / "page", text, within=[str(folder)])
        assert ((folder / "real").read_text(), (folder / "page").is_symlink()) == (text, True)


@pytest.mark.parametrize("target", ["precious", "missing", "folder-2/page"])
def test_a_link_that_leads_out_of_the_folders_is_refused(folder, precious, tmp_path, target):
    (folder / "page").symlink_to(tmp_path / target)
    with pytest.raises(OSError, match="a link to"):
        write(folder / "page", within=[str(folder)])
    assert precious.read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["folder", "precious"]


def test_a_folder_that_was_named_may_be_a_link(folder, tmp_path, monkeypatch):
    (tmp_path / "way").symlink_to(folder)
    path = str(tmp_path / "way" / "page")
    write(path, within=named_folders(path))
    monkeypatch.chdir(folder)
    write("beside", within=named_folders("beside"))
    assert names(folder) == ["beside", "page"]


def test_pipes_and_open_descriptors_are_written_to(folder):
    pipe, read = folder / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write(pipe)
    reader.join()
    with (folder / "ours").open("w+") as ours:
        write(f"/dev/fd/{ours.fileno()}", within=[os.curdir])
    assert (read, (folder / "ours").read_text()) == (["new"], "new")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_is_not_replaced(folder):
    with pytest.raises(IsADirectoryError):
        write(folder)
