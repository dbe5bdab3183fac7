"""The REST API for commands: where it is, which key it gets, and what its refusals mean for an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias

import typer
from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    import httpx

Json: TypeAlias = dict[str, Any]

PREFIX = "/api/v1"
DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT_S = 60.0

EXIT_FAILED = 1
"""Also: comparison failed, campaign did not end well."""
EXIT_REFUSED = 2
"""The API refused the input. Also: comparison inconclusive."""
EXIT_UNREACHABLE = 3
"""Nothing answers, or it is not ready."""
EXIT_NOT_ALLOWED = 4
"""The key is missing, unknown, or does not allow this."""

EXIT_CODES = "Exit codes: 0 done; 1 failed; 2 refused input; 3 the API does not answer; 4 the key does not allow it."

ApiUrl = Annotated[
    str | None,
    typer.Option("--api", help="Root of the API; LASTBYTE_API_URL, else this machine's.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the API's JSON.")]


class ApiClient:
    """Calls the API; a refusal ends the command with its words and the exit code that fits."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def call(self, method: str, path: str, *, params: Json | None = None, body: object = None) -> Json:
        """One request, decoded; an empty answer is an empty object."""
        import httpx  # noqa: PLC0415 - heavy, and --help must be quick

        try:
            answer = self._http.request(method, PREFIX + path, params=_given(params), json=body)
        except httpx.HTTPError as exc:
            give_up(EXIT_UNREACHABLE, f"The API at {self._http.base_url} does not answer: {exc or type(exc).__name__}")
        _check(answer)
        found: Json = answer.json() if answer.content else {}
        return found

    def pages(self, path: str, *, limit: int | None = None, params: Json | None = None) -> Iterator[Json]:
        """Items of a list, page by page."""
        cursor, left = None, limit
        while True:
            size = 500 if left is None else min(500, left)
            page = self.call("GET", path, params={**(params or {}), "limit": size, "cursor": cursor})
            yield from page["items"]
            cursor = page.get("next")
            left = None if left is None else left - len(page["items"])
            if not cursor or left == 0:
                return

    @contextmanager
    def download(self, path: str, params: Json | None = None) -> Iterator[Iterator[bytes]]:
        """A file, chunk by chunk."""
        import httpx  # noqa: PLC0415

        try:
            with self._http.stream("GET", PREFIX + path, params=_given(params)) as answer:
                if answer.is_error:
                    answer.read()
                _check(answer)
                yield answer.iter_bytes()
        except httpx.HTTPError as exc:
            give_up(EXIT_UNREACHABLE, f"The API at {self._http.base_url} broke off: {exc or type(exc).__name__}")


@contextmanager
def api_at(url: str | None) -> Iterator[ApiClient]:
    """The API that is named, else that of LASTBYTE_API_URL, with the key in LASTBYTE_API_KEY."""
    import httpx  # noqa: PLC0415

    root = (url or os.environ.get("LASTBYTE_API_URL") or DEFAULT_URL).rstrip("/").removesuffix(PREFIX)
    key = os.environ.get("LASTBYTE_API_KEY", "")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        http = httpx.Client(base_url=root, headers=headers, timeout=TIMEOUT_S)
    except (httpx.InvalidURL, ValueError) as exc:
        give_up(EXIT_REFUSED, f"--api: {root!r} is no URL: {exc}. Example: {DEFAULT_URL}")
    with http:
        yield ApiClient(http)


def give_up(code: int, message: str) -> NoReturn:
    """End with a sentence on standard error."""
    Console(stderr=True).print(f"[red]error:[/] {escape(message)}", highlight=False, soft_wrap=True)
    raise typer.Exit(code)


def print_json(document: object) -> None:
    """For programs."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def say(text: str) -> None:
    """For people, on standard error, so that standard output holds the answer alone."""
    Console(stderr=True).print(escape(text), highlight=False, soft_wrap=True)


def _given(params: Json | None) -> Json:
    return {name: value for name, value in (params or {}).items() if value is not None}


def _check(answer: httpx.Response) -> None:
    if not answer.is_error:
        return
    try:
        problem = answer.json()
    except ValueError:
        problem = {"detail": f"status {answer.status_code} without a reason; is it the API of lastbyte?"}
    lines = [str(problem.get("detail") or problem.get("title") or answer.status_code)]
    lines += [f"  {item['field']}: {item['message']} {item['remedy']}".rstrip() for item in problem.get("errors", [])]
    if answer.status_code in (401, 403):
        give_up(EXIT_NOT_ALLOWED, "\n".join([*lines, "The key is taken from LASTBYTE_API_KEY."]))
    if answer.status_code in (429, 502, 503, 504):
        give_up(EXIT_UNREACHABLE, "\n".join(lines))
    give_up(EXIT_REFUSED if answer.status_code < 500 else EXIT_FAILED, "\n".join(lines))
