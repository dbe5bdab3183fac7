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


class AnswersInMemory:
    """Answers by question, the least used given up first; safe for many threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._answers: OrderedDict[tuple[str, ...], tuple[str, bytes]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, question: tuple[str, ...], revision: str) -> bytes | None:
        """The answer for this very revision; None when there is none."""
        with self._lock:
            known = self._answers.get(question)
            if known is None or known[0] != revision:
                return None
            self._answers.move_to_end(question)
            return known[1]

    def put(self, question: tuple[str, ...], revision: str, answer: bytes) -> None:
        """Keep an answer in place of the one before."""
        with self._lock:
            before = self._answers.pop(question, None)
            self._bytes += len(answer) - (len(before[1]) if before else 0)
            self._answers[question] = (revision, answer)
            while self._bytes > self._most_bytes:
                _, (_, gone) = self._answers.popitem(last=False)
                self._bytes -= len(gone)

    def of(self, question: tuple[str, ...], revision: str, work_out: Callable[[], bytes]) -> bytes:
        """The answer, worked out unless it is kept."""
        answer = self.get(question, revision)
        if answer is None:
            answer = work_out()
            self.put(question, revision, answer)
        return answer


class KeptAnswers:
    """Gives answers about campaigns that hold, and has the others worked out; safe for many threads."""

    def __init__(self, store: KeptAnswerStore, code: str, most_bytes: int = MOST_BYTES) -> None:
        self._store = store
        self._code = code
        self._memory = AnswersInMemory(most_bytes)

    def of(self, campaign_id: str, question: str, work_out: Callable[[], bytes]) -> bytes:
        """The answer to ``question``. Raises NotFound, and what ``work_out`` raises."""
        revision, over = self._store.revision(campaign_id)
        revision = f"{self._code} {revision}"

        def stored() -> bytes:
            answer = self._store.get(campaign_id, question, revision) if over else None
            if answer is None:
                answer = work_out()
                if over:
                    self._store.put(campaign_id, question, revision, answer)
            return answer

        return self._memory.of((campaign_id, question), revision, stored)
