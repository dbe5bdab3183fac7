"""Parts of answers as JSON, kept while the record they were made from is the very same object."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence

from pydantic import BaseModel

from lastbyte.ports import CampaignRecord

MOST_KEPT = 2000
"""Campaigns, per process; some 2 KB each."""


class RenderedCampaigns:
    """Stores give the same record again for a campaign that is over; writing it as JSON costs more than reading it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[CampaignRecord, bytes]] = OrderedDict()

    def of(self, campaign: CampaignRecord, schema: Callable[[CampaignRecord], BaseModel]) -> bytes:
        """The JSON of ``campaign``; safe for many threads."""
        known = self._kept.get(campaign.id)
        if known is not None and known[0] is campaign:
            return known[1]
        written = schema(campaign).model_dump_json().encode()
        if campaign.state.is_over:
            self._kept[campaign.id] = (campaign, written)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return written


def page_of(items: Sequence[bytes], following: str | None, total: int) -> bytes:
    """``api.schemas.common.Page`` of items that are JSON already."""
    return b'{"items":[%b],"next":%b,"total":%d}' % (b",".join(items), json.dumps(following).encode(), total)
