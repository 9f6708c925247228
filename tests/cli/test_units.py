import pytest

from sosbands.cli.units import is_known, quantity


@pytest.mark.parametrize(
    ("cell", "number", "unit"),
    [
        ("5%", "5", "%"),
        (" 5.5 % ", "5.5", "%"),
        ("$5", "5", "$"),
        ("-$5", "-5", "$"),
        ("$-5", "-5", "$"),
        ("1.234,50 €", "1.234,50", "€"),
        ("USD 1,000", "1,000", "USD"),
        ("US$ 10", "10", "US$"),
        ("12 km/h", "12", "km/h"),
        ("12km", "12", "km"),
        ("30 m2", "30", "m2"),
        ("30 m²", "30", "m²"),
        ("1e3 kg", "1e3", "kg"),
        ("1 000 kg", "1 000", "kg"),
        ("1.5M", "1.5", "M"),
    ],
)
def test_a_unit_is_told_from_its_number(cell, number, unit):
    assert quantity(cell) == (number, unit)


@pytest.mark.parametrize(
    "cell", ["5", "1e5", "km", "B12", "1st", "22nd", "4x4", "+-5 m", "5 km 3", "0x10", "", None, 5]
)
def test_other_cells_have_none(cell):
    assert quantity(cell) is None


@pytest.mark.parametrize("cell", ["1" * 10**6 + " km", "1 " + "k" * 10**6, "1," * 10**6])
def test_a_long_cell_takes_no_time(cell):
    assert quantity(cell) is None


def test_units_that_cannot_be_names_are_known():
    assert all(map(is_known, ["km", "%", "€", "USD", "M"]))
    assert not any(map(is_known, ["a", "wd", "doors"]))
