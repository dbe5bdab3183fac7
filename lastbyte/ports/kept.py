"""Answers about campaigns that were worked out before."""

from __future__ import annotations

from typing import Protocol


class KeptAnswerStore(Protocol):
    """Answers about campaigns that are over, kept with the campaign. Each call is a transaction of its own."""

    def revision(self, campaign_id: str) -> tuple[str, bool]:
        """A text that changes whenever anything of the campaign's cells does, and whether it is over.

        Raises NotFound.
        """

    def get(self, campaign_id: str, question: str, revision: str) -> bytes | None:
        """The answer that was kept for this very revision; None when there is none."""

    def put(self, campaign_id: str, question: str, revision: str, answer: bytes) -> None:
        """Keep an answer in place of the one before; nothing happens when the campaign is gone."""
