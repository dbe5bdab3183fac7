"""What watched trials left: lists, downloads, and acknowledged bytes over time."""

from __future__ import annotations

import shutil
import tempfile
from typing import IO, Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response, status
from fastapi.responses import FileResponse
from starlette.types import Receive, Scope, Send

from api.container import Wired
from api.routes.problems import GONE, INVALID, NOT_FOUND
from api.schemas.artifacts import AcksQuery, ArtifactOut, ArtifactQuery, CellAcksOut, DownloadQuery, TrialAcksOut
from api.schemas.common import Page

router = APIRouter(tags=["captures"])

Ident = Annotated[int, Path(ge=0, lt=2**63)]
_BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_DOWNLOAD: dict[int | str, dict[str, Any]] = {
    200: {"content": _BYTES, "description": "The file; Accept-Ranges and ETag are set."},
    206: {"content": _BYTES, "description": "A part of it (RFC 9110, 14)."},
    304: {"description": "It has not changed since: If-None-Match named its ETag."},
    416: {"description": "The range lies outside of the file."},
}


class _HeldFile(FileResponse):
    """A response from a file that has no name and is gone with the response."""

    def __init__(self, file: IO[bytes], **arguments: Any) -> None:
        self._file = file
        super().__init__(f"/proc/self/fd/{file.fileno()}", **arguments)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()


@router.get("/campaigns/{campaign_id}/artifacts", responses={**NOT_FOUND, **INVALID})
def list_artifacts(campaign_id: UUID, query: Annotated[ArtifactQuery, Query()], wired: Wired) -> Page[ArtifactOut]:
    """Files that watched trials left, in the order they were stored."""
    campaign = wired.campaigns.get(str(campaign_id))
    page = wired.artifacts.page(query.to_filter(campaign.id), query.limit, query.cursor)
    return Page(items=[ArtifactOut.of(record) for record in page.items], next=page.next, total=page.total)


@router.get(
    "/artifacts/{artifact_id}",
    response_class=FileResponse,
    responses={**_DOWNLOAD, **NOT_FOUND, **INVALID, **GONE},
)
def get_artifact(
    artifact_id: Ident, query: Annotated[DownloadQuery, Query()], wired: Wired, request: Request
) -> Response:
    """A file, decompressed and under its name, or as it is kept; parts of it by Range."""
    record = wired.artifacts.get(artifact_id)
    artifact = record.artifact
    place = wired.artifact_files.place_of(artifact, record.vantage)
    as_kept = query.compressed and bool(artifact.encoding)
    etag = f'"{artifact.sha256}{".gz" if as_kept else ""}"'
    headers = {"ETag": etag, "Cache-Control": "private, max-age=3600", "X-Content-Type-Options": "nosniff"}
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if etag in known:
        return Response(status_code=status.HTTP_304_NOT_MODIFIED, headers=headers)
    if as_kept or not artifact.encoding:
        suffix, media_type = (".gz", "application/gzip") if as_kept else ("", artifact.kind.media_type)
        return FileResponse(place, filename=artifact.file_name + suffix, media_type=media_type, headers=headers)
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the response that holds it
    with wired.artifact_files.open(artifact, record.vantage) as packed:
        shutil.copyfileobj(packed, unpacked, 1 << 20)
    unpacked.flush()
    return _HeldFile(unpacked, filename=artifact.file_name, media_type=artifact.kind.media_type, headers=headers)


@router.get("/trials/{trial_id}/acks", responses={**NOT_FOUND, **INVALID})
def get_trial_acks(trial_id: Ident, query: Annotated[AcksQuery, Query()], wired: Wired) -> TrialAcksOut:
    """What the client of a watched trial acknowledged over time; `problem` says why when that can't be told."""
    return TrialAcksOut.of(wired.acks.of_trial(trial_id, query.stall_ms))


@router.get("/cells/{cell_id}/acks", responses={**NOT_FOUND, **INVALID})
def get_cell_acks(cell_id: Ident, query: Annotated[AcksQuery, Query()], wired: Wired) -> CellAcksOut:
    """The same for every watched trial of a cell: H2 and H3 together."""
    wired.cells.cell(cell_id)
    trials = [TrialAcksOut.of(item) for item in wired.acks.of_cell(cell_id, query.stall_ms)]
    return CellAcksOut(cell_id=cell_id, trials=trials)
