"""REST client: the only way by which the dashboard gets at data.

Every call returns the decoded JSON of the API or raises one of two errors, so pages need to know two cases only:
ApiDown (nothing there, or not ready: keep what is shown and try again) and ApiProblem (the API said no, and why).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

    def __init__(self, base_url: str, transport: httpx.BaseTransport | None = None, api_key: str = "") -> None:
        self.base_url = base_url
        self._http = httpx.Client(
            base_url=base_url + PREFIX,
            timeout=httpx.Timeout(10.0, connect=2.0),
            limits=httpx.Limits(max_connections=32, max_keepalive_connections=16),
            transport=transport,
            headers={"Authorization": f"Bearer {api_key}"} if api_key else None,
            # The API is a neighbour: a proxy from the environment would only get in between.
            trust_env=False,
        )

    def campaigns(self, limit: int = 100) -> Json:
        """Campaigns, newest first: ``items``, ``next``, ``total``."""
        return self._call("GET", "/campaigns", params={"limit": limit})

    def campaign(self, campaign_id: str) -> Json:
        """One campaign with state and progress."""
        return self._call("GET", f"/campaigns/{campaign_id}")

    def heatmap(
        self, campaign_id: str, baseline: str | None = None, candidate: str | None = None, mode: str | None = None
    ) -> Json:
        """All cells of a campaign compared; the API picks the clients that are not given."""
        params = {k: v for k, v in (("baseline", baseline), ("candidate", candidate), ("mode", mode)) if v}
        return self._call("GET", f"/campaigns/{campaign_id}/heatmap", params=params)

    def clients_comparison(self, campaign_id: str, mode: str) -> Json:
        """The H3 clients of a campaign against the best one of each cell."""
        return self._call("GET", f"/campaigns/{campaign_id}/clients-comparison", params={"mode": mode})

    def trials(self, campaign_id: str, **filters: str) -> list[Json]:
        """Every trial that passes the filters (``endpoint``, ``profile``, ``client``, ``outcome``)."""
        return self._all(f"/campaigns/{campaign_id}/trials", filters)

    def cells(self, campaign_id: str, **filters: str) -> list[Json]:
        """Cells of a campaign and how far they are."""
        return self._all(f"/campaigns/{campaign_id}/cells", filters)

    def cell(self, cell_id: int) -> Json | None:
        """One cell in full; None where the API has none."""
        try:
            return self._call("GET", f"/cells/{cell_id}")
        except ApiProblem:
            return None

    def act(self, campaign_id: str, what: str) -> Json:
        """``pause``, ``resume``, ``cancel`` or ``rerun`` a campaign; the campaign, or the new one."""
        return self._call("POST", f"/campaigns/{campaign_id}/{what}")

    def delete_campaign(self, campaign_id: str) -> None:
        """Remove a campaign that is over, with its results."""
        self._call("DELETE", f"/campaigns/{campaign_id}")

    def edit_campaign(self, campaign_id: str, **changes: Any) -> Json:
        """Change ``name`` or ``labels``."""
        return self._call("PATCH", f"/campaigns/{campaign_id}", json=changes)

    def campaign_spec(self, campaign_id: str) -> Json:
        """The request that gives the same campaign once more."""
        return self._call("GET", f"/campaigns/{campaign_id}/spec")

    def estimate(self, body: Mapping[str, Any]) -> Json:
        """What a campaign would cost; nothing is stored."""
        return self._call("POST", "/campaigns/estimate", json=dict(body))

    def trends(self, endpoints: Sequence[str], profiles: Sequence[str], since: str | None) -> Json:
        """Series over time with changes of level and notes; ``since``: RFC 3339."""
        params = [*(("endpoint", e) for e in endpoints), *(("profile", p) for p in profiles)]
        params += [("measured_from", since)] if since else []
        return self._call("GET", "/trends", params=params)

    def annotate(self, at: str, text: str) -> Json:
        """Note something about a moment (RFC 3339)."""
        return self._call("POST", "/annotations", json={"at": at, "text": text})

    def crossover(self, campaigns: Sequence[str], axis: str) -> Json:
        """Where H3 and H2 take the same time along an axis."""
        return self._call("GET", "/crossover", params=[*(("campaign", c) for c in campaigns), ("axis", axis)])

    def compare(self, baseline: str, candidate: str, tolerance_pct: float) -> Json:
        """Whether something became slower from one campaign to another."""
        params = {"baseline": baseline, "candidate": candidate, "tolerance_pct": tolerance_pct}
        return self._call("GET", "/compare", params=params)

    def schedules(self) -> list[Json]:
        """Every schedule, by name."""
        return self._all("/schedules", {})

    def schedule(self, schedule_id: int) -> Json:
        """One schedule with its next runs."""
        return self._call("GET", f"/schedules/{schedule_id}")

    def schedule_runs(self, schedule_id: int) -> list[Json]:
        """What became of its latest due times, newest first."""
        items: list[Json] = self._call("GET", f"/schedules/{schedule_id}/runs", params={"limit": 10})["items"]
        return items

    def preview_schedule(self, body: Mapping[str, Any]) -> Json:
        """A cron expression in words, with its next runs."""
        return self._call("POST", "/schedules/preview", json=dict(body))

    def create_schedule(self, body: Mapping[str, Any]) -> Json:
        """Start campaigns by the clock."""
        return self._call("POST", "/schedules", json=dict(body))

    def change_schedule(self, schedule_id: int, **changes: Any) -> Json:
        """Change a schedule; what is left out stays."""
        return self._call("PATCH", f"/schedules/{schedule_id}", json=changes)

    def run_schedule(self, schedule_id: int) -> Json:
        """Start its campaign now."""
        return self._call("POST", f"/schedules/{schedule_id}/run")

    def delete_schedule(self, schedule_id: int) -> None:
        """Forget a schedule; its campaigns stay."""
        self._call("DELETE", f"/schedules/{schedule_id}")

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

    def cell_acks(self, cell_id: int) -> list[Json]:
        """The watched trials of a cell with what their clients acknowledged over time; empty without any."""
        trials: list[Json] = self._call("GET", f"/cells/{cell_id}/acks")["trials"]
        return trials

    def artifact(self, artifact_id: int, headers: Mapping[str, str]) -> httpx.Response:
        """The file of a watched trial, to be read in parts and closed; raises ApiDown."""
        request = self._http.build_request("GET", f"/artifacts/{artifact_id}", headers=dict(headers))
        try:
            return self._http.send(request, stream=True)
        except httpx.HTTPError as exc:
            raise ApiDown(self.base_url, type(exc).__name__) from exc

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
        if response.status_code == 204:
            return {}
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
