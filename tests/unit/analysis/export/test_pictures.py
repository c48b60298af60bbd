"""bench export --format pdf, png and svg: charts, whole, on white. Only our own files are replaced."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

import pytest
from PIL import Image

from analysis.errors import AnalysisError
from analysis.report.charts import all_charts
from tests.unit.analysis.export.conftest import FAILURES, HOSTILE, ORDINARY

SVG = "{http://www.w3.org/2000/svg}"


def _texts(svg: bytes) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def _names(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def folder(results, tmp_path_factory):
    """All pictures of the ordinary session, as SVG."""
    from click.testing import CliRunner

    from bench.cli.export import command

    out = tmp_path_factory.mktemp("pictures") / "all"
    done = CliRunner().invoke(
        command, [ORDINARY, "--format", "svg", "--out", str(out), "--results", str(results)]
    )
    assert done.exit_code == 0, done.exception
    assert [f"{out}/{name}" for name in sorted(_names(out))] == sorted(done.stdout.split())
    return out


def test_every_chart_with_rows_has_a_file_of_its_name(folder):
    names = {name.removesuffix(".svg") for name in _names(folder)}
    assert {
        "speedup",
        "efficiency",
        "throughput",
        "phases",
        "loss",
    } <= names
    assert [
        name for name in names if not any(name == one or name.startswith(f"{one}_") for one in all_charts())
    ] == []


FINDING = "ddp on 8 ranks is 6.34 times as fast as on 1 rank, at 79.3 % efficiency: good."


def test_every_svg_is_text_on_white_that_says_what_it_shows_and_whose_it_is(folder):
    for path in folder.iterdir():
        written = path.read_bytes()
        root = ElementTree.fromstring(written)
        name = path.stem
        (title, description) = (root.find(f"{SVG}title"), root.find(f"{SVG}desc"))
        chart = next(
            chart for key, chart in all_charts().items() if name == key or name.startswith(f"{key}_")
        )
        assert title is not None
        assert title.text == (FINDING if chart.shows_finding else chart.question)
        drawn = " ".join(_texts(written))
        assert title.text[:60] in drawn
        assert chart.question in drawn
        assert "Source: session ordinary, suite smoke, on cpu" in drawn
        assert description is not None
        assert description.text is not None
        assert description.text.startswith("session ordinary, suite smoke, on cpu")
        assert root.find(f"{SVG}rect").get("fill") in ("white", "#ffffff")
        assert "ddp" in drawn, name
        assert b"var(--" not in written
        assert not re.search(rb"(href|src|url)\s*=?\(?\"?https?:", written)


def test_a_chart_alone_goes_to_standard_output_and_is_the_same_as_among_all(export, folder):
    assert export(ORDINARY, "--format", "svg", "--chart", "speedup").stdout_bytes == (
        (folder / "speedup.svg").read_bytes()
    )


def test_a_png_is_twice_the_size_of_its_svg_and_not_blank(export, folder):
    svg = ElementTree.fromstring((folder / "efficiency.svg").read_bytes())
    written = export(ORDINARY, "--format", "png", "--chart", "efficiency").stdout_bytes
    picture = Image.open(io.BytesIO(written))
    assert picture.size == tuple(
        2 * round(float(svg.get(side).removesuffix("px"))) for side in ("width", "height")
    )
    assert picture.width == 1280
    colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 24)}
    assert (255, 255, 255) in colours
    assert len(colours) > 50
    assert picture.text["Source"].startswith("session ordinary, suite smoke")


def test_a_pdf_is_one_page_of_vectors_as_large_as_its_svg_and_says_whose_it_is(export, folder, tmp_path):
    svg = ElementTree.fromstring((folder / "efficiency.svg").read_bytes())
    written = export(ORDINARY, "--format", "pdf", "--chart", "efficiency").stdout_bytes
    assert written.startswith(b"%PDF-")
    assert written.count(b"/Type /Page\n") == 1
    (box,) = re.findall(rb"/MediaBox \[([\d. ]+)\]", written)
    assert [float(side) for side in box.split()[2:]] == [
        float(svg.get(side).removesuffix("px")) for side in ("width", "height")
    ]
    assert written.splitlines()[-1].startswith(b"% Source: session ordinary, suite smoke")
    assert b"/Subtype /Image" not in written
    out = tmp_path / "efficiency.pdf"
    for _ in range(2):  # the second replaces the first, which is ours
        assert export(ORDINARY, "--format", "pdf", "--chart", "efficiency", "--out", str(out)).exit_code == 0
    assert out.read_bytes().endswith(written.splitlines()[-1] + b"\n")


def test_hostile_names_are_text_in_every_chart(export, tmp_path):
    assert export(HOSTILE, "--format", "svg", "--out", str(tmp_path / "all")).exit_code == 0
    for path in (tmp_path / "all").iterdir():
        root = ElementTree.fromstring(path.read_bytes())
        assert {element.tag for element in root.iter()} <= {
            f"{SVG}{tag}"
            for tag in (
                "svg",
                "g",
                "rect",
                "path",
                "text",
                "tspan",
                "title",
                "desc",
                "defs",
                "clipPath",
                "line",
            )
        }, path.name


def test_a_session_of_failures_has_no_chart_of_speed(export, tmp_path):
    assert export(FAILURES, "--format", "png", "--out", str(tmp_path / "all")).exit_code == 0
    assert "speedup.png" not in _names(tmp_path / "all")
    done = export(FAILURES, "--format", "png", "--chart", "speedup")
    assert str(done.exception) == "--chart speedup: session 'failures' has no data for it"


def test_a_folder_is_written_again_but_nothing_of_others(export, tmp_path):
    arguments = (FAILURES, "--format", "png", "--out", str(tmp_path))
    assert export(*arguments, "--chart", "memory").exit_code == 0
    assert export(*arguments, "--chart", "memory").exit_code == 0
    (tmp_path / "memory.png").write_bytes(b"a photograph")
    done = export(*arguments)
    assert isinstance(done.exception, AnalysisError)
    assert "memory.png is there already, and `bench export` did not write it" in str(done.exception)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"memory.png": b"a photograph"}


def test_one_chart_can_have_the_name_of_a_file(export, tmp_path):
    out = tmp_path / "figure1.svg"
    assert export(ORDINARY, "--format", "svg", "--chart", "loss", "--out", str(out)).stdout == f"{out}\n"
    assert _names(tmp_path) == {"figure1.svg"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--format", "png", "--chart", "speed"],
            "no chart 'speed': there are ",
        ),
        (["--format", "png"], "all charts are several files: give --out DIR, or name one with --chart"),
        (["nosuch", "--format", "svg", "--chart", "loss"], "no session 'nosuch'"),
    ],
)
def test_what_cannot_be_drawn_is_said(export, arguments, said):
    done = export(*arguments)
    assert isinstance(done.exception, AnalysisError)
    assert said in str(done.exception)
