import pytest

from sosbands.cli.table_file import CsvFormat, TableError


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"sep": ""}, "sep must be one character, got ''"),
        ({"decimal": ",", "thousands": ","}, "decimal and thousands must differ, got ','"),
        ({"decimal": "1"}, "decimal must be a point or a comma, got '1'"),
        ({"decimal": ""}, "decimal must be a point or a comma, got ''"),
        ({"thousands": "-"}, "thousands must be a comma, .* got '-'"),
        ({"thousands": ".,"}, "thousands must be a comma, .* got '.,'"),
        ({"encoding": "utf-9"}, "encoding 'utf-9' is unknown"),
    ],
)
def test_an_impossible_format_is_refused(settings, sentence):
    with pytest.raises(TableError, match=sentence):
        CsvFormat(**settings)
