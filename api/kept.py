"""Whole answers, kept while nothing they were made of has changed: in memory, and with campaigns that are over.

A heatmap is hundreds of tests and intervals, asked for by every open dashboard; its campaign's revision says in one
narrow query whether it still holds.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from lastbyte.ports import KeptAnswerStore

MOST_BYTES = 64 * 1024 * 1024
"""Answers in memory, per process."""

_SOURCES = ("lastbyte/domain", "lastbyte/stats", "lastbyte/services", "api/schemas")


def code_digest() -> str:
    """Changes with the code that makes answers: what another version kept is not served."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for folder in _SOURCES:
        for file in sorted((root / folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


class KeptAnswers:
    """Gives answers that hold, and has the others worked out; safe for many threads."""

    def __init__(self, store: KeptAnswerStore, code: str, most_bytes: int = MOST_BYTES) -> None:
        self._store = store
        self._code = code
        self._most_bytes = most_bytes
        self._answers: OrderedDict[tuple[str, str], tuple[str, bytes]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def of(self, campaign_id: str, question: str, work_out: Callable[[], bytes]) -> bytes:
        """The answer to ``question``. Raises NotFound, and what ``work_out`` raises."""
        revision, over = self._store.revision(campaign_id)
        revision = f"{self._code} {revision}"
        with self._lock:
            known = self._answers.get((campaign_id, question))
            if known is not None and known[0] == revision:
                self._answers.move_to_end((campaign_id, question))
                return known[1]
        answer = self._store.get(campaign_id, question, revision) if over else None
        if answer is None:
            answer = work_out()
            if over:
                self._store.put(campaign_id, question, revision, answer)
        self._keep((campaign_id, question), revision, answer)
        return answer

    def _keep(self, key: tuple[str, str], revision: str, answer: bytes) -> None:
        with self._lock:
            before = self._answers.pop(key, None)
            self._bytes += len(answer) - (len(before[1]) if before else 0)
            self._answers[key] = (revision, answer)
            while self._bytes > self._most_bytes:
                _, (_, gone) = self._answers.popitem(last=False)
                self._bytes -= len(gone)
