"""When a lease is over, by the database's clock alone; said once, for all statements that look.

A clock that was set back leaves leases that end in a far future; none is ever given for so long, so they are over too.
Their living holders renew them within seconds, by the new time.
"""

from __future__ import annotations

LONGEST_LEASE_S = 60
"""Longest lease that the settings allow."""

OVER = f"""(lease_until < clock_timestamp()
            OR lease_until > clock_timestamp() + interval '{LONGEST_LEASE_S * 2} seconds')"""
"""SQL: nobody holds the cell, though it says ``running``."""
