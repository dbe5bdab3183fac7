"""Backup and restore of the database by PostgreSQL's own programs.

A restore fills a database of its own beside the one in use and takes its place only when everything is in and migrated;
whatever fails before that leaves all as it was.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy import make_url
from sqlalchemy.engine import URL

from lastbyte.domain.errors import InvalidInput, Unavailable

MAGIC = b"PGDMP"
"""First bytes of pg_dump's custom format."""
_MAINTENANCE = "postgres"


def backup(database_url: str, file: Path, tools: Path | None) -> int:
    """Write the whole database into ``file``; gives its size in bytes. It appears whole or not at all."""
    url = make_url(database_url)
    draft = file.with_name(file.name + ".part")
    try:
        _run("pg_dump", tools, [*_where(url), "--format=custom", "--no-owner", "--no-acl", f"--file={draft}"], url)
        draft.replace(file)
    except OSError as exc:
        raise InvalidInput(str(file), f"can't be written: {exc.strerror}.") from exc
    finally:
        draft.unlink(missing_ok=True)
    return file.stat().st_size


def check_backup(file: Path, tools: Path | None) -> None:
    """Raise InvalidInput unless ``file`` is a backup that can be read."""
    try:
        with file.open("rb") as stream:
            begin = stream.read(len(MAGIC))
    except OSError as exc:
        raise InvalidInput(str(file), f"can't be read: {exc.strerror}.") from exc
    if begin != MAGIC:
        raise InvalidInput(str(file), "is no backup.", "Name a file that lastbyte backup wrote.")
    try:
        _run("pg_restore", tools, ["--list", str(file)], None)
    except Unavailable as exc:
        raise InvalidInput(str(file), f"is damaged: {exc}") from exc


def restore(database_url: str, file: Path, tools: Path | None) -> str:
    """Fill a new database from ``file``; gives its SQLAlchemy URL. ``swap`` puts it in place, ``drop`` removes it."""
    url = make_url(database_url)
    fresh = url.set(database=f"{url.database}_restore_{datetime.now(UTC):%Y%m%d%H%M%S}")
    _administer(url, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(str(fresh.database))))
    try:
        options = ["--no-owner", "--no-acl", "--exit-on-error", "--single-transaction"]
        _run("pg_restore", tools, [*_where(fresh), *options, str(file)], fresh)
    except BaseException:
        drop(fresh.render_as_string(hide_password=False))
        raise
    return fresh.render_as_string(hide_password=False)


def swap(database_url: str, restored_url: str) -> None:
    """Put the restored database in the place of the one in use, ending the sessions of both; the old one is dropped."""
    url, fresh = make_url(database_url), str(make_url(restored_url).database)
    name = str(url.database)
    old = f"{name}_before_{datetime.now(UTC):%Y%m%d%H%M%S}"
    block = sql.SQL("ALTER DATABASE {} WITH ALLOW_CONNECTIONS {}")
    end = sql.SQL("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname IN ({}, {})").format(
        name, fresh
    )
    _administer(url, block.format(sql.Identifier(name), sql.SQL("false")), end)
    try:
        rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
        _administer(url, rename.format(sql.Identifier(name), sql.Identifier(old)))
        _administer(url, rename.format(sql.Identifier(fresh), sql.Identifier(name)))
    except BaseException:
        for there in (name, old):
            with suppress(Unavailable):
                _administer(url, block.format(sql.Identifier(there), sql.SQL("true")))
        raise
    _administer(url, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(old)))


def drop(database_url: str) -> None:
    """Remove a database that was restored and is not wanted."""
    url = make_url(database_url)
    _administer(url, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(str(url.database))))


def _administer(url: URL, *statements: sql.Composed) -> None:
    host = url.host or url.query.get("host")
    try:
        with psycopg.connect(
            host=str(host) if host else None,
            port=url.port,
            user=url.username,
            password=url.password,
            dbname=_MAINTENANCE,
            autocommit=True,
            connect_timeout=10,
        ) as connection:
            for statement in statements:
                connection.execute(statement)
    except psycopg.Error as exc:
        raise Unavailable(f"PostgreSQL refuses: {str(exc).strip()}") from exc


def _where(url: URL) -> list[str]:
    host = url.host or url.query.get("host")
    parts = {"--host": host, "--port": url.port, "--username": url.username, "--dbname": url.database}
    return [f"{name}={value}" for name, value in parts.items() if value] + ["--no-password"]


def _run(program: str, tools: Path | None, arguments: Sequence[str], url: URL | None) -> None:
    found = tools / program if tools is not None and (tools / program).exists() else shutil.which(program)
    if found is None:
        raise Unavailable(f"There is no {program} here. Install Debian's postgresql-client, of the server's version.")
    environment: Mapping[str, str] = os.environ
    if url is not None and url.password:
        environment = {**os.environ, "PGPASSWORD": str(url.password)}
    done = subprocess.run([str(found), *arguments], check=False, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        said = re.sub(r"\s+", " ", done.stderr.strip())[-500:]
        raise Unavailable(f"{program} failed: {said}")
