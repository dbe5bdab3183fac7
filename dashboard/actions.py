"""What can be done with a campaign or a schedule by a button: what it asks first, what it does, where it leads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dashboard.client import ApiClient, Json
from dashboard.formatting import plural
from dashboard.links import campaign_path


@dataclass(frozen=True, slots=True)
class Action:
    """One kind of button."""

    do: Callable[[ApiClient, str], str | None]
    """Does it; the path to go to afterwards, or None to stay."""
    question: Callable[[ApiClient, str], str] | None = None
    """What is asked before; None where it can simply be undone."""
    yes: str = ""
    """On the button that confirms."""


def cancel_question(campaign: Json) -> str:
    """What cancelling means for this campaign."""
    rest = campaign["trials_planned"] - campaign["trials_done"]
    return (
        f"{campaign['name']}: {plural(rest, 'trial')} will not be run. "
        f"The {campaign['trials_done']:,} that are done stay, with their heatmap. This can't be undone."
    )


def delete_question(campaign: Json) -> str:
    """What deleting means for this campaign."""
    return (
        f"{campaign['name']} goes for good, with {plural(campaign['trials_done'], 'trial')}, its heatmap and its "
        "artifacts. Export it first (lastbyte capsule export) if you may want it back."
    )


def _stay(what: str) -> Callable[[ApiClient, str], None]:
    def do(api: ApiClient, ident: str) -> None:
        api.act(ident, what)

    return do


def _rerun(api: ApiClient, ident: str) -> str:
    return campaign_path(api.act(ident, "rerun")["id"])


def _delete(api: ApiClient, ident: str) -> str:
    api.delete_campaign(ident)
    return "/campaigns"


def _enable(api: ApiClient, ident: str) -> None:
    api.change_schedule(int(ident), enabled=True)


def _disable(api: ApiClient, ident: str) -> None:
    api.change_schedule(int(ident), enabled=False)


def _run(api: ApiClient, ident: str) -> str | None:
    started = api.run_schedule(int(ident)).get("campaign_id")
    return campaign_path(started) if started else None


def _forget(api: ApiClient, ident: str) -> None:
    api.delete_schedule(int(ident))


ACTIONS: dict[str, Action] = {
    "pause": Action(_stay("pause")),
    "resume": Action(_stay("resume")),
    "rerun": Action(_rerun),
    "cancel": Action(_stay("cancel"), lambda api, ident: cancel_question(api.campaign(ident)), "Cancel the campaign"),
    "delete": Action(_delete, lambda api, ident: delete_question(api.campaign(ident)), "Delete for good"),
    "enable": Action(_enable),
    "disable": Action(_disable),
    "run": Action(_run),
    "forget": Action(
        _forget,
        lambda api, ident: (
            f"{api.schedule(int(ident))['name']} will start no more. The campaigns that it started stay."
        ),
        "Delete the schedule",
    ),
}
