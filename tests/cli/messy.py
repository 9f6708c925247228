"""Ten tables as messy as people make them, each with rows enough to learn from."""

import codecs

import numpy as np
import pandas as pd

ROWS = 90
_NOTHING = ["", "NA", "NaN", "null", "?", "-", "n/a", "#N/A"]


def _rows(seed):
    """Numbers, a category, days and an output that depends on them."""
    rng = np.random.default_rng(seed)
    x, kind = rng.uniform(0, 2000, ROWS).round(2), rng.choice(["flat", "house", "Größe"], ROWS)
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), unit="D")
    y = x * (1 + (kind == "house")) + 50 * rng.normal(size=ROWS)
    return pd.DataFrame({"x": x, "kind": kind, "day": days, "y": y.round(3)})


def _european(number):
    return f"{number:,.2f}".translate({44: ".", 46: ","})


def european():
    """cp1252, semicolons, decimal commas, points between thousands, a currency, days first."""
    table = _rows(1)
    table["price"] = [f"{_european(x)} €" for x in table["x"]]
    table["x"], table["y"] = table["x"].map(_european), table["y"].map(_european)
    table["day"] = table["day"].dt.strftime("%d.%m.%Y")
    return "european.csv", table.to_csv(index=False, sep=";").encode("cp1252")


def quoted():
    """A byte order mark, quotes around all, quotes and line ends within, lines that end in CRLF."""
    table = _rows(2)
    table["note"] = [f'say "{i % 7}",\nthen go' for i in range(ROWS)]
    text = table.to_csv(index=False, quoting=1, lineterminator="\r\n")
    return "quoted.csv", codecs.BOM_UTF8 + text.encode()


def dated():
    """Five spellings of dates in one column, eight of nothing in another."""
    table = _rows(3)
    spellings = ["%Y-%m-%d", "%d/%m/%Y", "%b %d, %Y", "%d %B %Y", "%Y-%m-%dT%H:%M:%SZ"]
    table["day"] = [day.strftime(spellings[i % 5]) for i, day in enumerate(table["day"])]
    table["x"] = [_NOTHING[i % 8] if i % 5 == 0 else str(x) for i, x in enumerate(table["x"])]
    table["at"] = [f"{i % 12 + 1}:{i % 60:02d} {'ap'[i % 2]}m" for i in range(ROWS)]
    return "dated.csv", table.to_csv(index=False).encode()


def ragged():
    """Rows with too many cells, with too few, with separators at their ends."""
    lines = _rows(4).to_csv(index=False).splitlines()
    lines[5] += ",,"
    lines[9] += ",more,cells"
    lines[20] = lines[20].rsplit(",", 2)[0]
    lines[30] = lines[30].replace(",", ",a,b,", 1)
    return "ragged.csv", "\n\n".join(["", *lines]).encode()


def long_cells():
    """Cells of 10⁵ characters, in a column and where a number should be."""
    table = _rows(5)
    table["story"] = ["once upon a time " * 6000 if i % 9 == 0 else "short" for i in range(ROWS)]
    table["x"] = table["x"].astype(str)
    table.loc[7, "x"] = "1" * 100_000
    return "long_cells.csv", table.to_csv(index=False).encode()


def repeated():
    """Names that repeat, columns without one, row numbers, columns without a value."""
    table = _rows(6)
    table["size"] = table["x"]
    text = table.to_csv().replace("size", "x", 1).replace("\n", ",,\n")
    return "repeated.csv", text.encode()


def united():
    """Units stuck to numbers: one, several, and one that is sometimes absent."""
    table = _rows(7)
    table["share"] = [f"{i % 50}%" for i in range(ROWS)]
    table["cost"] = [f"${x}" for x in table["x"]]
    table["way"] = [f"{i} km" if i % 3 else f"{i}000 m" for i in range(ROWS)]
    table["off"] = [f"{i % 40}%" if i % 4 else f"{i % 40}" for i in range(ROWS)]
    return "united.csv", table.to_csv(index=False).encode()


def thousands():
    """Thousands that could be decimals, words among numbers, also in the target."""
    table = _rows(8).round(0).astype({"x": int, "y": int})
    table["people"] = [f"{i + 1},{100 + i}" for i in range(ROWS)]
    table["x"] = [
        ("unknown", "n.d.")[i % 2] if i % 15 == 0 else x for i, x in enumerate(table["x"])
    ]
    table["y"] = [("soon" if i == 44 else y) for i, y in enumerate(table["y"])]
    return "thousands.csv", table.to_csv(index=False).encode()


def spread():
    """Errors of spreadsheets, truth values, apostrophes, identifiers, lines that end in CR."""
    table = _rows(9)
    table["x"] = ["#DIV/0!" if i % 11 == 0 else f"{x:,}" for i, x in enumerate(table["x"])]
    table["x"] = table["x"].str.replace(",", "'")
    table["sold"] = np.where(table.index % 3, "TRUE", "FALSE")
    table["Customer ID"] = [f"C-{i:05d}" for i in range(ROWS)]
    table["No"] = np.arange(1000, 1000 + ROWS)
    table["empty"] = None
    return "spread.tsv", table.to_csv(index=False, sep="\t", lineterminator="\r").encode("utf-16")


def everything():
    """Days and months in both orders, days whose order nothing shows, no name, odd cells."""
    table = _rows(10)
    table["day"] = [
        day.strftime("%d/%m/%Y" if i % 2 else "%m/%d/%Y") for i, day in enumerate(table["day"])
    ]
    table["first"] = [f"{i % 12 + 1}/{i % 9 + 1}/2021" for i in range(ROWS)]
    table["x"] = [f"({x})" if i % 17 == 0 else x for i, x in enumerate(table["x"])]
    table[""] = table["kind"]
    table["y"] = [f"{y} kg" for y in table["y"]]
    return "everything.csv", table.to_csv(index=False, sep="|").encode()


FILES = [
    *(european, quoted, dated, ragged, long_cells),
    *(repeated, united, thousands, spread, everything),
]
# What the program asks about, by file: parts of its sentences.
ASKED = {
    ragged: ["--drop-ragged"],
    long_cells: ["column 'x' must hold finite numbers"],
    repeated: ["several columns named 'x'"],
    united: ["'way' holds numbers in 'km', 'm'", "'off' holds numbers in '%' and without"],
    thousands: [
        "column 'people' holds '1,100', which may be",
        "column 'x' must hold finite numbers, got 'unknown'",
        "column 'y' must hold finite numbers, got 'soon'",
    ],
    everything: [
        "column 'x' must hold finite numbers, got '(",
        "column 'day' holds dates with the day first",
        "column 'first' holds dates such as",
        "has no name",
    ],
}
