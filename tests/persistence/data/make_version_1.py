"""Write the model files of format version 1 and what their models predict, beside this script.

To be run once for each release that still writes version 1, and never after: the files stay as
proof that later versions read them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import sosbands
from sosbands.datasets import case

FOLDER = Path(__file__).parent
LEVELS = [0.5, 0.9]


def write(name: str, model: sosbands.BandRegressor, rows: np.ndarray) -> None:
    sosbands.save(model, FOLDER / f"{name}.skops", metadata={"note": "kept for ever"})
    told = {
        "rows": rows,
        "levels": LEVELS,
        "mean": model.predict(rows),
        "scale": model.predict_scale(rows),
        "extrapolation": model.extrapolation(rows),
        "intervals": model.predict_interval(rows, LEVELS),
    }
    text = json.dumps({key: np.asarray(value).tolist() for key, value in told.items()}, indent=1)
    (FOLDER / f"{name}.json").write_text(text + "\n")


def main() -> None:
    X, y = case(1).sample(120, random_state=0)
    rows = np.linspace(X.min(), X.max(), 10)[:, None]
    write("version-1", sosbands.BandRegressor(None, random_state=0).fit(X, y), rows)
    trees = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    band = sosbands.KernelBand(max_rank=20)
    around = sosbands.BandRegressor(trees, band=band, random_state=0)
    write("version-1-boosting", around.fit(X, y), rows)


if __name__ == "__main__":
    main()
