"""What the person's computer may have, and a machine has not: its paths, and LaTeX."""

import os
import re

INBOX = "/root/inbox"
MESSAGE_LIMIT = 4 << 10
_MISSING = re.compile(
    r"no such file|not found|no files found|does not exist|cannot (?:find|open)|unable to open", re.IGNORECASE
)
_THERE = re.compile(
    r"""(?:\b[A-Za-z]:[\\/]|/(?:home|Users)/[^/'"\n]|/root/(?:Documents|Downloads|Desktop)/)[^'"\n<>|*?]*"""
)
_NO_LATEX = "Failed to process string with tex because"  # says matplotlib
_WITHOUT_LATEX = (
    'There is no LaTeX in this machine. Set plt.rcParams["text.usetex"] = False, and draw the figure again: '
    "matplotlib itself draws formulas such as $x^2$."
)

_exists, _isdir = os.path.exists, os.path.isdir


def advice(message: str) -> str | None:
    """What to do about an error with that message, where it says that such a thing is not here;
    else None."""
    message = message[:MESSAGE_LIMIT]
    if message.startswith(_NO_LATEX):
        return _WITHOUT_LATEX
    found = _THERE.search(message) if _MISSING.search(message) else None
    if found is None:
        return None
    path = found.group().rstrip(" .,:;)]")
    folder, _, name = path.replace("\\", "/").rpartition("/")
    if not name or _isdir(folder):
        return None
    here = f"{INBOX}/{name}"
    if _exists(here):
        return f"A machine does not see the computer's own files. This one is here as {here}."
    return (
        "A machine does not see the computer's own files. "
        f'Put {name} into the folder "ForeverVM" in your documents: in here it is then {here}.'
    )
