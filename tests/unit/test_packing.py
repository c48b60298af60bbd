"""bench pack and bench load of its archive, through the command line; and the limits for a stranger's archive."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import stat
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.database import connections
from bench.cli.load import command as load_command
from bench.cli.pack import command as pack_command
from bench.common.errors import InputError
from bench.packing.manifest import belongs
from tests.factory import Case, make_session


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A results folder with the session S, loaded, and its archive."""
    results = tmp_path_factory.mktemp("packing") / "results"
    make_session(results, [Case(name="ddp", step_ms={1: 10.0, 2: 6.0}, steps=10)], session_id="S")
    (results / "S/ddp.1x1.r0/rank0.log").write_text("alice@node7 said hello\n")
    (results / "S/slurm-job-7.json").write_text('{"user": "alice"}')
    (results / "S/.lock").touch()
    assert run(load_command, results).exit_code == 0
    done = run(pack_command, "S", results=results, out=results.parent / "S.zip")
    assert done.exception is None, done.output
    return results, results.parent / "S.zip", done.output


def run(command, *arguments, **options):
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return CliRunner().invoke(command, [*map(str, arguments), *given], standalone_mode=False)


def refused(done):
    assert isinstance(done.exception, InputError), done.output
    return str(done.exception)


def rewritten(archive, out, change):
    """A copy of an archive; `change(members)` on {name: bytes}, then the manifest's sums are as they were."""
    with zipfile.ZipFile(archive) as old:
        members = {name: old.read(name) for name in old.namelist()}
    change(members)
    with zipfile.ZipFile(out, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)
    return out


def manifest_with(members, **changes):
    """The manifest of these members with other entries for some files."""
    whole = json.loads(members["MANIFEST.json"])
    whole["files"] |= changes
    members["MANIFEST.json"] = json.dumps(whole).encode()


def listed(content):
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def test_another_site_verifies_and_loads_it_and_packs_the_same_bytes_again(made, tmp_path):
    results, archive, said = made
    assert f"SHA-256 {hashlib.sha256(archive.read_bytes()).hexdigest()}" in said
    done = run(load_command, archive, results=tmp_path / "there")
    assert done.return_value == 0, done.output
    assert done.output.splitlines()[0] == f"verified: {tmp_path}/there/S"
    asked = []
    for folder in (results, tmp_path / "there"):
        with connections.reader(folder) as connection:
            asked.append(connection.execute("FROM scaling ORDER BY workers").fetchall())
    assert asked[0] == asked[1] != []
    again = run(pack_command, "S", results=tmp_path / "there", out=tmp_path / "again.zip")
    assert again.exception is None, again.output
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


def test_it_holds_json_parquet_and_the_report_and_nothing_that_names_people(made):
    _, archive, said = made
    with zipfile.ZipFile(archive) as found:
        names = found.namelist()
        assert b"<!doctype html>" in found.read("report.html")
        assert {member.date_time for member in found.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert names[0] == "MANIFEST.json"
    assert {name.rpartition(".")[2] for name in names} == {"json", "parquet", "html"}
    assert not [name for name in names if "slurm" in name or "log" in name]
    assert "with its report" in said


def test_logs_come_along_where_they_are_asked_for(made, tmp_path):
    results, _, _ = made
    done = run(pack_command, "S", "--logs", "--no-report", results=results, out=tmp_path / "logs.zip")
    assert done.exception is None, done.output
    with zipfile.ZipFile(tmp_path / "logs.zip") as found:
        assert found.read("ddp.1x1.r0/rank0.log") == b"alice@node7 said hello\n"


def test_what_cannot_be_packed_is_said_and_leaves_nothing(made, tmp_path):
    results = tmp_path / "r"
    shutil.copytree(made[0], results)
    out = tmp_path / "out.zip"
    assert "no session 'T'" in refused(run(pack_command, "T", results=results, out=out))
    assert "choose another --out" in refused(run(pack_command, "S", results=results, out=made[1]))
    with (results / "S/.lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "is being written by `bench suite`" in refused(
            run(pack_command, "S", results=results, out=out)
        )
    raw = results / "S/ddp.1x1.r0/steps.rank0.raw"
    raw.touch()
    assert "rows that were never imported: `bench load` first" in refused(
        run(pack_command, "S", results=results, out=out)
    )
    raw.unlink()
    (results / "S/ddp.1x1.r0/samples.node9.parquet").symlink_to("/etc/hostname")
    assert "a link: an archive contains no files from elsewhere" in refused(
        run(pack_command, "S", results=results, out=out)
    )
    assert sorted(tmp_path.iterdir()) == [results]


def test_a_session_that_is_there_already_is_left_alone(made):
    results, archive, _ = made
    assert "session S exists in" in refused(run(load_command, archive, results=results))


def test_two_archives_of_one_session_are_named_and_neither_is_unpacked(made, tmp_path):
    _, archive, _ = made
    copy = shutil.copy(archive, tmp_path / "copy.zip")
    said = refused(run(load_command, archive, copy, results=tmp_path / "new"))
    assert f"{copy}: holds the same session as {archive}, S: name one of them; nothing was written" in said
    assert not (tmp_path / "new/S").exists()


def test_several_archives_are_loaded_at_once_or_none_of_them(made, tmp_path):
    _, archive, _ = made
    make_session(tmp_path / "other", [Case(name="ddp", step_ms={1: 10.0}, steps=10)], session_id="T")
    other = tmp_path / "T.zip"
    run(pack_command, "T", "--no-report", results=tmp_path / "other", out=other)
    there = tmp_path / "there"
    done = run(load_command, archive, other, results=there)
    assert (done.exit_code, done.output.count("verified: ")) == (0, 2)
    assert "2 sessions, " in done.output
    broken = rewritten(archive, tmp_path / "broken.zip", damage)
    assert f"{broken}: " in refused(run(load_command, other, broken, results=tmp_path / "none"))
    assert list((tmp_path / "none").iterdir()) == []
    text = refused(run(load_command, other, there))
    assert f"{there}: give one results folder, or archives of `bench pack` (FILE.zip) and no folder" in text


def add(name, content=b"x", *, list_it=True):
    def change(members):
        members[name] = content
        if list_it:
            manifest_with(members, **{name: listed(content)})

    return change


def damage(members):
    members["session.json"] = members["session.json"].replace(b"smoke", b"smoak")


def lengthen(members):
    members["plan.json"] = members.get("plan.json", b"") + b" " * 5_000_000
    manifest_with(members, **{"plan.json": {"bytes": 7, "sha256": "0" * 64}})


def rename(members):
    content = members["session.json"].replace(b'"S"', b'"T"')
    members["session.json"] = content
    manifest_with(members, **{"session.json": listed(content)})


def take_away(members):
    del members["session.json"]


def elsewhere(members):
    members["MANIFEST.json"] = members["MANIFEST.json"].replace(
        b'"session_id": "S"', b'"session_id": "../up"'
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (damage, "session.json: its SHA-256 is not that of MANIFEST.json"),
        (lengthen, "plan.json: more bytes, MANIFEST.json says 7"),
        (take_away, "session.json is in MANIFEST.json, but not in the archive"),
        (rename, "session.json is not of session S"),
        (elsewhere, "session '../up' is not a valid session name"),
        (add("extra.parquet", list_it=False), "'extra.parquet' is not in MANIFEST.json"),
        (add("../../evil/run.json"), "'../../evil/run.json' is not a file of a session"),
        (add("/etc/run.json"), "'/etc/run.json' is not a file of a session"),
        (add("run/attempt0/../run.json"), "is not a file of a session"),
        (add(".hidden/run.json"), "is not a file of a session"),
        (add("run/steps.node0.sh"), "is not a file of a session"),
        (lambda members: members.pop("MANIFEST.json"), "has no MANIFEST.json: not written by `bench pack`"),
        (lambda members: members.update({"MANIFEST.json": b"{"}), "MANIFEST.json: not JSON"),
        (lambda members: members.update({"MANIFEST.json": b'{"format": 9}'}), "format is 9, this scalebench reads 1"),
        (
            lambda members: manifest_with(members, **{"plan.json": {"bytes": 2**60, "sha256": "0" * 64}}),
            "plan.json: bytes is 1152921504606846976, not a size",
        ),
    ],
)  # fmt: skip
def test_a_hostile_archive_is_refused_and_nothing_is_written(made, tmp_path, change, said):
    bad = rewritten(made[1], tmp_path / "bad.zip", change)
    assert said in refused(run(load_command, bad, results=tmp_path / "r"))
    assert not list(tmp_path.glob("r/*")) + list(tmp_path.glob("r/.*"))


def test_links_and_doubles_and_what_is_no_archive_are_refused(made, tmp_path):
    with zipfile.ZipFile(made[1]) as old:
        manifest = old.read("MANIFEST.json")
    link = zipfile.ZipInfo("session.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as new:
        new.writestr("MANIFEST.json", manifest)
        new.writestr(link, "/etc/passwd")
    assert "'session.json' is a link or a folder" in refused(
        run(load_command, tmp_path / "link.zip", results=tmp_path / "r")
    )
    shutil.copyfile(made[1], tmp_path / "twice.zip")
    with zipfile.ZipFile(tmp_path / "twice.zip", "a") as new, pytest.warns(UserWarning, match="Duplicate"):
        new.writestr("session.json", "{}")
    assert "session.json occurs twice" in refused(
        run(load_command, tmp_path / "twice.zip", results=tmp_path / "r")
    )
    (tmp_path / "cut.zip").write_bytes(made[1].read_bytes()[:-100])
    assert "not a valid archive of `bench pack`" in refused(
        run(load_command, tmp_path / "cut.zip", results=tmp_path / "r")
    )
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("session.json", True),
        ("ddp~a=1.2x4.t2.r0/attempt3/steps.node0.task1.parquet", True),
        ("ddp.1x1.r0/rank12.log", True),
        ("ddp.1x1.r0/attempt3/attempt4/run.json", False),
        ("ddp.1x1.r0/.run.json.tmp", False),
        ("session.json/run.json", False),
        ("MANIFEST.json/attempt1/run.json", False),
        ("..\\run.json", False),
        ("C:\\x/run.json", False),
        ("a\n/run.json", False),
        ("ddp/", False),
        ("", False),
    ],
)
def test_only_names_of_ours_belong_to_an_archive(path, is_one):
    assert belongs(path) == is_one


def test_the_default_name_is_that_of_the_session(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(pack_command, "S", "--no-report", results=Path(made[0]))
    assert done.exception is None, done.output
    assert done.output.startswith("S.zip: ")


def test_an_archive_that_is_not_there_is_missed_as_a_file(tmp_path):
    said = refused(run(load_command, tmp_path / "S.zip", results=tmp_path / "results"))
    assert (
        said == f"{tmp_path}/S.zip: cannot be read: [Errno 2] No such file or directory: '{tmp_path}/S.zip'"
    )
