"""Files that take the place of others only when they are complete."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """A name to write to, beside `path`; the file takes its place if all goes well.

    Otherwise, and if the program is interrupted, it is removed and `path` stays as it was. Who may
    read and write a file stays the same. What is not a file, such as a device or a pipe, is written
    to directly.
    """
    if Path(path).exists() and not Path(path).is_file():
        yield path
        return
    target = Path(path).resolve()  # through a link, which stays
    # The end of the name says what is inside.
    temporary = target.with_name(f".{secrets.token_hex(4)}.{target.name}")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    try:
        if mode is not None:
            temporary.touch(mode=0o600)  # nobody else reads it before it has the mode of the other
        yield str(temporary)
        if mode is not None:
            temporary.chmod(mode)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
