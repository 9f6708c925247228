"""Fitted models in files, without pickle: `save`, `load`, `describe`.

A model file is a zip archive of three things: ``manifest.json`` (format version, package versions,
the user's metadata, a checksum), ``schema.json`` (the tree of objects, written by skops) and the
arrays in NumPy's own format. To load one is to make objects of types on a list and to fill in
their attributes; the file cannot name anything else, and no function of the model is called.

- `archive`: the zip file, its bounds and its checksum;
- `types`: the list of types;
- `schema`: the tree, and the audit that compares it with the list;
- `portable`: what of a model is left out of the file, and how it comes back;
- `contents`: numbers that compiled code would trust, checked;
- `files`: the three functions.
"""

from sosbands.persistence.archive import ModelFileError
from sosbands.persistence.files import describe, load, save

__all__ = ["ModelFileError", "describe", "load", "save"]
