import io
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sosbands import BandRegressor, load, save
from sosbands.cli import commands
from tests.cli.conftest import KERNEL_MEAN
from tests.regressors import regressor


def read_back(path):
    """A table with its numbers to the last digit, which not every version of pandas reads."""
    text = pd.read_csv(path, dtype=object, keep_default_na=False)
    made = [name for name in text if re.search("mean|lower|upper", name)]
    return text.assign(**{name: [float(cell or "nan") for cell in text[name]] for name in made})


@pytest.fixture
def new(folder):
    return pd.read_csv(folder / "new.csv", dtype=object, keep_default_na=False)


@pytest.fixture
def predict(sosbands, model, tmp_path):
    """Predict at the rows of a DataFrame; returns the table that was written."""

    def run(table, *arguments):
        table.to_csv(tmp_path / "new.csv", index=False)
        out = tmp_path / "out.csv"
        done = sosbands("predict", model, tmp_path / "new.csv", "--out", out, *arguments)
        assert done.exit_code == 0, done.output
        return read_back(out)

    return run


@pytest.fixture
def fails(refused, model, tmp_path):
    """Predict in vain; returns the sentence."""

    def run(table, *arguments):
        table.to_csv(tmp_path / "new.csv", index=False)
        out = tmp_path / "out.csv"
        said = refused("predict", model, tmp_path / "new.csv", "--out", out, *arguments)
        assert not out.exists()
        return said

    return run


def expected(model, table, level=0.9):
    X = pd.DataFrame({"x": table["x"].astype(float), "colour": table["colour"].astype(object)})
    band = load(model)
    return np.column_stack([band.predict(X), band.predict_interval(X, level)])


def test_predictions_are_those_of_the_library_to_the_last_digit(predict, model, new):
    made = predict(new)
    assert list(made) == ["x", "colour", "y", "mean", "lower", "upper"]
    assert np.array_equal(made[["mean", "lower", "upper"]], expected(model, new))


def test_cells_that_were_there_are_written_as_they_were(sosbands, model, tmp_path):
    text = 'id,colour,x,note\n007, red ,0.50,"a, ""b"""\n008,blue,1,\n'
    (tmp_path / "new.csv").write_text(text)
    out = sosbands("predict", model, tmp_path / "new.csv").stdout
    for before, after in zip(text.splitlines(), out.splitlines(), strict=True):
        assert after.startswith(f"{before},")


def test_the_order_of_columns_does_not_matter(predict, new):
    assert predict(new[["y", "colour", "x"]])["upper"].equals(predict(new)["upper"])


def test_a_column_that_is_absent_is_named(fails, new):
    said = fails(new.drop(columns="colour"))
    assert "has no column 'colour': it has 'x', 'y'" in said


def test_names_that_are_taken_need_a_prefix(fails, predict, new):
    table = new.assign(lower="0")
    assert "already has a column 'lower'" in fails(table)
    assert list(predict(table, "--prefix", "new_"))[-3:] == ["new_mean", "new_lower", "new_upper"]


def test_several_levels_give_columns_for_each(predict, model, new):
    made = predict(new, "--level", "0.9", "--level", "0.5")
    assert list(made)[3:] == ["mean", "lower_0.9", "upper_0.9", "lower_0.5", "upper_0.5"]
    assert np.array_equal(made[["lower_0.5", "upper_0.5"]], expected(model, new, 0.5)[:, 1:])
    assert (made["lower_0.9"] <= made["lower_0.5"]).all()


def test_missing_values_are_predicted_as_in_python_or_left_empty(predict, model, new):
    new.loc[5, "x"] = ""
    new.loc[7, "colour"] = "NA"
    made = predict(new)
    typed = new.assign(x=pd.to_numeric(new["x"])).replace({"colour": {"NA": None}})
    assert np.array_equal(made[["mean", "lower", "upper"]], expected(model, typed))
    made = predict(new, "--drop-missing")
    assert made.index[made["mean"].isna()].tolist() == [5, 7]
    rest = new.drop(index=[5, 7])
    assert np.allclose(made.loc[rest.index, ["mean", "lower", "upper"]], expected(model, rest))


def test_a_block_of_missing_values_alone_is_left_empty(predict, new):
    assert predict(new[:3].assign(x=""), "--drop-missing")["upper"].isna().all()


def test_flags_tell_of_extrapolation_unseen_categories_and_missing_values(predict, model, new):
    new.loc[2, "x"] = "9"
    new.loc[3, "colour"] = "pink"
    new.loc[5, ["x", "colour"]] = ["", "?"]
    made = predict(new, "--flags")
    assert list(made)[-3:] == ["extrapolation", "unseen", "missing"]
    assert made.index[made["unseen"] != ""].tolist() == [3]
    assert made.loc[3, "unseen"] == "colour"
    assert made.index[made["missing"] != ""].tolist() == [5]
    assert made.loc[5, "missing"] == "x, colour"
    typed = new.assign(x=pd.to_numeric(new["x"])).replace({"colour": {"?": None}})
    share = load(model).extrapolation(typed[["x", "colour"]])
    assert np.array_equal(made["extrapolation"].astype(float), share)
    assert share[2] > 0.99
    assert np.median(share) < 0.5


def test_flags_are_kept_in_a_parquet_file(sosbands, model, folder, tmp_path):
    out = tmp_path / "out.parquet"
    assert sosbands("predict", model, folder / "new.csv", "--flags", "--out", out).exit_code == 0
    made = pd.read_parquet(out)
    assert made["extrapolation"].dtype == np.float64
    assert (made["unseen"] == "").all()


@pytest.mark.parametrize("cell", ["much", "inf"])
def test_a_cell_that_is_no_number_is_refused_with_its_line(fails, new, cell):
    new.loc[11, "x"] = cell
    assert f"column 'x' must hold finite numbers, got '{cell}' in line 13" in fails(new)


@pytest.mark.parametrize("cell", ["1,5", "5%", "0x10", "20_01", "1\0", "١"])
def test_new_rows_are_read_as_strictly_as_those_of_training(refused, model, new, tmp_path, cell):
    new.loc[0, "x"] = cell
    new.to_csv(tmp_path / "new.csv", index=False)
    for command in ("predict", "evaluate"):
        said = refused(command, model, tmp_path / "new.csv")
        assert f"column 'x' must hold finite numbers, got {cell!r} in line 2: " in said


def test_a_point_beside_decimal_commas_is_not_passed_over(refused, model, new, tmp_path):
    new["x"] = new["x"].str.replace(".", ",")
    given = ("predict", model, tmp_path / "new.csv", "--sep", ";", "--decimal", ",")
    for cell, options in (("4.829", ()), ("01.01.2023", ("--thousands", "."))):
        new.loc[3, "x"] = cell
        new.to_csv(tmp_path / "new.csv", index=False, sep=";")
        assert f"got '{cell}' in line 5: " in refused(*given, *options)


def test_standard_input_has_rows_but_no_lines(refused, model, new):
    new.loc[3, "x"] = "much"
    said = refused("predict", model, "-", input=new.to_csv(index=False))
    assert "got 'much' in row 4: " in said


def test_a_cell_of_megabytes_is_shortened_in_the_sentence(fails, new):
    new.loc[3, "x"] = "9" * 3_000_000
    assert len(fails(new)) < 500


def test_unseen_categories_are_told_once_and_predicted_as_none(sosbands, model, new, tmp_path):
    new.loc[3, "colour"] = "pink"
    new.to_csv(tmp_path / "new.csv", index=False)
    done = sosbands("predict", model, tmp_path / "new.csv")
    assert done.exit_code == 0
    said = "Warning: column 'colour' has categories that training had not, such as 'pink'\n"
    assert done.stderr == said


def test_what_a_column_is_does_not_depend_on_the_block(predict, new, model):
    table = pd.concat([new] * 420, ignore_index=True)  # more than 50 000 rows
    table["colour"] = "1"
    table.loc[table.index[-1], "colour"] = "red"
    table["note"] = "1"
    table.loc[table.index[-1], "note"] = "text"
    table.loc[table.index[-1], "x"] = "0.25"
    made = predict(table)
    assert len(made) == len(table)
    assert made["note"].tolist() == table["note"].tolist()
    assert np.allclose(made[["mean", "lower", "upper"]][-1:], expected(model, table[-1:]))


def test_parquet_in_and_parquet_out_keep_types(sosbands, model, new, tmp_path):
    typed = new.astype({"x": float, "y": float}).assign(n=np.arange(len(new)))
    typed.to_parquet(tmp_path / "new.parquet")
    out = tmp_path / "out.parquet"
    done = sosbands("predict", model, tmp_path / "new.parquet", "--out", out)
    assert done.exit_code == 0, done.output
    made = pd.read_parquet(out)
    assert made["n"].dtype == np.int64
    assert np.array_equal(made[["mean", "lower", "upper"]], expected(model, new))


def test_inputs_of_a_parquet_file_keep_their_types(sosbands, model, new, tmp_path):
    typed = new.astype({"x": "float32", "colour": "category"})
    typed.to_parquet(tmp_path / "new.parquet")
    out = tmp_path / "out.parquet"
    assert sosbands("predict", model, tmp_path / "new.parquet", "--out", out).exit_code == 0
    made = pd.read_parquet(out)
    assert made["x"].dtype == np.float32
    assert isinstance(made["colour"].dtype, pd.CategoricalDtype)


def test_numbers_of_a_csv_file_are_numbers_in_a_parquet_file(sosbands, model, folder, tmp_path):
    out = tmp_path / "out.parquet"
    assert sosbands("predict", model, folder / "new.csv", "--out", out).exit_code == 0
    made = pd.read_parquet(out)
    assert made["x"].dtype == made["upper"].dtype == np.float64


def test_a_compressed_table_is_read_and_written(sosbands, model, new, folder, tmp_path):
    new.to_csv(tmp_path / "new.csv.gz", index=False)
    out = tmp_path / "out.csv.gz"
    assert sosbands("predict", model, tmp_path / "new.csv.gz", "--out", out).exit_code == 0
    made = read_back(out)
    assert np.array_equal(made[["mean", "lower", "upper"]], expected(model, new))


def test_a_table_can_be_replaced_by_its_predictions(sosbands, model, new, tmp_path):
    path = tmp_path / "t.csv"
    new.to_csv(path, index=False)
    assert sosbands("predict", model, path, "--out", path).exit_code == 0
    assert list(pd.read_csv(path))[-1] == "upper"


def test_a_model_saved_from_python_predicts_if_it_names_its_columns(sosbands, new, tmp_path):
    X, y = new[["x"]].astype(float), new["y"].astype(float)
    band = BandRegressor(None, random_state=0).fit(X, y)
    save(band, tmp_path / "named.skops")
    new.to_csv(tmp_path / "new.csv", index=False)
    done = sosbands("predict", tmp_path / "named.skops", tmp_path / "new.csv", "--level", 0.8)
    assert done.exit_code == 0, done.output
    evaluated = sosbands(
        "evaluate", tmp_path / "named.skops", tmp_path / "new.csv", "--target", "y"
    )
    assert evaluated.exit_code == 0, evaluated.output


def test_a_model_without_names_of_columns_is_refused(refused, new, folder, tmp_path):
    X, y = new[["x"]].to_numpy(float), new["y"].to_numpy(float)
    save(BandRegressor(None, random_state=0).fit(X, y), tmp_path / "m.skops")
    assert "does not name its columns" in refused(
        "predict", tmp_path / "m.skops", folder / "new.csv"
    )


@pytest.mark.parametrize(
    "around",
    [
        lambda band: make_pipeline(StandardScaler(), band),
        TransformedTargetRegressor,
    ],
    ids=["Pipeline", "TransformedTargetRegressor"],
)
def test_a_model_with_a_band_inside_is_refused(refused, new, folder, tmp_path, around):
    X, y = new[["x"]].astype(float), new["y"].astype(float)
    band = regressor(lengthscale=0.5, width_weight=50.0, symmetric=True, random_state=0)
    model = around(band).fit(X, y)
    save(model, tmp_path / "m.skops")
    of = (tmp_path / "m.skops", folder / "new.csv")
    for command in (("predict", *of), ("evaluate", *of), ("report", *of, "--out", tmp_path / "p")):
        said = refused(*command)
        assert f"m.skops holds a {type(model).__name__}, and commands need a BandRegressor" in said


def test_missing_values_of_a_single_column_keep_their_rows(sosbands, new, tmp_path):
    X, y = new[["x"]].astype(float), new["y"].astype(float)
    save(BandRegressor(None, random_state=0).fit(X, y), tmp_path / "m.skops")
    (tmp_path / "new.csv").write_text("x\n0.1\n\n0.3\n")
    command = ("predict", tmp_path / "m.skops", tmp_path / "new.csv")
    _, *lines = sosbands(*command, "--drop-missing").stdout.splitlines()
    assert [line.split(",")[0] for line in lines] == ["0.1", "", "0.3"]
    assert lines[1] == ",,,"


def test_predictions_have_the_decimal_mark_of_the_table(sosbands, model, new, folder, tmp_path):
    european = new.assign(x=new["x"].str.replace(".", ","))
    european.to_csv(tmp_path / "new.csv", index=False, sep=";")
    shown = sosbands("predict", model, tmp_path / "new.csv", "--sep", ";", "--decimal", ",").stdout
    made = pd.read_csv(io.StringIO(shown), sep=";", dtype=object)
    numbers = [[float(cell.replace(",", ".")) for cell in made[c]] for c in ("mean", "lower")]
    assert not made[["mean", "lower", "upper"]].map(lambda cell: "." in cell).any(axis=None)
    assert np.array_equal(np.transpose(numbers), expected(model, new)[:, :2])


def test_a_target_that_is_not_known_is_asked_for(refused, new, folder, tmp_path):
    X, y = new[["x"]].astype(float), new["y"].astype(float)
    save(BandRegressor(None, random_state=0).fit(X, y), tmp_path / "m.skops")
    said = refused("evaluate", tmp_path / "m.skops", folder / "new.csv")
    assert "--target" in said


def test_a_file_that_is_no_model_is_refused(refused, folder):
    assert "cannot be loaded" in refused("predict", folder / "new.csv", folder / "new.csv")


@pytest.mark.parametrize("level", ["0", "1", "90", "high", "nan"])
def test_an_impossible_level_is_a_mistake_in_the_command_line(model, folder, level):
    done = CliRunner().invoke(
        commands, ["predict", str(model), str(folder / "new.csv"), "--level", level]
    )
    assert done.exit_code == 2
    assert "--level" in done.stderr


def test_a_model_of_python_with_categories_and_dates_predicts_and_lists_its_inputs(
    sosbands, new, tmp_path
):
    days = pd.date_range("2024-01-01", periods=len(new))
    X = pd.DataFrame({"x": new["x"].astype(float), "colour": new["colour"], "day": days})
    X["colour"] = X["colour"].astype("category")
    band = BandRegressor(None, random_state=0).fit(X, new["y"].astype(float))
    save(band, tmp_path / "m.skops")
    new.assign(day=days.strftime("%d %b %Y")).to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "out.csv"
    done = sosbands("predict", tmp_path / "m.skops", tmp_path / "new.csv", "--out", out)
    assert done.exit_code == 0, done.output
    assert np.array_equal(read_back(out)[["lower", "upper"]], band.predict_interval(X))
    told = sosbands("info", tmp_path / "m.skops").stdout
    for line in ("x: numbers", "colour: blue, green, red", "day: dates"):
        assert f"input     {line}\n" in told


def test_a_model_of_python_with_encoded_categories_predicts(sosbands, new, folder, tmp_path):
    encoder = ColumnTransformer(
        [("kinds", OneHotEncoder(sparse_output=False), ["colour"])], remainder="passthrough"
    )
    X = pd.DataFrame({"x": new["x"].astype(float), "colour": new["colour"]})
    band = BandRegressor(None, band_transformer=encoder, random_state=0)
    save(band.fit(X, new["y"].astype(float)), tmp_path / "m.skops")
    done = sosbands("predict", tmp_path / "m.skops", folder / "new.csv")
    assert done.exit_code == 0, done.output


def test_the_format_of_training_is_that_of_new_rows_unless_another_is_named(
    sosbands, refused, folder, tmp_path
):
    train, new = (pd.read_csv(folder / f"{name}.csv") for name in ("train", "new"))
    train.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",", na_rep="gone")
    model, path = tmp_path / "m.skops", tmp_path / "new.csv"
    fit = ("fit", tmp_path / "t.csv", "--target", "y", "--out", model, "--na-values", "gone")
    assert sosbands(*fit, *KERNEL_MEAN).exit_code == 0
    new.loc[0, "x"] = np.nan
    new.to_csv(path, index=False, sep=";", decimal=",", na_rep="gone")
    european = sosbands("predict", model, path)
    assert european.exit_code == 0, european.output
    new.to_csv(path, index=False, na_rep="gone")
    assert "say how the numbers are written, --decimal '.'" in refused("predict", model, path)
    named = sosbands("predict", model, path, "--decimal", ".")
    assert named.stdout == european.stdout.replace(",", ".").replace(";", ",")
    assert named.stdout.splitlines()[1].startswith("gone,blue,-0.647,")


def test_a_spreadsheet_cannot_be_written(refused, model, folder, tmp_path):
    out = tmp_path / "out.xlsx"
    said = refused("predict", model, folder / "new.csv", "--out", out)
    assert "tables are written as CSV or Parquet" in said


def test_a_table_with_tabs_comes_out_of_a_pipe_with_tabs(sosbands, model, new, tmp_path):
    new.head(3).to_csv(tmp_path / "new.tsv", sep="\t", index=False)
    lines = sosbands("predict", model, tmp_path / "new.tsv").stdout.splitlines()
    assert lines[0].split("\t") == [*new, "mean", "lower", "upper"]
