"""CSV files of what a page shows, at an address of their own: ``/export`` and the page's path, query and ``file``."""

from __future__ import annotations

from dash import Dash
from flask import Response, request

from dashboard.client import ApiClient, ApiDown, ApiProblem
from dashboard.pages.place import Place
from dashboard.routes import draw


def register(app: Dash, api: ApiClient) -> None:
    """Add the route."""

    def export(path: str) -> Response:
        query = dict(request.args)
        name = query.pop("file", "")
        try:
            files = draw(api, Place(f"/{path}", query, "UTC", "light")).files
            data = files[name]() if name in files else None
        except ApiDown as exc:
            return Response(f"{exc} Try again in a moment.\n", 503, mimetype="text/plain")
        except ApiProblem as exc:
            return Response(f"{exc}\n", exc.status, mimetype="text/plain")
        if data is None:
            return Response(f"This page has no data named {name!r}.\n", 404, mimetype="text/plain")
        filename = "-".join(part for part in ("lastbyte", *path.split("/"), name) if part)
        return Response(
            data,
            mimetype="text/csv",
            headers={"Content-Disposition": f'attachment; filename="{_plain(filename)}.csv"'},
        )

    app.server.add_url_rule("/export/", "export-home", lambda: export(""))
    app.server.add_url_rule("/export/<path:path>", "export", export)


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
