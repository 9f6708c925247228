"""Marks of numbers: as they show, and in five locales as Babel reads them."""

import numpy as np
import pandas as pd
import pytest
from babel.numbers import NumberFormatError, format_decimal, parse_decimal

from sosbands.cli.cells import number
from sosbands.cli.number_marks import marks_shown
from sosbands.cli.table_file import CsvFormat, Problems, TableFile

# Locale ↦ decimal mark, mark between thousands.
LOCALES = {
    "en_US": (".", ","),
    "de_DE": (",", "."),
    "fr_FR": (",", "\u202f"),
    "de_CH": (".", "’"),
    "sv_SE": (",", "\u00a0"),
}


def shown(table, **said):
    file = TableFile("t.csv", CsvFormat(**said), frozenset(said))
    problems = Problems()
    form = marks_shown(pd.DataFrame(table, dtype=object), file, problems)
    return (form.decimal, form.thousands), [str(one) for one in problems.found]


@pytest.mark.parametrize(
    ("table", "marks"),
    [
        ({"a": ["1.5", "2"], "b": ["x", "y"]}, (".", "")),
        ({"a": ["1,5", "2"]}, (",", "")),
        ({"a": ["1.234", "2"]}, (".", "")),
        ({"a": ["1.234", "2"], "b": ["2,5", "3"]}, (",", ".")),
        ({"a": ["1,234", "2"], "b": ["2.5", "3"]}, (".", ",")),
        ({"a": ["1,234,567", "2"]}, (".", ",")),
        ({"a": ["1.234.567", "2"]}, (",", ".")),
        ({"a": ["1 234", "2"]}, (".", " ")),
        ({"a": ["1\u202f234,5", "2"]}, (",", " ")),
        ({"a": ["1'234.5", "2"]}, (".", "'")),
        ({"a": ["1_234", "2"], "b": ["2.5", "3"]}, (".", "")),  # as in a code
        ({"a": ["1.234,50 €", "2,00 €"]}, (",", ".")),
        ({"a": ["01.02.2024", "03.04.2024"]}, (".", "")),
        ({"a": ["2,5", "(3,5)", "much"]}, (",", "")),
        ({"a": ["", "?", None, 5]}, (".", "")),
    ],
)
def test_marks_are_those_by_which_all_numbers_are_numbers(table, marks):
    assert shown(table) == (marks, [])


def test_what_may_be_two_numbers_is_asked():
    _, (said,) = shown({"a": ["1,234", "2"]})
    assert said == (
        "column 'a' holds '1,234', which may be 1.234 or 1234: say which, --decimal ',' or "
        "--thousands ','"
    )
    assert shown({"a": ["1,234"]}, decimal=",") == ((",", ""), [])
    assert shown({"a": ["1,234"]}, thousands=",") == ((".", ","), [])
    assert shown({"a": ["1,234"]}, decimal=".", thousands="") == ((".", ""), [])


def cells(locale, rng, count):
    """Numbers as a locale writes them, spoilt ones among them."""
    decimal, between = LOCALES[locale]
    values = rng.normal(size=count) * 10.0 ** rng.integers(-3, 10, count)
    rounded = [round(float(value), int(rng.integers(0, 6))) for value in values]
    made = [format_decimal(v, locale=locale, decimal_quantization=False) for v in rounded]
    alphabet = [*"0123456789", decimal, between]
    for at in np.flatnonzero(rng.uniform(size=count) < 0.5):
        text = list(made[at])
        for _ in range(int(rng.integers(1, 4))):  # put in, take out, replace
            place, mark = int(rng.integers(len(text) + 1)), str(rng.choice(alphabet))
            text[place : place + int(rng.integers(2))] = [mark] * int(rng.integers(2))
        made[at] = "".join(text)
    return made


def strictly(text, locale):
    """What Babel reads at its strictest, or None."""
    try:
        return float(parse_decimal(text.strip(), locale=locale, strict=True))
    except NumberFormatError:
        return None


@pytest.mark.parametrize("locale", LOCALES)
def test_twenty_thousand_cells_of_a_locale_are_read_as_by_a_strict_reader(locale):
    """Blanks may stand around a number; besides, there is no difference."""
    decimal, between = LOCALES[locale]
    form = CsvFormat(decimal=decimal, thousands=between)
    made = cells(locale, np.random.default_rng(0), 20_000)
    expected = [strictly(text, locale) for text in made]
    refused = sum(value is None for value in expected)
    assert 3000 < refused < 10_000  # both kinds are many
    assert [number(text, form) for text in made] == expected


@pytest.mark.parametrize("locale", LOCALES)
def test_the_marks_of_a_locale_show_in_its_numbers(locale):
    rng = np.random.default_rng(1)
    column = [format_decimal(round(float(v), 2), locale=locale) for v in rng.uniform(0, 1e5, 200)]
    (decimal, between), asked = shown({"a": column})
    assert not asked
    assert decimal == LOCALES[locale][0]
    form = CsvFormat(decimal=decimal, thousands=between)
    assert [number(text, form) for text in column] == [strictly(text, locale) for text in column]


@pytest.mark.parametrize(
    ("column", "sep", "unclear"),
    [
        (["1.904", "1.442", "976"], ",", True),  # whole numbers below a thousand beside them
        (["1.904", "1.442"], ";", True),
        (["1.904", "1.442"], ",", False),  # three decimals
        (["1.904", "1.442", "0.976"], ";", False),
        (["1.904", "1.442", "97.6"], ";", False),
        (["1.904", "1.442", "1976"], ",", False),
        (["1.904", "12", "976"], ",", False),  # one alone may be a slip
    ],
)
def test_points_that_may_be_between_thousands_are_asked_about(column, sep, unclear):
    table = pd.DataFrame({"n": ["1", "2", "3"][: len(column)], "a": column}, dtype=object)
    table.attrs["sep"] = sep
    problems = Problems()
    assert marks_shown(table, TableFile("t.csv"), problems) == CsvFormat()
    asked = [str(problem) for problem in problems.found]
    sentence = (
        "column 'a' holds '1.904', which may be 1.904 or 1904: say which, --decimal '.' or "
        "--decimal ',' --thousands '.'"
    )
    assert asked == [sentence] * unclear
    for answer, value in (((".", ""), 1.904), ((",", "."), 1904.0)):
        form = CsvFormat(decimal=answer[0], thousands=answer[1])
        problems = Problems()
        said = TableFile("t.csv", form, frozenset({"decimal", "thousands"}))
        assert number("1.904", marks_shown(table, said, problems)) == value
        assert not problems.found
