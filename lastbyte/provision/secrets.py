"""``python -m lastbyte.provision.secrets``: the passwords of a system in containers, made once and printed once.

Each service sees only what it needs, so there is a folder (a volume) for each: PostgreSQL's password, Redis's
configuration, and the two URLs for the processes of lastbyte (LASTBYTE_SECRETS, see ``lastbyte.settings``). A password
that the environment names is taken, else one is made. What is there is never changed: the database was made with it.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from lastbyte.domain.errors import InvalidInput, LastbyteError

_BYTES = 24

REDIS_CONF = """\
# written by lastbyte; a queue that forgets is no queue, so nothing is ever evicted
requirepass {password}
bind * -::*
dir /data
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
"""


@dataclass(frozen=True, slots=True)
class Folders:
    """Where each service reads its part."""

    app: Path = Path("/run/lastbyte-secrets")
    postgres: Path = Path("/run/lastbyte-secrets-postgres")
    redis: Path = Path("/run/lastbyte-secrets-redis")


def ensure(folders: Folders, environment: Mapping[str, str]) -> list[str]:
    """Write what is missing; returns lines for people, with each password that was made here. Raises InvalidInput."""
    said = []
    passwords = {}
    kept_files = {"POSTGRES": folders.postgres / "postgres_password", "REDIS": folders.redis / "redis_password"}
    for name, file in kept_files.items():
        variable = f"LASTBYTE_{name}_PASSWORD"
        wanted = environment.get(variable, "")
        if any(character.isspace() or character in "\"'\\#" for character in wanted):
            raise InvalidInput(variable, "must not hold spaces, quotes, # or backslashes.", "Choose another password.")
        if file.exists():
            passwords[name] = file.read_text(encoding="utf-8")
            if wanted and wanted != passwords[name]:
                said.append(f"{variable} is not the password that was set at the first start, which stays in use")
        elif wanted:
            passwords[name] = wanted
            said.append(f"{variable} is used")
        else:
            passwords[name] = secrets.token_urlsafe(_BYTES)
            said.append(f"{variable}={passwords[name]}   made now, printed this once, kept in a volume")
    postgres, redis = passwords["POSTGRES"], passwords["REDIS"]
    _write(kept_files["POSTGRES"], postgres)
    _write(kept_files["REDIS"], redis)
    _write(folders.redis / "redis.conf", REDIS_CONF.format(password=redis))
    database_url = f"postgresql+psycopg://lastbyte:{quote(postgres, safe='')}@postgres/lastbyte"
    _write(folders.app / "lastbyte_database_url", database_url)
    _write(folders.app / "lastbyte_broker_url", f"redis://:{quote(redis, safe='')}@redis:6379/0")
    return said or ["passwords are there already"]


def _write(file: Path, text: str) -> None:
    """Readable by every user of the container that the volume is given to: they run under different ones."""
    partial = file.with_name(f".{file.name}.part")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
    with os.fdopen(descriptor, "w", encoding="utf-8") as target:
        target.write(text)
    partial.replace(file)


def main() -> int:
    """Entry point; returns the exit status."""
    try:
        sys.stdout.write("\n".join(ensure(Folders(), os.environ)) + "\n")
    except (LastbyteError, OSError) as exc:
        sys.stderr.write(f"secrets: {exc}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
