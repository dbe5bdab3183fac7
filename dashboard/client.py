"""REST client: the only way by which the dashboard gets at data.

Every call returns the decoded JSON of the API or raises one of two errors, so pages need to know two cases only:
ApiDown (nothing there, or not ready: keep what is shown and try again) and ApiProblem (the API said no, and why).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import httpx

Json: TypeAlias = dict[str, Any]
"""One JSON object of the API, as decoded."""

PREFIX = "/api/v1"
PAGE_LIMIT = 500


class ApiError(Exception):
    """Root of what can go wrong between dashboard and API."""


class ApiDown(ApiError):
    """The API can't be reached or is not ready; the same request may succeed in a moment."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"The API at {url} does not answer ({reason}).")
        self.url = url
        self.reason = reason


class ApiProblem(ApiError):
    """The API refused a request: an RFC 9457 problem."""

    def __init__(self, status: int, title: str, detail: str, errors: list[Json]) -> None:
        super().__init__(detail or title)
        self.status = status
        self.title = title
        self.detail = detail
        self.errors = errors
        """One per field: ``field``, ``message``, ``remedy``."""


class ApiClient:
    """Blocking client of the REST API; safe to share between threads."""

    def __init__(self, base_url: str, transport: httpx.BaseTransport | None = None) -> None:
        self.base_url = base_url
        self._http = httpx.Client(
            base_url=base_url + PREFIX,
            timeout=httpx.Timeout(10.0, connect=2.0),
            limits=httpx.Limits(max_connections=32, max_keepalive_connections=16),
            transport=transport,
            # The API is a neighbour: a proxy from the environment would only get in between.
            trust_env=False,
        )

    def campaigns(self, limit: int = 100) -> Json:
        """Campaigns, newest first: ``items``, ``next``, ``total``."""
        return self._call("GET", "/campaigns", params={"limit": limit})

    def campaign(self, campaign_id: str) -> Json:
        """One campaign with state and progress."""
        return self._call("GET", f"/campaigns/{campaign_id}")

    def heatmap(self, campaign_id: str, baseline: str | None = None, candidate: str | None = None) -> Json:
        """All cells of a campaign compared; the API picks the clients that are not given."""
        params = {k: v for k, v in (("baseline", baseline), ("candidate", candidate)) if v}
        return self._call("GET", f"/campaigns/{campaign_id}/heatmap", params=params)

    def trials(self, campaign_id: str, **filters: str) -> list[Json]:
        """Every trial that passes the filters (``endpoint``, ``profile``, ``client``, ``outcome``)."""
        return self._all(f"/campaigns/{campaign_id}/trials", filters)

    def cancel(self, campaign_id: str) -> Json:
        """Cancel a campaign; what was measured stays."""
        return self._call("POST", f"/campaigns/{campaign_id}/cancel")

    def create_campaign(self, body: Mapping[str, Any]) -> Json:
        """Schedule a campaign; the campaign object of the API."""
        return self._call("POST", "/campaigns", json=dict(body))

    def endpoints(self) -> list[Json]:
        """Every endpoint of the catalogue."""
        return self._all("/endpoints", {})

    def profiles(self) -> list[Json]:
        """Every network profile."""
        return self._all("/profiles", {})

    def clients(self) -> list[Json]:
        """Every client variant."""
        return self._all("/clients", {})

    def vantages(self) -> list[Json]:
        """Every place with workers."""
        return self._all("/vantages", {})

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _all(self, path: str, filters: Mapping[str, str]) -> list[Json]:
        items: list[Json] = []
        params: dict[str, str | int] = {"limit": PAGE_LIMIT, **filters}
        while True:
            page = self._call("GET", path, params=params)
            items += page["items"]
            if not page.get("next"):
                return items
            params["cursor"] = page["next"]

    def _call(self, method: str, path: str, **kwargs: Any) -> Json:
        try:
            response = self._http.request(method, path, **kwargs)
        except httpx.HTTPError as exc:
            raise ApiDown(self.base_url, type(exc).__name__) from exc
        try:
            body = response.json()
        except ValueError as exc:
            raise ApiDown(self.base_url, f"status {response.status_code} without JSON") from exc
        if not isinstance(body, dict):
            raise ApiDown(self.base_url, "its answer is not a JSON object")
        if response.status_code >= 500:
            raise ApiDown(self.base_url, str(body.get("detail") or f"status {response.status_code}").rstrip("."))
        if response.status_code >= 400:
            raise ApiProblem(
                response.status_code, str(body.get("title", "")), str(body.get("detail", "")), body.get("errors") or []
            )
        return body
