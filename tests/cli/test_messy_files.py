"""Messy files are taken as they are, or refused with advice that works when it is followed."""

import re
import shlex

import click
import pytest

from tests.cli import messy
from tests.cli.conftest import KERNEL_MEAN


@pytest.fixture
def file(tmp_path):
    """Write a messy table; returns its path."""

    def write(make):
        name, content = make()
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.fixture
def read(sosbands, monkeypatch, tmp_path):
    """Run ``sosbands fit`` as far as the file has been read; returns the problems."""

    def enough(*_, **__):
        raise click.exceptions.Exit(0)

    def run(path, *options, target="y"):
        out = tmp_path / "m.skops"
        done = sosbands("fit", path, "--target", target, "--out", out, *options)
        return problems(done.stderr) if done.exit_code else []

    monkeypatch.setattr("sosbands.cli.models.fresh_model", enough)
    return run


def problems(stderr):
    """The sentences of a message, one for each problem."""
    first, *others = stderr.rpartition("Error: ")[2].strip().split("\n  - ")
    return others or [first]


def advised(problem):
    """What a sentence advises: lists of options, each of which should help by itself."""
    parts = re.split(r",? or ", problem)
    found = [part[part.index("--") :] for part in parts if "--" in part]
    return [shlex.split(options) for options in found]


@pytest.mark.parametrize("make", messy.FILES)
def test_every_advice_about_a_messy_file_works_when_it_is_followed(make, file, read):
    path = file(make)
    found = read(path)
    asked = messy.ASKED.get(make, [])
    assert len(found) == len(asked), found
    assert all(any(part in sentence for sentence in found) for part in asked), found
    ways = [advised(problem) for problem in found]
    assert all(ways), found
    for turn in range(max(map(len, ways), default=0)):
        options = [option for way in ways for option in way[turn % len(way)]]
        assert not read(path, *options), options


@pytest.mark.parametrize("make", messy.FILES)
def test_messy_files_are_fitted_as_they_are_or_as_advised(make, file, sosbands, tmp_path):
    path, out = file(make), tmp_path / "m.skops"
    command = ("fit", path, "--target", "y", "--out", out, *KERNEL_MEAN)
    done = sosbands(*command)
    if done.exit_code:
        options = [option for one in problems(done.stderr) for option in advised(one)[0]]
        done = sosbands(*command, *options)
    assert done.exit_code == 0, done.stderr
    again = sosbands("evaluate", out, path, *(["--drop-ragged"] * (make is messy.ragged)))
    assert again.exit_code == 0, again.stderr
    assert "rows it has not seen count" in again.stderr


def test_columns_written_differently_can_be_left_out(read, tmp_path):
    path = tmp_path / "t.csv"
    lines = [f'{i / 8},"{i},5",{i % 7}' for i in range(40)]
    path.write_text("\n".join(["a,b,y", *lines]))
    (said,) = read(path)
    assert "column 'b' must hold finite numbers, got '0,5' in line 2 and 39 more" in said
    ways = advised(said)
    assert ways == [["--drop", "b"], ["--categorical", "b"]]
    assert not any(read(path, *options) for options in ways)


def test_quotes_that_do_not_close_are_found_where_they_open(read, tmp_path):
    path = tmp_path / "t.csv"
    rows = "\n".join(f"{i},{i % 7}" for i in range(30))
    path.write_text(f'x,y\n{rows}\n4,"5\n{rows}\n')
    (said,) = read(path)
    assert "the quotes that open in line 32" in said
    path.write_text(path.read_text().replace('"5', '"5"'))
    assert not read(path)


def test_a_target_that_is_none_is_replaced_as_advised(read, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,kind,y\n" + "".join(f"{i / 3},a,b\n{i / 7},b,c\n" for i in range(20)))
    (said,) = read(path)
    assert said.endswith("name a column of numbers with --target, such as x")
    assert not read(path, target="x")


@pytest.mark.parametrize(
    ("content", "given", "advice"),
    [
        ("x;y\n" + "1;2\n" * 30, ("--sep", "|"), "--sep ';'"),
        ("x,y\n" + "ä,2\nö,3\n" * 30, ("--encoding", "utf-8"), "--encoding cp1252"),
    ],
)
def test_what_was_named_wrongly_is_named_as_advised(read, tmp_path, content, given, advice):
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode("cp1252"))
    (said,) = read(path, *given)
    assert advice in said
    assert not read(path, *shlex.split(advice))


def test_advice_about_new_rows_works(sosbands, refused, model, folder, tmp_path):
    table = (folder / "new.csv").read_text().splitlines()
    table[5] = "much,red,1"
    (tmp_path / "new.csv").write_text("\n".join(table))
    for command in ("predict", "evaluate"):
        (options,) = advised(refused(command, model, tmp_path / "new.csv"))
        assert options == ["--na-values", "much"]
        assert sosbands(command, model, tmp_path / "new.csv", *options).exit_code == 0


def test_names_that_repeat_trouble_nobody_who_does_not_use_them(
    sosbands, refused, model, folder, tmp_path
):
    lines = (folder / "new.csv").read_text().splitlines()
    path = tmp_path / "new.csv"
    path.write_text(
        "\n".join(f"{line},{'note' if i == 0 else i},note" for i, line in enumerate(lines))
    )
    shown = sosbands("predict", model, path)
    assert shown.stdout.splitlines()[0] == "x,colour,y,note,note,mean,lower,upper"
    path.write_text("\n".join(f"{line},{'x' if i == 0 else i}" for i, line in enumerate(lines)))
    assert "has several columns named 'x'" in refused("predict", model, path)
