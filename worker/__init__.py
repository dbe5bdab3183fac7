"""Celery application, tasks and their wiring."""
