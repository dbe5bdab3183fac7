"""Running a program that refuses uid 0 (PostgreSQL) for root, without adding a user.

Two ways, the first that works here is taken:

- a user namespace in which root is ``nobody``: files stay root's, nothing is given away;
- where none may be made (a chroot, a container without SYS_ADMIN): ``nobody`` itself, with just the capability to pass
  through folders it could not enter. The data folder is then given to ``nobody``.

``nobody`` is taken because it exists on every system: initdb looks its own user up and fails when it has no name.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lastbyte.domain.errors import Unavailable

_CAPABILITIES = "+dac_override,+dac_read_search"
_TRY_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Unprivileged:
    """How a program is started so that it is not root."""

    prefix: tuple[str, ...]
    """What comes before its argument list; empty when this user is not root anyway."""
    owner: int
    """The user who must own its data folder, as this process sees it."""

    def own(self, folder: Path) -> None:
        """Make ``folder`` and all in it belong to ``owner``; Unavailable when it is somebody else's."""
        found = folder.stat().st_uid
        if found == self.owner:
            return
        if os.geteuid() != 0 or found not in (0, _nobody().pw_uid):
            raise Unavailable(
                f"{folder} belongs to user {found}, this is user {os.geteuid()}. "
                "Start as that user, or use another folder with --var."
            )
        for parent, folders, files in os.walk(folder):
            for name in (*folders, *files):
                os.chown(Path(parent, name), self.owner, -1, follow_symlinks=False)
        os.chown(folder, self.owner, -1)  # last, so that an interrupted change is taken up again


@lru_cache(maxsize=1)
def unprivileged() -> Unprivileged:
    """The way that works for this user on this machine; Unavailable, saying what to allow, when none does."""
    if os.geteuid() != 0:
        return Unprivileged((), os.geteuid())
    nobody = _nobody()
    uid, gid = nobody.pw_uid, nobody.pw_gid
    namespace = ("unshare", "--user", f"--map-user={uid}", f"--map-group={uid}", "--")
    drop = ("setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs")
    # the secure bit, because access(2), which initdb uses to find its programs, else forgets the capabilities
    keep = ("--securebits=+no_setuid_fixup", f"--inh-caps={_CAPABILITIES}", f"--ambient-caps={_CAPABILITIES}", "--")
    problems = []
    for way in (Unprivileged(namespace, 0), Unprivileged((*drop, *keep), uid)):
        problem = _problem(way.prefix)
        if not problem:
            return way
        problems.append(problem)
    raise Unavailable(
        f"PostgreSQL refuses to run as root, and root can't become anyone else here ({'; '.join(problems)}). Start as "
        "another user, allow user namespaces (sysctl user.max_user_namespaces; in a container cap_add SYS_ADMIN), or "
        "run PostgreSQL elsewhere and set LASTBYTE_DATABASE_URL"
    )


def _nobody() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam("nobody")
    except KeyError as error:
        raise Unavailable("PostgreSQL refuses to run as root, and this system has no user nobody") from error


def _problem(prefix: tuple[str, ...]) -> str:
    """Why a prefix does not work, in the words of the program; empty when it does."""
    try:
        tried = subprocess.run([*prefix, "true"], check=False, capture_output=True, text=True, timeout=_TRY_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (tried.stderr.strip() or f"status {tried.returncode}") if tried.returncode else ""
