"""Answers about campaigns that are over, compressed: ``lastbyte.ports.KeptAnswerStore`` on PostgreSQL."""

from __future__ import annotations

import zlib

from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.campaign_actions import campaign_uuid
from lastbyte.adapters.postgres.engine import read, single_statement
from lastbyte.domain.campaign import CampaignState
from lastbyte.domain.errors import NotFound

_REVISION = """
    SELECT campaigns.state,
           (SELECT format('%%s %%s %%s', count(*), sum(version), sum(hashtextextended(cells.state, cells.id)))
              FROM cells WHERE campaign_id = campaigns.id) AS cells
      FROM campaigns WHERE id = %(id)s
"""

_GET = text("SELECT answer FROM kept_answers WHERE campaign_id = :id AND question = :question AND revision = :revision")

_PUT = text("""
    INSERT INTO kept_answers (campaign_id, question, revision, answer)
    SELECT id, :question, :revision, :answer FROM campaigns WHERE id = :id
        ON CONFLICT (campaign_id, question) DO UPDATE SET revision = excluded.revision, answer = excluded.answer
""")


class PostgresKeptAnswers:
    """``lastbyte.ports.KeptAnswerStore``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def revision(self, campaign_id: str) -> tuple[str, bool]:
        """A text that changes whenever anything of the campaign's cells does, and whether it is over.

        Raises NotFound.
        """
        rows = read(self._engine, _REVISION, {"id": campaign_uuid(campaign_id)})
        if not rows:
            raise NotFound("campaign", campaign_id)
        (row,) = rows
        return f"{row.state} {row.cells}", CampaignState(row.state).is_over

    def get(self, campaign_id: str, question: str, revision: str) -> bytes | None:
        """The answer that was kept for this very revision; None when there is none."""
        parameters = {"id": campaign_uuid(campaign_id), "question": question, "revision": revision}
        with single_statement(self._engine) as connection:
            answer = connection.execute(_GET, parameters).scalar_one_or_none()
        return None if answer is None else zlib.decompress(answer)

    def put(self, campaign_id: str, question: str, revision: str, answer: bytes) -> None:
        """Keep an answer in place of the one before; nothing happens when the campaign is gone."""
        parameters = {
            "id": campaign_uuid(campaign_id),
            "question": question,
            "revision": revision,
            "answer": zlib.compress(answer, 1),
        }
        with single_statement(self._engine) as connection:
            connection.execute(_PUT, parameters)
