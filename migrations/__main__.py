"""``python -m migrations upgrade|downgrade|check|current|revision``, on the database of ``LASTBYTE_DATABASE_URL``."""

from __future__ import annotations

import argparse
import sys

from sqlalchemy.exc import OperationalError

from lastbyte.settings import settings
from migrations import run


def main() -> None:
    """Parse and dispatch."""
    parser = argparse.ArgumentParser(prog="python -m migrations", description="Schema of the lastbyte database.")
    parser.add_argument("--database-url", default=settings().database_url, help="SQLAlchemy URL")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("upgrade", help="apply what is missing").add_argument("revision", nargs="?", default="head")
    commands.add_parser("downgrade", help="take back down to a revision").add_argument("revision")
    commands.add_parser("check", help="fail when the tables are not what the models say")
    commands.add_parser("current", help="print the revision the database has")
    commands.add_parser("revision", help="write a new migration").add_argument("message")
    try:
        _dispatch(parser.parse_args())
    except OperationalError as exc:
        sys.exit(f"The database can't be reached: {exc.orig}")


def _dispatch(arguments: argparse.Namespace) -> None:
    match arguments.command:
        case "upgrade":
            run.upgrade(arguments.database_url, arguments.revision)
        case "downgrade":
            run.downgrade(arguments.database_url, arguments.revision)
        case "check":
            run.check(arguments.database_url)
        case "current":
            run.current(arguments.database_url)
        case "revision":
            run.revision(arguments.database_url, arguments.message)


if __name__ == "__main__":
    main()
