"""The tables, in the words of the product; one module per use, one base.

What a campaign measures is frozen when it is planned: ``cells.endpoint``, ``cells.profile`` and
``campaign_arms.client`` hold the whole description as JSON, so a later edit of the catalogue can't change what an old
result means.
"""

from __future__ import annotations

from lastbyte.adapters.postgres.models.access import ApiKeyRow, IdempotencyKeyRow
from lastbyte.adapters.postgres.models.base import Base, Json
from lastbyte.adapters.postgres.models.campaigns import CampaignArmRow, CampaignRow, CellRow
from lastbyte.adapters.postgres.models.catalogue import ClientBuildRow, ClientRow, EndpointRow, ProfileRow
from lastbyte.adapters.postgres.models.courtesy import HostRow
from lastbyte.adapters.postgres.models.rollups import AnnotationRow, CellRollupRow, KeptAnswerRow
from lastbyte.adapters.postgres.models.schedules import ScheduleRow, ScheduleRunRow
from lastbyte.adapters.postgres.models.trials import ArtifactRow, TrialRow
from lastbyte.adapters.postgres.models.vantages import VantageRow, WorkerRow

__all__ = [
    "AnnotationRow",
    "ApiKeyRow",
    "ArtifactRow",
    "Base",
    "CampaignArmRow",
    "CampaignRow",
    "CellRollupRow",
    "CellRow",
    "ClientBuildRow",
    "ClientRow",
    "EndpointRow",
    "HostRow",
    "IdempotencyKeyRow",
    "Json",
    "KeptAnswerRow",
    "ProfileRow",
    "ScheduleRow",
    "ScheduleRunRow",
    "TrialRow",
    "VantageRow",
    "WorkerRow",
]
