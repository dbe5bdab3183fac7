"""Schedules: campaigns that start by the clock."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Path, Query, Request, Response, status

from api.access import Called, may_use_any_port
from api.container import Container, Wired
from api.routes.problems import CONFLICT, INVALID, NOT_FOUND, TOO_LARGE
from api.schemas.common import Page, PageQuery
from api.schemas.schedules import PreviewIn, PreviewOut, RunOut, ScheduleChange, ScheduleIn, ScheduleOut
from lastbyte.domain.access import Caller
from lastbyte.domain.schedule import ScheduleSpec
from lastbyte.ports import ScheduleRecord
from lastbyte.services.schedules import request_of

router = APIRouter(prefix="/schedules", tags=["schedules"])

ScheduleId = Annotated[int, Path(ge=1, lt=2**63)]


def _out(request: Request, schedule: ScheduleRecord) -> ScheduleOut:
    return ScheduleOut.of(schedule, request.app.url_path_for("get_schedule", schedule_id=schedule.id))


def _guarded(spec: ScheduleSpec, wired: Container, caller: Caller) -> ScheduleSpec:
    endpoints = request_of(spec.template).endpoints
    wired.guard.check(endpoints, any_port=may_use_any_port(caller), field="template.endpoints")
    return spec


@router.post("", status_code=status.HTTP_201_CREATED, responses={**CONFLICT, **INVALID, **TOO_LARGE})
def create_schedule(
    body: ScheduleIn, wired: Wired, caller: Called, request: Request, response: Response
) -> ScheduleOut:
    """Start a campaign at the times of a cron expression, on the clock of a time zone."""
    created = _out(request, wired.schedules.create(_guarded(body.to_spec(), wired, caller)))
    response.headers["Location"] = created.links.self
    return created


@router.post("/preview", responses={**INVALID, **TOO_LARGE})
def preview_schedule(body: PreviewIn, wired: Wired) -> PreviewOut:
    """What a schedule would do: its expression in words, its next runs, what changes of the clocks do to it, and the
    size of one campaign. Stores nothing."""
    template = body.template.to_request() if body.template else None
    return PreviewOut.of(wired.schedules.preview(body.cron, body.time_zone, template))


@router.get("", responses=INVALID)
def list_schedules(query: Annotated[PageQuery, Query()], wired: Wired, request: Request) -> Page[ScheduleOut]:
    """Schedules by name."""
    page = wired.schedule_store.page(query.limit, query.cursor)
    return Page(items=[_out(request, schedule) for schedule in page.items], next=page.next, total=page.total)


@router.get("/{schedule_id:int}", responses={**NOT_FOUND, **INVALID})
def get_schedule(schedule_id: ScheduleId, wired: Wired, request: Request) -> ScheduleOut:
    """One schedule with its next runs and its last one."""
    return _out(request, wired.schedule_store.get(schedule_id))


@router.patch("/{schedule_id:int}", responses={**NOT_FOUND, **CONFLICT, **INVALID, **TOO_LARGE})
def change_schedule(
    schedule_id: ScheduleId, body: ScheduleChange, wired: Wired, caller: Called, request: Request
) -> ScheduleOut:
    """Change a schedule; `{"enabled": false}` puts it aside. Campaigns that run are left alone."""
    spec = body.applied_to(wired.schedule_store.get(schedule_id).spec)
    return _out(request, wired.schedules.update(schedule_id, _guarded(spec, wired, caller)))


@router.delete("/{schedule_id:int}", status_code=status.HTTP_204_NO_CONTENT, responses={**NOT_FOUND, **INVALID})
def delete_schedule(schedule_id: ScheduleId, wired: Wired) -> None:
    """Forget a schedule and its runs. The campaigns that it started stay."""
    wired.schedule_store.delete(schedule_id)


@router.post(
    "/{schedule_id:int}/run",
    status_code=status.HTTP_201_CREATED,
    responses={**NOT_FOUND, **CONFLICT, **INVALID},
)
def run_schedule(schedule_id: ScheduleId, wired: Wired, caller: Called, background: BackgroundTasks) -> RunOut:
    """Start its campaign now, whether or not it is enabled. While the one before is not over: 409, or with `queue` a
    run that waits."""
    _guarded(wired.schedule_store.get(schedule_id).spec, wired, caller)
    run = wired.schedules.run_now(schedule_id)
    if run.campaign_id is not None:
        background.add_task(wired.campaigns.hand_out, run.campaign_id)
    return RunOut.of(run)


@router.get("/{schedule_id:int}/runs", responses={**NOT_FOUND, **INVALID})
def list_runs(schedule_id: ScheduleId, query: Annotated[PageQuery, Query()], wired: Wired) -> Page[RunOut]:
    """What became of its due times, newest first."""
    page = wired.schedule_store.runs(schedule_id, query.limit, query.cursor)
    return Page(items=[RunOut.of(run) for run in page.items], next=page.next, total=page.total)
