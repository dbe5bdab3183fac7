"""The months of ``trials``: made ahead, and dropped when they are older than they have to be kept."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.engine import transaction

MONTHS_AHEAD = 3
"""How far ahead partitions are made; for so long nobody needs to be there to make more."""

_MAKE = text("""
    SELECT count(*) FILTER (WHERE make_trial_partition(month AT TIME ZONE 'UTC'))
      FROM generate_series(date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC'),
                           date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') + make_interval(months => :ahead),
                           interval '1 month') AS month
""")

_BORNE_OUT = text("""
    WITH moments AS (
        SELECT created_at AS moment FROM campaigns WHERE source IS NULL
         UNION ALL
        SELECT finished_at FROM campaigns WHERE source IS NULL AND finished_at IS NOT NULL)
    SELECT max(moment) FROM moments WHERE moment <= (SELECT max(moment) FROM moments) - interval '1 day'
""")
"""The newest time that the clock can be believed to have reached: a campaign of ours was created or ended then, and
another at least a day later. A clock that is ahead for less than a day never gets so far."""

_DROP = text("SELECT drop_trial_partitions(least(clock_timestamp(), :borne_out) - make_interval(days => :keep_days))")


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What was done."""

    made: int
    dropped: tuple[str, ...]


class TrialPartitions:
    """Keeps the partitions. Raises StoreUnavailable while the database can't be reached or is too busy for it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def keep(self, retention_days: int) -> Upkeep:
        """Make what will be needed; drop the months that ended ``retention_days`` ago or earlier (0: keep all).

        The clock alone is not believed: a month must have ended so long before a time that campaigns bear out, so a
        clock that is ahead for less than a day drops nothing, and nothing is dropped where nothing new is measured.
        Safe to call from several programs at once. Rollups stay: heatmaps and trends outlive the trials.
        """
        with transaction(self._engine) as connection:
            made = int(connection.execute(_MAKE, {"ahead": MONTHS_AHEAD}).scalar_one())
        if not retention_days:
            return Upkeep(made, ())
        with transaction(self._engine) as connection:
            borne_out = connection.execute(_BORNE_OUT).scalar_one()
            if borne_out is None:
                return Upkeep(made, ())
            parameters = {"borne_out": borne_out, "keep_days": retention_days}
            dropped = connection.execute(_DROP, parameters).scalars().all()
        return Upkeep(made, tuple(dropped))
