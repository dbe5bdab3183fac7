"""What a database holds, in forms that can be compared."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, text

from api.schemas.heatmap import HeatmapOut
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.models import Base
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.services.heatmap import Heatmaps


def heatmap_json(engine: Engine, campaign_id: str) -> Any:
    """The heatmap as the API gives it, but for the row numbers of cells, which each database gives out itself."""
    heatmap = Heatmaps(PostgresCampaignStore(engine), PostgresResultStore(engine)).of(campaign_id)
    document = HeatmapOut.of(heatmap).model_dump(mode="json")
    for provider in document["providers"]:
        for cell in provider["cells"]:
            del cell["cell_id"]
    return document


def row_counts(engine: Engine) -> dict[str, int]:
    """Rows of every table."""
    with engine.connect() as connection:
        return {
            name: int(connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one())  # noqa: S608
            for name in sorted(Base.metadata.tables)
        }
