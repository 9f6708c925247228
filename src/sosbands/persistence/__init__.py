"""Fitted models in files, without pickle: `save`, `load`, `describe`, `check_savable`.

A model file is a zip archive of three things: ``manifest.json`` (format version, package versions,
the user's metadata, a checksum), ``schema.json`` (the tree of objects, written by skops) and the
arrays in NumPy's own format. To load one is to make objects of types on a list; the file cannot
name anything else, and compiled code gets only what has been checked.

- `archive`: the zip file, its bounds and its checksum;
- `schema`: the tree, and the audit that compares it with the list;
- `reader`: from the tree and the arrays to objects;
- `listed_types`: the list, with a maker for each type;
- `kinds`: what a maker is, and those of most estimators;
- `trees`: makers of trees, forests and boosting;
- `boosters`: LightGBM, XGBoost and CatBoost, through the formats of these libraries;
- `band_parts`: makers of the parts of a band;
- `writer`: what of a model is written;
- `replacing`: a file takes the place of another when it is complete;
- `files`: the functions above.
"""

from sosbands.persistence.archive import ModelFileError
from sosbands.persistence.files import check_savable, describe, load, save

__all__ = ["ModelFileError", "check_savable", "describe", "load", "save"]
